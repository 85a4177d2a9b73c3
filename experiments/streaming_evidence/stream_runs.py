"""Runs of streaming estimators, and what they are compared with, as the study's tables hold them.

Tables by rows have one line a run and one column for each number of rows. What the tables do not hold, or not for
enough rows, is a MissingData error.
"""

import contextlib
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.tables import MissingData, Tables, Wanted, first_run, not_run

MODEL_CASES = ("linear", "softmax", "mixture")

SWEEPS: dict[str, dict[float, str]] = {  # of the sensitivity case, by swept value; presets may lack some
    "particles": {5: "n_particles=5", 10: "default", 20: "n_particles=20", 50: "n_particles=50",
                  100: "n_particles=100"},
    "particles, target of 5": {10: "default", 20: "n_particles=20 target_share=0.25",
                               50: "n_particles=50 target_share=0.1", 100: "n_particles=100 target_share=0.05"},
    "moves": {2: "n_moves=2", 5: "n_moves=5", 10: "n_moves=10", 20: "default", 50: "n_moves=50"},
    "batch": {100: "batch_size=100", 200: "batch_size=200", 500: "default", 1000: "batch_size=1000",
              2000: "batch_size=2000"},
    "target": {1: "target_share=0.1", 2: "target_share=0.2", 3: "target_share=0.3", 5: "default",
               7: "target_share=0.7", 9: "target_share=0.9"},
    "rate": {0.01: "learning_rate=0.01", 0.03: "learning_rate=0.03", 0.1: "default", 0.3: "learning_rate=0.3",
             1.0: "learning_rate=1"},
    "exchange": {0.01: "learning_rate=0.01 rate_times_moves=2", 0.05: "learning_rate=0.05 rate_times_moves=2",
                 0.1: "default", 0.2: "learning_rate=0.2 rate_times_moves=2",
                 0.5: "learning_rate=0.5 rate_times_moves=2", 1.0: "learning_rate=1 rate_times_moves=2"},
}  # fmt: skip

# Cases with more repeats of some of them, those of 1e6 rows first, and what they call the published settings.
MORE_REPEATS = ("sensitivity_more", "rates_more")
_DEFAULT_OF_MORE = "learning_rate=0.1"
_CONTINUED = dict.fromkeys(MORE_REPEATS, "rates_most") | {"slow_rate": "slow_rate_more"}  # with further seeds

COMPONENTS = (3, 5, 7)  # Components of the mixtures that follow the stream that changes
CHANGES = (1000, 10_000)  # Rows after which its data have more clusters


# Estimators that need all rows, and what the names of their quantities begin with.
RIVALS = {"nested": "nested", "ais": "annealed"}


class StreamRuns(NamedTuple):
    """Runs that differ by their random numbers only."""

    tables: Tables  # of the study
    case: str  # name of their case
    wanted: dict[str, str | float]  # columns with the one value that they have, besides
    last: float = np.inf  # rows after which they are not looked at

    @property
    def model(self) -> str:
        """Stream that they read, the name of the case with the published settings on it."""
        return str(self.tables.setting("stream", case=self.case))

    @property
    def end(self) -> float:
        """Rows after which they are compared."""
        return min(self.last, final_rows(self.tables, self.case))

    def curve(self, quantity: str) -> pd.DataFrame:
        """A quantity by the rows absorbed, where all runs have a value; raises MissingData if nowhere."""
        found = _by_run(self.tables, quantity, "absorbed", case=self.case, **self.wanted)
        more = _CONTINUED.get(self.case, "")
        if self.wanted.get("variation") in variations_run(self.tables, more):
            further = _by_run(self.tables, quantity, "absorbed", case=more, **self.wanted)
            found = pd.concat([found, further], ignore_index=True)
        found = between(found.dropna(axis=1), 0.0, self.last)
        if found.empty:
            raise MissingData(f"{quantity} of all runs of {self.case}: not run at this preset")
        return found

    def totals(self, quantity: str) -> FloatArray:
        """A quantity of whole runs [repeat]."""
        return _rows(self.tables, quantity, case=self.case, **self.wanted)[quantity].to_numpy(np.float64)


def published(tables: Tables, case: str, method: str = "annealed") -> StreamRuns:
    """Runs with the published settings, or of another method with its own."""
    return StreamRuns(tables, case, {"method": method})


def early(tables: Tables, model: str, method: str = "annealed", n_rows: float = 0.0) -> StreamRuns:
    """Runs with the published settings: the many of few rows, where these reach a number of rows."""
    case = first_run(tables, f"early__stream-{model}", model)
    return published(tables, case if n_rows <= final_rows(tables, case) else model, method)


