"""Statistics of sweep means with their errors, for the modules of claims."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.sweeps import SIZES, Grid, grid_of

_N_RESAMPLES = 400
_SMOOTHING_POINTS = 5


def by_size(
    measure: Callable[[int, Tables], Measurement], suffix: str = ""
) -> dict[str, Callable[[Tables], Measurement]]:
    """Settings of a claim, one for each number of importance samples, which the measure takes first."""
    return {f"N = {size}{suffix}": partial(measure, size) for size in SIZES}


def statistic_of_means(statistic: Callable[..., float], *grids: Grid, note: str = "") -> Measurement:
    """A statistic of sweep means with its error from resampling chains at every point of every grid.

    Args:
        statistic: maps one curve of means [point] for each grid to a number.
        grids: the sweeps.
        note: as in Measurement.

    Returns:
        The error is the standard deviation over resamples; NaN where a grid has a single chain.
    """
    value, error = statistic(*(grid.mean for grid in grids)), math.nan
    if all(grid.values.shape[1] > 1 for grid in grids):
        rng = np.random.default_rng(3)
        resampled = np.array(
            [statistic(*(grid.resampled_mean(rng) for grid in grids)) for _ in range(_N_RESAMPLES)]
        )
        finite = resampled[np.isfinite(resampled)]
        error = float(finite.std(ddof=1)) if finite.size > 1 else math.nan
    return Measurement(value, error, note)


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
