"""Rows that belong to groups: an outcome and regressors, some of which belong to the group as a whole."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auxmc.data.cells import list_values, read_floats, read_texts
from auxmc.data.tables import fail, nearest_name, open_rows, read_cells
from auxmc.numerics.array_types import FloatArray, IntegerArray

RADON_FILE = Path(__file__).with_name("radon.csv")  # homes in Minnesota: see radon.md


class GroupedColumns(NamedTuple):
    """Columns of a table: of the outcome, of the group, and regressors that may differ within a group or may not."""

    outcome: str
    group: str
    row_regressors: Sequence[str]
    group_regressors: Sequence[str]


# Columns of the radon data, regressors in the order of the published model.
RADON_COLUMNS = GroupedColumns("log_radon", "county", ("first_floor",), ("log_uranium",))


class GroupedData(NamedTuple):
    """Rows that belong to groups."""

    outcome: FloatArray  # numbers as in the file [row]
    group: IntegerArray  # number of the row's group, from 0 in the order in which groups appear [row]
    group_names: tuple[str, ...]  # as written in the file [group]
    regressors: FloatArray  # as in the file, those of rows first, then of groups [row, regressor]
    regressor_names: tuple[str, ...]  # column names [regressor]


def read_grouped(path: str | os.PathLike[str], columns: GroupedColumns) -> GroupedData:
    """Returns the named columns (outcome, group, regressors) of a table, rows in the order of the file."""
    regressors = (*columns.row_regressors, *columns.group_regressors)
    numeric = (columns.outcome, *regressors)
    _check_roles(path, open_rows(path).columns, columns)
    cells = read_cells(path, [*numeric, columns.group], min_rows=4)
    groups = read_texts(cells, columns.group)
    numbers = read_floats(cells.select(numeric))
    constant = np.flatnonzero(np.ptp(numbers, axis=0) == 0.0)
    if constant.size:
        value, role = numbers[0, constant[0]], "outcome" if constant[0] == 0 else "regressor"
        name = numeric[constant[0]]
        fail(path, f"column '{name}': every row has the value {value:g}; name another column as {role}")
    names, first, group = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(first)  # groups are numbered in the order in which they appear
    names, first, group = names[order], first[order], np.argsort(order)[group]
    if not 1 < len(names) < len(groups):
        expected = "expected two or more groups, some of them with several rows"
        fail(path, f"column '{columns.group}': {expected}, got {len(names)} groups of {len(groups)} rows")
    for name in columns.group_regressors:
        values = numbers[:, numeric.index(name)]
        for row in map(int, np.flatnonzero(values != values[first][group])):
            other = int(first[group[row]])
            got = f"{values[other]:g} in {cells.describe_row(other)} and {values[row]:g} in {cells.describe_row(row)}"
            fail(path, f"column '{name}': group '{groups[row]}' has {got}; name it in row_regressors")
    return GroupedData(numbers[:, 0], group, tuple(map(str, names)), numbers[:, 1:], regressors)


def _check_roles(path: str | os.PathLike[str], names: tuple[str, ...], columns: GroupedColumns) -> None:
    if not (columns.row_regressors or columns.group_regressors):
        fail(path, "no regressor is named; name one or more columns in row_regressors or group_regressors")
    seen: dict[str, str] = {}
    for role, value in columns._asdict().items():
        for name in (value,) if isinstance(value, str) else value:
            if name not in names:
                near = nearest_name(name, names)
                fail(path, f"{role}: there is no column '{name}', only {list_values(names)}{near}")
            if name in seen:
                fail(path, f"column '{name}' is named twice, in {seen[name]} and in {role}; name it once")
            seen[name] = role
