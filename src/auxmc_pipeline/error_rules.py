"""Errors of what studies measure beyond `auxmc_pipeline.measuring`: quantiles, spreads, extremes, ranks, slopes."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from auxmc.diagnostics.errors_of_means import score_between_chains
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline import measuring
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    largest,
    left_out,
    rank_correlation,
    standard_error,
)

__all__ = [
    "bootstrap",
    "bootstrap_groups",
    "difference",
    "distance_from_distribution",
    "distance_from_exact",
    "distance_in_errors",
    "fraction_of_replicates",
    "fraction_of_trials",
    "jackknife",
    "largest",
    "left_out",
    "mean_over_replicates",
    "median_over_replicates",
    "paired_ratio",
    "quantile_over_replicates",
    "rank_correlation",
    "rate_of_events",
    "ratio",
    "ratio_of_means",
    "score",
    "slope",
    "smallest",
    "spread_over_replicates",
    "standard_error",
]

# Standard deviation of the root of n times Kolmogorov's distance for large n.
_SD_OF_KOLMOGOROV = math.sqrt(math.pi**2 / 12.0 - math.pi / 2.0 * math.log(2.0) ** 2)

mean_over_replicates = measuring.mean
fraction_of_replicates = measuring.proportion_of
fraction_of_trials = measuring.proportion
rate_of_events = measuring.rate
quantile_over_replicates = measuring.quantile


def bootstrap_groups(
    statistic: Callable[..., float | np.floating], *groups: FloatArray, note: str = ""
) -> Measurement:
    """`estimate` of several samples, each resampled by itself."""
    return estimate(statistic, *groups, note=note)


def bootstrap(
    statistic: Callable[[FloatArray], float | np.floating], replicates: ArrayLike, note: str = ""
) -> Measurement:
    """`estimate` of one sample."""
    return estimate(statistic, replicates, note=note)


def jackknife(statistic: Callable[[IntegerArray], float], n_replicates: int, note: str = "") -> Measurement:
    """A smooth statistic of the numbers of the replicates to use, with its error from leaving them out one by one.

    >>> values = np.array([1.0, 2.0, 6.0, 7.0])
    >>> found = jackknife(lambda kept: float(values[kept].mean()), 4)  # of a mean: its standard error
    >>> found.value, round(found.error, 4) == round(standard_error(values), 4)
    (4.0, True)
    """
    return estimate(
        lambda kept: statistic(kept.astype(np.int64)), np.arange(n_replicates), method="jackknife", note=note
    )


def paired_ratio(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of two means over the same replicates [replicate]."""
    return estimate(lambda a, b: float(a.mean() / b.mean()), above, below, method="paired", note=note)


def ratio_of_means(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of the means of two independent samples [replicate], by the delta method."""
    return ratio(measuring.mean(above), measuring.mean(below), note)


def ratio(above: Measurement, below: Measurement, note: str = "") -> Measurement:
    """`above / below`; the note is kept unless the denominator is 0."""
    found = above / below
    return found.noted(found.note or note)


def difference(first: Measurement, second: Measurement, note: str = "") -> Measurement:
    """`first - second`."""
    return (first - second).noted(note)


def score(value: Measurement, expected: float) -> Measurement:
    """`value.score(expected)`."""
    return value.score(expected)


def median_over_replicates(values: FloatArray, note: str = "") -> Measurement:
    """Median of independent runs or chains [replicate]; of a single one its note is "one run"."""
    return estimate(np.median, values, note=note or "one run" * (values.size < 2))


def spread_over_replicates(values: ArrayLike, note: str = "") -> Measurement:
    """Standard deviation of many independent replicates [replicate], with the error from their fourth moment.

    >>> found = spread_over_replicates([-1.0, 0.0, 1.0])
    >>> found.value, 0.0 < found.error < 0.5
    (1.0, True)
    """
    array = np.ravel(np.asarray(values, dtype=np.float64))
    if array.size < 2:
        return Measurement(math.nan, math.nan, note or "one run")
    sd = float(array.std(ddof=1))
    # The delta method: the error of a root is that of the square over twice the root.
    return Measurement(sd, standard_error((array - array.mean()) ** 2) / (2.0 * sd) if sd else math.nan, note)


def smallest(values: ArrayLike, errors: ArrayLike, names: Sequence[str]) -> Measurement:
    """The smallest of several values [part] with standard errors [part]; see `largest`."""
    found = largest(-np.asarray(values, dtype=np.float64), errors, names)
    return found._replace(value=-found.value)


def slope(x: ArrayLike, y: ArrayLike, errors: ArrayLike, note: str = "") -> Measurement:
    """Slope of a straight line by least squares, with the error that those of its points give it.

    Args:
        x: known places [point].
        y: measured values, independent [point].
        errors: their standard errors [point].
        note: as in Measurement.

    >>> [round(number, 3) for number in slope([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], [0.1, 0.1, 0.1])[:2]]
    [2.0, 0.071]
    """
    places = np.asarray(x, dtype=np.float64)
    weights = (places - places.mean()) / np.sum((places - places.mean()) ** 2)
    error = math.sqrt(float(np.sum((weights * np.asarray(errors)) ** 2)))
    return Measurement(float(weights @ np.asarray(y)), error, note)


def distance_from_exact(values: ArrayLike, expected: float, note: str = "") -> Measurement:
    """Distance of a mean over replicates from its exact value, in standard errors; its own error is one of them.

    Args:
        values: of independent replicates [replicate].
        expected: the exact value of their mean.
        note: as in Measurement.
    """
    score = float(np.abs(score_between_chains(np.ravel(np.asarray(values)), expected)))
    return Measurement(score, 1.0 if math.isfinite(score) else math.nan, note)


def distance_in_errors(found: Measurement, expected: float, note: str = "") -> Measurement:
    """Distance of a measurement from its exact value, in its standard errors; its own error is one of them.

    >>> distance_in_errors(Measurement(1.0, 0.5), 2.0)[:2]
    (2.0, 1.0)
    """
    known = found.error > 0.0
    score = abs(found.value - expected) / found.error if known else math.nan
    return Measurement(score, 1.0 if known else math.nan, note)


def distance_from_distribution(levels: ArrayLike, note: str = "") -> Measurement:
    """Kolmogorov's distance of a sample from a distribution times the root of its size, with its spread as error.

    Args:
        levels: the distribution's distribution function at independent draws [draw], many of them.
        note: as in Measurement.

    >>> found = distance_from_distribution((np.arange(100) + 0.5) / 100)
    >>> round(found.value, 2), round(found.error, 2)
    (0.05, 0.26)
    """
    expected = np.sort(np.ravel(np.asarray(levels, dtype=np.float64)))
    ranks = np.arange(expected.size + 1) / expected.size
    distance = float(max(np.max(ranks[1:] - expected), np.max(expected - ranks[:-1])))
    return Measurement(distance * math.sqrt(expected.size), _SD_OF_KOLMOGOROV, note)
