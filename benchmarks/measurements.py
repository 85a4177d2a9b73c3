"""The tidy table of everything that was measured, one value a row, and the tables of the pages made from it."""

import datetime
import importlib.metadata
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc.driver.provenance import describe_environment
from auxmc_pipeline.publishing.marks import between_marks
from benchmarks.contract import ROOT, Benchmark

__all__ = [
    "COLUMNS",
    "TABLE",
    "add",
    "busy",
    "done",
    "forget",
    "number",
    "page_table",
    "read",
    "shown",
    "stamp",
    "write_between",
]

TABLE = ROOT / "benchmarks" / "measurements.csv"
KEY = ["benchmark", "problem", "form", "seed", "machine"]
COLUMNS = [
    *("benchmark", "problem", "program", "settings", "quantity", "unit", "form", "seed", "repeat", "value"),
    *("date", "machine", "cores", "load", "versions"),
]
RATIO = "ratio"


def read(path: Path = TABLE) -> pd.DataFrame:
    """All rows that were kept.

    Raises:
        ValueError: the file has other columns.
    """
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    found = pd.read_csv(path, keep_default_na=False, na_values={"value": [""], "load": [""]})
    if list(found.columns) != COLUMNS:
        raise ValueError(f"{path} has columns {', '.join(found.columns)}; wanted are {', '.join(COLUMNS)}")
    return found


def add(rows: pd.DataFrame, path: Path = TABLE) -> None:
    """Keeps rows in place of those of the same problem, form, seed and machine."""
    kept = read(path)
    again = pd.MultiIndex.from_frame(kept[KEY]).isin(pd.MultiIndex.from_frame(rows[KEY]))
    parts = [part for part in (kept[~again], rows[COLUMNS]) if len(part)]
    _write(pd.concat(parts).sort_values(["benchmark", "form"], kind="stable"), path)


def _write(table: pd.DataFrame, path: Path) -> None:
    write_atomically(path, lambda file: table.to_csv(file, index=False, float_format="%.6g"))


def forget(benchmarks: Iterable[str], form: str, path: Path = TABLE) -> None:
    """Takes the rows of these benchmarks in this form out of the table."""
    kept = read(path)
    gone = kept["benchmark"].isin(list(benchmarks)) & (kept["form"] == form)
    _write(kept[~gone], path)


def done(kept: pd.DataFrame, key: Mapping[str, object], programs: Iterable[str]) -> bool:
    """Whether rows of all these programs are there under a key."""
    same = np.logical_and.reduce([kept[name] == value for name, value in key.items()])
    return set(programs) <= set(kept.loc[same, "program"])


def stamp(packages: Iterable[str]) -> dict[str, object]:
    """When and where something is measured, and with which versions."""
    about = describe_environment(ROOT)
    versions = {"Python": about["python"], "auxmc": about["git_commit"][:7]}
    versions |= {name: importlib.metadata.version(name) for name in dict.fromkeys(["jax", *packages])}
    return {
        "date": datetime.date.today().isoformat(),
        "machine": about["processor"],
        "cores": os.cpu_count() or 1,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def busy(load: float, cores_in_use: int) -> bool:
    """Whether other programs took processor time: the load is half a core above what the benchmark uses itself."""
    return load > cores_in_use + 0.5


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each problem, what the page shows: the machine of the newest rows, the whole form before the quick one.

    Rows whose form is neither, those of earlier runs, come along.
    """
    earlier = ~rows["form"].isin(["quick", "full"])
    parts = [rows[:0]]
    for _, own in rows[~earlier].groupby("problem", sort=False):
        newest = own[own["machine"] == own.sort_values("date", kind="stable")["machine"].iloc[-1]]
        whole = newest[newest["form"] == "full"]
        parts.append(whole if len(whole) else newest)
    return pd.concat([*parts, rows[earlier]])


def page_table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown: a row for each program, medians over seeds of each quantity with the least and the largest.

    Problems with the same quantities stand in one table.
    """
    if not len(rows):
        return "Not measured yet.\n"
    order = [RATIO, *benchmark.units]
    by_quantities: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for _, problem in shown(rows).groupby(["problem", "form"], sort=False):
        present = set(problem["quantity"])
        by_quantities.setdefault(tuple(q for q in order if q in present), []).append(problem)
    text = [_table(problems, quantities, benchmark) for quantities, problems in by_quantities.items()]
    return "\n".join([*text, _measured_with(shown(rows))])


def _table(problems: list[pd.DataFrame], quantities: tuple[str, ...], benchmark: Benchmark) -> str:
    units = {name: f", {unit}" if unit else "" for name, unit in benchmark.units.items()}
    heads = ["problem", "program", *(q + units.get(q, "") for q in quantities), "seeds", "when, load"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for problem in problems:
        for (program, settings), own in problem.groupby(["program", "settings"], sort=False):
            name = f"{program} ({settings})" if settings else program
            cells = [problem["problem"].iloc[0], name]
            cells += [_cell(own[own["quantity"] == quantity]) for quantity in quantities]
            cells += [str(own["seed"].nunique()), _when(own, benchmark.cores)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(rows: pd.DataFrame) -> str:
    """Median over seeds of the medians over repeats, and their spread."""
    if not len(rows):
        return ""
    values = rows.groupby("seed")["value"].median()
    if values.isna().all():
        return "failed"
    middle, least, largest = (number(value) for value in (values.median(), values.min(), values.max()))
    return middle if least == largest else f"{middle} ({least} to {largest})"


def number(value: float) -> str:
    """Three digits, and no powers of ten where the number can be read without them.

    >>> number(12345.6), number(0.01234), number(-1.0), number(2.5e-7)
    ('12,346', '0.0123', '-1', '2.5e-07')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _when(rows: pd.DataFrame, cores_in_use: int) -> str:
    form = rows["form"].iloc[0]
    words = [] if form == "full" else [str(form)]
    words.append(" to ".join(dict.fromkeys([rows["date"].min(), rows["date"].max()])))
    if rows["load"].isna().all():
        return ", ".join([*words, "load not noted"])
    words.append(
        "load " + " to ".join(dict.fromkeys(number(x) for x in (rows["load"].min(), rows["load"].max())))
    )
    return ", ".join([*words, "**busy**"] if busy(rows["load"].max(), cores_in_use) else words)


def _measured_with(rows: pd.DataFrame) -> str:
    machines = dict.fromkeys(rows["machine"] + ", " + rows["cores"].astype(str) + " cores")
    versions = dict.fromkeys(word for text in rows["versions"] for word in text.split(", "))
    return f"Measured on {'; '.join(machines)}, with {', '.join(versions)}.\n"


def write_between(page: Path, name: str, text: str) -> None:
    """Puts a text between the two marks of a name in a page.

    Raises:
        ValueError: the page has no such marks.
    """
    whole = between_marks(page.read_text(encoding="utf-8"), name, text, str(page))
    write_atomically(page, lambda file: file.write_text(whole, encoding="utf-8"))
