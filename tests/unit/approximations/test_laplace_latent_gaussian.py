import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr

from auxmc.approximations.laplace_latent_gaussian import SiteTerms, laplace_mode, reverse_precision_factor
from experiments.gp_probit.special_functions import probit_terms


def _covariance(n_sites, variance=4.0, seed=0):
    points = np.random.default_rng(seed).uniform(-2.0, 2.0, n_sites)
    return variance * np.exp(-0.5 * (points[:, None] - points[None, :]) ** 2) + 1e-8 * np.eye(n_sites)


def _gaussian_sites(observations, precision):
    def site_terms(z):
        residual = observations - z
        log_likelihood = -0.5 * precision * residual**2 + 0.5 * jnp.log(precision / (2.0 * jnp.pi))
        return SiteTerms(log_likelihood, precision * residual, precision * jnp.ones_like(z))

    return site_terms


def _probit_sites(labels):
    def site_terms(z):
        terms = probit_terms(labels * z)
        return SiteTerms(terms.log_cdf, labels * terms.slope, terms.curvature)

    return site_terms


def test_gaussian_sites_give_the_exact_posterior_and_evidence():
    covariance, noise = _covariance(6), 0.5
    y = np.random.default_rng(1).standard_normal(6)
    fit = laplace_mode(jnp.asarray(covariance), _gaussian_sites(jnp.asarray(y), jnp.asarray(1.0 / noise)))
    marginal = covariance + noise * np.eye(6)
    np.testing.assert_allclose(fit.mode, covariance @ np.linalg.solve(marginal, y), rtol=1e-9)
    evidence = -0.5 * (
        y @ np.linalg.solve(marginal, y) + np.linalg.slogdet(marginal)[1] + 6 * np.log(2.0 * np.pi)
    )
    np.testing.assert_allclose(fit.log_marginal, evidence, rtol=1e-10)
    assert int(fit.n_newton) == 2  # one step to the mode, one to see that it stays
    assert bool(fit.converged)


def test_probit_mode_is_the_maximum_found_by_an_optimiser():
    covariance = _covariance(5)
    labels = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    factor = np.linalg.cholesky(covariance)
    found = minimize(
        lambda q: 0.5 * q @ q - log_ndtr(labels * (factor @ q)).sum(), np.zeros(5), options={"gtol": 1e-9}
    )
    fit = laplace_mode(jnp.asarray(covariance), _probit_sites(jnp.asarray(labels)), tolerance=1e-18)
    np.testing.assert_allclose(fit.mode, factor @ found.x, atol=1e-6)
    np.testing.assert_allclose(fit.mode, covariance @ fit.dual, rtol=1e-12)


def test_iteration_stops_at_the_limit_and_says_so():
    labels = jnp.asarray([1.0, -1.0, 1.0])
    fit = laplace_mode(
        jnp.asarray(_covariance(3, 50.0)), _probit_sites(labels), tolerance=1e-30, max_newton=2
    )
    assert int(fit.n_newton) == 2
    assert not bool(fit.converged)


def test_covariance_that_is_not_a_number_is_reported_as_not_converged():
    fit = laplace_mode(jnp.full((3, 3), jnp.nan), _probit_sites(jnp.ones(3)))
    assert int(fit.n_newton) == 1
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
