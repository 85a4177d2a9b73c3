"""Mean-field fits: gradient, fixed points, bounds, duplicates."""

import numpy as np
import pytest

from auxmc.approximations.mean_field import (
    MeanFieldFits,
    boltzmann_mean_field,
    distinct_fits,
    negative_free_energy,
)
from experiments.boltzmann.model.data import generate_parameters
from experiments.boltzmann.model.enumeration import exact_moments

SMALL = generate_parameters(8, 1)[0]


def _starts(n=40):
    return np.random.default_rng(5).normal(size=(n, SMALL.n_units))


def test_free_energy_has_the_gradient_of_the_descent():
    """d F / d theta_i = (1 - m_i^2) (theta_i - b_i - (W m)_i)."""
    theta = _starts(1)
    means = np.tanh(theta)
    gradient = (1.0 - means**2) * (theta - SMALL.biases - means @ SMALL.weights)
    h = 1e-6
    for i in range(SMALL.n_units):
        step = h * np.eye(SMALL.n_units)[i]
        above, below = (negative_free_energy(SMALL.weights, SMALL.biases, theta + s) for s in (step, -step))
        assert -(above - below)[0] / (2 * h) == pytest.approx(gradient[0, i], abs=1e-8)


def test_objectives_are_lower_bounds_on_the_log_normaliser():
    fits = boltzmann_mean_field(SMALL.weights, SMALL.biases, _starts(), "converged")
    assert np.all(fits.objectives < exact_moments(SMALL).log_normaliser)


def test_converged_fits_are_fixed_points_and_no_worse_than_the_published_ones():
    published = boltzmann_mean_field(SMALL.weights, SMALL.biases, _starts(), "published")
    converged = boltzmann_mean_field(SMALL.weights, SMALL.biases, _starts(), "converged")
    assert np.max(converged.residual) < 1e-10
    assert np.all(converged.objectives >= published.objectives - 1e-12)
    assert len(distinct_fits(converged).means) <= len(distinct_fits(published).means)


def test_a_machine_without_weights_is_solved_exactly():
    biases = np.array([0.4, -1.0, 0.0])
    fits = boltzmann_mean_field(
        np.zeros((3, 3)), biases, np.random.default_rng(0).normal(size=(5, 3)), "converged"
    )
    np.testing.assert_allclose(fits.means, np.tile(np.tanh(biases), (5, 1)), atol=1e-12)
    np.testing.assert_allclose(fits.objectives, np.sum(np.log(2 * np.cosh(biases))), rtol=1e-12)
    assert len(distinct_fits(fits).means) == 1


def test_duplicates_are_dropped_and_the_first_of_each_is_kept():
    means = np.array([[0.0, 0.0], [5e-5, 0.0], [0.5, 0.0], [0.5, 2e-4]])
    kept = distinct_fits(MeanFieldFits(means, np.arange(4.0), np.zeros(4)))
    assert kept.objectives.tolist() == [0.0, 2.0, 3.0]


def test_unknown_variants_are_rejected():
    with pytest.raises(ValueError, match="variant must be one of published, converged, got 'best'"):
        boltzmann_mean_field(SMALL.weights, SMALL.biases, _starts(), "best")
