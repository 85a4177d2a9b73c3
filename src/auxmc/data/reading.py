"""Reads a user's table of numbers from a delimited text file, and says exactly what is wrong with it.

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
from numpy.typing import NDArray

__all__ = ["DataError", "LabelledData", "read_labelled", "read_matrix"]

_MISSING = frozenset({"", "na", "n/a", "nan", "?", "null", "none", "."})
_MOST_LISTED = 10


class DataError(ValueError):
    """A data file cannot be used; the message names file, row and column, and says what to do."""


class LabelledData(NamedTuple):
    """Features and two-class labels of a table.

    Attributes:
        features: numbers as in the file, not standardised [row, feature].
        labels: -1.0 for the first class and +1.0 for the second [row].
        feature_names: column names [feature].
        classes: the two classes as written in the file, sorted; the second is coded +1.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    feature_names: tuple[str, ...]
    classes: tuple[str, str]


def read_labelled(path: str | os.PathLike[str], label: str | None = "", min_rows: int = 4) -> LabelledData:
    """Reads a table with a header, one column of two classes and otherwise numbers.

    Separator tab, semicolon or comma (the first of these that splits the first line); quoted cells, blank
    lines, a byte order mark and any line ends are understood. Encoding UTF-8.

    Args:
        path: the file.
        label: name of the label column. Empty or None: the only column that has two different values which
            are not numbers; if there is no such column, or several, the last.
        min_rows: smallest number of rows below the header.

    Returns:
        The data, rows in the order of the file.

    Raises:
        DataError: the file cannot be read as such a table. Rows in messages are line numbers in the file.
    """
    table = _read_table(path)
    names = _column_names(table)
    rows = _Table(table.path, table.rows[1:], table.lines[1:])
    _check_rows(rows, names, min_rows)
    index, chosen = _label_column(rows, names, (label or "").strip())
    if len(names) < 2:
        _fail(path, "the label column is the only column; add at least one column of numbers")
    labels, classes = _labels(rows, names, index, chosen)
    kept = [column for column in range(len(names)) if column != index]
    hint = f"; the label is column '{names[index]}'{chosen}"
    features = _numbers(rows, names, kept, hint)
    feature_names = tuple(names[column] for column in kept)
    for column, name in enumerate(feature_names):
        if np.all(features[:, column] == features[0, column]):
            _fail(
                path,
                f"column '{name}': every row has the value {features[0, column]:g}, so the column says "
                "nothing about the label and cannot be standardised; remove the column",
            )
    return LabelledData(features, labels, feature_names, classes)


def read_matrix(path: str | os.PathLike[str], min_rows: int = 2) -> NDArray[np.float64]:
    """Reads a table of numbers, with or without a line of column names.

    The first line is taken for column names if none of its cells is a number or a missing value. Separators,
    quotes and encoding as for `read_labelled`.

    Args:
        path: the file.
        min_rows: smallest number of rows, without the header.

    Returns:
        Observations [row, column], rows in the order of the file.

    Raises:
        DataError: the file cannot be read as such a table. Rows in messages are line numbers in the file.
    """
    table = _read_table(path)
    first = table.rows[0]
    if any(_is_missing(cell) or _number(cell) is not None for cell in first):
        names = [str(column + 1) for column in range(len(first))]
        rows, hint = table, "; the first row is no header, because it has cells that are numbers or missing"
    else:
        names, hint = _column_names(table), ""
        rows = _Table(table.path, table.rows[1:], table.lines[1:])
    _check_rows(rows, names, min_rows)
    return _numbers(rows, names, list(range(len(names))), hint)


class _Table(NamedTuple):
    path: str
    rows: list[list[str]]
    lines: list[int]  # line of the file at which each row starts, from 1


def _fail(path: str | os.PathLike[str], message: str, cause: Exception | None = None) -> NoReturn:
    raise DataError(f"{os.fspath(path)}: {message}") from cause


def _listed(values: list[str]) -> str:
    more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
    return ", ".join(values[:_MOST_LISTED]) + more


def _count(number: int, what: str = "column") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _nearest(name: str, candidates: list[str]) -> str:
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1)
    return f"; did you mean '{folded[close[0]]}'?" if close else ""


def _read_text(path: str | os.PathLike[str]) -> str:
    file = Path(path)
    if file.is_dir():
        _fail(path, "is a directory; give the path of one data file")
    try:
        content = file.read_bytes()
    except FileNotFoundError as error:
        siblings = sorted(p.name for p in file.parent.iterdir()) if file.parent.is_dir() else []
        where = f" (looked in {Path.cwd()})" if not file.is_absolute() else ""
        _fail(path, f"no such file{where}{_nearest(file.name, siblings) or '; check the path'}", error)
    except OSError as error:
        _fail(path, f"cannot be read: {error.strerror}; check its permissions", error)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        _fail(path, f"row {row}: not UTF-8 text; save the file as CSV with UTF-8 encoding", error)


def _separator(first_line: str) -> str:
    # In a file with decimal commas or with commas in text, tabs or semicolons still separate the columns.
    for separator in ("\t", ";"):
        if len(next(csv.reader([first_line], delimiter=separator), [])) > 1:
            return separator
    return ","


