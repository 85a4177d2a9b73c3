"""Laplace's approximation: densities, evidence of rows, latent Gaussian variables."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal

from auxmc.approximations.laplace_density import laplace_density
from auxmc.approximations.laplace_evidence import laplace_evidence, prior_starts
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import row_model
from experiments.gp_probit.laplace_latent_gaussian import SiteTerms, laplace_mode, reverse_precision_factor
from experiments.gp_probit.special_functions import probit_terms
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence, tempered_posterior


def test_a_gaussian_is_its_own_approximation():
    precision = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    mode = jnp.array([1.0, -3.0])
    fit = laplace_density(lambda x: 1.5 - 0.5 * (x - mode) @ precision @ (x - mode), np.zeros(2))
    np.testing.assert_allclose(fit.mode, mode, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(precision), rtol=1e-10)
    expected = 1.5 + np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
    assert fit.log_normaliser == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("start", [-20.0, 0.0, 30.0])
def test_the_published_numbers_from_any_start(start):
    """Of the generalised logistic distribution with exponent 0.4."""
    fit = laplace_density(lambda x: jnp.log(0.4) - 0.4 * x[0] - 1.4 * jnp.log1p(jnp.exp(-x[0])), [start])
    assert float(fit.mode[0]) == pytest.approx(0.916291, abs=1e-6)
    assert float(fit.hessian[0, 0]) == pytest.approx(-0.285714, abs=1e-6)
    assert fit.log_density == pytest.approx(-1.753868, abs=1e-6)
    assert np.exp(fit.log_normaliser) == pytest.approx(0.811762, abs=1e-6)


def test_newton_goes_up_where_the_density_is_not_concave():
    fit = laplace_density(lambda x: -jnp.log1p(x[0] ** 2), [5.0])
    assert float(fit.mode[0]) == pytest.approx(0.0, abs=1e-9)


LINEAR = linear_regression(5)
DATA = rows("linear", 300)
KEY = jax.random.key(1)


def test_the_evidence_of_a_linear_model_is_exact():
    exact = linear_log_evidence(DATA)
    starts = np.random.default_rng(1).normal(size=(3, 6))
    found = laplace_evidence(LINEAR, DATA, starts, 2000, KEY, block_rows=128)
    # The posterior is normal: Laplace's approximation is exact, and the mode and covariance are known.
    assert found.laplace == pytest.approx(exact, abs=1e-7)
    assert abs(found.log_evidence - exact) < 6.0 * found.standard_error < 0.03
    assert found.relative_size > 0.95
    mean, covariance = tempered_posterior(DATA, np.ones(300))
    np.testing.assert_allclose(found.mode, mean, atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-12)
    assert (found.n_better, found.n_near, found.n_not_finite) == (0, 0, 0)


def test_a_softmax_model_meets_the_reference():
    data = rows("softmax", 1000)
    found = laplace_evidence(softmax_regression(10, 4), data, np.zeros((1, 44)), 1000, KEY)
    # The reference has a standard error of 0.05.
    assert abs(found.log_evidence + 654.738476) < 6.0 * (0.0518 + found.standard_error) < 1.0
    assert found.relative_size > 0.3


def test_a_mixture_may_be_relabelled():
    data = rows("mixture_separated", 1000)
    model = gaussian_mixture(5, weight_coordinates="log_ratio")
    start = np.concatenate(
        [
            np.log(np.array([0.30, 0.25, 0.20, 0.15]) / 0.10),
            np.array([(0.0, 0.0), (2.5, 1.5), (-2.0, 2.0), (-2.0, -2.0), (2.0, -2.5)]).ravel(),
            2.0 * np.log([(0.6, 0.8), (0.5, 0.7), (0.8, 0.5), (0.6, 0.6), (0.9, 0.7)]).ravel(),
        ]
    )
    # The first two components are exchanged: their weights, means and scales.
    relabelled = start[[1, 0, 2, 3, 6, 7, 4, 5, *range(8, 14), 16, 17, 14, 15, *range(18, 24)]]
    found = laplace_evidence(model, data, np.stack([start, relabelled]), 500, KEY, math.factorial(5))
    np.testing.assert_allclose(found.log_densities, found.log_densities[0], atol=1e-5)
    assert (found.n_better, found.n_near) == (0, 0)
    # The reference has a standard error of 0.03.
    assert abs(found.log_evidence + 3561.643078) < 6.0 * (0.029 + found.standard_error) < 0.5


def prior_alone(log_prior):
    """A model of one parameter whose rows say nothing."""
    log_likelihood = lambda parameters, rows: jnp.zeros(rows.shape[0]) * parameters[0]
    draw = lambda key: 3.0 * jax.random.normal(key, (1,), dtype=jnp.float64)
    return row_model(1, 1, log_likelihood, lambda parameters: log_prior(parameters[0]), draw)


def two_peaks(height):
    """Peaks at -3 and 3, the right one higher."""
    return prior_alone(lambda x: jnp.logaddexp(-8.0 * (x + 3.0) ** 2, height - 8.0 * (x - 3.0) ** 2))


@pytest.mark.parametrize(("height", "n_near"), [(2.0, 1), (9.0, 0)])
def test_other_optima_are_counted(height, n_near):
    model = two_peaks(height)
    found = laplace_evidence(model, np.zeros((2, 1)), np.array([[-2.5], [3.3], [2.6], [-3.1]]), 2000, KEY)
    assert found.mode[0] == pytest.approx(3.0, abs=1e-4)
    assert (found.n_better, found.n_near) == (1, n_near)
    np.testing.assert_allclose(found.optima[:, 0], [3.0, 3.0, -3.0, -3.0], atol=1e-3)
    highest = integrate.quad(lambda x: float(np.exp(height - 8.0 * (x - 3.0) ** 2)), -1.0, 7.0)[0]
    assert abs(found.log_evidence - math.log(highest)) < 6.0 * found.standard_error < 0.05


def test_copies_are_added():
    model = two_peaks(0.0)
    found = laplace_evidence(model, np.zeros((2, 1)), np.array([[-2.5], [3.3]]), 2000, KEY, n_copies=2)
    everything = 2.0 * math.sqrt(2.0 * math.pi / 16.0)
    assert abs(found.log_evidence - math.log(everything)) < 6.0 * found.standard_error < 0.05
    assert found.laplace == pytest.approx(math.log(everything), abs=1e-6)
    assert (found.n_better, found.n_near) == (0, 0)


def test_starts_from_the_prior_are_likely_ones():
    starts = prior_starts(LINEAR, DATA, KEY, n_starts=5, n_candidates=100, n_rows=50)
    likely = jax.vmap(lambda p: jnp.sum(LINEAR.log_likelihood(p, jnp.asarray(DATA))))
    draws = jax.vmap(LINEAR.draw_prior)(jax.random.split(jax.random.key(9), 100))
    assert starts.shape == (5, 6)
    assert float(jnp.min(likely(jnp.asarray(starts)))) > float(jnp.median(likely(draws)))


def test_a_density_without_a_peak_is_rejected():
    zero = np.zeros((1, 1))
    with pytest.raises(ValueError, match="is not positive definite"):
        laplace_evidence(prior_alone(lambda x: 1e-3 * x**2), zero, zero, n_draws=10, key=KEY)


def _covariance(n_sites, variance=4.0):
    points = np.random.default_rng(0).uniform(-2.0, 2.0, n_sites)
    return variance * np.exp(-0.5 * (points[:, None] - points[None, :]) ** 2) + 1e-8 * np.eye(n_sites)


def _probit_sites(labels):
    def site_terms(z):
        terms = probit_terms(labels * z)
        return SiteTerms(terms.log_cdf, labels * terms.slope, terms.curvature)

    return site_terms


def test_gaussian_sites_give_the_exact_posterior_and_evidence():
    covariance, noise = _covariance(6), 0.5
    y = np.random.default_rng(1).standard_normal(6)

    def site_terms(z):
        log_likelihood = jax.scipy.stats.norm.logpdf(y, z, math.sqrt(noise))
        return SiteTerms(log_likelihood, (y - z) / noise, jnp.full(6, 1.0 / noise))

    fit = laplace_mode(jnp.asarray(covariance), site_terms)
    marginal = covariance + noise * np.eye(6)
    np.testing.assert_allclose(fit.mode, covariance @ np.linalg.solve(marginal, y), rtol=1e-9)
    evidence = multivariate_normal(np.zeros(6), marginal).logpdf(y)
    np.testing.assert_allclose(fit.log_marginal, evidence, rtol=1e-10)
    assert int(fit.n_newton) == 2  # one step to the mode, one to see that it stays
    assert bool(fit.converged)


def test_probit_mode_is_the_maximum_found_by_an_optimiser():
    covariance = _covariance(5)
    labels = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    factor = np.linalg.cholesky(covariance)
    loss = lambda q: 0.5 * q @ q - log_ndtr(labels * (factor @ q)).sum()
    found = minimize(loss, np.zeros(5), options={"gtol": 1e-9})
    fit = laplace_mode(jnp.asarray(covariance), _probit_sites(jnp.asarray(labels)), tolerance=1e-18)
    np.testing.assert_allclose(fit.mode, factor @ found.x, atol=1e-6)
    np.testing.assert_allclose(fit.mode, covariance @ fit.dual, rtol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "n_newton"),
    [(_covariance(3, 50.0), 2), (np.full((3, 3), np.nan), 1)],
    ids=["cut off", "not a number"],
)
def test_a_search_without_an_end_says_so(covariance, n_newton):
    labels = jnp.asarray([1.0, -1.0, 1.0])
    fit = laplace_mode(jnp.asarray(covariance), _probit_sites(labels), tolerance=1e-30, max_newton=2)
    assert int(fit.n_newton) == n_newton
    assert not bool(fit.converged)


@pytest.mark.parametrize("n_sites", [1, 4, 30])
def test_reverse_factor_gives_the_lower_cholesky_factor_of_the_posterior_covariance(n_sites):
    # Well conditioned, so that the dense formula is accurate as well.
    covariance = _covariance(n_sites) + 0.1 * np.eye(n_sites)
    curvature = np.random.default_rng(2).uniform(0.0, 1.0, n_sites)
    prior = np.linalg.cholesky(covariance)
    reverse = reverse_precision_factor(jnp.asarray(prior.T), jnp.asarray(curvature))
    upper = np.asarray(reverse).T[::-1, ::-1]
    np.testing.assert_array_equal(upper, np.triu(upper))
    factor = prior @ np.linalg.inv(upper).T
    posterior = np.linalg.inv(np.linalg.inv(covariance) + np.diag(curvature))
    np.testing.assert_allclose(factor, np.linalg.cholesky(posterior), rtol=1e-8, atol=1e-10)
