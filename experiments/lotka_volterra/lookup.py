"""Published methods at their tolerances, and where their numbers are in the study's tables."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.tables import MissingData, Table, Tables, Wanted
from experiments.lotka_volterra.model.data import GENERATING_RATES

COORDINATES = ("log z1", "log z2", "log z3", "log z4")
"""Names of the log rates, as the tables have them."""

LOG_GENERATING = np.log(GENERATING_RATES)
"""Log rates that generated the data."""


class Row(NamedTuple):
    """A published method at one tolerance.

    Attributes:
        label: its name in figures and claims.
        method: that of the settings.
        tolerance: ABC tolerance; 0 for exact conditioning.
        colour: of its bars and histograms.
    """

    label: str
    method: str
    tolerance: float
    colour: str


# Okabe and Ito's colours.
ROWS: dict[str, Row] = {
    "all": Row("Cons. HMC (all)", "chmc_all", 0.0, "#009E73"),
    "all_dense": Row("Cons. HMC (all), dense", "chmc_all_dense", 0.0, "#009E73"),
    "teacher_forced": Row("Cons. HMC (all), teacher-forced", "chmc_teacher_forced", 0.0, "#009E73"),
    "summaries": Row("Cons. HMC (sum.)", "chmc_summaries", 0.0, "#56B4E9"),
    "ball_10": Row("ABC SS (U, ε=10)", "ss_ball", 10.0, "#D55E00"),
    "ball_100": Row("ABC SS (U, ε=100)", "ss_ball", 100.0, "#E69F00"),
    "gaussian": Row("ABC SS (G, ε=10)", "ss_gaussian", 10.0, "#0072B2"),
    "hmc": Row("ABC HMC (G, ε=10)", "hmc_gaussian", 10.0, "#CC79A7"),
    "pm_normalised": Row("PM ABC, normalised, ε=1", "pm_summaries", 1.0, "#0072B2"),
    "pm_raw": Row("PM ABC, raw, ε=2.5", "pm_summaries_raw", 2.5, "#D55E00"),
}
"""Published rows of figures 4.10 to 4.12, and two of ours that have the target of the first."""

FIGURE_ROWS = ("all", "summaries", "ball_10", "ball_100", "gaussian", "hmc")
"""Rows of figures 4.11 and 4.12, in order."""

ABC_ROWS = ("ball_10", "ball_100", "gaussian", "hmc")
"""Rows of approximate Bayesian computation on all data."""


def known(table: Table, quantity: str, **wanted: Wanted) -> pd.DataFrame:
    """Rows of a quantity that have a value: methods of one case leave places without one.

    Raises:
        MissingData: there are none.
    """
    found = table.rows(quantity, **wanted)
    found = found[found["value"].notna()]
    if found.empty:
        raise MissingData(f"{quantity}: not run at this preset")
    return found


def known_value(table: Table, quantity: str, **wanted: Wanted) -> float:
    """The one value of a quantity; the first where several cases hold the same.

    Raises:
        MissingData: the tables do not hold it.
    """
    return float(known(table, quantity, **wanted)["value"].iloc[0])


def of_row(table: Table, quantity: str, row: str, scheme: str = "code") -> pd.DataFrame:
    """Rows of a quantity of a published row.

    Raises:
        MissingData: it was not run.
    """
    about = ROWS[row]
    wanted: dict[str, Wanted] = {"method": about.method, "scheme": scheme, "tolerance": about.tolerance}
    try:
        return known(table, quantity, design="chains", **wanted)
    except MissingData as error:
        raise MissingData(f"{about.label}, scheme {scheme}: not run at this preset") from error


def by_rate(tables: Tables, quantity: str, row: str) -> FloatArray:
    """A statistic of a published row for each log rate [rate].

    Raises:
        MissingData: it was not run.
    """
    found = of_row(tables.summary, quantity, row).groupby("coordinate")["value"].mean()
    return np.asarray(found.reindex(list(COORDINATES)), dtype=np.float64)


def by_chain(tables: Tables, quantity: str, row: str) -> FloatArray:
    """A statistic of a published row for each log rate and chain [rate, chain], or for each chain [chain].

    Raises:
        MissingData: it was not run.
    """
    found = of_row(tables.summary, quantity, row)
    if "coordinate" not in found or found["coordinate"].isna().all():
        return found.sort_values("chain")["value"].to_numpy(dtype=np.float64)
    wide = found.pivot_table(index="coordinate", columns="chain", values="value")
    return wide.reindex(list(COORDINATES)).to_numpy(dtype=np.float64)


def without_chain(quantity: str, row: str, tables: Tables) -> FloatArray:
    """A statistic of all chains but one [rate, chain]; of two chains none can be left out."""
    try:
        return by_chain(tables, quantity, row)
    except MissingData:
        return np.empty((len(COORDINATES), 0))
