"""Triangular factorisations and products that spend no work on the half that is known.

Factors are upper triangular, L^T in place of L, and vectors are rows: in row-major memory this is what LAPACK
reads and writes as a lower triangle and as columns, so no matrix is copied to change its layout.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from jax.flatten_util import ravel_pytree


def as_vector(tree: Any) -> tuple[Array, Callable[[Array], Any]]:
    """A pytree of arrays as one vector, and the map back; a vector is itself."""
    is_vector = getattr(tree, "ndim", None) == 1
    return (tree, lambda vector: vector) if is_vector else ravel_pytree(tree)


def scaled(scale: Array | float, vector: Array) -> Array:
    """A vector [dim] multiplied by a number, by a diagonal [dim], or by a matrix [dim, dim]."""
    return scale @ vector if jnp.ndim(scale) == 2 else scale * vector


def check_lower_triangular(name: str, matrix: Array) -> None:
    """Rejects what is not square and, unless traced, lower triangular: a covariance is no factor (ValueError)."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}")
    if not isinstance(matrix, Tracer) and np.any(np.triu(matrix, 1)):
        got = "got numbers above the diagonal: give jnp.linalg.cholesky(covariance)"
        raise ValueError(f"{name}: expected a lower Cholesky factor, {got}")


def upper_cholesky(matrix: Array) -> Array:
    """Transposed Cholesky factor R, R^T R = matrix, reading the upper triangle [row, row] only; NaN where it fails."""
    return lax.linalg.cholesky(matrix.T, symmetrize_input=False).T


def solve_rows(factor: Array, rows: Array, transpose: bool = False) -> Array:
    """Solves X R = B, or X R^T = B, for an upper triangular R [column, column] and B [column] or [row, column]."""
    right = rows.reshape(-1, rows.shape[-1]).T
    solution = lax.linalg.triangular_solve(factor.T, right, left_side=True, lower=True, transpose_a=transpose)
    return solution.T.reshape(rows.shape)


def upper_gram(factor: Array) -> Array:
    """Upper triangle of L L^T for a lower triangular L [row, row], skipping blocks of zeros.

    Row panel J of the product needs the columns of L up to its own only, and its columns from J on: with eight panels
    23 % of the multiplications of a dense product remain. There are 8 by default, and fewer where they would be
    narrower than 48. Below the diagonal the values are not meaningful.
    """
    n_rows = factor.shape[0]
    n_blocks = max(1, min(8, n_rows // 48))
    edges = [round(block * n_rows / n_blocks) for block in range(n_blocks + 1)]
    panels = []
    for start, stop in pairwise(edges):
        panel = jnp.matmul(factor[start:stop, :stop], factor[start:, :stop].T)
        panels.append(jnp.pad(panel, ((0, 0), (start, 0))))
    return jnp.concatenate(panels, axis=0)


def add_to_diagonal(matrix: Array, value: float) -> Array:
    """Matrix [row, row] with `value` added to each diagonal element."""
    row = lax.broadcasted_iota(jnp.int32, matrix.shape, 0)
    column = lax.broadcasted_iota(jnp.int32, matrix.shape, 1)
    return jnp.where(row == column, matrix + value, matrix)


def sum_log_diagonal(factor: Array) -> Array:
    """Sum of the logs of the diagonal of a triangular factor [row, row]: half the log determinant."""
    return jnp.sum(jnp.log(jnp.diagonal(factor)))


def squared_distances(points: Array) -> Array:
    """Squared Euclidean distances between all pairs of points [point, dim]; symmetric, zero on the diagonal.

    The differences are formed before they are squared. The expansion |a|^2 + |b|^2 - 2 a.b is a little
    faster, but where one coordinate is much larger than the others its rounding error exceeds the distances
    in the others, and covariance matrices made from it lose positive definiteness.

    >>> float(squared_distances(jnp.asarray([[0.0, 1e9], [3.0, 1e9]]))[0, 1])
    9.0
    """
    n_points, n_dims = points.shape

    def accumulate(total: Array, coordinate: Array) -> tuple[Array, None]:
        return total + (coordinate[:, None] - coordinate[None, :]) ** 2, None

    start = jnp.zeros((n_points, n_points), points.dtype)
    # Unrolled, the coordinates are summed in registers in one pass over the matrix.
    total, _ = lax.scan(accumulate, start, points.T, unroll=max(1, min(n_dims, 16)))
    return total