def varied(tables: Tables, case: str, variation: str) -> StreamRuns:
    """Runs with a variation of the settings, as the case writes it; "default" is the published ones where it can be."""
    if variation == "default" and _DEFAULT_OF_MORE in variations_run(tables, case):
        variation = _DEFAULT_OF_MORE
    if variation == "default":
        return published(tables, StreamRuns(tables, case, {}).model)._replace(last=final_rows(tables, case))
    return StreamRuns(tables, case, {"variation": variation})


def errors_of(runs: StreamRuns) -> pd.DataFrame:
    """Errors of the log evidence in nats, by the numbers of rows with a reference."""
    if runs.model == "linear":
        return runs.curve("error")
    return against(runs.curve("log_evidence"), reference(runs.tables, runs.model))


def thermostat_errors(tables: Tables, model: str, variation: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Errors in nats of runs with other moves, and of SGHMC at their learning rate, at numbers of rows of both."""
    rate = variation.partition("learning_rate=")[2]
    usual = f"learning_rate={rate}" if rate not in ("", "0.1") else "default"
    both = (
        varied(tables, f"thermostat__stream-{model}", variation),
        varied(tables, "floor" if model == "linear" else "sensitivity", usual),
    )
    own, rival = map(errors_of, both)
    common = own.columns.intersection(rival.columns)
    if common.empty:
        raise MissingData(f"{variation} on {model} and SGHMC: no number of rows of both at this preset")
    runs = own.index.intersection(rival.index)  # the same rows in the same order: they are compared in pairs
    return own.loc[runs, common], rival.loc[runs, common]


def steps_of_chunks(runs: StreamRuns) -> pd.DataFrame:
    """Annealing steps of a chunk by rows: means over the chunks since the number of rows before."""
    steps, chunks = runs.curve("n_steps_so_far"), runs.curve("n_chunks_so_far").iloc[0]
    gained = steps.diff(axis=1)
    gained[steps.columns[0]] = steps.iloc[:, 0]
    return gained / chunks.diff().fillna(chunks.iloc[0])


def final_rows(tables: Tables, case: str) -> float:
    """Rows of the stream of a case."""
    return float(tables.setting("n_rows", case=case))


def reference(tables: Tables, case: str) -> pd.Series:
    """Exact or near-exact log evidence of a case's stream, by rows."""
    return StreamRuns(tables, case, {}).curve("exact" if case == "linear" else "reference").iloc[0]


def reference_at(tables: Tables, model: str, n_rows: float) -> float:
    """Exact or near-exact log evidence of a model's stream for a number of rows."""
    truth = reference(tables, model)
    if n_rows not in truth.index:
        raise MissingData(f"a reference of {model} at {n_rows:.0f} rows: not run at this preset")
    return float(truth[n_rows])


def against(found: pd.DataFrame, truth: pd.Series) -> pd.DataFrame:
    """Runs minus a reference, at the numbers of rows that both have."""
    common = [n for n in found.columns if n in truth.index]
    if not common:
        raise MissingData("no number of rows with a reference: not run at this preset")
    return found[common] - truth[common]


def by_size(tables: Tables, model: str, quantity: str, case: str = "") -> pd.DataFrame:
    """A quantity of estimators that need all rows, by number of rows, missing where runs are fewer; of one case."""
    return _by_run(tables, quantity, "size", case=case or f"{model}_full")


def full_data(tables: Tables, model: str, quantity: str, size: float) -> FloatArray:
    """A quantity of estimators that need all rows, of the case with most runs for a number of rows [repeat]."""
    for case in (f"{model}_ais", f"early_full__stream-{model}", f"million__stream-{model}"):
        with contextlib.suppress(MissingData):
            return values_at(by_size(tables, model, quantity, case), size)
    return values_at(by_size(tables, model, quantity), size)


def most_rows_of_ais(tables: Tables, model: str) -> float:
    """Most rows of a model for which annealed importance sampling was run."""
    return float(row_counts(by_size(tables, model, "annealed_log_evidence"))[-1])


def full_data_errors(tables: Tables, model: str, rival: str) -> pd.DataFrame:
    """Errors in nats of an estimator that needs all rows, as `by_size` gives them."""
    truth = by_size(tables, model, "exact").iloc[0] if model == "linear" else reference(tables, model)
    return against(by_size(tables, model, f"{RIVALS[rival]}_log_evidence"), truth)


def estimates(tables: Tables, model: str, name: str, n_rows: float) -> FloatArray:
    """Log evidences by a streaming method or one of RIVALS, of the case with most runs [repeat]."""
    if name in RIVALS:
        return full_data(tables, model, f"{RIVALS[name]}_log_evidence", n_rows)
    return values_at(early(tables, model, name, n_rows).curve("log_evidence"), n_rows)


def sweep(tables: Tables, name: str, cases: tuple[str, ...] = ()) -> dict[float, StreamRuns]:
    """Runs of a sweep by swept value, each of the first case that has it; they end after the same number of rows."""
    found = {}
    for number, variation in SWEEPS[name].items():
        case = case_with(tables, variation, cases)
        if variation == "default" or variation in variations_run(tables, case):
            found[number] = varied(tables, case, variation)
    if len(found) < 3:
        raise MissingData(f"the sweep over {name}: not run at this preset")
    end = min(runs.end for runs in found.values())
    return {number: runs._replace(last=min(runs.last, end)) for number, runs in found.items()}


def case_with(tables: Tables, variation: str, cases: tuple[str, ...] = MORE_REPEATS) -> str:
    """The first case that has a variation, where the preset has it; otherwise that of all variations."""
    wanted = _DEFAULT_OF_MORE if variation == "default" else variation
    return next((case for case in cases if wanted in variations_run(tables, case)), "sensitivity")


def variations_run(tables: Tables, case: str = "sensitivity") -> list[str]:
    """Variations of a sensitivity case that the preset has."""
    try:
        return list(tables.rows("variation", case=case)["variation"].unique())
    except MissingData:
        return []


def following(tables: Tables, n_components: int, stream: str) -> StreamRuns:
    """Runs of a mixture on the stream that changes, in order (non_stationary) or shuffled."""
    return StreamRuns(tables, f"change__n_components-{n_components}", {"stream": stream})


def following_redrawn(tables: Tables, n_components: int, stream: str) -> StreamRuns:
    """The same, each run on a data set of its own, where the preset has these."""
    name = f"n_components-{n_components}"
    case = first_run(tables, f"change_redrawn__{name}", f"change__{name}")
    return StreamRuns(tables, case, {"stream": stream})


def between(found: pd.DataFrame, first: float, last: float = np.inf) -> pd.DataFrame:
    """The columns of a table by rows from one number to another, both included."""
    columns = row_counts(found)
    return found.loc[:, (columns >= first) & (columns <= last)]


def row_counts(found: pd.DataFrame) -> FloatArray:
    """Numbers of rows, the columns of a table by rows."""
    return found.columns.to_numpy(dtype=np.float64)


def per_row(found: pd.DataFrame) -> pd.DataFrame:
    """Divides each column of a table by rows by its number of rows."""
    return found.div(row_counts(found), axis=1)


def values_at(found: pd.DataFrame, n_rows: float) -> FloatArray:
    """Values of all runs at a number of rows [repeat]."""
    if n_rows not in found.columns:
        raise MissingData(f"{n_rows:.0f} rows: not run at this preset")
    return found[n_rows].dropna().to_numpy(dtype=np.float64)


def slope_per_row(found: pd.DataFrame, first: float, last: float) -> FloatArray:
    """Change of a quantity for each row between two numbers of rows, or those nearest to them [repeat]."""
    columns = row_counts(found)
    if columns[-1] < 0.98 * last:
        raise MissingData(f"{last:.0f} rows: not run at this preset")
    begin, end = (columns[int(np.argmin(np.abs(columns - n)))] for n in (first, last))
    if not begin < end:
        raise MissingData(f"more than {first:.0f} rows: not run at this preset")
    return (found[end] - found[begin]).to_numpy(dtype=np.float64) / (end - begin)


@lru_cache(maxsize=256)
def _by_run(tables: Tables, quantity: str, columns: str, **wanted: str | float) -> pd.DataFrame:
    """One line a run, or one alone for what runs do not differ in."""
    rows = _rows(tables, quantity, **wanted)
    rows = rows if "repeat" in rows else rows.assign(repeat=0)
    return rows.pivot_table(index="repeat", columns=columns, values=quantity).astype(np.float64)


def _rows(tables: Tables, quantity: str, **wanted: Wanted) -> pd.DataFrame:
    """Rows of the table that has the quantity of such runs: those with variations stand in one of their own."""
    about = tables["quantity"]
    for name in about.loc[about["quantity"] == quantity, "table"]:
        with contextlib.suppress(MissingData):
            return tables.rows(name, quantity, **wanted)
    raise not_run(quantity, wanted)
