"""Monte Carlo errors of what studies measure: means, medians, ratios, differences, shares, extremes, ranks, slopes.

An error that cannot be known is NaN, and a measurement made of such a one has none either: nothing here takes it for 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.diagnostics.errors_of_means import error_between_chains, few_replicates, score_between_chains
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement

__all__ = [
    "bootstrap",
    "bootstrap_groups",
    "difference",
    "distance_from_exact",
    "distance_from_law",
    "distance_in_errors",
    "jackknife",
    "largest",
    "left_out",
    "mean_over_replicates",
    "mean_share",
    "median_over_replicates",
    "paired_ratio",
    "quantile_over_replicates",
    "rank_correlation",
    "rate_of_events",
    "ratio",
    "ratio_of_means",
    "root_mean_square",
    "score",
    "score_of_p_values",
    "share_of_replicates",
    "share_of_trials",
    "slope",
    "smallest",
    "smallest_share",
    "spread_over_replicates",
    "standard_error",
]

_RESAMPLES = 400
# Standard deviation of the law that the root of n times Kolmogorov's distance has for large n.
_SD_OF_KOLMOGOROV = math.sqrt(math.pi**2 / 12.0 - math.pi / 2.0 * math.log(2.0) ** 2)


def standard_error(values: ArrayLike) -> float:
    """Standard error of a mean over independent replicates [replicate], widened for few; NaN for one replicate."""
    return float(error_between_chains(np.ravel(np.asarray(values))))


def mean_over_replicates(values: ArrayLike, note: str = "") -> Measurement:
    """Mean over chains or repetitions [replicate] with its `standard_error`."""
    return Measurement(float(np.mean(np.asarray(values))), standard_error(values), note)


def median_over_replicates(values: FloatArray, note: str = "") -> Measurement:
    """Median of independent runs or chains [replicate] by `bootstrap`; of a single one its note is "one run"."""
    return bootstrap(np.median, values, note or "one run" * (values.size < 2))


def quantile_over_replicates(values: ArrayLike, level: float, note: str = "") -> Measurement:
    """Quantile of many independent replicates, with an error from their order statistics.

    It is half the distance of the quantiles one binomial standard error above and below the level: there is no
    resampling. NaN for a single replicate.

    Args:
        values: of independent replicates [replicate].
        level: share of the law below the quantile, from 0 to 1.
        note: as in Measurement.

    >>> found = quantile_over_replicates(np.arange(1.0, 101.0), 0.5)
    >>> found.value, round(found.error)
    (50.5, 5)
    """
    array = np.ravel(np.asarray(values, dtype=np.float64))
    width = math.sqrt(level * (1.0 - level) / array.size)
    low, middle, high = np.quantile(array, [max(0.0, level - width), level, min(1.0, level + width)])
    error = float(high - low) / 2.0 * few_replicates(array.size) if array.size > 1 else math.nan
    return Measurement(float(middle), error, note)


def spread_over_replicates(values: ArrayLike, note: str = "") -> Measurement:
    """Standard deviation of independent replicates, with the error that their fourth moment gives it.

    Args:
        values: of independent replicates [replicate], many of them.
        note: as in Measurement.

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


def ratio_of_means(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of two means with its standard error by the delta method, widened for few replicates.

    Args:
        above: independent replicates of the numerator [replicate].
        below: of the denominator, independent of the others and maybe of another number [replicate].
        note: as in Measurement.

    Returns:
        As `ratio`; the error is NaN where one of them has one replicate.

    >>> [round(number, 2) for number in ratio_of_means(np.array([3.9, 4.1]), np.array([2.0, 2.0]))[:2]]
    [2.0, 0.35]
    """
    return ratio(mean_over_replicates(above), mean_over_replicates(below), note)


def paired_ratio(above: FloatArray, below: FloatArray, note: str = "") -> Measurement:
    """Ratio of two means over the same replicates, which share chains or data, by `jackknife`.

    Args:
        above: numerator [replicate].
        below: denominator, in the same order [replicate].
        note: as in Measurement.

    >>> paired_ratio(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))[:2]  # always twice as large
    (2.0, 0.0)
    """
    return jackknife(lambda kept: float(above[kept].mean() / below[kept].mean()), above.size, note)


def ratio(above: Measurement, below: Measurement, note: str = "") -> Measurement:
    """Ratio of two independent measurements with its error by the delta method; exact where both are.

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
    error = math.hypot(above.error, value * below.error) / abs(below.value)
    return Measurement(value, error, note, above.exact and below.exact)


