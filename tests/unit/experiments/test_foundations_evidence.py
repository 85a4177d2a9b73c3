"""Ideal nested sampling and its exact expectations, and linear Gaussian states."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from auxmc.numerics.random import standard_normal
from experiments.estimator_illustrations.model import FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS
from experiments.foundations.evidence import sequential
from experiments.foundations.evidence.nested import (
    expected_nested_ratio,
    expected_upper_bound_ratio,
    ideal_nested_sampling,
)


@pytest.mark.parametrize(
    ("n_live", "factor", "expected"),
    [
        (10, 10 / 11, 1.458963),
        (10, math.exp(-0.1), 1.222305),
        (100, 100 / 101, 1.041893),
        (100, math.exp(-0.01), 1.020868),
    ],
)
def test_values_on_the_canonical_example(n_live, factor, expected):
    assert expected_nested_ratio(HUNDRED_OBSERVATIONS, n_live, factor) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n_live", [2, 10, 1000])
@pytest.mark.parametrize("model", [FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS._replace(prior_variance=9.0)])
def test_one_less_one_over_the_live_points_is_unbiased(n_live, model):
    assert expected_nested_ratio(model, n_live, 1.0 - 1.0 / n_live) == pytest.approx(1.0, abs=1e-10)


def test_biases_fall_with_the_live_points_and_with_the_factor():
    for factor in (lambda m: m / (m + 1.0), lambda m: math.exp(-1.0 / m)):
        ratios = [expected_nested_ratio(FOUR_OBSERVATIONS, m, factor(m)) for m in (2, 8, 64, 4096)]
        assert ratios == sorted(ratios, reverse=True)
        assert 1.0 < ratios[-1] < 1.001


def test_the_upper_sum_with_true_masses_is_that_of_simulated_runs():
    model, n_live = FOUR_OBSERVATIONS, 3
    found = ideal_nested_sampling(
        np.random.default_rng(4), ndtr, ndtri, model.sample_mean, n_live=n_live, n_dead=60, n_runs=20_000
    )
    shells = -np.diff(found.masses, axis=1, prepend=1.0)
    sums = np.sum(np.exp(model.log_likelihood(found.dead) - model.log_evidence) * shells, axis=1)
    error = sums.std() / math.sqrt(sums.size)
    assert error < 0.01
    assert abs(sums.mean() - expected_upper_bound_ratio(model, n_live)) < 4.0 * error


def test_a_narrow_likelihood_has_the_bound_of_small_masses():
    narrow = HUNDRED_OBSERVATIONS._replace(prior_variance=1e6)
    assert expected_upper_bound_ratio(narrow, 10) == pytest.approx(10.0 / 9.0, abs=1e-9)


CENTRE = 2.0


def runs(n_live=6, n_dead=40, n_runs=300):
    rng = np.random.default_rng(n_live)
    return ideal_nested_sampling(rng, ndtr, ndtri, CENTRE, n_live=n_live, n_dead=n_dead, n_runs=n_runs)


def test_points_die_from_the_outside_and_live_ones_are_inside():
    found = runs()
    distances = np.abs(found.dead - CENTRE)
    assert np.all(np.diff(distances, axis=1) <= 0.0)
    assert np.all(np.abs(found.live - CENTRE) <= distances[:, -1:])
    assert found.dead.shape == found.masses.shape == (300, 40)
    assert found.live.shape == (300, 6)


def test_masses_are_those_of_the_prior_inside_the_contour():
    found = runs()
    distances = np.abs(found.dead - CENTRE)
    np.testing.assert_allclose(found.masses, ndtr(CENTRE + distances) - ndtr(CENTRE - distances), atol=1e-14)
    assert np.all(np.diff(found.masses, axis=1) <= 0.0)
    assert np.all((found.masses > 0.0) & (found.masses <= 1.0))


def test_the_same_generator_gives_the_same_runs():
    for first, second in zip(runs(), runs(), strict=True):
        np.testing.assert_array_equal(first, second)


OTHER = sequential.LinearGaussianStates(-0.4, 1.3, 0.2, 2.5)


def joint(model, n):
    """Covariance of the states and of the observations."""
    variances = [model.initial_variance]
    for _ in range(n - 1):
        variances.append(model.coefficient**2 * variances[-1] + model.state_variance)
    first, second = (
        np.minimum.outer(np.arange(n), np.arange(n)),
        np.abs(np.subtract.outer(np.arange(n), np.arange(n))),
    )
    states = np.array(variances)[first] * model.coefficient**second
    return states, states + model.noise_variance * np.eye(n)


@pytest.mark.parametrize("model", [sequential.TWENTY_STEPS, OTHER])
@pytest.mark.parametrize("n", [1, 2, 20])
def test_filter_and_likelihood_are_those_of_the_joint_gaussian(model, n):
    values = sequential.SINE_OBSERVATIONS[:n]
    states, observed = joint(model, n)
    found = sequential.kalman_filter(model, values)
    exact = stats.multivariate_normal.logpdf(values, np.zeros(n), observed)
    assert found.log_likelihood == pytest.approx(exact, abs=1e-10)
    gain = np.linalg.solve(observed, states[:, -1])
    assert found.mean[-1] == pytest.approx(gain @ values, abs=1e-11)
    assert found.variance[-1] == pytest.approx(states[-1, -1] - gain @ states[:, -1], abs=1e-11)


def test_numbers_of_the_fixture():
    found = sequential.kalman_filter(sequential.TWENTY_STEPS, sequential.SINE_OBSERVATIONS)
    assert found.log_likelihood == pytest.approx(-26.685529062, abs=1e-9)
    assert found.mean[-1] == pytest.approx(0.205585119, abs=1e-9)
    assert found.variance[-1] == pytest.approx(0.346789125, abs=1e-9)


def test_emissions_are_normal_densities_below_their_largest():
    states = jnp.linspace(-3.0, 3.0, 7)
    found = OTHER.log_emission(jnp.asarray(0.4), states)
    np.testing.assert_allclose(found, stats.norm.logpdf(0.4, states, math.sqrt(0.2)), rtol=1e-13)
    assert float(found.max()) <= OTHER.log_largest_likelihood(1)
    assert OTHER.log_largest_likelihood(3) == pytest.approx(3.0 * stats.norm.logpdf(0.0, 0.0, math.sqrt(0.2)))


def test_states_are_maps_of_standard_normal_numbers():
    key = jax.random.key(0)
    normal = np.asarray(standard_normal(key, (5,)))
    states = OTHER.draw_initial(key, 5)
    np.testing.assert_allclose(states, math.sqrt(2.5) * normal, rtol=1e-14)
    np.testing.assert_allclose(
        OTHER.draw_next(key, states), -0.4 * np.asarray(states) + math.sqrt(1.3) * normal, rtol=1e-13
    )
