"""The estimator illustrations: closed forms, quadrature, tiny real runs."""

import decimal
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg, stats
from scipy.special import logsumexp

from auxmc.kernels.streams.stochastic_gradient_chain import ChainNoise, ChainState, stochastic_gradient_chain
from auxmc.models.regression.linear_regression import linear_regression
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import RunContext
from experiments.estimator_illustrations import exact_moves, kernels, nested
from experiments.estimator_illustrations import model as gaussian_mean
from experiments.estimator_illustrations.dynamics import naive_update, stationary_variance
from experiments.estimator_illustrations.model import FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS
from experiments.estimator_illustrations.run import run
from experiments.estimator_illustrations.simple import excess_probabilities, run_simple
from experiments.streaming_evidence.model import rows

STUDY = load_study("estimator_illustrations")
DATA = rows("linear", 60)
TINY = ["preset=smoke", "n_chains=3", "n_draws=1000", "n_batch_draws=100", "batch_rows=[200,2000]"]
TINY += ["n_replicates=20000", "n_runs=100", "n_nested_runs=5"]


def run_tiny(function, folder, *words):
    context = RunContext("estimator_illustrations", 5, folder, "identity", "test")
    return function(STUDY.settings([*TINY, *words]), context)


@pytest.mark.slow
def test_chains_of_the_figures_begin_where_they_are_said_to_and_paths_join_their_states(tmp_path):
    curves = run_tiny(run, tmp_path)["curves"]
    np.testing.assert_array_equal(curves["random_walk_path"].values[0], [-2.0, -2.0])
    np.testing.assert_array_equal(curves["gradient_path"].values[:, 0], [[-3.0, 3.0]] * 2)
    paths, states = curves["leapfrog_path"].values, curves["hmc_states"].values
    assert paths.shape == (20, 11, 2)
    np.testing.assert_array_equal(paths[:, 0], states[:-1])
    moved = np.any(states[1:] != states[:-1], axis=1)
    assert moved.sum() > 5
    np.testing.assert_allclose(paths[moved, -1], states[1:][moved], rtol=1e-12)
    evidence = "design=evidence", "exact_estimators=[ais,adaptive]", "n_live=[2]"
    assert run_tiny(run, tmp_path / "evidence", *evidence)["statistics"]


def test_the_stationary_variance_is_that_of_the_step():
    """The step is linear in the state and the noise: its distribution follows from a discrete Lyapunov equation."""
    step, friction, curvature, variance, correction = 0.7, 0.2, 1.5, 2.0, 0.1
    gradient_of = lambda x, noise: curvature * x + math.sqrt(variance) * noise
    kernel = stochastic_gradient_chain(gradient_of, lambda key: jnp.zeros(1), step, friction, 1, correction)

    def after(numbers):
        position, velocity, normal, gradient = (jnp.asarray(numbers[i : i + 1]) for i in range(4))
        state, _ = kernel.apply(ChainNoise(normal, gradient), ChainState(position, velocity))
        return np.concatenate([state.position, state.velocity])

    columns = np.stack([after(unit) for unit in np.eye(4)], axis=1)
    distribution = linalg.solve_discrete_lyapunov(columns[:, :2], columns[:, 2:] @ columns[:, 2:].T)
    found = stationary_variance(step, friction, curvature, variance, correction)
    assert float(found) == pytest.approx(distribution[0, 0], rel=1e-12)
    message = r"step times curvature must be below 2 \(2 - friction\) = 3.6, got 4"
    with pytest.raises(ValueError, match=message):
        stationary_variance(4.0, 0.2, 1.0)


