"""What several topics measure with: rates, extreme points, and points at which identities are checked."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special
from scipy.stats import qmc

from auxmc.numerics.array_types import FloatArray


def largest_size(errors: ArrayLike) -> float:
    """Largest size of any of some numbers."""
    return float(np.max(np.abs(errors)))


def power(x: ArrayLike, y: ArrayLike) -> float:
    """Slope of the log of y over the log of x, by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def points_of_cube(n: int, dim: int) -> FloatArray:
    """Evenly spread points of the unit cube [point, axis], the same for every seed: to check identities at."""
    # Halton's sequence begins with the origin, where logs are infinite.
    return np.asarray(qmc.Halton(dim, scramble=False).random(n + 1)[1:])


def normal_points(n: int, dim: int) -> FloatArray:
    """The same points as quantiles of a standard normal distribution [point, axis]."""
    return np.asarray(special.ndtri(points_of_cube(n, dim)))


def lowest_point(
    function: Callable[[float], ArrayLike], low: float, high: float, tolerance: float
) -> tuple[float, float]:
    """Where a function with one minimum between two ends is lowest, and its value there."""
    found = optimize.minimize_scalar(
        lambda x: float(np.asarray(function(x))),
        bounds=(low, high),
        method="bounded",
        options={"xatol": tolerance},
    )
    return float(found.x), float(found.fun)


def highest_point(
    function: Callable[[FloatArray], FloatArray], grid: FloatArray, width: float
) -> tuple[float, float]:
    """Where a function is highest, searched up to `width` around the best point of a grid, and its value there."""
    start = float(grid[np.argmax(function(grid))])
    x, lowest = lowest_point(lambda x: -function(np.asarray(x)), start - width, start + width, 1e-9)
    return x, -lowest
