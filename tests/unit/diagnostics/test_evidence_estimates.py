"""Log evidences of weights, of nested sampling and by thermodynamic integration, with their errors."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from auxmc.diagnostics.dead_points import log_masses, log_terms, nested_evidence
from auxmc.diagnostics.nested_errors import simulated_nested_evidence
from auxmc.diagnostics.path_integrals import thermodynamic_integration
from auxmc.diagnostics.simple_evidence import harmonic_mean, log_reciprocal, prior_average
from auxmc.diagnostics.tempered_evidence import (
    annealed_evidence,
    bidirectional_bounds,
    importance_tempering,
    log_evidence,
    log_evidence_error,
    running_log_evidence,
    weighted_moments,
)
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule
from experiments.estimator_illustrations.model import FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS

RNG = np.random.default_rng(8)
TARGET, BASE = RNG.normal(size=(4, 50)), RNG.normal(size=(4, 50)) + 0.5


def test_evidence_is_the_log_ratio_of_sums_whatever_the_scale():
    expected = np.log(np.exp(TARGET).sum() / np.exp(BASE).sum()) + 2.0
    assert log_evidence(TARGET + 2.0, BASE) == pytest.approx(expected, rel=1e-14)
    assert log_evidence(TARGET - 4998.0, BASE + 3000.0) == pytest.approx(expected - 8000.0, rel=1e-14)


def test_running_estimates_pool_chains_and_end_at_the_whole():
    running = running_log_evidence(TARGET, BASE)
    assert running.shape == (50,)
    for n in (1, 17, 50):
        assert running[n - 1] == pytest.approx(log_evidence(TARGET[:, :n], BASE[:, :n]), rel=1e-13)


def test_batches_of_a_single_chain_stand_for_chains():
    chains = TARGET.reshape(1, -1), BASE.reshape(1, -1)
    batched = log_evidence_error(*chains, n_batches=4)
    assert batched == pytest.approx(log_evidence_error(TARGET, BASE), rel=1e-12)
    assert np.isnan(log_evidence_error([[0.0, 1.0]], [[0.0, 0.0]]))


def test_weighted_moments_are_those_of_repeated_points():
    points = RNG.normal(size=(6, 3))
    counts = np.array([1, 2, 3, 1, 5, 2])
    repeated = np.repeat(points, counts, axis=0)
    found = weighted_moments(np.log(counts) - 900.0, points)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(repeated.T, bias=True), rtol=1e-11)


def test_annealed_evidence_and_its_error():
    logs = np.log([1.0, 2.0, 3.0, 6.0]) + 400.0
    found = annealed_evidence(logs)
    assert found.value == pytest.approx(np.log(3.0) + 400.0, rel=1e-14)
    relative = np.array([1.0, 2.0, 3.0, 6.0]) / 3.0
    assert found.standard_error == pytest.approx(relative.std(ddof=1) / 2.0, rel=1e-12)
    assert np.isnan(annealed_evidence([0.3]).standard_error)
    assert annealed_evidence([-np.inf, 0.0]).value == pytest.approx(-np.log(2.0))


def test_bounds_of_constant_weights_meet_and_others_are_in_order():
    truth = 2.0 + np.arange(3.0)
    exact = bidirectional_bounds(np.tile(truth[:, None], 5), -np.tile(truth[:, None], 7))
    for bound in exact:
        np.testing.assert_allclose(bound, truth, rtol=1e-14)
    forward, reverse = RNG.normal(size=(6, 20)) - 1.0, 3.0 * RNG.normal(size=(6, 20))
    found = bidirectional_bounds(forward, reverse)
    assert np.all(found.upper_arithmetic >= found.upper)
    np.testing.assert_allclose(found.upper, -np.log(np.exp(reverse).mean(axis=-1)), rtol=1e-12)
    np.testing.assert_allclose(found.upper_arithmetic, np.log(np.exp(-reverse).mean(axis=-1)), rtol=1e-12)


def test_importance_tempering_combines_temperatures_by_their_effective_sizes():
    """Normal states of several widths for a standard normal target: equation 5.55 written out."""
    rng = np.random.default_rng(3)
    sds = np.array([1.0, 1.5, 4.0])
    levels = rng.integers(0, 3, 30_000)
    x = sds[levels] * rng.standard_normal(levels.size)
    logs = -0.5 * x**2 + 0.5 * (x / sds[levels]) ** 2
    values = np.stack([x, x**2], axis=1)
    found = importance_tempering(logs + np.array([0.0, 7.0, -300.0])[levels], levels, values)
    weights, estimates = [], []
    for level in range(3):
        own = np.exp(logs[levels == level])
        weights.append(own.sum() ** 2 / np.square(own).sum())
        estimates.append(own @ values[levels == level] / own.sum())
    np.testing.assert_allclose(found, np.average(estimates, axis=0, weights=weights), rtol=1e-10)
    np.testing.assert_allclose(found, [0.0, 1.0], atol=0.05)


def test_importance_tempering_leaves_out_temperatures_without_a_weight():
    values = np.array([[1.0], [2.0]])
    assert importance_tempering([-np.inf, 0.0], [0, 1], values).tolist() == [2.0]
    assert np.isnan(importance_tempering([-np.inf, -np.inf], [0, 1], values)).all()


def test_simulated_shrinkage_covers_where_the_information_is_small():
    """Trap 9: sqrt(information / live points) held the truth in 58 % and 91 % where 68 and 95 were said."""
    n_live, n_dead, width = 50, 60, 0.6
    exact = math.log(width * -math.expm1(-1.0 / width))  # of the likelihood exp(-X / width) at prior mass X
    random = np.random.default_rng(1)
    new, old = [], []
    for seed in range(400):
        masses = np.exp(np.cumsum(-random.exponential(size=n_dead)) / n_live)
        live = -masses[-1] * random.random(n_live) / width
        found = simulated_nested_evidence(-masses / width, n_live, live, 200, seed)
        before = nested_evidence(-masses / width, n_live, live, estimator="trapezoid")
        new.append(abs(found.value - exact) / found.standard_error)
        old.append(abs(before.value - exact) / before.standard_error)
    assert 0.63 < np.mean(np.array(new) < 1.0) < 0.73
    assert 0.92 < np.mean(np.array(new) < 2.0) < 0.98
    assert np.mean(np.array(old) < 1.0) < 0.62


LEVELS = np.sort(np.random.default_rng(1).normal(scale=3.0, size=12))
N_LIVE = 4


@pytest.mark.parametrize("shrinkage", ["exponential", "mean", "unbiased"])
def test_the_three_sums_are_those_of_their_definitions(shrinkage):
    likelihoods = np.exp(LEVELS)
    ratio = {"exponential": math.exp(-0.25), "mean": 0.8, "unbiased": 0.75}[shrinkage]
    mass = ratio ** np.arange(14)
    np.testing.assert_allclose(np.exp(log_masses(13, N_LIVE, shrinkage)), mass)
    expected = {
        "lower": np.sum(likelihoods * (mass[1:13] - mass[2:14])),
        "upper": np.sum(likelihoods * (mass[:12] - mass[1:13])),
        "lebesgue": np.sum(np.diff(likelihoods, prepend=0.0) * mass[1:13]),
        "trapezoid": np.sum(likelihoods * 0.5 * (mass[:12] - mass[2:14])),
    }
    found = {
        name: nested_evidence(LEVELS, N_LIVE, estimator=name, shrinkage=shrinkage).value for name in expected
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(math.log(value), rel=1e-12), name
    # The sum from above is the one from below with every mass one step earlier.
    assert found["upper"] - found["lower"] == pytest.approx(-math.log(ratio), rel=1e-10)
    assert expected["lebesgue"] - expected["lower"] == pytest.approx(likelihoods[-1] * mass[13], rel=1e-10)


def test_live_points_fraction_the_mass_that_is_left():
    live = LEVELS[-1] + np.array([0.1, 0.5, 1.0, 2.0])
    found = nested_evidence(LEVELS, N_LIVE, live, estimator="upper")
    dead = nested_evidence(LEVELS, N_LIVE, estimator="upper").value
    expected = logsumexp([dead, logsumexp(live) - math.log(4.0) - 12 / 4])
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert len(found.log_weights) == 16
    assert logsumexp(found.log_weights) == pytest.approx(0.0, abs=1e-12)


def test_runs_side_by_side_are_those_one_by_one():
    rng = np.random.default_rng(2)
    dead, live = np.sort(rng.normal(size=(3, 9)), axis=1), 4.0 + rng.random((3, N_LIVE))
    terms = log_terms(dead, N_LIVE, live, estimator="trapezoid", shrinkage="unbiased")
    for row in range(3):
        alone = nested_evidence(dead[row], N_LIVE, live[row], estimator="trapezoid", shrinkage="unbiased")
        assert logsumexp(terms[row]) == pytest.approx(alone.value, abs=1e-13)


def test_information_of_a_flat_likelihood_is_nothing_and_huge_likelihoods_do_not_overflow():
    flat = nested_evidence(np.zeros(400), 20, np.zeros(20), estimator="upper")
    assert flat.value == pytest.approx(0.0, abs=1e-12)
    assert flat.information == pytest.approx(0.0, abs=1e-9)
    assert flat.standard_error == pytest.approx(0.0, abs=1e-4)
    shifted = nested_evidence(LEVELS - 1.4e6, N_LIVE)
    assert shifted.value + 1.4e6 == pytest.approx(nested_evidence(LEVELS, N_LIVE).value, abs=1e-8)


def test_expectations_are_the_evidence_and_its_reciprocal():
    """Over all pairs of draws of three values."""
    prior, likelihood = np.array([0.5, 0.3, 0.2]), np.array([1e-3, 2e-3, 1e-2])
    evidence = float(prior @ likelihood)
    draws = np.array([(i, j) for i in range(3) for j in range(3)])
    of_prior, of_posterior = (p[draws].prod(axis=1) for p in (prior, prior * likelihood / evidence))
    values = np.log(likelihood)[draws]
    assert of_prior @ np.exp(prior_average(values)) == pytest.approx(evidence, rel=1e-12)
    assert of_posterior @ np.exp(log_reciprocal(values)) == pytest.approx(1.0 / evidence, rel=1e-12)
    assert of_posterior @ np.exp(harmonic_mean(values)) > evidence


def test_replicates_keep_their_shape_and_large_numbers_their_digits():
    numbers = np.arange(1.0, 25.0).reshape(2, 3, 4)
    found = prior_average(-1e6 + np.log(numbers))
    np.testing.assert_allclose(found + 1e6, np.log(numbers.mean(axis=2)), rtol=1e-9)


def test_draws_without_a_likelihood_count_as_zero():
    values = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    assert prior_average(values).tolist() == [-math.log(2.0), -math.inf]
    assert harmonic_mean(values).tolist() == [-math.inf, -math.inf]


def test_it_is_exact_for_linear_means_and_with_variances_for_cubic_ones():
    b = sigmoidal_schedule(5)
    assert thermodynamic_integration(b, 3.0 * b - 2.0).value == pytest.approx(-0.5, abs=1e-14)
    cubic = thermodynamic_integration(b, b**3 + b**2, variances=3.0 * b**2 + 2.0 * b)
    assert cubic.value == pytest.approx(1.0 / 4.0 + 1.0 / 3.0, abs=1e-14)


@pytest.mark.parametrize("model", [FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS])
def test_its_sums_are_the_expectations_of_perfect_annealing(model):
    b = linear_schedule(40)
    means, variances = model.log_likelihood_moments(b)
    found = thermodynamic_integration(b, means, variances=variances)
    forward, reverse = model.annealed_moments(b)
    assert (found.lower, found.upper) == pytest.approx((forward, -reverse), rel=1e-13)
    assert found.lower < model.log_evidence < found.upper


def test_errors_of_the_means_add_up_with_the_weights_of_the_rule():
    b = np.array([0.0, 0.2, 1.0])
    found = thermodynamic_integration(b, np.zeros(3), standard_errors=[1.0, 2.0, 3.0])
    assert found.standard_error == pytest.approx(np.sqrt(0.1**2 + (0.5 * 2.0) ** 2 + (0.4 * 3.0) ** 2))
    assert thermodynamic_integration(b, np.zeros(3)).standard_error == 0.0
