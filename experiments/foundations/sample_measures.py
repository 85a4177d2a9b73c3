"""Measured quantities of independent replicates, with their standard errors."""

import math

import numpy as np

from auxmc.numerics.array_types import BooleanArray, FloatArray
from experiments.foundations.topic import Measured


def mean_of(values: FloatArray) -> Measured:
    """Mean of replicates."""
    return Measured(float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size)))


def share_of(flags: BooleanArray) -> Measured:
    """Share of replicates for which something holds."""
    share = float(flags.mean())
    return Measured(share, math.sqrt(share * (1.0 - share) / flags.size))


def quantile_of(values: FloatArray, percent: int) -> Measured:
    """Quantile with its error from order statistics one binomial standard error to either side."""
    level = percent / 100.0
    spread = math.sqrt(level * (1.0 - level) / values.size)
    low, middle, high = np.quantile(values, [max(0.0, level - spread), level, min(1.0, level + spread)])
    return Measured(float(middle), float(high - low) / 2.0)


def distance_from(measured: Measured, exact: float) -> Measured:
    """Distance of a mean from its exact value, in standard errors."""
    return Measured(abs(measured.value - exact) / measured.error)