def difference(first: Measurement, second: Measurement, note: str = "") -> Measurement:
    """The first of two independent measurements minus the second; exact where both are.

    >>> difference(Measurement(3.0, 0.3), Measurement(2.0, 0.4))[:2]
    (1.0, 0.5)
    """
    error = math.hypot(first.error, second.error)
    return Measurement(first.value - second.value, error, note, first.exact and second.exact)


def share_of_replicates(holds: ArrayLike, note: str = "") -> Measurement:
    """Share of independent replicates of which something holds, with the error of `share_of_trials`.

    Args:
        holds: whether it does [replicate].
        note: is written behind their number.

    >>> share_of_replicates(np.array([True, True, False, True]), "at the end").note
    '3 of 4 runs; at the end'
    """
    flags = np.ravel(np.asarray(holds, dtype=bool))
    said = f"{int(flags.sum())} of {flags.size} runs"
    return share_of_trials(float(np.mean(flags)), flags.size, f"{said}; {note}" if note else said)


def share_of_trials(value: float, n: float, note: str = "") -> Measurement:
    """Share of independent trials, with an error by the rule of Jeffreys.

    Half a trial of either outcome is added, as his prior does, so that a share of all or none has an error too: two of
    it reach from the share to the end of an interval that holds 95 % of the posterior law, on the wider side.

    Args:
        value: share of the trials of which something holds.
        n: number of trials, or an effective number.
        note: as in Measurement.

    >>> [round(number, 3) for number in share_of_trials(0.5, 100)[:2]]
    [0.5, 0.049]
    """
    # A value that is no share comes from wrong tables, and shall not pass for an unknown error.
    share = min(max(value, 0.0), 1.0)
    law = stats.beta(share * n + 0.5, (1.0 - share) * n + 0.5)
    low, high = law.ppf(stats.norm.cdf([-2.0, 2.0]))
    return Measurement(value, float(max(share - low, high - share)) / 2.0, note)


def rate_of_events(n_events: int, exposure: float, note: str = "") -> Measurement:
    """Rate of independent events, with an error by the rule of Jeffreys: that none were seen has an error too.

    Args:
        n_events: how many were seen.
        exposure: time or length in which they were looked for, in units of the rate's.
        note: as in Measurement.

    >>> [round(number, 2) for number in rate_of_events(0, 10.0)[:2]]
    [0.0, 0.13]
    """
    value = n_events / exposure
    low, high = stats.gamma(n_events + 0.5, scale=1.0 / exposure).ppf(stats.norm.cdf([-2.0, 2.0]))
    return Measurement(value, float(max(value - low, high - value)) / 2.0, note)


def bootstrap(
    statistic: Callable[[FloatArray], float | np.floating], replicates: ArrayLike, note: str = ""
) -> Measurement:
    """A statistic of independent replicates, as a median or an extreme, with its error by resampling them.

    Args:
        statistic: maps replicates [replicate, ...] to a number.
        replicates: values of independent runs or chains [replicate, ...].
        note: as in Measurement.

    Returns:
        As `bootstrap_groups`.

    >>> found = bootstrap(np.max, [1.0, 2.0, 4.0])
    >>> found.value, found.error > 1.0
    (4.0, True)
    """
    return bootstrap_groups(statistic, np.asarray(replicates, dtype=np.float64), note=note)


def bootstrap_groups(
    statistic: Callable[..., float | np.floating], *groups: FloatArray, note: str = ""
) -> Measurement:
    """A statistic of several groups of replicates, as methods with chains of their own, each resampled by itself.

    Args:
        statistic: maps one array [replicate, ...] for each group to a number.
        groups: values of independent runs or chains [replicate, ...]; their numbers may differ.
        note: as in Measurement.

    Returns:
        The statistic; its error is the spread over resamples, widened for few replicates. It is NaN for a group of one
        replicate, where a resample has no finite value, and where all resamples agree, which says nothing about other
        replicates.

    >>> found = bootstrap_groups(lambda a, b: a.mean() - b.mean(), np.array([3.0, 5.0, 4.0]), np.array([1.0, 2.0]))
    >>> found.value, found.error > 0.5
    (2.5, True)
    """
    value = float(statistic(*groups))
    fewest = min(len(group) for group in groups)
    if fewest < 2:
        return Measurement(value, math.nan, note)
    rng = np.random.default_rng(0)
    resampled = [
        float(statistic(*(group[rng.integers(len(group), size=len(group))] for group in groups)))
        for _ in range(_RESAMPLES)
    ]
    spread = float(np.std(resampled)) * few_replicates(fewest) if np.isfinite(resampled).all() else math.nan
    return Measurement(value, spread if spread > 0.0 else math.nan, note)


