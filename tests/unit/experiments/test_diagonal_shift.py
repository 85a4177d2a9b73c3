"""The smallest diagonal shift: feasible, optimal in known cases, better than a multiple of the identity."""

import numpy as np
import pytest

from experiments.boltzmann.model.diagonal_shift import smallest_diagonal_shift


def test_shift_of_an_ising_pair_and_of_a_diagonal_matrix():
    np.testing.assert_allclose(smallest_diagonal_shift([[0.0, -3.0], [-3.0, 0.0]]), [3.0, 3.0], atol=1e-6)
    # The least diagonal that is not negative has all eigenvalues zero.
    np.testing.assert_allclose(
        smallest_diagonal_shift(np.diag([1.0, -2.0, 5.0])), [-1.0, 2.0, -5.0], atol=1e-6
    )


@pytest.mark.parametrize("n", [3, 8, 15])
def test_shifted_matrix_is_positive_semi_definite_and_no_other_diagonal_is_better(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n))
    a = a + a.T
    np.fill_diagonal(a, 0.0)
    shift = smallest_diagonal_shift(a)
    eigenvalues = np.linalg.eigvalsh(a + np.diag(shift))
    assert eigenvalues[0] >= -1e-9
    plain = np.linalg.eigvalsh(a)
    assert eigenvalues[-1] <= plain[-1] - plain[0] + 1e-6
    for _ in range(200):
        other = shift + 0.1 * rng.normal(size=n)
        moved = np.linalg.eigvalsh(a + np.diag(other))
        # Made feasible by the smallest multiple of the identity.
        assert moved[-1] - min(moved[0], 0.0) >= eigenvalues[-1] - 1e-6


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros(3)])
def test_other_matrices_are_rejected(matrix):
    with pytest.raises(ValueError, match="square and symmetric"):
        smallest_diagonal_shift(matrix)
