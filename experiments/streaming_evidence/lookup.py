"""Finds runs of the study's cases in its two tables."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, rows_of

MODEL_CASES = ("linear", "softmax", "mixture")

_MODEL_OF = {"floor": "linear", "sensitivity": "mixture"}


class Tables(NamedTuple):
    """The study's summary and curves."""

    summary: pd.DataFrame
    curves: pd.DataFrame


class Series(NamedTuple):
    """Runs that differ by their random numbers only.

    Attributes:
        case: name of their case.
        where: columns with the one value that they have, besides.
        last: rows after which they are not looked at.
    """

    case: str
    where: dict[str, str | float]
    last: float = np.inf

    @property
    def model(self) -> str:
        """Which of MODEL_CASES they belong to."""
        return _MODEL_OF.get(self.case, self.case)


Measure = Callable[[Tables], Measurement]


def measures(
    settings: Mapping[str, Measure],
) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    """Makes a function for `judge` of the measures of a claim's settings.

    Where one raises MissingData the measurement is NaN, with what is missing as its note.
    """

    def one(measure: Measure, tables: Tables) -> Measurement:
        try:
            return measure(tables)
        except MissingData as missing:
            return Measurement(np.nan, np.nan, str(missing))

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
        tables = Tables(summary, curves)
        return {name: one(function, tables) for name, function in settings.items()}

    return measure


def main(model: str, method: str = "annealed") -> Series:
    """Runs with the published settings, or of another method with its own."""
    return Series(model, {"method": method})


def varied(case: str, variation: str) -> Series:
    """Runs with a variation of the settings, as it is written in the case's settings."""
    return Series(case, {"variation": variation})


def default(tables: Tables, case: str) -> Series:
    """Runs with the published settings, as far as the variations of a case go."""
    return main(_MODEL_OF[case])._replace(last=final_rows(tables, case))


def curve(tables: Tables, series: Series, quantity: str) -> pd.DataFrame:
    """A quantity of runs against the rows absorbed.

    Returns:
        One line a run, one column for each number of rows where all runs have a value.

    Raises:
        MissingData: there are none.
    """
    found = rows_of(_of_case(tables.curves, series.case), quantity, **series.where).dropna(subset=["value"])
    if found.empty:
        raise MissingData(f"{quantity} of {_words(series)}: not run at this preset")
    if "repeat" not in found or found["repeat"].isna().all():
        found = found.assign(repeat=0)
    table = found.pivot_table(index="repeat", columns="absorbed", values="value").dropna(axis=1)
    return between(table.astype(np.float64), 0.0, series.last)


def between(found: pd.DataFrame, first: float, last: float = np.inf) -> pd.DataFrame:
    """The columns of `curve` from one number of rows to another, both included."""
    columns = row_counts(found)
    return found.loc[:, (columns >= first) & (columns <= last)]


def row_counts(found: pd.DataFrame) -> FloatArray:
    """Numbers of rows absorbed, the columns of `curve`."""
    return found.columns.to_numpy(dtype=np.float64)


def per_row(found: pd.DataFrame) -> pd.DataFrame:
    """Divides each column of `curve` by its number of rows."""
    return found.div(row_counts(found), axis=1)


def total(tables: Tables, series: Series, quantity: str) -> FloatArray:
    """A quantity of the summary for each of the runs [repeat].

    Raises:
        MissingData: there are none.
    """
    found = rows_of(_of_case(tables.summary, series.case), quantity, **series.where)["value"].dropna()
    if found.empty:
        raise MissingData(f"{quantity} of {_words(series)}: not run at this preset")
    return found.to_numpy(dtype=np.float64)


def reference(tables: Tables, model: str) -> pd.Series:
    """Exact or near-exact log evidence of a model's stream, by rows.

    Raises:
        MissingData: there is none.
    """
    return curve(tables, Series(model, {}), "exact" if model == "linear" else "reference").iloc[0]


def reference_at(tables: Tables, model: str, n_rows: float) -> float:
    """Exact or near-exact log evidence of a model's stream for a number of rows.

    Raises:
        MissingData: there is none for this number.
    """
    truth = reference(tables, model)
    if n_rows not in truth.index:
        raise MissingData(f"a reference of {model} at {n_rows:.0f} rows: not run at this preset")
    return float(truth[n_rows])


def errors(tables: Tables, series: Series, quantity: str = "log_evidence") -> pd.DataFrame:
    """Errors in nats, one line a run, one column for each number of rows with a reference.

    Args:
        tables: of the study.
        series: the runs.
        quantity: estimate of the log evidence.
    """
    if series.model == "linear":
        return curve(tables, series, quantity.replace("log_evidence", "error"))
    return against(curve(tables, series, quantity), reference(tables, series.model))


def against(found: pd.DataFrame, truth: pd.Series) -> pd.DataFrame:
    """Runs minus a reference, at the numbers of rows that both have.

    Raises:
        MissingData: there are none.
    """
    common = [n for n in found.columns if n in truth.index]
    if not common:
        raise MissingData("no number of rows with a reference: not run at this preset")
    return found[common] - truth[common]


def annealing_steps(tables: Tables, series: Series) -> pd.DataFrame:
    """Annealing steps of a chunk, mean over the chunks since the number of rows before, one line a run."""
    steps = curve(tables, series, "n_steps_so_far")
    chunks = curve(tables, series, "n_chunks_so_far").iloc[0]
    gained = steps.diff(axis=1)
    gained[steps.columns[0]] = steps.iloc[:, 0]
    return gained / chunks.diff().fillna(chunks.iloc[0])


def full_data(tables: Tables, model: str, quantity: str, size: float) -> FloatArray:
    """A quantity of the estimators that need all rows, for a number of rows [repeat].

    Raises:
        MissingData: it was not run.
    """
    return total(tables, Series(f"{model}_full", {"size": size}), quantity)


def largest_size(tables: Tables, model: str, quantity: str) -> float:
    """Most rows for which estimators that need all rows have a quantity."""
    found = rows_of(_of_case(tables.summary, f"{model}_full"), quantity).dropna(subset=["value"])
    if found.empty:
        raise MissingData(f"{quantity} of {model}: not run at this preset")
    return float(found["size"].max())


def final_rows(tables: Tables, case: str) -> float:
    """Rows of the stream of a case."""
    return float(_of_case(tables.summary, case)["n_rows"].iloc[0])


def at(found: pd.DataFrame, n_rows: float) -> FloatArray:
    """Values of all runs at a number of rows [repeat].

    Raises:
        MissingData: no chunk ends there.
    """
    if n_rows not in found.columns:
        raise MissingData(f"{n_rows:.0f} rows: not run at this preset")
    return found[n_rows].to_numpy(dtype=np.float64)


def slope(found: pd.DataFrame, first: float, last: float) -> FloatArray:
    """Change of a quantity for each row between two numbers of rows, or those nearest to them [repeat].

    Raises:
        MissingData: the runs end long before the last.
    """
    columns = row_counts(found)
    if columns[-1] < 0.98 * last:
        raise MissingData(f"{last:.0f} rows: not run at this preset")
    begin, end = (columns[int(np.argmin(np.abs(columns - n)))] for n in (first, last))
    return (found[end] - found[begin]).to_numpy(dtype=np.float64) / (end - begin)


def _words(series: Series) -> str:
    return " ".join([series.case, *(str(v) for v in series.where.values())])


def _of_case(table: pd.DataFrame, case: str) -> pd.DataFrame:
    found = table[table["case"] == case] if "case" in table else table.iloc[:0]
    if found.empty:
        raise MissingData(f"the case {case}: not run at this preset")
    return found
