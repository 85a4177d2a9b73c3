"""Quadrature on a grid, to compare with: Simpson's rule in each dimension, whose cost grows with a power of them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

__all__ = ["product_simpson", "simpson_rule"]


# Grid points evaluated at once, which bounds the memory.
_CHUNK = 2**18


def simpson_rule(n_panels: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of the composite rule on [0, 1].

    Args:
        n_panels: m, each of three points that neighbours share.

    Returns:
        Points and weights [2 m + 1].

    Must hold: exact for polynomials up to degree 3 and not for degree 4.

    >>> simpson_rule(1)[1].round(6).tolist()
    [0.166667, 0.666667, 0.166667]
    """
    weights = np.full(2 * n_panels + 1, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(0.0, 1.0, weights.size), weights / (6.0 * n_panels)


def product_simpson(function: Callable[[FloatArray], ArrayLike], n_panels: int, dim: int) -> float:
    """Integral of a function over the unit cube by Simpson's rule in every dimension.

    Args:
        function: maps points [point, dim] to values [point].
        n_panels: of the rule in each dimension; the grid has (2 n_panels + 1)^dim points.
        dim: number of dimensions.

    Must hold: the product of one-dimensional rules for a product of functions.

    Source: PhD thesis, section 2.1.1.

    >>> round(product_simpson(lambda x: x[:, 0] * x[:, 1] ** 3, 2, 2), 12)
    0.125
    """
    points, weights = simpson_rule(n_panels)
    shape = (points.size,) * dim
    total, n_points = 0.0, points.size**dim
    for start in range(0, n_points, _CHUNK):
        places = np.stack(np.unravel_index(np.arange(start, min(start + _CHUNK, n_points)), shape), axis=1)
        values = np.asarray(function(points[places]), np.float64)
        total += float(np.sum(values * np.prod(weights[places], axis=1)))
    return total
