"""Finds the numbers of a method in the study's tables, for figures and claims."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auxmc.engine.lookup import rows_of
from experiments.gaussian_latent.settings import scale_name

__all__ = ["Grid", "bootstrap_error", "grid_of", "scalar_of", "smoothed"]

_N_RESAMPLES = 400
_SMOOTHING_POINTS = 5


class Grid(NamedTuple):
    """A quantity over a sweep.

    Attributes:
        points: values of the swept setting, increasing [point].
        values: the quantity in each chain [point, chain].
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean over chains [point]."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def sd(self) -> NDArray[np.float64]:
        """Standard deviation over chains [point]; 0 for a single chain."""
        return np.asarray(self.values.std(axis=1, ddof=min(1, self.values.shape[1] - 1)))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of the mean [point]; 0, which stands for unknown, for a single chain."""
        return np.asarray(self.sd / np.sqrt(self.values.shape[1]))

    def where(self, chosen: NDArray[np.bool_]) -> "Grid":
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
        MissingData: the tables do not hold it.
    """
    found = rows_of(
        summary, quantity, design=design, dataset=dataset, method=method, n_importance=n_importance
    )
    index, columns = scale_name(method), "chain"
    if columns not in found or found[columns].isna().all():
        found = found.assign(chain=0)
    wide = found.pivot_table(index=index, columns=columns, values="value", aggfunc="mean").sort_index()
    return Grid(wide.index.to_numpy(dtype=np.float64), wide.to_numpy(dtype=np.float64))


def scalar_of(summary: pd.DataFrame, quantity: str, **where: str | float) -> float:
    """The one value of a quantity; the first where several cases hold the same.

    Raises:
        MissingData: the tables do not hold it.
    """
    return float(rows_of(summary, quantity, **where)["value"].iloc[0])


def smoothed(curve: NDArray[np.float64], n_points: int = _SMOOTHING_POINTS) -> NDArray[np.float64]:
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
        means = [
            np.take_along_axis(grid.values, rng.integers(0, grid.values.shape[1], grid.values.shape), 1).mean(
                axis=1
            )
            for grid in grids
        ]
        values[resample] = statistic(*means)
    finite = values[np.isfinite(values)]
    return float(finite.std(ddof=1)) if finite.size > 1 else float("nan")
