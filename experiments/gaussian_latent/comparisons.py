"""Statistics of sweep means with their errors, for the modules of claims."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import bootstrap_groups, largest, ratio_of_means
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.sweeps import SIZES, Grid, grid_of

_SMOOTHING_POINTS = 5


def by_size(
    measure: Callable[[int, Tables], Measurement], suffix: str = ""
) -> dict[str, Callable[[Tables], Measurement]]:
    """Settings of a claim, one for each number of importance samples, which the measure takes first."""
    return {f"N = {size}{suffix}": partial(measure, size) for size in SIZES}


def statistic_of_means(statistic: Callable[..., float], *grids: Grid, note: str = "") -> Measurement:
    """A statistic of sweep means with its error from resampling chains, each with all its points.

    Args:
        statistic: maps one curve of means [point] for each grid to a number.
        grids: the sweeps, of chains of their own.
        note: as in Measurement.

    Returns:
        As `auxmc_pipeline.error_rules.bootstrap_groups`.
    """

    def of_chains(*chains: FloatArray) -> float:
        return statistic(*(values.mean(axis=0) for values in chains))

    return bootstrap_groups(of_chains, *(grid.values.T for grid in grids), note=note)


def with_rounding(found: Measurement, rounding: float, *grids: Grid) -> Measurement:
    """A point of grids with the error of resampling and that of rounding to a point; NaN if a grid has one chain."""
    if any(grid.values.shape[1] < 2 for grid in grids):
        return found
    # Where all resamples have the same peak, rounding alone is left.
    bootstrapped = 0.0 if math.isnan(found.error) else found.error
    return found._replace(error=math.hypot(bootstrapped, rounding))


def rounding_error(grid: Grid) -> float:
    """Standard error of a value that is rounded to a point of a sweep."""
    return float(np.ptp(grid.points)) / max(grid.points.size - 1, 1) / math.sqrt(12.0)


def on_common_points(grids: Sequence[Grid], low: float = -math.inf) -> list[Grid]:
    """The parts of sweeps at the points from `low` on that all of them have.

    Raises:
        MissingData: there are none.
    """
    points = grids[0].points
    for grid in grids[1:]:
        points = points[np.isin(points.round(9), grid.points.round(9))]
    points = points[points >= low - 1e-9]
    if points.size == 0:
        raise MissingData("no common values of the tuning parameter at this preset")
    return [grid.where(np.isin(grid.points.round(9), points.round(9))) for grid in grids]


def median_ratio(
    quantity: str,
    above: tuple[str, int],
    below: tuple[str, int],
    tables: Tables,
    *,
    low: float = -math.inf,
) -> Measurement:
    """Median over common sweep points of the ratio of two means.

    Args:
        quantity: of which the means are.
        above: method and number of importance samples of the numerator.
        below: the same of the denominator.
        tables: of the study.
        low: points below this one are left out.

    Raises:
        MissingData: the tables do not hold them, or they have no points in common.
    """
    grids = [grid_of(tables, quantity, *about) for about in (above, below)]
    return statistic_of_means(_median_of_ratios, *on_common_points(grids, low))


def extreme_ratio(
    extreme: Callable[[FloatArray], int],
    quantity: str,
    above: tuple[str, int],
    below: tuple[str, int],
    tables: Tables,
    *,
    low: float = -math.inf,
    factor: float = 1.0,
) -> Measurement:
    """Smallest or largest ratio of two means over common sweep points.

    Args:
        extreme: np.argmin or np.argmax.
        quantity: of which the means are.
        above: method and number of importance samples of the numerator.
        below: the same of the denominator.
        tables: of the study.
        low: points below this one are left out.
        factor: by which the ratio is multiplied.

    Raises:
        MissingData: the tables do not hold them, or they have no points in common, or all chains at a point of the
            denominator are stuck.
    """
    first, second = on_common_points([grid_of(tables, quantity, *about) for about in (above, below)], low)
    if not second.mean.all():
        raise MissingData(f"all chains of {below[0]} are stuck at a point of the sweep")
    ratios = [ratio_of_means(a, b) for a, b in zip(first.values, second.values, strict=True)]
    values = factor * np.array([found.value for found in ratios])
    errors = factor * np.array([found.error for found in ratios])
    sign = 1.0 if extreme is np.argmax else -1.0
    names = [f"at {point:g}; from {values.min():.3g} to {values.max():.3g}" for point in first.points]
    found = largest(sign * values, errors, names)
    return found._replace(value=sign * found.value)


def _median_of_ratios(above: FloatArray, below: FloatArray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = above / below
    return float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else math.nan


def smoothed(curve: FloatArray, n_points: int = _SMOOTHING_POINTS) -> FloatArray:
    """Moving average [..., point] over up to `n_points` neighbours; fewer at the ends and for curves under 12 points.

    >>> smoothed(np.array([0.0, 3.0, 0.0, 0.0, 0.0, 0.0]), 3).tolist()
    [1.5, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    n = curve.shape[-1]
    half = min(n_points // 2, n // 6)
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    weights = (distance <= half).astype(np.float64)
    return np.asarray(curve @ (weights / weights.sum(axis=0)))
