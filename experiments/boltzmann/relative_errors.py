"""Errors averaged over repeats and systems, from the study's two tables, and what its figures and claims call them."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.tables import MissingData, Table, Tables, Wanted
from experiments.boltzmann.model.data import N_SYSTEMS
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


class Averages(NamedTuple):
    """Relative errors at points of a curve.

    Attributes:
        points: samples of each chain, or numbers of temperatures [point].
        values: of each system and repeat [point, system, repeat].
        systems: their numbers [system].
        nested_error: standard error of the average over a system's repeats where these share chains [point, system];
            None where they are independent.
    """

    points: FloatArray
    values: FloatArray
    systems: FloatArray
    nested_error: FloatArray | None = None

    @property
    def mean(self) -> FloatArray:
        """Over systems and repeats [point]."""
        return np.asarray(self.values.mean(axis=(1, 2)), dtype=np.float64)

    @property
    def drawn_error(self) -> FloatArray:
        """Standard error as published figures draw it, all systems and repeats taken as independent [point]."""
        n = self.values.shape[1] * self.values.shape[2]
        return np.asarray(self.values.std(axis=(1, 2), ddof=1) / math.sqrt(n), dtype=np.float64)

    @property
    def standard_error(self) -> FloatArray:
        """Of the mean over these systems, by what other chains or runs of them would have given [point]."""
        errors = self.nested_error
        if errors is None:
            errors = self.values.std(axis=2, ddof=1) / math.sqrt(self.values.shape[2])
        return np.asarray(np.sqrt(np.sum(errors**2, axis=1)) / self.values.shape[1], dtype=np.float64)

    def measured(self, index: int, note: str = "") -> Measurement:
        """The average at a point, of all published systems.

        Raises:
            MissingData: some were not run.
        """
        if self.systems.size < N_SYSTEMS:
            raise MissingData(
                f"{self.systems.size} of the {N_SYSTEMS} published systems: not run at this preset"
            )
        return self.of_these(index, note)

    def of_these(self, index: int, note: str = "") -> Measurement:
        """The average at a point over the systems that were run, whose number the note ends with."""
        systems = f"{self.systems.size} systems"
        found = float(self.mean[index]), float(self.standard_error[index])
        return Measurement(*found, f"{note}, {systems}" if note else systems)

    def at_samples(self, n_samples: float) -> int:
        """Index of the point with this many samples, or the nearest within a tenth.

        Raises:
            MissingData: the curve has no point near it.
        """
        index = int(np.argmin(np.abs(self.points - n_samples)))
        if abs(self.points[index] - n_samples) > 0.1 * n_samples:
            raise MissingData(f"{n_samples:.0f} samples a chain: not run at this preset")
        return index

    def at_temperatures(self, n_temperatures: float) -> int:
        """Index of the point with this many temperatures.

        Raises:
            MissingData: there is none.
        """
        if n_temperatures not in self.points:
            raise MissingData(f"K = {n_temperatures:.0f}: not run at this preset")
        return int(np.flatnonzero(self.points == n_temperatures)[0])


def running_errors(tables: Tables, method: str, error: str, pooling: str = "disjoint") -> Averages:
    """Errors of running estimates of a method.

    Raises:
        MissingData: the method was not run, or has no such error.
    """
    chains = of_grid(tables.curves, "chains").where(method=method, coordinate=error)
    found = _averages(
        chains.rows("relative_error", pooling=pooling),
        "n_samples",
        f"{METHOD_LABELS[method]}, {ERROR_LABELS[error]}",
    )
    if pooling != "nested":
        return found
    errors = chains.array("nested_average_error", "n_samples", "system")
    return found._replace(nested_error=errors.sel(n_samples=found.points, system=found.systems).values)


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
    chains = of_grid(tables.curves, "chains").everything
    return int(chains["system"].nunique()) if "system" in chains else 0


def of_grid(table: Table, grid: str) -> Table:
    """Rows of the cases whose names begin with that of a grid."""
    cases = table.everything.get("case", pd.Series(dtype=str)).astype(str).unique()
    return table.where(case=[case for case in cases if case.startswith(grid)])


def _averages(rows: pd.DataFrame, axis: str, what: str) -> Averages:
    rows = rows.dropna(subset=["value"])
    if rows.empty:
        raise MissingData(f"{what}: not run at this preset")
    table = rows.pivot_table(index=axis, columns=["system", "repeat"], values="value")
    systems, repeats = (table.columns.get_level_values(i).unique() for i in (0, 1))
    values = table.to_numpy(dtype=np.float64).reshape(len(table), len(systems), len(repeats))
    return Averages(table.index.to_numpy(dtype=np.float64), values, systems.to_numpy(dtype=np.float64))