def _read_table(path: str | os.PathLike[str]) -> _Table:
    text = _read_text(path)
    if not text.strip():
        _fail(path, "the file is empty; it needs rows of numbers")
    first_line = next(line for line in text.splitlines() if line.strip())
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_separator(first_line), strict=True, skipinitialspace=True
    )
    table = _Table(os.fspath(path), [], [])
    line = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if cells and cells != [""]:
                table.rows.append(cells)
                table.lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        _fail(path, f"row {line}: {error}; check the quotation marks from this row on", error)
    width = len(table.rows[0])
    for cells, row_line in zip(table.rows, table.lines, strict=True):
        if len(cells) != width:
            _fail(
                path,
                f"row {row_line}: has {_count(len(cells))}, but row {table.lines[0]} has {width}; "
                "give every row the same number of columns",
            )
    return table


def _column_names(table: _Table) -> list[str]:
    names, row = table.rows[0], table.lines[0]
    for column, name in enumerate(names, start=1):
        if name == "":
            _fail(table.path, f"row {row}, column {column}: has no name; name the column or remove it")
        if _number(name) is not None or _is_missing(name):
            _fail(
                table.path,
                f"row {row}, column {column}: a column name is needed here, got '{name}'; "
                "add a first line with the names of the columns",
            )
        if name in names[: column - 1]:
            _fail(
                table.path,
                f"row {row}: columns {names.index(name) + 1} and {column} are both called '{name}'; "
                "rename one of them",
            )
    return names


def _check_rows(rows: _Table, names: list[str], min_rows: int) -> None:
    if not rows.rows:
        _fail(rows.path, f"there are no rows below the header ({_listed(names)}); add data")
    if len(rows.rows) < min_rows:
        _fail(rows.path, f"has {_count(len(rows.rows), 'row')} of data, needs at least {min_rows}; add rows")


def _is_missing(cell: str) -> bool:
    return cell.casefold() in _MISSING


def _number(cell: str) -> float | None:
    """The number written in a cell, possibly infinite, or None."""
    # Python's own notation 1_000 is no number in a data file.
    if "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _check_not_missing(rows: _Table, names: list[str], columns: list[int]) -> None:
    incomplete = [i for i, cells in enumerate(rows.rows) if any(_is_missing(cells[c]) for c in columns)]
    if not incomplete:
        return
    first = incomplete[0]
    column = next(c for c in columns if _is_missing(rows.rows[first][c]))
    cell = rows.rows[first][column]
    lines = [str(rows.lines[i]) for i in incomplete]
    also = f" ({len(lines)} incomplete rows in all: {_listed(lines)})" if len(lines) > 1 else ""
    what = f"missing value '{cell}'" if cell else "missing value (empty cell)"
    _fail(rows.path, f"{_place(rows, names, first, column)}: {what}{also}; fill it in or remove the row")


def _place(rows: _Table, names: list[str], index: int, column: int) -> str:
    return f"row {rows.lines[index]}, column '{names[column]}'"


def _numbers(rows: _Table, names: list[str], columns: list[int], hint: str) -> NDArray[np.float64]:
    _check_not_missing(rows, names, columns)
    numbers = np.empty((len(rows.rows), len(columns)))
    for index, cells in enumerate(rows.rows):
        for position, column in enumerate(columns):
            value = _number(cells[column])
            if value is None or not math.isfinite(value):
                _refuse_number(rows, names, index, column, hint)
            numbers[index, position] = value
    return numbers


def _refuse_number(rows: _Table, names: list[str], index: int, column: int, hint: str) -> NoReturn:
    cell = rows.rows[index][column]
    place = _place(rows, names, index, column)
    if _number(cell) is not None:
        _fail(rows.path, f"{place}: '{cell}' is not a finite number; correct it or remove the row")
    if cell.count(",") == 1 and _number(cell.replace(",", ".")) is not None:
        _fail(rows.path, f"{place}: '{cell}' is not a number; write decimals with a point")
    _fail(
        rows.path,
        f"{place}: '{cell}' is not a number; correct it, or remove the column if it holds text{hint}",
    )


def _label_column(rows: _Table, names: list[str], label: str) -> tuple[int, str]:
    """Returns the index of the label column and, where it was not named, how it was chosen."""
    if label:
        if label not in names:
            near = _nearest(label, names) or "; give one of them as the label"
            _fail(rows.path, f"has no column '{label}', only {_listed(names)}{near}")
        return names.index(label), ""
    candidates = []
    for column in range(len(names)):
        values = {cells[column] for cells in rows.rows if not _is_missing(cells[column])}
        if len(values) == 2 and all(_number(value) is None for value in values):
            candidates.append(column)
    if len(candidates) == 1:
        return candidates[0], " (taken as the label because it alone has two values that are not numbers)"
    return len(names) - 1, " (taken as the label because it is the last)"


def _labels(
    rows: _Table, names: list[str], index: int, chosen: str
) -> tuple[NDArray[np.float64], tuple[str, str]]:
    _check_not_missing(rows, names, [index])
    cells = [row[index] for row in rows.rows]
    numeric = all(_number(cell) is not None for cell in cells)
    # Where all labels are numbers, 1 and 1.0 are the same class.
    keys = [str(_number(cell)) for cell in cells] if numeric else cells
    written: dict[str, str] = {}
    for key, cell in zip(keys, cells, strict=True):
        written.setdefault(key, cell)
    order = sorted(written, key=float) if numeric else sorted(written)
    found = [written[key] for key in order]
    place = f"column '{names[index]}'{chosen}: a label needs two classes, but this column has"
    if len(found) == 1:
        _fail(rows.path, f"{place} only the value '{found[0]}'; add rows of the other class")
    if len(found) > 2:
        _fail(
            rows.path,
            f"{place} {len(found)} values: {_listed(found)}; keep two of them or name another label column",
        )
    coded = [1.0 if key == order[1] else -1.0 for key in keys]
    return np.array(coded), (found[0], found[1])
