"""Finds the numbers of a method in the study's tables, for figures and claims."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline import lookup
from auxmc_pipeline.lookup import MissingData

COORDINATES = ("log z1", "log z2", "log z3", "log z4")
"""Names of the log rates, as the tables have them."""


class Row(NamedTuple):
    """A published method at one tolerance.

    Attributes:
        label: its name in figures and claims.
        methods: methods that count as it, the first one that was run is taken.
        tolerance: ABC tolerance; 0 for exact conditioning.
        colour: of its bars and histograms.
    """

    label: str
    methods: tuple[str, ...]
    tolerance: float
    colour: str


# Okabe and Ito's colours.
ROWS: dict[str, Row] = {
    "all": Row("Cons. HMC (all)", ("chmc_all", "chmc_teacher_forced"), 0.0, "#009E73"),
    "summaries": Row("Cons. HMC (sum.)", ("chmc_summaries",), 0.0, "#56B4E9"),
    "ball_10": Row("ABC SS (U, ε=10)", ("ss_ball",), 10.0, "#D55E00"),
    "ball_100": Row("ABC SS (U, ε=100)", ("ss_ball",), 100.0, "#E69F00"),
    "gaussian": Row("ABC SS (G, ε=10)", ("ss_gaussian",), 10.0, "#0072B2"),
    "hmc": Row("ABC HMC (G, ε=10)", ("hmc_gaussian",), 10.0, "#CC79A7"),
    "pm_normalised": Row("PM ABC, normalised, ε=1", ("pm_summaries",), 1.0, "#0072B2"),
    "pm_raw": Row("PM ABC, raw, ε=2.5", ("pm_summaries_raw",), 2.5, "#D55E00"),
}
"""Published rows of figures 4.10 to 4.12, the first six in the order of 4.11."""


def rows_of(table: pd.DataFrame, quantity: str, **where: str | float) -> pd.DataFrame:
    """Rows of a quantity that have a value, for which the given columns have the given values.

    Raises:
        MissingData: there are none.
    """
    known = table[table["value"].notna()] if "value" in table else table
    return lookup.rows_of(known, quantity, **where)


def scalar_of(table: pd.DataFrame, quantity: str, **where: str | float) -> float:
    """The one value of a quantity; the first where several cases hold the same.

    Raises:
        MissingData: the tables do not hold it.
    """
    return float(rows_of(table, quantity, **where)["value"].iloc[0])


def of_row(table: pd.DataFrame, quantity: str, row: str, scheme: str = "code") -> pd.DataFrame:
    """Rows of a quantity of a published row, from the first of its methods that was run.

    Raises:
        MissingData: none of them was run.
    """
    about = ROWS[row]
    for method in about.methods:
        try:
            return rows_of(table, quantity, method=method, scheme=scheme, tolerance=about.tolerance)
        except MissingData:
            continue
    raise MissingData(f"{about.label}, scheme {scheme}: not run at this preset")


def by_rate(table: pd.DataFrame, quantity: str, row: str, scheme: str = "code") -> FloatArray:
    """A quantity of a published row for each log rate [rate].

    Raises:
        MissingData: it was not run.
    """
    found = of_row(table, quantity, row, scheme).groupby("coordinate")["value"].mean()
    return np.asarray(found.reindex(list(COORDINATES)), dtype=np.float64)


def by_chain(table: pd.DataFrame, quantity: str, row: str, scheme: str = "code") -> FloatArray:
    """A quantity of a published row for each log rate and chain [rate, chain], or for each chain [chain].

    Raises:
        MissingData: it was not run.
    """
    found = of_row(table, quantity, row, scheme)
    if "coordinate" not in found or found["coordinate"].isna().all():
        return found.sort_values("chain")["value"].to_numpy(dtype=np.float64)
    wide = found.pivot_table(index="coordinate", columns="chain", values="value")
    return wide.reindex(list(COORDINATES)).to_numpy(dtype=np.float64)