def test_naive_updates_are_leapfrog_steps_with_noise_at_each_gradient():
    class Units:
        """Gives one unit vector after the other, so that an end holds the coefficients of all draws."""

        number = 0

        def standard_normal(self, shape):
            self.number += 1
            return np.eye(*shape, k=self.number)[0]

    found = naive_update(Units(), np.eye(53)[0], 1.0)
    ends = kernels.trajectories(kernels.correlated(0.0), np.eye(4)[[0, 2]], 0.1, 50)
    np.testing.assert_allclose(found[:2], ends[:, 0], rtol=1e-12)
    # A kick j steps before the end moves the end by sin((50 - j) angle), as far as leapfrog is a rotation.
    starts, steps_left = np.eye(4)[[2] * 50], np.arange(50, 0, -1)
    kicks = kernels.trajectories(kernels.correlated(0.0), starts, 0.1, steps_left)[:, 0]
    np.testing.assert_allclose(found[2:52], -0.1 * kicks * np.r_[0.5, np.ones(49)], rtol=1e-10)
    variance = (found[1] ** 2 + 4.0 * found[2:] @ found[2:]) / (1.0 - found[0] ** 2)
    assert variance == pytest.approx(2.1428, 0.01)


def test_principal_coordinates_are_standardised():
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    rows = np.asarray(kernels.principal_coordinates(np.eye(2), 0.9))
    np.testing.assert_allclose(rows.T @ covariance @ rows, np.eye(2), atol=1e-12)


def test_powers_of_rows_add_up_to_one():
    stages = exact_moves.annealed_stages(DATA, [10] * 6, 8)
    assert [stage.prefix for stage in stages if stage.prefix] == [10, 20, 30, 40, 50, 60]
    assert len(stages) == 48
    for first in range(0, 48, 8):
        powers = np.array([stage.chunk[:10, -1] for stage in stages[first : first + 8]])
        np.testing.assert_allclose(powers.sum(axis=0), 1.0, rtol=1e-12)
        assert (np.diff(powers[:, 0]) > 0.0).all()
    single = exact_moves.whole_stages(DATA[:3], [1, 1, 1])
    assert [stage.n_valid for stage in single] == [1, 1, 1]
    np.testing.assert_array_equal([stage.chunk[0, -1] for stage in single], 1.0)


def test_likelihoods_are_raised_to_the_power_of_their_row():
    parameters = jnp.arange(6.0) / 10.0
    block = jnp.asarray(np.column_stack([DATA[:4], [0.0, 0.5, 1.0, 2.0]]))
    powered = jax.jit(exact_moves.powered_regression().log_likelihood)(parameters, block)
    plain = jax.jit(linear_regression(5).log_likelihood)(parameters, block[:, :-1])
    np.testing.assert_allclose(powered, np.array([0.0, 0.5, 1.0, 2.0]) * np.asarray(plain), rtol=1e-14)


def test_the_compressed_likelihood_is_the_sum_over_rows():
    parameters = jnp.asarray(np.random.default_rng(3).normal(size=6))
    by_row = jax.jit(linear_regression(5).log_likelihood)(parameters, jnp.asarray(DATA))
    found = jax.jit(nested.compressed_log_likelihood(DATA))(parameters)
    assert float(found) == pytest.approx(float(np.asarray(by_row).sum()), rel=1e-12)


def test_sums_of_nested_sampling_are_right_to_rounding():
    assert max(nested.sum_errors(np.random.default_rng(2)).values()) < 1e-10
    with decimal.localcontext() as arithmetic:
        arithmetic.prec = 40
        exact = (decimal.Decimal(10) / 11 - (decimal.Decimal(-1) / 10).exp()) * 200
    assert float(nested.shrinkage_ratios(np.array([10.0]))[0]) == pytest.approx(float(exact), rel=1e-12)


def test_trajectories_on_a_round_gaussian_are_circles_and_may_be_many():
    turns = np.linspace(0.0, 2.0, 300)
    starts = np.tile([1.0, 0.0, 0.0, 1.0], (300, 1))
    ends = kernels.trajectories(kernels.correlated(0.0), starts, turns / 200.0, 200)
    np.testing.assert_allclose(ends[:, 0], np.cos(turns), atol=1e-4)
    np.testing.assert_allclose(ends[:, 1], np.sin(turns), atol=1e-4)
    still = kernels.trajectories(kernels.correlated(0.0), starts[:1], 0.3, 0)
    np.testing.assert_array_equal(still, starts[:1])


