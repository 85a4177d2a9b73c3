"""Inputs with two-class labels, from a table of the user."""

import os
from typing import Any, NamedTuple

import numpy as np

from auxmc.data.cells import Cells, is_missing, list_values, parse_number, read_floats, read_texts
from auxmc.data.tables import fail, nearest_name, read_cells
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray


class LabelledData(NamedTuple):
    """Inputs and two-class labels of a table."""

    features: FloatArray  # numbers as in the file, not standardised [row, feature]
    labels: FloatArray  # -1.0 for the first class and +1.0 for the second [row]
    feature_names: tuple[str, ...]  # column names [feature]
    classes: tuple[str, str]  # the two classes as written in the file, sorted; the second is coded +1


def read_labelled(path: str | os.PathLike[str], label: str | None = "", min_rows: int = 4) -> LabelledData:
    """Reads labels and features. An unnamed label is the only column of two values that are no numbers, or the last."""
    cells = read_cells(path, min_rows=min_rows)
    name, how = _label_column(cells, (label or "").strip())
    feature_names = tuple(other for other in cells.names if other != name)
    if not feature_names:
        fail(path, "the label column is the only column; add at least one column of numbers")
    labels, classes = _code_labels(cells, name, how)
    try:
        features = read_floats(cells.select(feature_names))
    except DataError as error:
        raise DataError(f"{error}; the label is column '{name}'{how}") from error
    constant = np.flatnonzero(np.ptp(features, axis=0) == 0.0)
    if constant.size:
        name, value = feature_names[constant[0]], features[0, constant[0]]
        fail(path, f"column '{name}': every row has the value {value:g}; remove the column")
    return LabelledData(features, labels, feature_names, classes)


def _label_column(cells: Cells, label: str) -> tuple[str, str]:
    """Returns the label column and, where it was not named, how it was chosen."""
    if label:
        if label not in cells.names:
            near = nearest_name(label, cells.names)
            fail(cells.source, f"label: expected one of {list_values(cells.names)}, got {label!r}{near}")
        return label, ""
    candidates = []
    for name in cells.names:
        values = {text for text in read_texts(cells, name, may_lack=True) if not is_missing(text)}
        if len(values) == 2 and all(parse_number(value) is None for value in values):
            candidates.append(name)
    if len(candidates) == 1:
        return candidates[0], " (chosen because it alone has two values that are not numbers)"
    return cells.names[-1], " (chosen because it is the last)"


def _code_labels(cells: Cells, name: str, how: str) -> tuple[FloatArray, tuple[str, str]]:
    texts = read_texts(cells, name)
    numbers = [parse_number(text) for text in texts]
    keys: list[Any] = texts if None in numbers else numbers  # as numbers, 1 and 1.0 are one class
    written = dict(zip(reversed(keys), reversed(texts), strict=True))
    found = [written[key] for key in sorted(written)]
    if len(found) != 2:
        got = f"{len(found)}: {list_values(found)}"
        fail(cells.source, f"column '{name}'{how}: expected two classes, got {got}; name another label")
    coded = np.array([1.0 if written[key] == found[1] else -1.0 for key in keys])
    return coded, (found[0], found[1])
