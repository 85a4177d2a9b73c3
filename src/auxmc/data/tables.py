"""A delimited text file as rows of cells, and messages that name file, row and column.

Needs the standard library and NumPy alone: the workflow imports it before it starts anything.
"""

import csv
import difflib
import io
import math
import os
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from auxmc.numerics.array_types import FloatArray

__all__ = [
    "DataError",
    "Table",
    "as_number",
    "as_numbers",
    "check_not_missing",
    "check_rows",
    "column_names",
    "fail",
    "is_missing",
    "listed",
    "nearest_name",
    "read_table",
]

_MISSING = frozenset({"", "na", "n/a", "nan", "?", "null", "none", "."})
_MOST_LISTED = 10


class DataError(ValueError):
    """A data file cannot be used; the message names file, row and column, and says what to do."""


class Table(NamedTuple):
    """Cells of a file as texts.

    Attributes:
        path: of the file, for messages.
        rows: cells without blanks around them [row][column].
        lines: line of the file at which each row starts, from 1.
    """

    path: str
    rows: list[list[str]]
    lines: list[int]


def fail(path: str | os.PathLike[str], message: str, cause: Exception | None = None) -> NoReturn:
    """Raises DataError with the file in front of the message."""
    raise DataError(f"{os.fspath(path)}: {message}") from cause


def listed(values: list[str]) -> str:
    """Values for a message, the first ten of them."""
    more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
    return ", ".join(values[:_MOST_LISTED]) + more


def _count(number: int, what: str = "column") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def nearest_name(name: str, candidates: list[str]) -> str:
    """The end of a message that asks whether a similar name was meant; empty if there is none."""
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1)
    return f"; did you mean '{folded[close[0]]}'?" if close else ""


def _read_text(path: str | os.PathLike[str]) -> str:
    file = Path(path)
    if file.is_dir():
        fail(path, "is a directory; give the path of one data file")
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        siblings = sorted(p.name for p in file.parent.iterdir()) if file.parent.is_dir() else []
        where = f" (looked in {Path.cwd()})" if not file.is_absolute() else ""
        fail(path, f"no such file{where}{nearest_name(file.name, siblings) or '; check the path'}", error)
    except OSError as error:
        fail(path, f"cannot be read: {error.strerror}; check its permissions", error)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        fail(path, f"row {row}: not UTF-8 text; save the file as CSV with UTF-8 encoding", error)


def _separator(first_line: str) -> str:
    # In a file with decimal commas or with commas in text, tabs or semicolons still separate the columns.
    for separator in ("\t", ";"):
        if len(next(csv.reader([first_line], delimiter=separator), [])) > 1:
            return separator
    return ","


def read_table(path: str | os.PathLike[str]) -> Table:
    """Reads the cells of a delimited text file.

    Raises:
        DataError: the file cannot be read, is empty, or its rows have different numbers of cells.
    """
    text = _read_text(path)
    if not text.strip():
        fail(path, "the file is empty; it needs rows of numbers")
    first_line = next(line for line in text.splitlines() if line.strip())
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_separator(first_line), strict=True, skipinitialspace=True
    )
    table = Table(os.fspath(path), [], [])
    line = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if cells and cells != [""]:
                table.rows.append(cells)
                table.lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        fail(path, f"row {line}: {error}; check the quotation marks from this row on", error)
    width = len(table.rows[0])
    for cells, row_line in zip(table.rows, table.lines, strict=True):
        if len(cells) != width:
            fail(
                path,
                f"row {row_line}: has {_count(len(cells))}, but row {table.lines[0]} has {width}; "
                "give every row the same number of columns",
            )
    return table


def column_names(table: Table) -> list[str]:
    """Column names in the first row.

    Raises:
        DataError: a name is missing or appears twice.
    """
    names, row = table.rows[0], table.lines[0]
    for column, name in enumerate(names, start=1):
        if name == "":
            fail(table.path, f"row {row}, column {column}: has no name; name the column or remove it")
        if as_number(name) is not None or is_missing(name):
            fail(
                table.path,
                f"row {row}, column {column}: a column name is needed here, got '{name}'; "
                "add a first line with the names of the columns",
            )
        if name in names[: column - 1]:
            fail(
                table.path,
                f"row {row}: columns {names.index(name) + 1} and {column} are both called '{name}'; "
                "rename one of them",
            )
    return names


def check_rows(rows: Table, names: list[str], min_rows: int) -> None:
    """Counts the rows below the header.

    Raises:
        DataError: there are fewer than `min_rows`.
    """
    if not rows.rows:
        fail(rows.path, f"there are no rows below the header ({listed(names)}); add data")
    if len(rows.rows) < min_rows:
        fail(rows.path, f"has {_count(len(rows.rows), 'row')} of data, needs at least {min_rows}; add rows")


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or a usual word for a missing value."""
    return cell.casefold() in _MISSING


def as_number(cell: str) -> float | None:
    """The number written in a cell, possibly infinite, or None."""
    # Python's own notation 1_000 is no number in a data file.
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def check_not_missing(rows: Table, names: list[str], columns: list[int]) -> None:
    """Looks for missing values in some columns.

    Raises:
        DataError: there are some; the first is named.
    """
    incomplete = [i for i, cells in enumerate(rows.rows) if any(is_missing(cells[c]) for c in columns)]
    if not incomplete:
        return
    first = incomplete[0]
    column = next(c for c in columns if is_missing(rows.rows[first][c]))
    cell = rows.rows[first][column]
    lines = [str(rows.lines[i]) for i in incomplete]
    also = f" ({len(lines)} incomplete rows in all: {listed(lines)})" if len(lines) > 1 else ""
    what = f"missing value '{cell}'" if cell else "missing value (empty cell)"
    fail(rows.path, f"{_place(rows, names, first, column)}: {what}{also}; fill it in or remove the row")


def _place(rows: Table, names: list[str], index: int, column: int) -> str:
    return f"row {rows.lines[index]}, column '{names[column]}'"


def as_numbers(rows: Table, names: list[str], columns: list[int], hint: str) -> FloatArray:
    """Numbers of some columns [row, column].

    Raises:
        DataError: a value is missing, not a number or not finite; `hint` is added to the message.
    """
    check_not_missing(rows, names, columns)
    numbers = np.empty((len(rows.rows), len(columns)))
    for index, cells in enumerate(rows.rows):
        for position, column in enumerate(columns):
            value = as_number(cells[column])
            if value is None or not math.isfinite(value):
                _refuse_number(rows, names, index, column, hint)
            numbers[index, position] = value
    return numbers


def _refuse_number(rows: Table, names: list[str], index: int, column: int, hint: str) -> NoReturn:
    cell = rows.rows[index][column]
    place = _place(rows, names, index, column)
    if as_number(cell) is not None:
        fail(rows.path, f"{place}: '{cell}' is not a finite number; correct it or remove the row")
    if cell.count(",") == 1 and as_number(cell.replace(",", ".")) is not None:
        fail(rows.path, f"{place}: '{cell}' is not a number; write decimals with a point")
    fail(
        rows.path,
        f"{place}: '{cell}' is not a number; correct it, or remove the column if it holds text{hint}",
    )
