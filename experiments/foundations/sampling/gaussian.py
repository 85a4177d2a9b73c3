"""Correlated normal vectors as a root of the covariance times independent ones."""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.random import standard_normal

__all__ = ["covariance_root", "multivariate_normal"]

# Largest difference of mirrored entries, relative to the largest entry, that counts as rounding.
_ASYMMETRY = 1e-10


def covariance_root(covariance: ArrayLike, kind: Literal["cholesky", "symmetric"] = "cholesky") -> FloatArray:
    """A matrix A with A A^T = C; which of them makes no difference to the distribution of A r.

    Args:
        covariance: C, symmetric and positive definite [dim, dim].
        kind: the lower triangular root of Cholesky, or the symmetric one of the eigenvectors.

    Returns:
        A [dim, dim], float64.

    Raises:
        ValueError: C is not a square matrix, not symmetric, or not positive definite; or kind is unknown.

    Must hold: A A^T is C to rounding.

    Source: lecture slides on Monte Carlo methods, which use the symmetric root.

    >>> covariance_root([[4.0, 0.0], [0.0, 9.0]]).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    matrix = np.asarray(covariance, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"covariance must be a square matrix, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise ValueError("covariance must be finite")
    asymmetry = float(np.max(np.abs(matrix - matrix.T)))
    if asymmetry > _ASYMMETRY * float(np.max(np.abs(matrix))):
        raise ValueError(f"covariance must be symmetric, its mirrored entries differ by {asymmetry:.3g}")
    values, vectors = np.linalg.eigh(matrix)
    # An eigenvalue that rounding alone can make positive is none.
    if not values[0] > len(values) * np.finfo(np.float64).eps * values[-1]:
        raise ValueError(f"covariance must be positive definite, its least eigenvalue is {values[0]:.3g}")
    if kind == "cholesky":
        return np.asarray(np.linalg.cholesky(matrix), np.float64)
    if kind == "symmetric":
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)
    raise ValueError(f"kind must be cholesky or symmetric, got {kind!r}")


def multivariate_normal(key: Array, mean: ArrayLike, covariance: ArrayLike, n: int) -> Array:
    """Draws n normal vectors mu + A r.

    Args:
        key: typed key, scalar.
        mean: mu [dim].
        covariance: [dim, dim].
        n: number of draws.

    Returns:
        Draws [n, dim], float64.

    Raises:
        ValueError: the mean has another length than the covariance; or as in `covariance_root`.

    Must hold: mean and covariance of the draws are those given.

    >>> import jax
    >>> multivariate_normal(jax.random.key(0), [0.0, 1.0], [[1.0, 0.8], [0.8, 1.0]], 5).shape
    (5, 2)
    """
    root = covariance_root(covariance)
    centre = np.asarray(mean, np.float64)
    if centre.shape != (len(root),):
        raise ValueError(f"mean must be [{len(root)}] to go with the covariance, got shape {centre.shape}")
    return jnp.asarray(centre)[None, :] + standard_normal(key, (n, len(root))) @ jnp.asarray(root).T
