"""Reads a user's table of numbers from a delimited text file, and says exactly what is wrong with it.

Needs the standard library and NumPy alone: the workflow imports it before it starts anything.
"""

import os
from typing import NamedTuple

import numpy as np

from auxmc.data.tables import (
    Table,
    as_number,
    as_numbers,
    check_not_missing,
    check_rows,
    column_names,
    fail,
    is_missing,
    listed,
    nearest_name,
    read_table,
)
from auxmc.numerics.array_types import FloatArray

__all__ = ["LabelledData", "read_labelled", "read_matrix"]


class LabelledData(NamedTuple):
    """Features and two-class labels of a table.

    Attributes:
        features: numbers as in the file, not standardised [row, feature].
        labels: -1.0 for the first class and +1.0 for the second [row].
        feature_names: column names [feature].
        classes: the two classes as written in the file, sorted; the second is coded +1.
    """

    features: FloatArray
    labels: FloatArray
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
    table = read_table(path)
    names = column_names(table)
    rows = Table(table.path, table.rows[1:], table.lines[1:])
    check_rows(rows, names, min_rows)
    index, chosen = _label_column(rows, names, (label or "").strip())
    if len(names) < 2:
        fail(path, "the label column is the only column; add at least one column of numbers")
    labels, classes = _labels(rows, names, index, chosen)
    kept = [column for column in range(len(names)) if column != index]
    hint = f"; the label is column '{names[index]}'{chosen}"
    features = as_numbers(rows, names, kept, hint)
    feature_names = tuple(names[column] for column in kept)
    for column, name in enumerate(feature_names):
        if np.all(features[:, column] == features[0, column]):
            fail(
                path,
                f"column '{name}': every row has the value {features[0, column]:g}, so the column says "
                "nothing about the label and cannot be standardised; remove the column",
            )
    return LabelledData(features, labels, feature_names, classes)


def read_matrix(path: str | os.PathLike[str], min_rows: int = 2) -> FloatArray:
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
    table = read_table(path)
    first = table.rows[0]
    if any(is_missing(cell) or as_number(cell) is not None for cell in first):
        names = [str(column + 1) for column in range(len(first))]
        rows, hint = table, "; the first row is no header, because it has cells that are numbers or missing"
    else:
        names, hint = column_names(table), ""
        rows = Table(table.path, table.rows[1:], table.lines[1:])
    check_rows(rows, names, min_rows)
    return as_numbers(rows, names, list(range(len(names))), hint)


def _label_column(rows: Table, names: list[str], label: str) -> tuple[int, str]:
    """Returns the index of the label column and, where it was not named, how it was chosen."""
    if label:
        if label not in names:
            near = nearest_name(label, names) or "; give one of them as the label"
            fail(rows.path, f"has no column '{label}', only {listed(names)}{near}")
        return names.index(label), ""
    candidates = []
    for column in range(len(names)):
        values = {cells[column] for cells in rows.rows if not is_missing(cells[column])}
        if len(values) == 2 and all(as_number(value) is None for value in values):
            candidates.append(column)
    if len(candidates) == 1:
        return candidates[0], " (taken as the label because it alone has two values that are not numbers)"
    return len(names) - 1, " (taken as the label because it is the last)"


def _labels(rows: Table, names: list[str], index: int, chosen: str) -> tuple[FloatArray, tuple[str, str]]:
    check_not_missing(rows, names, [index])
    cells = [row[index] for row in rows.rows]
    numeric = all(as_number(cell) is not None for cell in cells)
    # Where all labels are numbers, 1 and 1.0 are the same class.
    keys = [str(as_number(cell)) for cell in cells] if numeric else cells
    written: dict[str, str] = {}
    for key, cell in zip(keys, cells, strict=True):
        written.setdefault(key, cell)
    order = sorted(written, key=float) if numeric else sorted(written)
    found = [written[key] for key in order]
    place = f"column '{names[index]}'{chosen}: a label needs two classes, but this column has"
    if len(found) == 1:
        fail(rows.path, f"{place} only the value '{found[0]}'; add rows of the other class")
    if len(found) > 2:
        fail(
            rows.path,
            f"{place} {len(found)} values: {listed(found)}; keep two of them or name another label column",
        )
    coded = [1.0 if key == order[1] else -1.0 for key in keys]
    return np.array(coded), (found[0], found[1])
