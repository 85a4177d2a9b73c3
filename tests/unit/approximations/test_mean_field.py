"""Mean-field fits of Gaussians and of spins."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from auxmc.approximations.gaussian_mean_field import gaussian_divergence, gaussian_mean_field
from auxmc.approximations.mean_field import (
    MeanFieldFits,
    boltzmann_mean_field,
    distinct_fits,
    negative_free_energy,
)
from experiments.boltzmann.model.data import generate_parameters
from experiments.boltzmann.model.enumeration import exact_moments

MEAN = np.array([0.5, -1.0, 2.0, 0.0])
ROOT = np.array([[1.0, 0.0, 0.0, 0.0], [0.7, 0.8, 0.0, 0.0], [-0.4, 0.3, 1.2, 0.0], [0.2, -0.6, 0.5, 0.4]])
COVARIANCE = ROOT @ ROOT.T


@pytest.mark.parametrize("rho", [-0.5, 0.8, 0.99])
def test_two_coordinates_have_the_known_variance_and_divergence(rho):
    fit = gaussian_mean_field([0.0, 0.0], [[1.0, rho], [rho, 1.0]], [1.0, -2.0], 1500)
    np.testing.assert_allclose(fit.covariance, np.eye(2) * (1.0 - rho**2), rtol=1e-12)
    np.testing.assert_allclose(fit.mean, 0.0, atol=1e-9)
    assert -fit.bounds[-1] == pytest.approx(-0.5 * np.log(1.0 - rho**2), rel=1e-9)


@pytest.mark.parametrize("blocks", [None, [[0, 2], [1, 3]], [[3, 1, 0], [2]]])
def test_the_bound_never_falls_and_the_mean_is_found(blocks):
    fit = gaussian_mean_field(MEAN, COVARIANCE, [3.0, 3.0, -3.0, 3.0], 400, blocks)
    assert np.diff(fit.bounds).min() > -1e-12
    np.testing.assert_allclose(fit.mean, MEAN, atol=1e-8)


@pytest.mark.parametrize("blocks", [[[0, 1, 2, 3]], [[0, 2], [1, 3]]])
def test_blocks_keep_their_own_precision_from_the_first_sweep_on(blocks):
    fit = gaussian_mean_field(MEAN, COVARIANCE, np.zeros(4), 1, blocks)
    precision, own = np.linalg.inv(COVARIANCE), np.zeros((4, 4), bool)
    for block in blocks:
        inside = np.ix_(block, block)
        own[inside] = True
        np.testing.assert_allclose(np.linalg.inv(fit.covariance[inside]), precision[inside], rtol=1e-9)
    assert np.all(fit.covariance[~own] == 0.0)


def test_divergence_is_a_mean_of_log_ratios():
    # Gauss and Hermite's rule is exact for the quadratic log ratio.
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    distribution = np.outer(weights, weights).ravel() / (2.0 * np.pi)
    v, w = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[2.0, -0.4], [-0.4, 0.7]])
    x = np.array([0.2, -0.1]) + grid @ np.linalg.cholesky(v).T
    log_q = stats.multivariate_normal([0.2, -0.1], v).logpdf(x)
    expected = float(distribution @ (log_q - stats.multivariate_normal([-0.5, 0.3], w).logpdf(x)))
    assert gaussian_divergence([0.2, -0.1], v, [-0.5, 0.3], w) == pytest.approx(expected, rel=1e-12)


SMALL = generate_parameters(8, 1)[0]


def _starts(n=40):
    return np.random.default_rng(5).normal(size=(n, SMALL.n_units))


def test_free_energy_has_the_gradient_of_the_descent():
    """d F / d theta_i = (1 - m_i^2) (theta_i - b_i - (W m)_i)."""
    theta = _starts(1)
    means = np.tanh(theta)
    gradient = (1.0 - means**2) * (theta - SMALL.biases - means @ SMALL.weights)
    steps = 1e-6 * np.eye(SMALL.n_units)
    above, below = (negative_free_energy(SMALL.weights, SMALL.biases, theta + s) for s in (steps, -steps))
    np.testing.assert_allclose(-(above - below) / 2e-6, gradient[0], rtol=0.0, atol=1e-8)


def test_converged_fits_are_fixed_points_below_the_log_normaliser_and_no_worse_than_the_published_ones():
    fit = partial(boltzmann_mean_field, SMALL.weights, SMALL.biases, _starts())
    published, converged = fit("published"), fit("converged")
    assert np.max(converged.residual) < 1e-10
    assert np.all(converged.objectives < exact_moments(SMALL).log_normaliser)
    assert np.all(converged.objectives >= published.objectives - 1e-12)
    assert len(distinct_fits(converged).means) <= len(distinct_fits(published).means)


def test_a_machine_without_weights_is_solved_exactly():
    biases = np.array([0.4, -1.0, 0.0])
    starts = np.random.default_rng(0).normal(size=(5, 3))
    fits = boltzmann_mean_field(np.zeros((3, 3)), biases, starts, "converged")
    np.testing.assert_allclose(fits.means, np.tile(np.tanh(biases), (5, 1)), atol=1e-12)
    np.testing.assert_allclose(fits.objectives, np.sum(np.log(2 * np.cosh(biases))), rtol=1e-12)
    assert len(distinct_fits(fits).means) == 1


def test_duplicates_are_dropped_and_the_first_of_each_is_kept():
    means = np.array([[0.0, 0.0], [5e-5, 0.0], [0.5, 0.0], [0.5, 2e-4]])
    kept = distinct_fits(MeanFieldFits(means, np.arange(4.0), np.zeros(4)))
    assert kept.objectives.tolist() == [0.0, 2.0, 3.0]
