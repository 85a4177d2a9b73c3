"""Tests of the closed forms of the Gaussian latent variable model, by linear algebra, quadrature and simulation."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from experiments.gaussian_latent import exact as exact
from experiments.gaussian_latent.model import gaussian_latent_model, simulate_data


@pytest.fixture(scope="module")
def model():
    return gaussian_latent_model(simulate_data(1).observations)


@pytest.fixture(scope="module")
def small_model():
    return gaussian_latent_model([[0.3, -1.0], [1.2, 0.4], [-0.5, 0.8]], sd_latent=0.7, sd_observation=1.5)


def _condition_on_observations(model, component):
    """Mean and covariance of (x, u[0], .., u[M-1]) of one component given y, by brute-force linear algebra."""
    n = model.n_observations
    mixing = np.hstack([np.ones((n, 1)), model.sd_latent * np.eye(n)])
    covariance = mixing @ mixing.T + model.sd_observation**2 * np.eye(n)
    gain = np.linalg.solve(covariance, mixing).T
    return gain @ model.observations[:, component], np.eye(n + 1) - gain @ mixing


def test_posterior_is_the_conditional_of_the_joint_gaussian(model, small_model):
    for case in (model, small_model):
        posterior = exact.exact_posterior(case)
        for component in range(case.dim):
            mean, covariance = _condition_on_observations(case, component)
            assert posterior.mean[component] == pytest.approx(mean[0], rel=1e-10)
            assert posterior.sd == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-10)
    assert exact.exact_posterior(model).sd == pytest.approx(math.sqrt(1.0 / 3.0), rel=1e-12)


def test_auxiliary_marginal_of_one_sample_is_the_conditional_of_the_joint_gaussian(model, small_model):
    for case in (model, small_model):
        for observation in range(case.n_observations):
            mean, covariance = _condition_on_observations(case, 1)
            marginal = exact.auxiliary_marginal(case, 1, observation, 1)
            assert marginal.mean == pytest.approx(mean[1 + observation], rel=1e-9, abs=1e-12)
            assert marginal.sd**2 == pytest.approx(covariance[1 + observation, 1 + observation], rel=1e-10)
    marginal = exact.auxiliary_marginal(model, 1)
    assert marginal.sd**2 == pytest.approx(0.81333, abs=5e-6)
    assert marginal.sd == pytest.approx(0.90185, abs=5e-6)


def test_auxiliary_marginal_of_two_samples_is_what_quadrature_finds():
    # Given y, the distribution of (u1, u2) is proportional to rho(u1) rho(u2) (N(y; sigma u1, 1 + eps^2) + N(y; sigma
    # u2, ..)).
    model = gaussian_latent_model([[1.7]], sd_latent=0.9, sd_observation=0.6)
    grid = np.linspace(-9.0, 9.0, 1201)
    estimate = stats.norm.pdf(1.7, 0.9 * grid, math.hypot(1.0, 0.6))
    joint = stats.norm.pdf(grid)[:, None] * stats.norm.pdf(grid) * (estimate[:, None] + estimate)
    density = joint.sum(axis=1) / joint.sum() / (grid[1] - grid[0])
    marginal = exact.auxiliary_marginal(model, 2)
    np.testing.assert_allclose(marginal.density(grid), density, atol=1e-10)
    weights = density * (grid[1] - grid[0])
    assert marginal.mean == pytest.approx(weights @ grid, rel=1e-9)
    assert marginal.sd == pytest.approx(math.sqrt(weights @ (grid - marginal.mean) ** 2), rel=1e-9)
    np.testing.assert_allclose(marginal.cumulative(grid), np.cumsum(weights) - 0.5 * weights, atol=2e-5)


@pytest.mark.parametrize("n_importance", [1, 8, 32])
def test_moments_of_the_auxiliary_marginal_have_the_general_form(model, n_importance):
    single = exact.auxiliary_marginal(model, 1, 2, 3)
    marginal = exact.auxiliary_marginal(model, n_importance, 2, 3)
    second = (0.8 + 1.0 / 75.0 + single.mean**2) / n_importance + 1.0 - 1.0 / n_importance
    assert marginal.mean == pytest.approx(single.mean / n_importance, rel=1e-12)
    assert marginal.sd**2 + marginal.mean**2 == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize(
    ("scale", "rate"),
    [
        (0.025, 0.9425),
        (0.1, 0.7734),
        (0.2, 0.5672),
        (0.4, 0.2641),
        (0.425, 0.2373),
        (0.6, 0.1063),
        (0.8, 0.0395),
        (1.0, 0.0143),
    ],
)
def test_metropolis_acceptance_has_the_tabulated_values(model, scale, rate):
    assert exact.conditional_precision(model) == 3.5
    assert exact.metropolis_acceptance(scale, 3.5, 10) == pytest.approx(rate, abs=5e-5)


def test_metropolis_acceptance_has_the_tabulated_optima_and_limits():
    assert exact.metropolis_acceptance(0.42819, 3.5, 10) == pytest.approx(0.234, abs=5e-6)
    assert exact.metropolis_acceptance(0.425, 3.0, 10) == pytest.approx(0.2715, abs=5e-5)
    assert exact.metropolis_acceptance(0.4625, 3.0, 10) == pytest.approx(0.234, abs=5e-5)
    assert exact.metropolis_acceptance(0.0, 3.5, 10) == 1.0
    rates = exact.metropolis_acceptance(np.linspace(0.025, 1.0, 40), 3.5, 10)
    assert rates.shape == (40,)
    assert np.all(np.diff(rates) < 0.0)


def test_independence_acceptance_explains_the_published_rate_by_calibrated_data_only(model):
    assert 0.013 < exact.mean_independence_acceptance(model) < 0.040
    plain = gaussian_latent_model(simulate_data(1, "as_stated").observations)
    assert exact.mean_independence_acceptance(plain) < 0.005


def test_independence_acceptance_is_defined_where_all_residuals_are_zero():
    model = gaussian_latent_model(np.ones((2, 2)))
    # Chi-squared distributions with 4 degrees of freedom, one shrunk by 0.8: an integral of elementary functions.
    expected, _ = integrate.quad(lambda q: stats.chi2.pdf(q, 4) * stats.chi2.cdf(0.8 * q, 4), 0.0, 100.0)
    assert exact.independence_acceptance(model, 0.0) == pytest.approx(2.0 * expected, rel=1e-9)


@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (4, 1)])
def test_weights_of_auxiliary_variables_are_what_exact_draws_have(shape):
    """Mean and shares from draws of u given y, with weights from densities of all observations together."""
    case = gaussian_latent_model(np.random.default_rng(6).normal(0.5, 1.5, shape), 0.7, 1.5)
    n, dim = shape
    rng = np.random.default_rng(7)
    within = case.sd_observation**2 * np.eye(n) + 1.0
    log_weights = np.zeros(200_000)
    for component in range(dim):
        y = case.observations[:, component]
        mean, covariance = _condition_on_observations(case, component)
        u = rng.multivariate_normal(mean[1:], covariance[1:, 1:], log_weights.size)
        log_weights += stats.multivariate_normal(cov=within).logpdf(y - case.sd_latent * u)
        log_weights -= stats.multivariate_normal(cov=within + case.sd_latent**2 * np.eye(n)).logpdf(y)
    weights = np.exp(log_weights)
    error = weights.std() / math.sqrt(weights.size)
    assert exact.mean_marginal_weight(case) == pytest.approx(weights.mean(), abs=5.0 * error)
    for weight in np.quantile(weights, [0.1, 0.5, 0.9, 0.99]):
        fraction = float(np.mean(weights > weight))
        assert exact.holding_fraction(case, weight) == pytest.approx(fraction, abs=0.006)
    assert exact.holding_fraction(case, 1e-12) == pytest.approx(1.0, abs=1e-9)


def test_time_of_long_chains_is_spent_in_heavy_weights(model):
    """Weights above w hold at most 1 / w of fresh auxiliary variables, but far more of the stationary ones."""
    rate = exact.mean_independence_acceptance(model)
    assert exact.mean_marginal_weight(model) > 10.0 / rate
    assert exact.holding_fraction(model, 1e4) > 0.01
    # Beyond the largest weight, that of latent variables equal to the observations.
    assert exact.holding_fraction(model, 1e15) == 0.0
