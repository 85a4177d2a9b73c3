"""Curves over step sizes and brackets: read from the tables, smoothed and compared, with errors from their chains."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, largest, mean
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.settings import TARGET_ACCEPTANCE, program_rows, scale_name

# Method and number of importance samples.
Program = tuple[str, int]

_SMOOTHING_POINTS = 5


class Sweep(NamedTuple):
    """A quantity of one program over its tuning parameter: points [point] and values [point, chain]."""

    points: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Mean over chains [point]."""
        return np.asarray(self.values.mean(axis=1))

    def where(self, chosen: BooleanArray) -> "Sweep":
        """The part of the sweep at the chosen points [point]."""
        return Sweep(self.points[chosen], self.values[chosen])


def sweep_of(tables: Tables, quantity: str, program: Program, dataset: str = "calibrated") -> Sweep:
    """A quantity of a program over its step sizes or brackets, in each chain."""
    scale = scale_name(program[0])
    found = tables.array(quantity, scale, "chain", table="chain", **program_rows(*program, dataset))
    found = found.sortby(scale)
    return Sweep(found[scale].values, found.values)


def statistic(function: Callable[..., float], *sweeps: Sweep, note: str = "") -> Measurement:
    """A statistic of curves of means [point], one for each sweep; its error is from resampling their chains."""
    return estimate(
        lambda *chains: function(*(values.mean(axis=0) for values in chains)),
        *(sweep.values.T for sweep in sweeps),
        note=note,
    )


def smoothed(curve: FloatArray) -> FloatArray:
    """Moving average over up to five neighbours [point]; fewer at the ends and for curves under 12 points."""
    n = curve.shape[-1]
    half = min(_SMOOTHING_POINTS // 2, n // 6)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    weights = (distance <= half).astype(np.float64)
    return np.asarray(curve @ (weights / weights.sum(axis=0)))


def common(sweeps: Sequence[Sweep], low: float = -math.inf) -> list[Sweep]:
    """The parts of sweeps at the points from `low` on that all of them have."""
    points = sweeps[0].points
    for sweep in sweeps[1:]:
        points = points[np.isin(points.round(9), sweep.points.round(9))]
    points = points[points >= low - 1e-9]
    if points.size == 0:
        raise MissingData("no common values of the tuning parameter at this preset")
    return [sweep.where(np.isin(sweep.points.round(9), points.round(9))) for sweep in sweeps]


def median_ratio(
    tables: Tables, quantity: str, above: Program, below: Program, low: float = -math.inf
) -> Measurement:
    """Median over common points, from `low` on, of the ratio of two means."""

    def median(above: FloatArray, below: FloatArray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = above / below
        return float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else math.nan

    return statistic(median, *common([sweep_of(tables, quantity, one) for one in (above, below)], low))


def extreme_ratio(
    tables: Tables, quantity: str, above: Program, below: Program, low: float = -math.inf, sign: float = -1.0
) -> Measurement:
    """Smallest (sign -1) or largest (sign 1) ratio of two means over common points from `low` on."""
    first, second = common([sweep_of(tables, quantity, one) for one in (above, below)], low)
    if not second.mean.all():
        raise MissingData(f"all chains of {below[0]} are stuck at a point of the sweep")
    ratios = [mean(a) / mean(b) for a, b in zip(first.values, second.values, strict=True)]
    values = np.array([found.value for found in ratios])
    names = [f"at {point:g}; from {values.min():.3g} to {values.max():.3g}" for point in first.points]
    found = largest(sign * values, [ratio.error for ratio in ratios], names)
    return found._replace(value=sign * found.value)


def height(curve: FloatArray) -> float:
    """Largest value of the smoothed curve."""
    return float(smoothed(curve).max())


def peak(sweep: Sweep) -> float:
    """Where the smoothed mean curve is largest."""
    return float(sweep.points[np.argmax(smoothed(sweep.mean))])


def peak_ratio(tables: Tables, quantity: str, first: Program, second: Program) -> Measurement:
    """PM-G03, G12, G22, G25: ratio of the heights of two peaks."""
    above, below = (sweep_of(tables, quantity, one) for one in (first, second))
    if not below.values.any():
        raise MissingData(f"all chains of {second[0]} are stuck")
    note = f"peaks at {peak(above):g} and {peak(below):g} of five-point moving averages"
    return statistic(lambda a, b: height(a) / height(b), above, below, note=note)


def rounding_error(sweep: Sweep) -> float:
    """Standard error of a value that is rounded to a point of a sweep."""
    return float(np.ptp(sweep.points)) / max(sweep.points.size - 1, 1) / math.sqrt(12.0)


def with_rounding(found: Measurement, rounding: float, *sweeps: Sweep) -> Measurement:
    """A point of sweeps with the error of resampling and that of rounding; NaN if a sweep has one chain."""
    if any(sweep.values.shape[1] < 2 for sweep in sweeps):
        return found
    # Where all resamples have the same peak, rounding alone is left.
    return found._replace(error=math.hypot(0.0 if math.isnan(found.error) else found.error, rounding))


def relative_noise(tables: Tables, above: Program, below: Program) -> Measurement:
    """Ratio of spreads of acceptance rates over chains, relative to their means: geometric mean over step sizes."""
    sweeps = common([sweep_of(tables, "acceptance_position", one) for one in (above, below)])
    if any(sweep.values.shape[1] < 3 or not sweep.values.any() for sweep in sweeps):
        raise MissingData("a spread over chains needs three chains that move: not run at this preset")

    def log_spread(chains: FloatArray) -> FloatArray:
        rates, spreads = chains.mean(axis=0), chains.std(axis=0, ddof=1)
        return np.log(spreads / rates, out=np.full_like(rates, np.nan), where=spreads > 0.0)

    def ratio(first: FloatArray, second: FloatArray) -> float:
        return math.exp(np.nanmean(log_spread(first) - log_spread(second)))

    return estimate(ratio, *(sweep.values.T for sweep in sweeps), method="jackknife")


def step_at_target(points: FloatArray, rates: FloatArray) -> float:
    """Where acceptance rates first fall to the target, by linear interpolation; NaN if they do not."""
    below = np.flatnonzero(rates < TARGET_ACCEPTANCE)
    if below.size == 0 or below[0] == 0:
        return math.nan
    right = int(below[0])
    fraction = (rates[right - 1] - TARGET_ACCEPTANCE) / (rates[right - 1] - rates[right])
    return float(points[right - 1] + fraction * (points[right] - points[right - 1]))