def jackknife(statistic: Callable[[IntegerArray], float], n_replicates: int, note: str = "") -> Measurement:
    """A smooth statistic of independent replicates, with its standard error from leaving them out one by one.

    It serves for what chains give together, as the potential scale reduction factor, a standard deviation of pooled
    draws or a ratio, and for blocks of replicates that share chains: a block is left out whole.

    Args:
        statistic: maps the numbers of the replicates to use to a value.
        n_replicates: how many there are.
        note: as in Measurement.

    Returns:
        The statistic and its error, widened for few replicates; NaN for fewer than three, or where the statistic has no
        finite value without one of them.

    >>> values = np.array([1.0, 2.0, 6.0, 7.0])
    >>> found = jackknife(lambda kept: float(values[kept].mean()), 4)  # of a mean: its standard error
    >>> found.value, round(found.error, 4) == round(standard_error(values), 4)
    (4.0, True)
    """
    replicates = np.arange(n_replicates)
    value = statistic(replicates)
    if n_replicates < 3:
        return Measurement(value, math.nan, note)
    return left_out(value, [statistic(np.delete(replicates, one)) for one in replicates], note)


def left_out(value: float, without: ArrayLike, note: str = "") -> Measurement:
    """The error of `jackknife` for a statistic that a run recorded with all replicates and without each.

    Args:
        value: of all replicates.
        without: of all but one [replicate].
        note: as in Measurement.
    """
    values = np.asarray(without, dtype=np.float64)
    if values.size < 3:
        return Measurement(value, math.nan, note)
    error = math.sqrt((values.size - 1) * float(np.mean((values - values.mean()) ** 2)))
    return Measurement(value, error * few_replicates(values.size), note)


def largest(values: ArrayLike, errors: ArrayLike, names: Sequence[str]) -> Measurement:
    """The largest of several values; its error takes into account that another might have been the largest.

    Args:
        values: what is compared [part].
        errors: their standard errors [part], taken as normal and independent.
        names: of the parts; the note is that of the largest.

    >>> found = largest([1.0, 3.0, 2.9], [0.1, 0.2, 0.3], ["left", "middle", "right"])
    >>> found.value, found.note, 0.15 < found.error < 0.3
    (3.0, 'middle', True)
    """
    all_values, all_errors = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    place = int(np.argmax(all_values))
    noise = np.random.default_rng(0).standard_normal((_RESAMPLES, all_values.size))
    # Around the largest value the others count with their distances: what would have been seen in other runs.
    error = float(np.std(np.max(all_values + all_errors * noise, axis=1)))
    return Measurement(float(all_values[place]), error, names[place])


def smallest(values: ArrayLike, errors: ArrayLike, names: Sequence[str]) -> Measurement:
    """As `largest`, of the smallest of several values."""
    found = largest(-np.asarray(values, dtype=np.float64), errors, names)
    return found._replace(value=-found.value)


def smallest_share(shares: ArrayLike, n_trials: float, note: str = "") -> Measurement:
    """Smallest over chains of a share of each chain's trials, as of an accept rate.

    The error is the larger of two: what other chains would have given, by `bootstrap`, and what more trials of these
    would, by `share_of_trials`; it is the second alone where all chains agree.

    Args:
        shares: of independent chains [chain].
        n_trials: trials of a chain.
        note: as in Measurement.

    >>> found = smallest_share([1.0, 1.0, 1.0], 100)
    >>> found.value, 0.0 < found.error < 0.02
    (1.0, True)
    """
    between = bootstrap(np.min, shares, note)
    within = share_of_trials(between.value, n_trials).error
    return between._replace(error=float(np.fmax(between.error, within)) if np.size(shares) > 1 else math.nan)


def mean_share(shares: ArrayLike, n_trials: float, note: str = "") -> Measurement:
    """Mean over chains of a share of each chain's trials, as of failures, which may be none in all of them.

    Args:
        shares: of independent chains [chain].
        n_trials: trials of a chain.
        note: as in Measurement.

    Returns:
        The mean; its error is the larger of that between chains and that of all trials by `share_of_trials`.

    >>> found = mean_share([0.0, 0.0, 0.0], 100)
    >>> found.value, 0.0 < found.error < 0.01
    (0.0, True)
    """
    found = mean_over_replicates(shares, note)
    within = share_of_trials(found.value, n_trials * np.size(shares)).error
    return found._replace(error=max(found.error, within))


