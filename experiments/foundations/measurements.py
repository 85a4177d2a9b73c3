"""What several topics measure with: independent replicates and their standard errors, rates, and extreme points."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special
from scipy.stats import qmc

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import (
    distance_from_exact,
    distance_in_errors,
    mean_over_replicates,
    median_over_replicates,
    quantile_over_replicates,
    share_of_trials,
)


def mean_of(values: FloatArray) -> Measurement:
    """Mean of replicates."""
    return mean_over_replicates(values)


def median_of(values: FloatArray) -> Measurement:
    """Median of replicates."""
    return median_over_replicates(values)


def distance(values: FloatArray, expected: float) -> Measurement:
    """Distance of a mean over replicates [replicate] from its expectation, in standard errors."""
    return distance_from_exact(values, expected)


def share_of(flags: BooleanArray) -> Measurement:
    """Share of replicates for which something holds."""
    return share_of_trials(float(flags.mean()), flags.size)


def quantile_of(values: FloatArray, percent: int) -> Measurement:
    """Quantile of replicates."""
    return quantile_over_replicates(values, percent / 100.0)


def distance_from(measured: Measurement, exact: float) -> Measurement:
    """Distance of a measurement from its exact value, in standard errors."""
    return distance_in_errors(measured, exact)


def largest(errors: ArrayLike) -> float:
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
    """The same points as quantiles of a standard normal law [point, axis]."""
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
