"""The tidy table of everything that was measured, one value a row, and the tables of the pages made from it."""

import datetime
import importlib.metadata
import os
from collections.abc import Iterable, Mapping, Sequence
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


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of each problem on the page: the first form of full, quick, earlier; the newest machine."""
    parts = [rows[:0]]
    for _, problem in rows.groupby("problem", sort=False):
        form = next(form for form in ("full", "quick", "earlier") if (problem["form"] == form).any())
        own = problem[problem["form"] == form]
        parts.append(own[own["machine"] == own.sort_values("date", kind="stable")["machine"].iloc[-1]])
    return pd.concat(parts)


def page_table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown with one row per problem: medians over seeds of our program, and ratios or values of the others.

    Args:
        rows: of the tidy table, of this benchmark.
        benchmark: names the problems and quantities of the page.
    """
    if not len(rows):
        return "Not measured yet.\n"
    kept = shown(rows)
    quantities = [q for q in benchmark.units if (kept["quantity"] == q).any()]
    others = "ratios" if benchmark.ratios else "others"
    has_others = bool((kept.groupby("problem")["program"].nunique() > 1).any())
    lines = [["problem", "; ".join(quantities), *[others] * has_others]]
    for problem, own in kept.groupby("problem", sort=False):
        programs = [
            _summary(of, quantities, benchmark.ratios) for _, of in own.groupby("program", sort=False)
        ]
        mark = r"\*" * bool(own["load"].max() > benchmark.cores + 0.5)
        ours, *rest = programs
        lines.append([f"{problem}{mark}", ours[0], *["; ".join(text for _, text in rest)] * has_others])
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([text[0], "|---" * len(lines[0]) + "|", *text[1:], ""])


def _summary(rows: pd.DataFrame, quantities: Sequence[str], ratios: bool) -> tuple[str, str]:
    """A program's medians, and the same with the ratio in place of the first quantity."""
    name = rows["program"].iloc[0].removeprefix("auxmc, ")
    cells = [_median(rows, quantity) for quantity in quantities]
    values = "; ".join(cell for cell in cells if cell)
    ratio = "; ".join(cell for cell in [_median(rows, RATIO), *cells[1:]] if cell) if ratios else values
    return f"{name}: {values}", f"{name}: {ratio or values}"


def _median(rows: pd.DataFrame, quantity: str) -> str:
    """Median over seeds of medians over repeats; empty if it was not measured."""
    own = rows[rows["quantity"] == quantity]
    if own.empty:
        return ""
    middle = own.groupby("seed")["value"].median().median()
    return "failed" if np.isnan(middle) else f"{number(middle)} {own['unit'].iloc[0]}".strip()


def number(value: float) -> str:
    """Three digits, and no powers of ten where the number can be read without them.

    >>> number(12345.6), number(0.01234), number(-1.0), number(2.5e-7)
    ('12,346', '0.0123', '-1', '2.5e-07')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def write_between(page: Path, name: str, text: str) -> None:
    """Puts a text between the two marks of a name in a page.

    Raises:
        ValueError: the page has no such marks.
    """
    whole = between_marks(page.read_text(encoding="utf-8"), name, text, str(page))
    write_atomically(page, lambda file: file.write_text(whole, encoding="utf-8"))
