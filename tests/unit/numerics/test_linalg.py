import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.numerics.linalg import (
    add_to_diagonal,
    solve_rows,
    squared_distances,
    sum_log_diagonal,
    upper_cholesky,
    upper_gram,
)


def _positive_definite(n_rows, seed=0):
    square = np.random.default_rng(seed).standard_normal((n_rows, n_rows))
    return square @ square.T + n_rows * np.eye(n_rows)


@pytest.mark.parametrize("n_rows", [1, 2, 17])
def test_upper_cholesky_is_the_transposed_lower_factor(n_rows):
    matrix = _positive_definite(n_rows)
    factor = upper_cholesky(jnp.asarray(matrix))
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix).T, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(2.0 * sum_log_diagonal(factor), np.linalg.slogdet(matrix)[1], rtol=1e-12)


def test_upper_cholesky_ignores_the_lower_triangle():
    matrix = _positive_definite(5)
    spoilt = matrix + np.tril(np.full((5, 5), np.nan), -1)
    np.testing.assert_array_equal(upper_cholesky(jnp.asarray(spoilt)), upper_cholesky(jnp.asarray(matrix)))


def test_upper_cholesky_of_an_indefinite_matrix_is_not_a_number():
    assert bool(jnp.any(jnp.isnan(upper_cholesky(jnp.asarray([[1.0, 2.0], [2.0, 1.0]])))))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("shape", [(6,), (1, 6), (4, 6)])
def test_solve_rows_inverts_the_product(transpose, shape):
    factor = np.linalg.cholesky(_positive_definite(6)).T
    rows = np.random.default_rng(1).standard_normal(shape)
    product = rows @ (factor.T if transpose else factor)
    solution = solve_rows(jnp.asarray(factor), jnp.asarray(product), transpose)
    np.testing.assert_allclose(solution, rows, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n_rows", "n_blocks"), [(1, 1), (3, 8), (21, 8), (100, None)])
def test_upper_gram_is_the_product_with_the_transpose(n_rows, n_blocks):
    factor = np.tril(np.random.default_rng(2).standard_normal((n_rows, n_rows)))
    gram = np.triu(upper_gram(jnp.asarray(factor), n_blocks))
    np.testing.assert_allclose(gram, np.triu(factor @ factor.T), rtol=1e-12, atol=1e-13)


def test_add_to_diagonal_changes_nothing_else():
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(add_to_diagonal(jnp.asarray(matrix), 0.5), matrix + 0.5 * np.eye(3))


@pytest.mark.parametrize("n_dims", [1, 9, 40])
def test_squared_distances_agree_with_the_definition(n_dims):
    points = np.random.default_rng(3).standard_normal((11, n_dims))
    expected = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
    distances = squared_distances(jnp.asarray(points))
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.diag(distances), 0.0)
    np.testing.assert_array_equal(distances, distances.T)


def test_squared_distances_survive_one_very_large_coordinate():
    points = np.random.default_rng(4).standard_normal((6, 2))
    large = np.column_stack([points, np.full(6, 1e9)])
    np.testing.assert_array_equal(
        squared_distances(jnp.asarray(large)), squared_distances(jnp.asarray(points))
    )