def test_slopes_of_the_bent_target_are_those_of_its_energy():
    target = kernels.Bent(np.array([[2.0, 0.3], [0.3, 1.0]]), 0.7)
    phase = np.array([0.4, -1.1, 0.2, 0.6])
    nudges = 1e-6 * np.eye(4)[:2]
    found = (target.energy(phase + nudges) - target.energy(phase - nudges)) / 2e-6
    np.testing.assert_allclose(found, target.slope(phase[:2]), rtol=1e-8)


def test_measures_of_a_series():
    alternating = np.tile([1.0, -1.0], (2, 50))
    np.testing.assert_allclose(kernels.lag_one_autocorrelation(alternating), -1.0)
    _, fractions = excess_probabilities(np.array([0.0, 1.0, 2.5, 3.5]))
    np.testing.assert_array_equal(fractions, [0.75, 0.5, 0.25])


MODELS = (FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS, HUNDRED_OBSERVATIONS._replace(prior_variance=100.0))
GRID = np.linspace(-12.0, 12.0, 400_001)


def test_powers_of_the_reciprocal_likelihood_have_a_mean_below_the_exponent_of_its_tail(tmp_path):
    statistics = run_tiny(run_simple, tmp_path, "design=evidence")["statistics"]
    exponent = float(statistics["reciprocal_tail_exponent"])
    assert exponent == pytest.approx(1.01, rel=1e-12)
    with np.errstate(invalid="ignore"):
        means = HUNDRED_OBSERVATIONS.log_normaliser(1.0 - np.array([0.999, 1.001]) * exponent)
    np.testing.assert_array_equal(np.isfinite(means), [True, False])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("b", [0.0, 0.05, 1.0, 2.0])
def test_normalisers_and_moments_are_those_of_quadrature(model, b):
    grid = GRID * math.sqrt(model.prior_variance)
    values = model.log_likelihood(grid)
    log_density = stats.norm.logpdf(grid, 0.0, math.sqrt(model.prior_variance)) + b * values
    total = logsumexp(log_density)
    assert float(model.log_normaliser(b)) == pytest.approx(total + math.log(grid[1] - grid[0]), abs=1e-9)
    weights = np.exp(log_density - total)
    mean, variance = model.posterior(b)
    assert float(mean) == pytest.approx(weights @ grid, abs=1e-9)
    assert float(variance) == pytest.approx(weights @ np.square(grid - mean), rel=1e-8)
    expected, spread = model.log_likelihood_moments(b)
    assert float(expected) == pytest.approx(weights @ values, rel=1e-9)
    assert float(spread) == pytest.approx(weights @ np.square(values - expected), rel=1e-7)


@pytest.mark.parametrize("model", MODELS)
def test_rows_have_the_statistics_and_their_densities_multiply_to_the_evidence(model):
    rows = model.rows()
    again = gaussian_mean.from_observations(rows)
    assert again.sample_mean == pytest.approx(model.sample_mean, abs=1e-13)
    assert again.sum_of_squares == pytest.approx(model.sum_of_squares, rel=1e-13)
    log_likelihood = stats.norm.logpdf(rows[:, None], np.array([0.3, 2.2])[None, :]).sum(axis=0)
    np.testing.assert_allclose(model.log_likelihood([0.3, 2.2]), log_likelihood, rtol=1e-13)
    predictive, mean, variance = 0.0, 0.0, model.prior_variance
    for row in rows:
        predictive += stats.norm.logpdf(row, mean, math.sqrt(1.0 + variance))
        mean, variance = mean + variance / (1.0 + variance) * (row - mean), variance / (1.0 + variance)
    assert model.log_evidence == pytest.approx(predictive, rel=1e-12)


