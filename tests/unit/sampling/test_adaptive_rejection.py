"""Adaptive rejection: hulls on both sides of the density, their mass, rejection of other densities."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special, stats

from auxmc.sampling.adaptive_rejection import (
    adaptive_rejection_sample,
    chord_bound,
    draw_from_hull,
    log_hull_mass,
    make_hull,
    tangent_bound,
)


def skewed(x):
    """Generalised logistic distribution of exponent 0.4."""
    return np.log(0.4) - 0.4 * x - 1.4 * np.logaddexp(0.0, -x), -0.4 + 1.4 * special.expit(-x)


def normal(x):
    return stats.norm.logpdf(x), -x


def gamma(x):
    return stats.gamma.logpdf(x, 3.0), 2.0 / x - 1.0


TARGETS = {
    "skewed": (skewed, [-3.0, 1.0, 6.0], -np.inf, np.linspace(-12.0, 40.0, 4001)),
    "normal": (normal, [-1.0, 1.5], -np.inf, np.linspace(-8.0, 8.0, 4001)),
    "gamma": (gamma, [1.0, 2.5, 6.0], 0.0, np.linspace(1e-9, 60.0, 8001)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_the_hulls_enclose_the_log_density(name):
    density, start, lower, x = TARGETS[name]
    hull = make_hull(density, start, lower)
    exact = density(x)[0]
    assert np.all(tangent_bound(hull, x) >= exact - 1e-10)
    assert np.all(chord_bound(hull, x) <= exact + 1e-10)
    np.testing.assert_allclose(tangent_bound(hull, start), density(np.array(start))[0], rtol=1e-14)


@pytest.mark.parametrize("name", TARGETS)
def test_the_mass_of_the_hull_is_its_integral_and_falls_towards_that_of_the_density(name):
    density, start, lower, _ = TARGETS[name]
    masses = []
    # Each set of tangents holds the one before.
    more = [*start, *np.linspace(start[0], start[-1], 9)]
    wide = np.linspace(3.0 * start[0] if lower < 0.0 else 0.2 * start[0], 3.0 * start[-1], 80)
    for points in (start, more, [*more, *wide]):
        hull = make_hull(density, points, lower)
        ends = np.clip(hull.ends, hull.points[0] - 150.0, hull.points[-1] + 150.0)
        pieces = [
            integrate.quad(lambda x, h=hull: float(np.exp(tangent_bound(h, x))), a, b, epsabs=1e-12)[0]
            for a, b in pairwise(ends)
        ]
        masses.append(float(np.exp(log_hull_mass(hull))))
        assert masses[-1] == pytest.approx(sum(pieces), rel=1e-8)
    assert masses[0] > masses[1] > masses[2] > 1.0
    assert masses[2] < 1.02


def test_draws_of_a_hull_are_the_inverse_of_its_distribution_function():
    # Laplace's distribution is its own hull: two tangents.
    hull = make_hull(lambda x: (-np.abs(x), -np.sign(x)), [-1.0, 1.0])
    assert log_hull_mass(hull) == pytest.approx(np.log(2.0), rel=1e-12)
    inside = np.linspace(0.0, 1.0 - 1e-9, 201)
    for piece, sign in ((0.25, 1.0), (0.75, -1.0)):
        x = draw_from_hull(hull, np.stack([np.full(201, piece), inside], axis=1))
        np.testing.assert_allclose(x, sign * np.log1p(-inside), rtol=1e-10, atol=1e-12)


def test_flat_and_nearly_flat_pieces_are_drawn_evenly():
    for slope in (0.0, 1e-14, -1e-14):
        hull = make_hull(lambda x, s=slope: (s * x, np.full_like(x, s)), [0.3], 0.0, 1.0)
        u = np.linspace(0.0, 0.999, 50)
        x = np.sort(draw_from_hull(hull, np.stack([u, u], axis=1)))
        np.testing.assert_allclose(x, u if x[0] < 1e-9 else np.sort(1.0 - u), atol=1e-9)
        assert log_hull_mass(hull) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", TARGETS)
def test_proposals_are_soon_accepted_nearly_always(name):
    density, start, lower, _ = TARGETS[name]
    drawn = adaptive_rejection_sample(density, start, 20_000, np.random.default_rng(1), lower)
    assert drawn.positions.shape == (20_000,)
    assert drawn.n_proposals < 20_600
    assert drawn.n_evaluations < 1500
    assert drawn.hull.points.size <= 64
    assert np.exp(log_hull_mass(drawn.hull)) < 1.02


@pytest.mark.parametrize("shift", [-1e6, 1e6])
def test_log_densities_far_from_zero_neither_overflow_nor_change_the_draws(shift):
    rng = lambda: np.random.default_rng(2)
    moved = adaptive_rejection_sample(lambda x: (normal(x)[0] + shift, normal(x)[1]), [-1.0, 1.5], 300, rng())
    plain = adaptive_rejection_sample(normal, [-1.0, 1.5], 300, rng())
    np.testing.assert_allclose(moved.positions, plain.positions, rtol=1e-6)


def test_a_density_with_two_modes_is_rejected():
    def two_modes(x):
        first, second = stats.norm.logpdf(x, -2.0), stats.norm.logpdf(x, 2.0)
        return np.logaddexp(first, second), -x + 2.0 * np.tanh(2.0 * x)

    with pytest.raises(ValueError, match="not log-concave: the slope of its log rises"):
        make_hull(two_modes, [-4.0, -1.0, 1.0, 4.0])
    with pytest.raises(ValueError, match="not log-concave"):
        adaptive_rejection_sample(two_modes, [-4.0, 4.0], 1000, np.random.default_rng(0))


def test_starting_points_that_bound_no_mass_and_values_without_meaning_are_rejected():
    with pytest.raises(ValueError, match="slope at the first point must be positive, got -1 at 1"):
        make_hull(normal, [1.0, 2.0])
    with pytest.raises(ValueError, match="slope at the last point must be negative, got 1 at -1"):
        make_hull(normal, [-2.0, -1.0])
    with pytest.raises(ValueError, match=r"points must lie inside the domain \(0, inf\)"):
        make_hull(gamma, [-1.0, 3.0], 0.0)
    with pytest.raises(ValueError, match=r"points must lie inside the domain \(-inf, inf\), got \[\]"):
        make_hull(normal, [])
    with pytest.raises(ValueError, match="must be finite inside the domain"):
        make_hull(lambda x: (np.full_like(x, np.nan), -x), [-1.0, 1.0])
    with pytest.raises(ValueError, match=r"values and slopes of shape \(2,\), got \(\) and \(2,\)"):
        make_hull(lambda x: (0.0, -x), [-1.0, 1.0])
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        adaptive_rejection_sample(normal, [-1.0, 1.0], 0, np.random.default_rng(0))
