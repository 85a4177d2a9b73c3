"""Errors averaged over repeats and systems, from the study's two tables, and what its figures and claims call them."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.tables import MissingData, Table, Tables, Wanted
from experiments.boltzmann.settings import ANNEALED_METHODS

METHOD_LABELS = {
    "st": "simulated tempering",
    "gibbs_ct": "Gibbs CT",
    "ct_hmc": "CT-HMC",
    "hmc": "HMC in the target",
    "tuned": "Gibbs CT, converged base",
    "h_ais": "AIS, 1 step, partial refreshment",
    "ais_10": "AIS, 10 steps",
    "ais_20": "AIS, 20 steps",
}
CURVE_METHODS = ("st", "gibbs_ct", "ct_hmc")
"""Methods with a curve in figure 5.2."""

ERROR_LABELS = {"log_z": "log normaliser", "mean": "mean", "covariance": "covariance"}

_PUBLISHED_UNITS = 30
# Part of the published length that the end of a curve must reach.
_LONG_ENOUGH = 0.5

_Options = ParamSpec("_Options")
_Found = TypeVar("_Found")


class Averages(NamedTuple):
    """Relative errors at points of a curve.

    Attributes:
        points: samples of each chain, or numbers of temperatures [point].
        values: of each system and repeat [point, system, repeat].
    """

    points: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Over systems and repeats [point]."""
        return np.asarray(self.values.mean(axis=(1, 2)), dtype=np.float64)

    @property
    def standard_error(self) -> FloatArray:
        """Of the mean, all systems and repeats taken as independent [point]."""
        n = self.values.shape[1] * self.values.shape[2]
        return np.asarray(self.values.std(axis=(1, 2), ddof=1) / math.sqrt(n), dtype=np.float64)

    def at_samples(self, n_samples: float) -> int:
        """Index of the point with this many samples, or the nearest within a tenth.

        Raises:
            MissingData: the curve has no point near it.
        """
        index = int(np.argmin(np.abs(self.points - n_samples)))
        if abs(self.points[index] - n_samples) > 0.1 * n_samples:
            raise MissingData(f"{n_samples:.0f} samples a chain: not run at this preset")
        return index

    def long_enough(self, published_length: float) -> bool:
        """Whether the curve reaches so much of its published length that its end can be compared."""
        return bool(self.points[-1] >= _LONG_ENOUGH * published_length)


def running_errors(tables: Tables, method: str, error: str, pooling: str = "disjoint") -> Averages:
    """Errors of running estimates of a method.

    Raises:
        MissingData: the method was not run, or has no such error.
    """
    chains = of_grid(tables.curves, "chains")
    found = chains.rows("relative_error", method=method, coordinate=error, pooling=pooling)
    return _averages(found, "n_samples", f"{METHOD_LABELS[method]}, {ERROR_LABELS[error]}")


def annealed_errors(tables: Tables, method: str, error: str) -> Averages:
    """Errors of annealed importance sampling by number of temperatures.

    Raises:
        MissingData: the method was not run.
    """
    found = of_grid(tables.summary, "annealed").rows("annealed_error", method=method, coordinate=error)
    return _averages(found, "n_temperatures", f"{METHOD_LABELS[method]}, {ERROR_LABELS[error]}")


def cost_per_repeat(tables: Tables, method: str, quantity: str, **wanted: Wanted) -> float:
    """Gradients or seconds of a repeat, mean over systems; for chains per sample of each chain.

    Args:
        tables: of the study.
        method: whose runs are counted.
        quantity: `gradients_per_repeat` or `seconds_per_repeat`.
        wanted: further columns and their values, such as `n_temperatures`.

    Raises:
        MissingData: the method was not run.
    """

    def mean(quantity: str, grid: str) -> float:
        rows = of_grid(tables.summary, grid).rows(quantity, method=method, **wanted)
        return float(rows["value"].dropna().mean())

    if method in ANNEALED_METHODS:
        return mean(quantity, "annealed")
    return mean(quantity, "chains") / mean("n_samples_run", "chains")


def n_systems(tables: Tables) -> int:
    """Systems that chains were run on."""
    chains = of_grid(tables.curves, "chains").frame
    return int(chains["system"].nunique()) if "system" in chains else 0


def of_grid(table: Table, grid: str) -> Table:
    """Rows of the cases whose names begin with that of a grid."""
    cases = table.frame.get("case", pd.Series(dtype=str)).astype(str).unique()
    return table.where(case=[case for case in cases if case.startswith(grid)])


def about_published_units(
    measure: Callable[Concatenate[Tables, _Options], _Found],
) -> Callable[Concatenate[Tables, _Options], _Found]:
    """Makes a measure of a claim raise MissingData where the machines have not the published number of units."""

    @wraps(measure)
    def checked(tables: Tables, /, *args: _Options.args, **options: _Options.kwargs) -> _Found:
        n_units = float(tables.summary.setting("n_units"))
        if n_units != _PUBLISHED_UNITS:
            raise MissingData(f"{n_units:.0f} units; the claims are about {_PUBLISHED_UNITS}")
        return measure(tables, *args, **options)

    return checked


def _averages(rows: pd.DataFrame, axis: str, what: str) -> Averages:
    rows = rows.dropna(subset=["value"])
    if rows.empty:
        raise MissingData(f"{what}: not run at this preset")
    table = rows.pivot_table(index=axis, columns=["system", "repeat"], values="value")
    n_systems, n_repeats = (table.columns.get_level_values(i).nunique() for i in (0, 1))
    values = table.to_numpy(dtype=np.float64)
    return Averages(table.index.to_numpy(dtype=np.float64), values.reshape(len(table), n_systems, n_repeats))