def test_draws_and_weights_use_the_inverse_temperatures_of_their_steps():
    model, ladder = FOUR_OBSERVATIONS, np.array([0.0, 0.3, 1.0])
    rng = np.random.default_rng(1)
    normals = rng.standard_normal((2, 5))
    mean, variance = model.posterior(ladder)
    for reverse, order, sign in ((False, (0, 1), 1.0), (True, (1, 2), -1.0)):
        draws = [mean[k] + np.sqrt(variance[k]) * normals[place] for place, k in enumerate(order)]
        exact = sign * (0.3 * model.log_likelihood(draws[0]) + 0.7 * model.log_likelihood(draws[1]))
        found = model.annealed_log_weights(np.random.default_rng(1), ladder, 5, reverse=reverse)
        np.testing.assert_allclose(found, exact, rtol=1e-13)
    means, _ = model.log_likelihood_moments(ladder)
    steps = np.array([0.3, 0.7])
    forward, reverse = steps @ means[:2], -steps @ means[1:]
    assert model.annealed_moments(ladder) == pytest.approx((forward, reverse), rel=1e-13)
    assert forward < model.log_evidence < -reverse


def test_the_distribution_of_the_log_evidence_is_that_of_its_two_statistics():
    distribution, n, mean = gaussian_mean.LogEvidenceDistribution(7, 0.8), 7, 0.8
    squares = np.linspace(1e-9, 80.0, 80_001)
    density = stats.chi2.pdf(squares, n - 1)
    for value in (distribution.mean - distribution.sd, distribution.mean + 0.5 * distribution.sd):
        # The other way round: the sum of squares is integrated over, the sample mean has its tail.
        room = -2.0 * value - n * math.log(2.0 * math.pi) - math.log(n + 1.0) - squares
        tail = np.where(room > 0.0, stats.ncx2.sf((n + 1.0) * np.maximum(room, 1e-300), 1, n * mean**2), 1.0)
        assert distribution.cdf(value) == pytest.approx(np.trapezoid(density * tail, squares), abs=1e-6)


def test_moments_of_the_log_evidence_are_those_of_its_distribution():
    distribution = gaussian_mean.LogEvidenceDistribution(7, 0.8)
    grid = distribution.mean + distribution.sd * np.linspace(-14.0, 8.0, 201)
    cdf = np.array([distribution.cdf(value) for value in grid])
    middle, chances = 0.5 * (grid[1:] + grid[:-1]), np.diff(cdf)
    assert chances.sum() == pytest.approx(1.0, abs=1e-6)
    assert middle @ chances == pytest.approx(distribution.mean, abs=3e-3)
    sd = math.sqrt(np.square(middle - distribution.mean) @ chances)
    assert sd == pytest.approx(distribution.sd, rel=3e-3)


def test_range_of_likelihood_over_evidence_is_that_of_the_sample_mean():
    distribution = gaussian_mean.LogEvidenceDistribution(100, 2.0)
    assert distribution.probability_of_range_above(0.0) == pytest.approx(1.0)
    # At the sample mean where a data set has exactly this range.
    sample_mean = 2.05
    model = gaussian_mean.GaussianMean(100, sample_mean, 90.0)
    log_range = model.log_largest_likelihood - model.log_evidence
    assert distribution.probability_of_range_above(log_range) == pytest.approx(stats.norm.sf(0.5), abs=1e-12)


@pytest.mark.parametrize(
    ("fraction", "n_temperatures", "first"),
    [(0.5, 4, 0.0084496), (0.9, 14, 0.0019535), (0.99, 48, 0.00050700)],
)
def test_ladders_keep_the_fraction(fraction, n_temperatures, first):
    log_normaliser = HUNDRED_OBSERVATIONS.log_normaliser
    ladder = gaussian_mean.limit_ladder(lambda b: float(log_normaliser(b)), fraction)
    steps = np.diff(ladder)
    assert ladder[[0, -1]].tolist() == [0.0, 1.0]
    assert np.all(steps > 0.0)
    assert steps.size == n_temperatures
    assert ladder[1] == pytest.approx(first, abs=1e-7)
    log_start, log_middle, log_end = (log_normaliser(ladder[:-1] + n * steps) for n in range(3))
    fractions = np.exp(2.0 * log_middle - log_start - log_end)
    np.testing.assert_allclose(fractions[:-1], fraction, rtol=1e-9)
    assert fractions[-1] >= fraction
    # An easy path is taken at once.
    assert gaussian_mean.limit_ladder(lambda b: 0.1 * b, 0.9).tolist() == [0.0, 1.0]
