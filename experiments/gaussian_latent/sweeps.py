"""Finds the numbers of a method in the study's tables, for figures and claims."""

from typing import NamedTuple

import numpy as np

from auxmc.diagnostics.errors_of_means import error_between_chains
from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.gaussian_latent.settings import scale_name

SIZES = (1, 8, 32)
"""Numbers of importance samples, N in the thesis."""

BEST_STEP = {"pm_mh": {1: 0.55, 8: 0.375, 32: 0.4}, "apm_mi_mh": {1: 0.425, 8: 0.425, 32: 0.425}}
"""Step sizes of long chains, by method and N (thesis, captions of figures 3.4 and 3.6)."""

TARGET_ACCEPT = 0.234
"""Accept rate by which the thesis tunes the step size of APM MI+MH (section 3.6.1.2)."""


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
        """Standard error of the mean [point], widened for few chains; NaN for a single one."""
        return error_between_chains(self.values)

    def where(self, chosen: BooleanArray) -> "Grid":
        """The part of the sweep at the chosen points [point]."""
        return Grid(self.points[chosen], self.values[chosen])


def grid_of(
    tables: Tables, quantity: str, method: str, n_importance: int, *, dataset: str = "calibrated"
) -> Grid:
    """A quantity of a method against its tuning parameter, averaged over coordinates where it has them.

    Raises:
        MissingData: the tables do not hold it, or it is known at no point.
    """
    found = tables.summary.rows(
        quantity, design="sweep", dataset=dataset, method=method, n_importance=n_importance
    )
    if found["value"].isna().all():
        raise MissingData(f"{quantity} of {method}, N = {n_importance}: known at no point of the sweep")
    if "chain" not in found or found["chain"].isna().all():
        found = found.assign(chain=0)
    wide = found.pivot_table(index=scale_name(method), columns="chain", values="value", aggfunc="mean")
    wide = wide.sort_index()
    return Grid(wide.index.to_numpy(dtype=np.float64), wide.to_numpy(dtype=np.float64))


def long_chains(method: str, n_importance: int) -> dict[str, Wanted]:
    """Where the tables have the long chains of PM MH or APM MI+MH at the published step size."""
    where: dict[str, Wanted] = {
        "design": "long",
        "dataset": "calibrated",
        "method": method,
        "n_importance": n_importance,
    }
    if method == "pm_mh":
        return where | {"step_size": BEST_STEP[method][n_importance]}
    # APM MI+MH also runs, for fewer iterations, in the case of figure 3.8.
    return where | {"case": "long_apm_mi_mh"}


def shared_value(tables: Tables, quantity: str, **wanted: Wanted) -> float:
    """The value of a quantity that is the same in all rows asked for.

    Raises:
        MissingData: the tables do not hold it.
    """
    return float(tables.summary.rows(quantity, **wanted)["value"].iloc[0])
