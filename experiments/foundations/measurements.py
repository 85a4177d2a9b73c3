"""What several topics measure with: independent replicates and their standard errors, rates, and extreme points."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import mean_over_replicates


def mean_of(values: FloatArray) -> Measurement:
    """Mean of replicates."""
    return Measurement(float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size)))


def median_of(values: FloatArray, sd: float) -> Measurement:
    """Median of nearly normal replicates of a standard deviation: its error is 1.25 times that of a mean."""
    return Measurement(float(np.median(values)), 1.2533 * sd / math.sqrt(values.size))


def share_of(flags: BooleanArray) -> Measurement:
    """Share of replicates for which something holds."""
    share = float(flags.mean())
    return Measurement(share, math.sqrt(share * (1.0 - share) / flags.size))


def quantile_of(values: FloatArray, percent: int) -> Measurement:
    """Quantile with its error from order statistics one binomial standard error to either side."""
    level = percent / 100.0
    spread = math.sqrt(level * (1.0 - level) / values.size)
    low, middle, high = np.quantile(values, [max(0.0, level - spread), level, min(1.0, level + spread)])
    return Measurement(float(middle), float(high - low) / 2.0)


def distance_from(measured: Measurement, exact: float) -> float:
    """Distance of a mean from its exact value, in standard errors."""
    return abs(measured.value - exact) / measured.error


def distance(values: FloatArray, expected: float) -> float:
    """Distance of a mean over replicates [replicate] from its expectation, in standard errors widened for few."""
    return distance_from(mean_over_replicates(values), expected)


def largest(errors: ArrayLike) -> float:
    """Largest size of any of some numbers."""
    return float(np.max(np.abs(errors)))


def power(x: ArrayLike, y: ArrayLike) -> float:
    """Slope of the log of y over the log of x, by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


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
