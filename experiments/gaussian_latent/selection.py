"""Finds the numbers of a method in the study's tables, for figures and claims."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.gaussian_latent.settings import scale_name

SIZES = (1, 8, 32)
"""Numbers of importance samples, N in the thesis."""

BEST_STEP = {"pm_mh": {1: 0.55, 8: 0.375, 32: 0.4}, "apm_mi_mh": {1: 0.425, 8: 0.425, 32: 0.425}}
"""Step sizes of long chains, by method and N (thesis, captions of figures 3.4 and 3.6)."""

TARGET_ACCEPT = 0.234
"""Accept rate by which the thesis tunes the step size of APM MI+MH (section 3.6.1.2)."""

Where = dict[str, str | float]
"""Columns with the one value that is wanted, for `rows_of` and `scalar_of`."""

_N_RESAMPLES = 400
_SMOOTHING_POINTS = 5


class Grid(NamedTuple):
    """A quantity over a sweep.

    Attributes:
        points: values of the swept setting, increasing [point].
        values: the quantity in each chain [point, chain].
    """

    points: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Mean over chains [point]."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def sd(self) -> FloatArray:
        """Standard deviation over chains [point]; 0 for a single chain."""
        return np.asarray(self.values.std(axis=1, ddof=min(1, self.values.shape[1] - 1)))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of the mean [point]; 0, which stands for unknown, for a single chain."""
        return np.asarray(self.sd / np.sqrt(self.values.shape[1]))

    def resampled_mean(self, rng: np.random.Generator) -> FloatArray:
        """Mean over as many chains, drawn with replacement at each point by itself [point]."""
        chosen = rng.integers(0, self.values.shape[1], self.values.shape)
        return np.asarray(np.take_along_axis(self.values, chosen, 1).mean(axis=1))

    def where(self, chosen: BooleanArray) -> "Grid":
        """The part of the sweep at the chosen points [point]."""
        return Grid(self.points[chosen], self.values[chosen])


def grid_of(
    summary: pd.DataFrame,
    quantity: str,
    method: str,
    n_importance: int,
    *,
    design: str = "sweep",
    dataset: str = "calibrated",
) -> Grid:
    """A quantity of a method against its tuning parameter, averaged over coordinates where it has them.

    Raises:
        MissingData: the tables do not hold it, or it is known at no point.
    """
    found = rows_of(
        summary, quantity, design=design, dataset=dataset, method=method, n_importance=n_importance
    )
    if found["value"].isna().all():
        raise MissingData(f"{quantity} of {method}, N = {n_importance}: known at no point of the sweep")
    index, columns = scale_name(method), "chain"
    if columns not in found or found[columns].isna().all():
        found = found.assign(chain=0)
    wide = found.pivot_table(index=index, columns=columns, values="value", aggfunc="mean").sort_index()
    return Grid(wide.index.to_numpy(dtype=np.float64), wide.to_numpy(dtype=np.float64))


def long_chains(method: str, n_importance: int) -> Where:
    """Where the tables have the long chains of PM MH or APM MI+MH at the published step size."""
    where: Where = {
        "design": "long",
        "dataset": "calibrated",
        "method": method,
        "n_importance": n_importance,
    }
    if method == "pm_mh":
        return where | {"step_size": BEST_STEP[method][n_importance]}
    # APM MI+MH also runs, for fewer iterations, in the case of figure 3.8.
    return where | {"case": f"long_{method}"}


def scalar_of(summary: pd.DataFrame, quantity: str, **where: str | float) -> float:
    """The one value of a quantity; the first where several cases hold the same.

    Raises:
        MissingData: the tables do not hold it.
    """
    return float(rows_of(summary, quantity, **where)["value"].iloc[0])


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


def bootstrap_error(statistic: Callable[..., float], *grids: Grid) -> float:
    """Standard error of a statistic of sweep means, by resampling chains at every point of every grid.

    Args:
        statistic: maps one curve of means [point] for each grid to a number.
        grids: the sweeps.

    Returns:
        Standard deviation over resamples; NaN where a grid has a single chain.
    """
    if any(grid.values.shape[1] < 2 for grid in grids):
        return float("nan")
    rng = np.random.default_rng(3)
    values = np.empty(_N_RESAMPLES)
    for resample in range(_N_RESAMPLES):
        values[resample] = statistic(*(grid.resampled_mean(rng) for grid in grids))
    finite = values[np.isfinite(values)]
    return float(finite.std(ddof=1)) if finite.size > 1 else float("nan")
