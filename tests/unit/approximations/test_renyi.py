"""Renyi divergences of Gaussians, where closed forms exist, and fits to a mixture."""

import math

import numpy as np
import pytest

from auxmc.approximations.renyi import (
    fit_gaussian,
    gaussian_log_density,
    match_renyi_moments,
    renyi_bound,
    renyi_divergence,
)

POINTS = np.linspace(-60.0, 60.0, 12_001)
LOG_P = gaussian_log_density(POINTS, 0.5, 1.0)
LOG_Q = gaussian_log_density(POINTS, -1.0, 1.5)


def closed_form(order):
    """D_order of N(0.5, 1) from N(-1, 1.5^2)."""
    variance = (1.0 - order) * 1.0 + order * 2.25
    if order == 1.0:
        return math.log(1.5) + (1.0 + 2.25) / (2.0 * 2.25) - 0.5
    return math.log(1.5) + math.log(2.25 / variance) / (2.0 * (order - 1.0)) + 0.5 * order * 1.5**2 / variance


@pytest.mark.parametrize("order", [0.1, 0.5, 0.9, 1.0, 1.5, 3.0])
def test_divergences_of_gaussians_have_their_closed_form(order):
    assert renyi_divergence(POINTS, LOG_P, LOG_Q, order) == pytest.approx(closed_form(order), rel=1e-10)


def test_the_bound_is_the_log_normaliser_minus_the_divergence_and_falls_in_the_order():
    log_z = 2.5
    orders = [-0.5, 0.0, 0.3, 0.9, 1.0, 1.3]
    bounds = [renyi_bound(POINTS, LOG_P + log_z, LOG_Q, order) for order in orders]
    assert np.all(np.diff(bounds) < 0.0)
    assert bounds[0] > log_z > bounds[2]
    assert bounds[1] == pytest.approx(log_z, abs=1e-12)
    for order, bound in zip(orders[2:], bounds[2:], strict=True):
        divergence = renyi_divergence(POINTS, LOG_Q, LOG_P, order)
        assert bound == pytest.approx(log_z - divergence, abs=1e-10)


def test_integrals_that_diverge_are_infinite():
    # q^a p^(1 - a) with the broader q first grows without end above the order 1.8.
    assert renyi_divergence(POINTS, LOG_Q, LOG_P, 2.5) == math.inf
    assert renyi_bound(POINTS, LOG_P, LOG_Q, 2.5) == -math.inf


def test_a_grid_that_is_too_narrow_is_rejected():
    narrow = np.linspace(-2.0, 2.0, 101)
    log_p = gaussian_log_density(narrow, 0.0, 1.0)
    with pytest.raises(ValueError, match="widen it"):
        renyi_divergence(narrow, log_p, gaussian_log_density(narrow, 0.0, 2.0), 0.5)


def test_a_gaussian_is_fitted_by_itself_under_every_order():
    for order in (0.5, 1.0):
        divergence = lambda q, order=order: renyi_divergence(POINTS, LOG_P, q, order)
        fit = fit_gaussian(POINTS, divergence, [(2.0, 3.0)])
        assert (fit.mean, fit.sd) == pytest.approx((0.5, 1.0), abs=1e-6)
        assert fit.objective == pytest.approx(0.0, abs=1e-10)


def test_several_minima_are_found_and_the_best_is_first():
    log_p = np.logaddexp(
        math.log(0.3) + gaussian_log_density(POINTS, -5.0, 0.3),
        math.log(0.7) + gaussian_log_density(POINTS, 3.0, 1.0),
    )
    divergence = lambda q: renyi_divergence(POINTS, q, log_p, 1.0)
    fit = fit_gaussian(POINTS, divergence, [(-5.0, 0.3), (3.0, 1.0), (2.5, 0.8)])
    assert fit.mean == pytest.approx(3.0, abs=0.01)
    assert fit.objective == pytest.approx(-math.log(0.7), abs=0.01)
    assert len(fit.local) == 1
    assert fit.local[0][0] == pytest.approx(-5.0, abs=0.01)
    assert fit.local[0][2] == pytest.approx(-math.log(0.3), abs=0.01)


def _normals(n, dim):
    noise = np.random.default_rng(1).normal(size=(n, dim))
    return np.concatenate([noise, -noise])


@pytest.mark.parametrize("order", [0.2, 0.5])
def test_matched_moments_minimise_the_divergence_that_quadrature_finds(order):
    log_density = lambda x: np.logaddexp(-0.5 * (x + 1.5) ** 2, math.log(0.5) - 0.5 * (x - 2.0) ** 2)
    log_p = log_density(POINTS)
    log_z = float(np.log(np.sum(np.exp(log_p)) * (POINTS[1] - POINTS[0])))
    best = fit_gaussian(POINTS, lambda q: renyi_divergence(POINTS, q, log_p - log_z, order), [(0.0, 2.0)])
    # A second direction is a Gaussian of its own.
    joint = lambda x: log_density(x[:, 0]) - 2.0 * (x[:, 1] - 3.0) ** 2
    begin = np.zeros(2), 4.0 * np.eye(2)
    mean, covariance, bound = match_renyi_moments(joint, *begin, order, _normals(20_000, 2))
    np.testing.assert_allclose(mean, [best.mean, 3.0], atol=0.05)
    np.testing.assert_allclose(covariance, np.diag([best.sd**2, 0.25]), rtol=0.06, atol=0.05)
    assert bound == pytest.approx(log_z - best.objective + 0.5 * math.log(0.5 * math.pi), abs=0.02)
