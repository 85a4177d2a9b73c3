"""Measurements with Monte Carlo errors: `estimate` makes them from replicates, arithmetic carries their errors on.

An error that cannot be known is NaN, and so is that of whatever is computed from it: nothing here takes it for 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.diagnostics.coda import scale_reduction_of_moments
from auxmc.diagnostics.errors_of_means import error_between_chains, few_replicates
from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray
from auxmc_pipeline.needs import MissingData

_RESAMPLES = 400
# Random sets of chains, of which a proportion is taken.
_FACTOR_SETS = 20_000

Statistic = Callable[..., float | np.floating]
Sample = ArrayLike | xr.DataArray
Method = Literal["bootstrap", "jackknife", "paired"]


class Measurement(NamedTuple):
    """A measured value and its error.

    Differences, ratios and multiples carry the errors of independent measurements on, by the delta method; they are
    exact where all their parts are, and have no note.

    >>> (Measurement(3.0, 0.3) - Measurement(2.0, 0.4))[:2], (Measurement(3.0, 0.3) / 2.0)[:2]
    ((1.0, 0.5), (1.5, 0.15))
    """

    value: float  # NaN when the preset does not run what it needs
    error: float  # Monte Carlo standard error; NaN when it is unknown; 0 for an exact value alone
    note: str = ""  # one sentence where the reader needs it: how it was computed, or why it is missing
    # Whether no random number enters the value: arithmetic on settings or data, deterministic numerics.
    exact: bool = False

    def __sub__(self, other: "Measurement | float") -> "Measurement":
        """Difference of independent measurements."""
        second = _measurement(other)
        error = math.hypot(self.error, second.error)
        return Measurement(self.value - second.value, error, exact=self.exact and second.exact)

    def __truediv__(self, other: "Measurement | float") -> "Measurement":
        """Ratio of independent measurements; NaN with a note where the denominator is 0."""
        below = _measurement(other)
        if below.value == 0.0:
            return Measurement(math.nan, math.nan, "the denominator is zero")
        value = self.value / below.value
        error = math.hypot(self.error, value * below.error) / abs(below.value)
        return Measurement(value, error, exact=self.exact and below.exact)

    def __mul__(self, factor: float) -> "Measurement":  # type: ignore[override]
        """Multiple; keeps the note."""
        return self._replace(value=factor * self.value, error=abs(factor) * self.error)

    def exp(self) -> "Measurement":
        """Exponential, by the delta method; keeps the note."""
        value = math.exp(self.value)
        return self._replace(value=value, error=value * self.error)

    def noted(self, note: str) -> "Measurement":
        """The same measurement with another note."""
        return self._replace(note=note)

    def score(self) -> "Measurement":
        """Signed distance from 0, an exact value, in standard errors; its own error is one of them.

        >>> Measurement(1.5, 0.25).score()[:3]
        (6.0, 1.0, '1.5 +- 0.25, exact 0')
        """
        distance = self.value / self.error if self.error > 0.0 else math.nan
        each = f"{self.value:.6g} +- {self.error:.2g}, exact 0"
        return Measurement(distance, 1.0, f"{each}; {self.note}" if self.note else each)


def exact(value: float, note: str = "") -> Measurement:
    """A value that no random number enters: arithmetic on settings or data, deterministic numerics."""
    return Measurement(float(value), 0.0, note, exact=True)


def estimate(
    statistic: Statistic, *samples: Sample, over: str = "chain", method: Method = "bootstrap", note: str = ""
) -> Measurement:
    """A statistic of samples of independent replicates, with its error from the replicates alone.

    Args:
        statistic: maps one array [replicate, ...] for each sample to a number.
        samples: arrays [replicate, ...], or labelled arrays that have the dimension `over`.
        over: dimension of the replicates in labelled arrays.
        method: "bootstrap" resamples the replicates, of one sample at a time: for any statistic. "jackknife" leaves
            out one replicate after the other, of one sample at a time: for smooth statistics. "paired" leaves the
            same replicate out of all samples, which share chains or data.
        note: as in Measurement.

    Returns:
        The statistic; its error is widened for the few replicates of each sample. It is NaN for too few (two for
        the bootstrap, three for the others), where a replicated statistic is not finite, and where all bootstrap
        resamples agree.

    >>> found = estimate(lambda a, b: a.mean() - b.mean(), np.array([3.0, 5.0, 4.0]), np.array([1.0, 2.0]))
    >>> found.value, found.error > 0.5
    (2.5, True)
    >>> double = estimate(lambda a, b: a.mean() / b.mean(), [2.0, 4.0, 6.0], [1.0, 2.0, 3.0], method="paired")
    >>> double[:2]
    (2.0, 0.0)
    """
    groups = [_replicates(sample, over) for sample in samples]
    value, numbers = float(statistic(*groups)), [len(group) for group in groups]
    if min(numbers) < (2 if method == "bootstrap" else 3):
        return Measurement(value, math.nan, note)
    error_of = _bootstrap_error if method == "bootstrap" else _left_out_error
    varied = [range(len(groups))] if method == "paired" else [[place] for place in range(len(groups))]
    parts = [error_of(statistic, groups, places) * few_replicates(numbers[places[0]]) for places in varied]
    error = math.hypot(*parts)
    # Where all resamples agree, they say nothing about other replicates.
    return Measurement(value, math.nan if method == "bootstrap" and error == 0.0 else error, note)


def mean(sample: Sample, note: str = "") -> Measurement:
    """Mean over all values of independent replicates [replicate, ...] with its `standard_error`."""
    values = _replicates(sample, "chain")
    return Measurement(float(np.mean(values)), standard_error(values), note)


def standard_error(values: ArrayLike) -> float:
    """Standard error of a mean over independent replicates [replicate], widened for few; NaN for one replicate."""
    return float(error_between_chains(np.ravel(np.asarray(values))))


def quantile(values: ArrayLike, level: float, note: str = "") -> Measurement:
    """Quantile of many independent replicates [replicate], with an error from their order statistics.

    It is half the distance of the quantiles one binomial standard error above and below the level: there is no
    resampling. NaN for a single replicate.

    >>> found = quantile(np.arange(1.0, 101.0), 0.5)
    >>> found.value, round(found.error)
    (50.5, 5)
    """
    array = np.ravel(np.asarray(values, dtype=np.float64))
    width = math.sqrt(level * (1.0 - level) / array.size)
    low, middle, high = np.quantile(array, [max(0.0, level - width), level, min(1.0, level + width)])
    error = float(high - low) / 2.0 * few_replicates(array.size) if array.size > 1 else math.nan
    return Measurement(float(middle), error, note)


def proportion(value: float, n_trials: float, note: str = "") -> Measurement:
    """Proportion of independent trials, or of an effective number of them, with an error by Clopper and Pearson.

    Two of it reach from the proportion to the farther end of their exact interval, beyond each end of which the true
    value is with a probability of at most 2.3 %: a proportion of all or none has an error too.

    >>> [round(number, 3) for number in proportion(0.5, 100)[:2]]
    [0.5, 0.052]
    """
    # A value outside of [0, 1] comes from wrong tables, and must not pass for an unknown error.
    inside = min(max(value, 0.0), 1.0)
    one, other = inside * n_trials, (1.0 - inside) * n_trials
    ends = [
        stats.beta.ppf(stats.norm.cdf(2.0), n + 1.0, m) if m > 0.0 else 1.0
        for n, m in ((one, other), (other, one))
    ]
    return Measurement(value, float(max(ends[0] - inside, ends[1] - (1.0 - inside))) / 2.0, note)


def proportion_of(holds: ArrayLike, note: str = "") -> Measurement:
    """Proportion of independent replicates of which something holds; the note begins with their number.

    >>> proportion_of([True, True, False, True], "at the end").note
    '3 of 4 runs; at the end'
    """
    flags = np.ravel(np.asarray(holds, dtype=bool))
    said = f"{int(flags.sum())} of {flags.size} runs"
    return proportion(float(np.mean(flags)), flags.size, f"{said}; {note}" if note else said)


def mean_proportion(proportions: ArrayLike, n_trials: float, note: str = "") -> Measurement:
    """Mean over chains of a proportion [chain] of each one's trials, such as failures, which may be none in all.

    The error is the larger of that between chains and that of all trials by `proportion`.

    >>> found = mean_proportion([0.0, 0.0, 0.0], 100)
    >>> found.value, 0.0 < found.error < 0.01
    (0.0, True)
    """
    found = mean(proportions, note)
    of_trials = proportion(found.value, n_trials * np.size(proportions))
    return found._replace(error=max(found.error, of_trials.error))


def rate(n_events: float, exposure: float, note: str = "") -> Measurement:
    """Events per unit of exposure, a time or a length, with an error as in `proportion`: a rate of 0 has one too.

    >>> [round(number, 2) for number in rate(0, 10.0)[:2]]
    [0.0, 0.19]
    """
    value = n_events / exposure
    # The interval reaches farther above than below.
    high = stats.gamma.ppf(stats.norm.cdf(2.0), n_events + 1.0, scale=1.0 / exposure)
    return Measurement(value, float(high - value) / 2.0, note)


def score_of_p_values(p_values: ArrayLike, note: str = "") -> Measurement:
    """The smallest p-value of independent tests [test] as a standard score, normal with error 1 where all hold.

    A standard normal number exceeds it with the probability that one of so many p-values is as small: 3.09 for one in a
    thousand.

    >>> round(score_of_p_values([0.6, 0.5]).value, 3)
    -0.674
    """
    values = np.ravel(np.asarray(p_values, dtype=np.float64))
    smallest_of_all = float(values.min())
    chance = -math.expm1(values.size * math.log1p(-min(smallest_of_all, 1.0 - 1e-12)))
    each = f"smallest of {values.size} p-values {smallest_of_all:.3g}"
    return Measurement(float(stats.norm.isf(chance)), 1.0, f"{each}; {note}" if note else each)


def largest(values: ArrayLike, errors: ArrayLike, names: Sequence[str]) -> Measurement:
    """The largest of several values [part]; its error takes into account that another might have been the largest.

    Their standard errors [part] are taken as normal and independent. The note is the name of the largest.

    >>> found = largest([1.0, 3.0, 2.9], [0.1, 0.2, 0.3], ["left", "middle", "right"])
    >>> found.value, found.note, 0.15 < found.error < 0.3
    (3.0, 'middle', True)
    """
    all_values, all_errors = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    place = int(np.argmax(all_values))
    noise = np.random.default_rng(0).standard_normal((_RESAMPLES, all_values.size))
    # Around the largest value the others count with their distances: what other runs would have given.
    error = float(np.std(np.max(all_values + all_errors * noise, axis=1)))
    return Measurement(float(all_values[place]), error, names[place])


def largest_of(found: Mapping[str, Measurement]) -> Measurement:
    """The largest of some independent measurements, with its name as note; see `largest`."""
    return largest([m.value for m in found.values()], [m.error for m in found.values()], list(found))


def largest_score(scores: ArrayLike) -> Measurement:
    """The largest size of distances in standard errors, whose own errors are 1; it notes their number."""
    sizes = np.abs(np.ravel(scores))
    return largest(sizes, np.ones(sizes.size), [f"largest of {sizes.size}"] * sizes.size)


def left_out(value: float, without: ArrayLike, note: str = "") -> Measurement:
    """A recorded statistic of all replicates, with the jackknife error from its values without each [replicate]."""
    n_replicates = np.size(without)
    error = left_out_error(without) * few_replicates(n_replicates) if n_replicates > 2 else math.nan
    return Measurement(value, error, note)


def proportion_of_sets(
    means: ArrayLike, sds: ArrayLike, n_draws: int, n_chains: int, most: float, note: str = ""
) -> Measurement:
    """Proportion of sets of chains, at random, whose largest potential scale reduction factor is at most `most`.

    It says how ordinary a published factor of one set is, whatever the distribution of factors over sets. The error is
    from the sets without each chain; where all sets agree, that of as many sets as have no chain in common. Means and
    standard deviations are those of each chain [chain, parameter] of n_draws.

    >>> means = np.r_[np.zeros(19), 9.0][:, None]
    >>> found = proportion_of_sets(means, np.ones((20, 1)), 1000, 5, 1.1)
    >>> 0.7 < found.value < 0.8, 0.1 < found.error < 0.4
    (True, True)
    """

    def agree(sets: IntegerArray) -> BooleanArray:
        # Each [set, parameter, chain].
        of_means, of_sds = (np.moveaxis(np.asarray(values)[sets], 1, 2) for values in (means, sds))
        return scale_reduction_of_moments(of_means, of_sds**2, n_draws).point.max(axis=1) <= most

    return proportion_of_sets_where(agree, np.shape(means)[0], n_chains, note)


def proportion_of_sets_where(
    condition: Callable[[IntegerArray], BooleanArray], n_all: int, n_chains: int, note: str = ""
) -> Measurement:
    """Proportion of sets of chains, at random, that meet a condition, with errors as in `proportion_of_sets`.

    The condition says of sets, given as numbers of their chains [set, chain], whether they meet it [set].

    >>> found = proportion_of_sets_where(lambda sets: (sets == 0).any(axis=1), 20, 5)
    >>> 0.2 < found.value < 0.3, 0.1 < found.error < 0.4
    (True, True)
    """
    sets = np.argsort(np.random.default_rng(0).random((_FACTOR_SETS, n_all)), axis=1)[:, :n_chains]
    holds = condition(sets).astype(float)
    if np.ptp(holds) == 0.0:
        return proportion(float(holds[0]), n_all / n_chains, note)
    held = np.bincount(sets.ravel(), np.repeat(holds, n_chains))
    without = (holds.sum() - held) / (_FACTOR_SETS - np.bincount(sets.ravel()))
    return left_out(float(holds.mean()), without, note)


def sets_of(n_chains: int, n_all: int, which: str = "chains") -> str:
    """Words for the note of a proportion of sets of chains; raises MissingData unless there are more than one needs.

    >>> sets_of(5, 20)
    'sets of 5 of 20 chains'
    """
    if n_all <= n_chains:
        raise MissingData(f"more than {n_chains} {which}: not run at this preset")
    return f"sets of {n_chains} of {n_all} chains"


def left_out_error(without: ArrayLike) -> float:
    """Jackknife error, not widened for few, of a statistic from its values without each replicate [replicate]."""
    values = np.asarray(without, dtype=np.float64)
    return math.sqrt((values.size - 1) * float(np.mean((values - values.mean()) ** 2)))


def _bootstrap_error(statistic: Statistic, groups: Sequence[FloatArray], places: Sequence[int]) -> float:
    """Spread of a statistic where the replicates of the samples at some places are drawn again.

    Resampled replicates vary by (n - 1) / n of their variance.
    """
    n = len(groups[places[0]])
    rng, resampled = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        drawn = (g[rng.integers(len(g), size=len(g))] if i in places else g for i, g in enumerate(groups))
        resampled.append(float(statistic(*drawn)))
    return math.sqrt(n / (n - 1)) * float(np.std(resampled)) if np.isfinite(resampled).all() else math.nan


def _left_out_error(statistic: Statistic, groups: Sequence[FloatArray], places: Sequence[int]) -> float:
    without = []
    for one in range(len(groups[places[0]])):
        rest = (g[np.arange(len(g)) != one] if i in places else g for i, g in enumerate(groups))
        without.append(float(statistic(*rest)))
    return float(left_out_error(without))


def _replicates(sample: Sample, over: str) -> FloatArray:
    values: Any = sample.transpose(over, ...).values if isinstance(sample, xr.DataArray) else sample
    return np.asarray(values, dtype=np.float64)


def _measurement(value: Measurement | float) -> Measurement:
    return value if isinstance(value, Measurement) else exact(value)
