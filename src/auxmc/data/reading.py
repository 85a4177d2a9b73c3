"""Tables of a user for studies: features with labels, and matrices; files of any kind that `tables` reads."""

import os
from typing import NamedTuple

import numpy as np

from auxmc.data.cells import Cells, as_number, as_texts, good, is_missing, listed, matrix
from auxmc.data.tables import fail, nearest_name, read_cells
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
    """Returns one column of two classes and otherwise numbers.

    Args:
        path: the file; see `tables.open_rows`.
        label: name of the label column. Empty or None: the only column that has two different values which
            are not numbers; if there is no such column, or several, the last.
        min_rows: smallest number of rows.

    Returns:
        The data, rows in the order of the file.

    Raises:
        DataError: The file cannot be read as such a table.
    """
    cells = read_cells(path, min_rows=min_rows)
    name, chosen = _label_column(cells, (label or "").strip())
    if len(cells.names) < 2:
        fail(path, "the label column is the only column; add at least one column of numbers")
    labels, classes = _labels(cells, name, chosen)
    feature_names = tuple(other for other in cells.names if other != name)
    features = good(matrix(cells.of(feature_names), f"; the label is column '{name}'{chosen}"))
    for column, name in enumerate(feature_names):
        if np.all(features[:, column] == features[0, column]):
            fail(
                path,
                f"column '{name}': every row has the value {features[0, column]:g}, so the column says "
                "nothing about the label and cannot be standardised; remove the column",
            )
    return LabelledData(features, labels, feature_names, classes)


def read_matrix(path: str | os.PathLike[str], min_rows: int = 2) -> FloatArray:
    """Returns a table of numbers [row, column], rows in the order of the file.

    Args:
        path: the file; see `tables.open_rows`.
        min_rows: smallest number of rows.

    Raises:
        DataError: The file cannot be read as such a table.
    """
    return good(matrix(read_cells(path, min_rows=min_rows)))


def _label_column(cells: Cells, label: str) -> tuple[str, str]:
    """Returns the label column and, where it was not named, how it was chosen."""
    if label:
        if label not in cells.names:
            near = nearest_name(label, cells.names) or "; give one of them as the label"
            fail(cells.source, f"has no column '{label}', only {listed(cells.names)}{near}")
        return label, ""
    candidates = []
    for name in cells.names:
        values = {text for text in as_texts(cells, name, may_lack=True) if not is_missing(text)}
        if len(values) == 2 and all(as_number(value) is None for value in values):
            candidates.append(name)
    if len(candidates) == 1:
        return candidates[0], " (taken as the label because it alone has two values that are not numbers)"
    return cells.names[-1], " (taken as the label because it is the last)"


def _labels(cells: Cells, name: str, chosen: str) -> tuple[FloatArray, tuple[str, str]]:
    texts = as_texts(cells, name)
    numeric = all(as_number(text) is not None for text in texts)
    # Where all labels are numbers, 1 and 1.0 are the same class.
    keys = [str(as_number(text)) for text in texts] if numeric else texts
    written: dict[str, str] = {}
    for key, text in zip(keys, texts, strict=True):
        written.setdefault(key, text)
    order = sorted(written, key=float) if numeric else sorted(written)
    found = [written[key] for key in order]
    place = f"column '{name}'{chosen}: a label needs two classes, but this column has"
    if len(found) == 1:
        fail(cells.source, f"{place} only the value '{found[0]}'; add rows of the other class")
    if len(found) > 2:
        fail(
            cells.source,
            f"{place} {len(found)} values: {listed(found)}; keep two of them or name another label column",
        )
    coded = [1.0 if key == order[1] else -1.0 for key in keys]
    return np.array(coded), (found[0], found[1])
