"""Monte Carlo errors of what studies measure: medians, ratios, differences, shares, extremes."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement, standard_error


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
        As `ratio`. A mean of one replicate counts as exact beside one of several; the error is NaN where both have one.

    >>> [round(number, 2) for number in ratio_of_means(np.array([3.9, 4.1]), np.array([2.0]))[:2]]
    [2.0, 0.35]
    """
    first, second = (
        Measurement(float(values.mean()), 0.0 if values.size < 2 else standard_error(values))
        for values in (above, below)
    )
    found = ratio(first, second, note)
    return found if max(above.size, below.size) > 1 else found._replace(error=math.nan)


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


def ratio(above: Measurement, below: Measurement, note: str = "") -> Measurement:
    """Ratio of two independent measurements, whose errors are known, with its error by the delta method.

    Args:
        above: the numerator.
        below: the denominator; where it is 0 the ratio and its error are NaN, and the note says so.
        note: as in Measurement.

    >>> ratio(Measurement(3.0, 0.3), Measurement(2.0, 0.0))[:2]
    (1.5, 0.15)
    """
    if below.value == 0.0:
        return Measurement(math.nan, math.nan, "the denominator is zero")
    value = above.value / below.value
    return Measurement(value, math.hypot(above.error, value * below.error) / abs(below.value), note)


def difference(first: Measurement, second: Measurement, note: str = "") -> Measurement:
    """The first of two independent measurements minus the second.

    >>> difference(Measurement(3.0, 0.3), Measurement(2.0, 0.4))[:2]
    (1.0, 0.5)
    """
    return Measurement(first.value - second.value, math.hypot(first.error, second.error), note)


def jackknife(statistic: Callable[[IntegerArray], float], n_replicates: int, note: str = "") -> Measurement:
    """A statistic of independent replicates, with its standard error from leaving them out one by one.

    Args:
        statistic: maps the numbers of the replicates to use to a value.
        n_replicates: how many there are.
        note: as in Measurement.

    >>> values = np.array([1.0, 2.0, 6.0, 7.0])
    >>> found = jackknife(lambda kept: float(values[kept].mean()), 4)  # of a mean: its standard error
    >>> found.value, round(found.error, 4) == round(float(np.std(values, ddof=1)) / 2.0, 4)
    (4.0, True)
    """
    replicates = np.arange(n_replicates)
    without = np.array([statistic(np.delete(replicates, one)) for one in replicates])
    error = math.sqrt((n_replicates - 1) * float(np.mean((without - without.mean()) ** 2)))
    return Measurement(statistic(replicates), error, note)


def share_of_trials(value: float, n: float, note: str = "") -> Measurement:
    """Share of independent trials, with the standard error of a binomial law at that share.

    Args:
        value: share of the trials of which something holds; at 0 and 1 the error is 0.
        n: number of trials.
        note: as in Measurement.

    >>> share_of_trials(0.5, 100)[:2]
    (0.5, 0.05)
    """
    return Measurement(value, math.sqrt(value * (1.0 - value) / n), note)


def largest(values: ArrayLike, errors: ArrayLike, names: Sequence[str]) -> Measurement:
    """The largest of several values with the error of it alone: which one is the largest counts as known.

    Args:
        values: what is compared [part].
        errors: their standard errors [part].
        names: of the parts; the note is that of the largest.

    >>> largest([1.0, 3.0, 2.0], [0.1, 0.2, 0.3], ["left", "middle", "right"])
    Measurement(value=3.0, error=0.2, note='middle')
    """
    place = int(np.argmax(values))
    return Measurement(float(np.asarray(values)[place]), float(np.asarray(errors)[place]), names[place])
