"""Errors averaged over repeats and systems, from the study's tables, and what its figures and claims call them."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.tables import MissingData, Tables, Wanted
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
CURVE_METHODS = ("st", "gibbs_ct", "ct_hmc")  # Methods with a curve in figure 5.2
N_REPEATS = 10  # of a published run
ERROR_LABELS = {"log_z": "log normaliser", "mean": "mean", "covariance": "covariance"}


class Averages(NamedTuple):
    """Relative errors at points of a curve."""

    points: FloatArray  # samples of each chain, or numbers of temperatures [point]
    values: FloatArray  # of each system and repeat [point, system, repeat]
    systems: FloatArray  # their numbers [system]
    # standard error of a system's average where repeats have common chains [point, system]; None where they do not
    nested_error: FloatArray | None = None

    @property
    def mean(self) -> FloatArray:
        """Over systems and repeats [point]."""
        return np.asarray(self.values.mean(axis=(1, 2)), dtype=np.float64)

    @property
    def drawn_error(self) -> FloatArray:
        """Standard error of a published run as figures draw it: its systems and repeats as independent [point]."""
        n = self.values.shape[1] * N_REPEATS
        return np.asarray(self.values.std(axis=(1, 2), ddof=1) / math.sqrt(n), dtype=np.float64)

    @property
    def standard_error(self) -> FloatArray:
        """Of the mean over these systems, by what other chains or runs of them would have given [point]."""
        errors = self.nested_error
        if errors is None:
            errors = self.values.std(axis=2, ddof=1) / math.sqrt(self.values.shape[2])
        return np.asarray(np.sqrt(np.sum(errors**2, axis=1)) / self.values.shape[1], dtype=np.float64)

    def measured(self, index: int, note: str = "") -> Measurement:
        """The average at a point over all published systems; raises MissingData if some were not run."""
        check_all_systems(self.systems.size)
        found = float(self.mean[index]), float(self.standard_error[index])
        return Measurement(*found, f"{note}, {N_SYSTEMS} systems" if note else f"{N_SYSTEMS} systems")

    def at_samples(self, n_samples: float) -> int:
        """Index of the point with this many samples, within a tenth; raises MissingData if there is none."""
        index = int(np.argmin(np.abs(self.points - n_samples)))
        if abs(self.points[index] - n_samples) > 0.1 * n_samples:
            raise MissingData(f"{n_samples:.0f} samples a chain: not run at this preset")
        return index

    def at_temperatures(self, n_temperatures: float) -> int:
        """Index of the point with this many temperatures; raises MissingData if there is none."""
        if n_temperatures not in self.points:
            raise MissingData(f"K = {n_temperatures:.0f}: not run at this preset")
        return int(np.flatnonzero(self.points == n_temperatures)[0])


def check_all_systems(n: int) -> None:
    """Raises MissingData if only `n` of the published systems were run."""
    if n < N_SYSTEMS:
        raise MissingData(f"{n} of the {N_SYSTEMS} published systems: not run at this preset")


def rows_of(
    tables: Tables, designs: str | tuple[str, ...], table: str, quantity: str, **wanted: Wanted
) -> pd.DataFrame:
    """Rows of the cases whose names begin with one of the designs, with a column `system`; raises as `Tables.rows`.

    Repeats of a design that was run with several seeds are numbered one after the other.
    """
    settings = tables["settings"].set_index("case")
    settings = settings[settings.index.str.startswith(designs)]
    found = tables.rows(table, quantity, **wanted, case=[str(case) for case in settings.index])
    found = found.assign(**{name: found["case"].map(settings[name]) for name in ("system", "seed")})
    if "repeat" in found:
        found["repeat"] += found["seed"].rank(method="dense").astype(int).sub(1) * (found["repeat"].max() + 1)
    return found


@lru_cache(maxsize=64)
def running_errors(
    tables: Tables, method: str, error: str, pooling: str = "disjoint", design: str = "chains"
) -> Averages:
    """Errors of running estimates of a method; raises MissingData if the method was not run, or has no such error."""
    wanted = {"method": method, "coordinate": error}
    table = "pooling_repeat_n_samples_coordinate"
    found = _averages(
        rows_of(tables, design, table, "relative_error", pooling=pooling, **wanted),
        "relative_error",
        "n_samples",
    )
    if pooling != "nested":
        return found
    errors = rows_of(tables, "chains", "n_samples_coordinate", "nested_average_error", **wanted)
    by_place = errors.groupby(["n_samples", "system"])["nested_average_error"]
    of_mean = by_place.agg(lambda one: float(np.linalg.norm(one)) / len(one)).to_xarray()
    return found._replace(nested_error=of_mean.sel(n_samples=found.points, system=found.systems).values)


@lru_cache(maxsize=64)
def errors_by_base(tables: Tables, method: str) -> pd.DataFrame:
    """Errors after whole runs, mean over repeats [coordinate and system, base]; raises as `Tables.rows`."""
    rows = rows_of(tables, "bases", "repeat_coordinate", "final_error", method=method)
    return rows.pivot_table(index=["coordinate", "system"], columns="base", values="final_error")


@lru_cache(maxsize=64)
def annealed_errors(tables: Tables, method: str, error: str) -> Averages:
    """Errors of annealed importance sampling by number of temperatures; raises MissingData if it was not run."""
    rows = rows_of(tables, "annealed", "repeat_coordinate", "annealed_error", method=method, coordinate=error)
    return _averages(rows, "annealed_error", "n_temperatures")


def cost_per_repeat(tables: Tables, method: str, quantity: str, **wanted: Wanted) -> float:
    """Gradients or seconds of a repeat, mean over systems, for chains per sample of each; raises as `Tables.rows`."""
    design = "annealed" if method in ANNEALED_METHODS else "chains"
    rows = rows_of(tables, design, "point", quantity, method=method, **wanted)
    cost = float(rows[quantity].mean())
    return cost if design == "annealed" else cost / float(rows["n_samples_run"].mean())


def n_systems(tables: Tables) -> int:
    """Systems that chains were run on."""
    settings = tables["settings"]
    return int(settings[settings["case"].str.startswith("chains")]["system"].nunique())


def _averages(rows: pd.DataFrame, quantity: str, axis: str) -> Averages:
    values = rows.set_index([axis, "system", "repeat"])[quantity].to_xarray()
    return Averages(*(np.asarray(each, np.float64) for each in (values[axis], values, values["system"])))
