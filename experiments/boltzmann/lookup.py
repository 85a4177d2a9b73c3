"""Errors averaged over repeats and systems, from the study's two tables, and what its measures of claims share."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, rows_of

SummaryMeasure = Callable[[pd.DataFrame], Measurement]
TablesMeasure = Callable[[pd.DataFrame, pd.DataFrame], Measurement]

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


def running_errors(curves: pd.DataFrame, method: str, error: str, pooling: str = "disjoint") -> Averages:
    """Errors of running estimates of a method.

    Raises:
        MissingData: the method was not run, or has no such error.
    """
    chains = of_grid(curves, "chains")
    found = rows_of(chains, "relative_error", method=method, coordinate=error, pooling=pooling)
    return _averages(found, "n_samples", f"{METHOD_LABELS[method]}, {ERROR_LABELS[error]}")


def annealed_errors(summary: pd.DataFrame, method: str, error: str) -> Averages:
    """Errors of annealed importance sampling by number of temperatures.

    Raises:
        MissingData: the method was not run.
    """
    found = rows_of(of_grid(summary, "annealed"), "annealed_error", method=method, coordinate=error)
    return _averages(found, "n_temperatures", f"{METHOD_LABELS[method]}, {ERROR_LABELS[error]}")


def at_samples(averages: Averages, n_samples: float) -> int:
    """Index of the point with this many samples, or the nearest within a tenth.

    Raises:
        MissingData: the curve has no point near it.
    """
    index = int(np.argmin(np.abs(averages.points - n_samples)))
    if abs(averages.points[index] - n_samples) > 0.1 * n_samples:
        raise MissingData(f"{n_samples:.0f} samples a chain: not run at this preset")
    return index


def cost_per_repeat(
    summary: pd.DataFrame, grid: str, method: str, quantity: str, n_temperatures: float | None = None
) -> float:
    """Gradients or seconds of a repeat, mean over systems; for chains per sample of each chain.

    Raises:
        MissingData: the method was not run.
    """
    where: dict[str, str | float] = {"method": method}
    if n_temperatures is not None:
        where["n_temperatures"] = n_temperatures
    table = of_grid(summary, grid)
    cost = float(rows_of(table, quantity, **where)["value"].dropna().mean())
    if grid == "annealed":
        return cost
    return cost / float(rows_of(table, "n_samples_run", **where)["value"].dropna().mean())


def jackknife(statistic: Callable[[NDArray[np.intp]], float], n_repeats: int) -> tuple[float, float]:
    """A statistic and its standard error from leaving out the repeats of all systems one by one.

    Args:
        statistic: maps the repeats to use to a number.
        n_repeats: how many there are.
    """
    repeats = np.arange(n_repeats)
    value = statistic(repeats)
    without = np.array([statistic(np.delete(repeats, r)) for r in repeats])
    error = math.sqrt((n_repeats - 1) * float(np.mean((without - without.mean()) ** 2)))
    return value, error


def systems_of(table: pd.DataFrame) -> int:
    """Systems with estimates in a table of curves or of errors."""
    return int(of_grid(table, "chains")["system"].nunique())


def of_grid(table: pd.DataFrame, grid: str) -> pd.DataFrame:
    """Rows of the cases whose names begin with that of a grid.

    Raises:
        MissingData: the table has no cases at all.
    """
    if "case" not in table:
        raise MissingData(f"cases of the grid {grid}: not run at this preset")
    return table[table["case"].astype(str).str.startswith(grid)]


def long_enough(averages: Averages, published_length: float) -> bool:
    """Whether a curve reaches so much of its published length that its end can be compared."""
    return bool(averages.points[-1] >= _LONG_ENOUGH * published_length)


def measure_tables(
    settings: Mapping[str, TablesMeasure],
) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    """Makes a function for `judge` of the measures of a claim's settings.

    Where one raises MissingData, or the machines have not the published number of units, the measurement is NaN, with
    the reason as its note.
    """

    def one(function: TablesMeasure, summary: pd.DataFrame, curves: pd.DataFrame) -> Measurement:
        n_units = float(summary["n_units"].iloc[0])
        if n_units != _PUBLISHED_UNITS:
            return Measurement(
                math.nan, math.nan, f"{n_units:.0f} units; the claims are about {_PUBLISHED_UNITS}"
            )
        try:
            return function(summary, curves)
        except MissingData as missing:
            return Measurement(math.nan, math.nan, str(missing))

    return lambda summary, curves: {
        setting: one(function, summary, curves) for setting, function in settings.items()
    }


def measure_summary(
    settings: Mapping[str, SummaryMeasure],
) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    """As `measure_tables`, for measures of the summary alone."""

    def of_both(function: SummaryMeasure) -> TablesMeasure:
        return lambda summary, _: function(summary)

    return measure_tables({setting: of_both(function) for setting, function in settings.items()})


def _averages(rows: pd.DataFrame, axis: str, what: str) -> Averages:
    rows = rows.dropna(subset=["value"])
    if rows.empty:
        raise MissingData(f"{what}: not run at this preset")
    table = rows.pivot_table(index=axis, columns=["system", "repeat"], values="value")
    n_systems, n_repeats = (table.columns.get_level_values(i).nunique() for i in (0, 1))
    values = table.to_numpy(dtype=np.float64)
    return Averages(table.index.to_numpy(dtype=np.float64), values.reshape(len(table), n_systems, n_repeats))
