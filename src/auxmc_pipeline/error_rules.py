"""Monte Carlo errors of what studies measure from independent replicates: medians, ratios, shares."""

import math

import numpy as np

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.claims import Measurement, few_replicates

__all__ = ["median_over_replicates", "ratio_of_means", "share_of_replicates"]


def median_over_replicates(values: FloatArray, note: str = "") -> Measurement:
    """Median of replicates, with the standard error that it has under a normal law, widened for few.

    Args:
        values: of independent runs or chains [replicate].
        note: as in Measurement; of a single replicate, whose error is NaN, "one run" where it is empty.
    """
    if values.size < 2:
        return Measurement(float(np.median(values)), math.nan, note or "one run")
    spread = float(np.std(values, ddof=1)) / math.sqrt(values.size) * math.sqrt(math.pi / 2.0)
    return Measurement(float(np.median(values)), spread * few_replicates(values.size), note)


def ratio_of_means(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of two means with its standard error by the delta method, widened for few replicates.

    Args:
        above: independent replicates of the numerator [replicate].
        below: of the denominator, independent of the others and maybe of another number [replicate].
        note: as in Measurement.

    Returns:
        A mean of one replicate counts as exact beside one of several; the error is NaN where both have one.

    >>> [round(number, 2) for number in ratio_of_means(np.array([3.9, 4.1]), np.array([2.0]))[:2]]
    [2.0, 0.35]
    """
    value = float(above.mean() / below.mean())
    several = [values for values in (above, below) if values.size > 1]
    square = 0.0
    for values in several:
        relative = float(np.std(values, ddof=1)) / (abs(float(values.mean())) * math.sqrt(values.size))
        square += (relative * few_replicates(values.size)) ** 2
    return Measurement(value, abs(value) * math.sqrt(square) if several else math.nan, note)


def share_of_replicates(holds: BooleanArray, note: str = "", *, exact: bool = False) -> Measurement:
    """Share of replicates of which something holds, with the standard error of a share.

    Args:
        holds: whether it does [replicate].
        note: is written behind their number.
        exact: whether the replicates are all there is, so that the share has no error.

    >>> share_of_replicates(np.array([True, True, False, True]), "at the end").note
    '3 of 4 runs; at the end'
    """
    n, n_holding = holds.size, int(holds.sum())
    # Half a success and half a failure added, so that an extreme share has an error too.
    smoothed = (n_holding + 0.5) / (n + 1.0)
    error = 0.0 if exact else math.sqrt(smoothed * (1.0 - smoothed) / n)
    return Measurement(
        float(np.mean(holds)), error, f"{n_holding} of {n} runs; {note}" if note else f"{n} runs"
    )
