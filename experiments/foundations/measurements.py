"""What several topics measure with: distances from known values, rates, extreme points, and points to check at."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats
from scipy.stats import qmc

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, standard_error


def spread(values: FloatArray) -> Measurement:
    """Standard deviation of many independent values, with the error from their fourth moment."""
    sd = float(values.std(ddof=1))
    # The delta method: the error of a root is that of the square over twice the root.
    return Measurement(sd, standard_error((values - values.mean()) ** 2) / (2.0 * sd))


def distance_from_distribution(levels: FloatArray) -> Measurement:
    """Kolmogorov's distance of a sample from a distribution, from its distribution function at many draws [draw]."""
    distance = stats.kstest(levels, "uniform").statistic
    sd = math.sqrt(math.pi**2 / 12.0 - math.pi / 2.0 * math.log(2.0) ** 2)
    return Measurement(float(distance), sd / math.sqrt(levels.size))


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
    search = {"bounds": (low, high), "method": "bounded", "options": {"xatol": tolerance}}
    found = optimize.minimize_scalar(lambda x: float(np.asarray(function(x))), **search)
    return float(found.x), float(found.fun)


def highest_value(function: Callable[[FloatArray], FloatArray], grid: FloatArray, width: float) -> float:
    """Largest value of a function, searched up to `width` around the best point of a grid."""
    start = float(grid[np.argmax(function(grid))])
    return -lowest_point(lambda x: -function(np.asarray(x)), start - width, start + width, 1e-9)[1]
