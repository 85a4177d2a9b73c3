"""Statistics of sweep means and ratios of two estimates, with their errors, for the modules of claims."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData
from experiments.gaussian_latent.selection import SIZES, Grid, bootstrap_error, grid_of

Measure = Callable[[pd.DataFrame], Measurement]


def by_size(make: Callable[[int], Measure], suffix: str = "") -> dict[str, Measure]:
    """Settings of a claim, one for each number of importance samples, with the measure that `make` gives for it."""
    return {f"N = {size}{suffix}": make(size) for size in SIZES}


def statistic_of_means(statistic: Callable[..., float], *grids: Grid, note: str = "") -> Measurement:
    """A statistic of sweep means, one curve [point] for each grid, with its bootstrap error."""
    return Measurement(statistic(*(grid.mean for grid in grids)), bootstrap_error(statistic, *grids), note)


def mean_at(grid: Grid, point: int, note: str = "") -> Measurement:
    """Mean over chains at the point of a sweep with this index."""
    return Measurement(float(grid.mean[point]), float(grid.standard_error[point]), note)


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
    summary: pd.DataFrame, above: tuple[str, str, int], below: tuple[str, str, int], low: float = -math.inf
) -> Measurement:
    """Median over common sweep points of the ratio of two means.

    Args:
        summary: the study's summary table.
        above: quantity, method and number of importance samples of the numerator.
        below: the same of the denominator.
        low: points below this one are left out.

    Raises:
        MissingData: the tables do not hold them, or they have no points in common.
    """
    grids = [grid_of(summary, *about) for about in (above, below)]
    return statistic_of_means(_median_of_ratios, *on_common_points(grids, low))


def _median_of_ratios(above: FloatArray, below: FloatArray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = above / below
    return float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else math.nan


def ratio(above: Measurement, below: Measurement, note: str = "") -> Measurement:
    """Ratio of two independent estimates, with its standard error by the delta method; NaN if the second is zero."""
    if not below.value > 0.0:
        return Measurement(math.nan, math.nan, "the denominator is zero: all chains are stuck")
    value = above.value / below.value
    relative = (
        math.hypot(above.error / above.value, below.error / below.value) if above.value > 0.0 else math.nan
    )
    return Measurement(value, abs(value) * relative, note)
