"""Exact transition matrices: residuals, eigenvalues and stationary distributions of chains known in closed form."""

import numpy as np
import pytest

from auxmc.diagnostics.finite_chains import (
    detailed_balance_residual,
    invariance_residual,
    second_eigenvalue,
    stationary_distribution,
    transition_matrix,
    uniform_cells,
)

DISTRIBUTION = np.array([0.1, 0.2, 0.3, 0.4])


def metropolis_matrix(distribution):
    """Metropolis with a uniform proposal over all states."""
    n = len(distribution)
    matrix = np.minimum(1.0, distribution[None, :] / distribution[:, None]) / n
    np.fill_diagonal(matrix, 0.0)
    return matrix + np.diag(1.0 - matrix.sum(axis=1))


def test_a_metropolis_matrix_is_invariant_and_reversible():
    matrix = metropolis_matrix(DISTRIBUTION)
    assert invariance_residual(matrix, DISTRIBUTION) < 1e-15
    assert detailed_balance_residual(matrix, DISTRIBUTION) < 1e-15
    assert invariance_residual(matrix, DISTRIBUTION[::-1]) > 0.01
    np.testing.assert_allclose(stationary_distribution(matrix), DISTRIBUTION, atol=1e-14)


def test_a_rotation_is_invariant_but_not_reversible():
    matrix = np.roll(np.eye(3), 1, axis=1)
    distribution = np.full(3, 1.0 / 3.0)
    assert invariance_residual(matrix, distribution) == 0.0
    assert detailed_balance_residual(matrix, distribution) == pytest.approx(1.0 / 3.0)
    assert second_eigenvalue(matrix) == pytest.approx(1.0)


def test_boxes_of_uniform_numbers_integrate_comparisons_exactly():
    points, volumes = uniform_cells([[0.2, 0.7, 0.7], [0.5], []])
    assert points.shape == (6, 3)
    assert volumes.sum() == pytest.approx(1.0, abs=1e-15)
    below = (points[:, 0] < 0.7) & (points[:, 1] >= 0.5)
    assert volumes[below].sum() == pytest.approx(0.35, abs=1e-15)
    assert not set(points[:, 0]) & {0.0, 0.2, 0.7, 1.0}


def test_maps_of_states_give_their_matrix():
    matrix = transition_matrix([[0, 0], [1, 1], [1, 0]], [0.2, 0.3, 0.5])
    np.testing.assert_allclose(matrix, [[0.2, 0.8], [0.7, 0.3]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: invariance_residual(np.ones((2, 3)), [0.5, 0.5]), r"must be square.*\(2, 3\)"),
        (lambda: invariance_residual(np.ones((2, 2)), [0.5, 0.5]), "rows that sum to 1"),
        (lambda: second_eigenvalue([[1.5, -0.5], [0.0, 1.0]]), "must hold probabilities"),
        (lambda: detailed_balance_residual(np.eye(2), [1.0]), r"must be probabilities \[2\], got \(1,\)"),
        (lambda: stationary_distribution(np.eye(2)), "several stationary distributions"),
        (lambda: uniform_cells([[1.5]]), r"thresholds must be in \[0, 1\], got \[1.5\]"),
        (lambda: transition_matrix([[0, 2]], [1.0]), "numbers of states from 0 to 1"),
        (lambda: transition_matrix([0, 1], [1.0]), r"ends must be \[map, state\]"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