def rank_correlation(replicates: Mapping[float, ArrayLike], note: str = "") -> Measurement:
    """Spearman's rank correlation of what is varied with the median of what is measured.

    Args:
        replicates: independent values [replicate] for each value of what is varied.
        note: as in Measurement.

    Returns:
        0 where all medians are equal. The error is the spread of bootstrap resamples of the replicates, widened for
        few; where none of them changes the order, that of one resample with two neighbours exchanged. NaN where a value
        has one replicate alone.

    Raises:
        ValueError: nothing is varied, or a value has no replicate.

    >>> found = rank_correlation({1: [3.0, 3.1], 2: [2.0, 2.1], 3: [1.0, 1.1]})
    >>> found.value, 0.0 < found.error < 0.3
    (-1.0, True)
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in replicates.values()]
    least = min((array.size for array in arrays), default=0)
    if least == 0:
        raise ValueError("each value of what is varied needs at least one replicate")
    numbers = list(replicates)
    value = _correlation(numbers, [float(np.median(a)) for a in arrays])
    if least < 2:
        return Measurement(value, math.nan, note)
    rng = np.random.default_rng(0)
    resampled = [
        _correlation(numbers, [float(np.median(rng.choice(array, array.size))) for array in arrays])
        for _ in range(_RESAMPLES)
    ]
    exchanged = 12.0 / (len(numbers) * (len(numbers) ** 2 - 1.0)) if len(numbers) > 1 else 1.0
    spread = max(float(np.std(resampled)), exchanged / math.sqrt(_RESAMPLES))
    return Measurement(value, spread * few_replicates(least), note)


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


def root_mean_square(bias: Measurement, sd: float, degrees: float, note: str = "") -> Measurement:
    """Root mean square error of an estimate from its bias and its standard deviation, by the delta method.

    Args:
        bias: mean of the estimate minus a reference.
        sd: standard deviation of the estimate.
        degrees: of freedom with which its square is known.
        note: as in Measurement.

    >>> [round(number, 3) for number in root_mean_square(Measurement(3.0, 0.5), 4.0, 8.0)[:2]]
    [5.0, 0.854]
    """
    size = math.hypot(bias.value, sd)
    error = math.hypot(bias.value * bias.error, sd * sd / math.sqrt(2.0 * degrees)) / size
    return Measurement(size, error, note)


def score(value: Measurement, expected: float) -> Measurement:
    """Distance of a measurement from its exact value in standard errors, with its sign; its own error is one of them.

    Args:
        value: with its error.
        expected: the exact value.

    >>> score(Measurement(1.5, 0.25), 1.0)[:3]
    (2.0, 1.0, '1.5 +- 0.25, exact 1')
    """
    distance = (value.value - expected) / value.error if value.error > 0.0 else math.nan
    each = f"{value.value:.6g} +- {value.error:.2g}, exact {expected:.6g}"
    return Measurement(distance, 1.0, f"{each}; {value.note}" if value.note else each)


def score_of_p_values(p_values: ArrayLike, note: str = "") -> Measurement:
    """The smallest p-value of independent tests as a standard score, which is normal with error 1 where all hold.

    Args:
        p_values: each uniform on [0, 1] where its hypothesis holds [test].
        note: as in Measurement.

    Returns:
        The score that a standard normal number exceeds with the probability that one of so many p-values is as small:
        3.09 for one in a thousand.

    >>> round(score_of_p_values([0.6, 0.5]).value, 3)
    -0.674
    """
    values = np.ravel(np.asarray(p_values, dtype=np.float64))
    smallest_of_all = float(values.min())
    chance = -math.expm1(values.size * math.log1p(-min(smallest_of_all, 1.0 - 1e-12)))
    each = f"smallest of {values.size} p-values {smallest_of_all:.3g}"
    return Measurement(float(stats.norm.isf(chance)), 1.0, f"{each}; {note}" if note else each)


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


def distance_from_law(levels: ArrayLike, note: str = "") -> Measurement:
    """Kolmogorov's distance of a sample from a law times the root of its size; its error is the spread that this has.

    Args:
        levels: the law's distribution function at independent draws [draw], many of them.
        note: as in Measurement.

    >>> found = distance_from_law((np.arange(100) + 0.5) / 100)
    >>> round(found.value, 2), round(found.error, 2)
    (0.05, 0.26)
    """
    expected = np.sort(np.ravel(np.asarray(levels, dtype=np.float64)))
    ranks = np.arange(expected.size + 1) / expected.size
    distance = float(max(np.max(ranks[1:] - expected), np.max(expected - ranks[:-1])))
    return Measurement(distance * math.sqrt(expected.size), _SD_OF_KOLMOGOROV, note)


def _correlation(numbers: list[float], medians: list[float]) -> float:
    return float(stats.spearmanr(numbers, medians).statistic) if len(set(medians)) > 1 else 0.0
