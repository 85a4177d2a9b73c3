"""Reads rows that belong to groups: an outcome and regressors, some of which belong to the group as a whole."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auxmc.data.cells import Cells, as_texts, good, listed, matrix
from auxmc.data.tables import fail, nearest_name, open_rows, read_cells
from auxmc.numerics.array_types import FloatArray, IntegerArray

__all__ = ["RADON_COLUMNS", "RADON_FILE", "GroupedColumns", "GroupedData", "read_grouped"]

RADON_FILE = Path(__file__).with_name("radon.csv")
"""Radon in homes in Minnesota, which ships with the package; radon.md says where it comes from."""


class GroupedColumns(NamedTuple):
    """Which columns of a table mean what.

    Attributes:
        outcome: column of the outcome.
        group: column that says to which group a row belongs; any text.
        row_regressors: columns that may differ within a group.
        group_regressors: columns with one value for all rows of a group.
    """

    outcome: str
    group: str
    row_regressors: tuple[str, ...]
    group_regressors: tuple[str, ...]


RADON_COLUMNS = GroupedColumns("log_radon", "county", ("first_floor",), ("log_uranium",))
"""Columns of the radon data, regressors in the order of the published model."""


class GroupedData(NamedTuple):
    """Rows that belong to groups.

    Attributes:
        outcome: numbers as in the file [row].
        group: number of the row's group, from 0 in the order in which groups appear [row].
        group_names: as written in the file [group].
        regressors: numbers as in the file, those of rows first, then those of groups [row, regressor].
        regressor_names: column names [regressor].
    """

    outcome: FloatArray
    group: IntegerArray
    group_names: tuple[str, ...]
    regressors: FloatArray
    regressor_names: tuple[str, ...]


def read_grouped(path: str | os.PathLike[str], columns: GroupedColumns, min_rows: int = 4) -> GroupedData:
    """Returns the named columns of a table, of which there may be more.

    Args:
        path: the file; see `tables.open_rows`.
        columns: outcome, group and regressors.
        min_rows: smallest number of rows.

    Returns:
        The data, rows in the order of the file.

    Raises:
        DataError: The file cannot be read as such a table.
    """
    regressors = (*columns.row_regressors, *columns.group_regressors)
    _check_roles(path, open_rows(path).columns, columns)
    cells = read_cells(path, [columns.outcome, *regressors, columns.group], min_rows)
    wanted = cells.names[:-1]
    written = as_texts(cells, columns.group)
    hint = f"; columns of numbers are the outcome '{columns.outcome}' and the regressors {listed(regressors)}"
    numbers = good(matrix(cells.of(wanted), hint))
    for name, values in zip(wanted, numbers.T, strict=True):
        if np.all(values == values[0]):
            role = (
                "an outcome that never changes has no regression; name another column as the outcome"
                if name == columns.outcome
                else "it cannot be told from the intercept; remove it from the regressors"
            )
            fail(path, f"column '{name}': every row has the value {values[0]:g}, so {role}")
    group_names = tuple(dict.fromkeys(written))
    _check_groups(path, columns.group, group_names, len(written))
    number_of = {name: number for number, name in enumerate(group_names)}
    group = np.array([number_of[name] for name in written])
    for name in columns.group_regressors:
        _check_constant_within_groups(cells, name, numbers[:, wanted.index(name)], group, group_names)
    return GroupedData(numbers[:, 0], group, group_names, numbers[:, 1:], regressors)


def _check_roles(path: str | os.PathLike[str], names: Sequence[str], columns: GroupedColumns) -> None:
    roles = [
        ("outcome", columns.outcome),
        ("group", columns.group),
        *(("row_regressors", name) for name in columns.row_regressors),
        *(("group_regressors", name) for name in columns.group_regressors),
    ]
    if len(roles) == 2:
        fail(path, "no regressor is named; name one or more columns in row_regressors or group_regressors")
    seen: set[str] = set()
    for role, name in roles:
        if name not in names:
            fail(
                path, f"{role}: there is no column '{name}', only {listed(names)}{nearest_name(name, names)}"
            )
        if name in seen:
            first = next(other for other, known in roles if known == name)
            fail(path, f"column '{name}' is named twice, in {first} and in {role}; name it once")
        seen.add(name)


def _check_groups(path: str | os.PathLike[str], column: str, group_names: Sequence[str], n_rows: int) -> None:
    if len(group_names) == 1:
        fail(
            path, f"column '{column}': every row is in the group '{group_names[0]}'; at least two are needed"
        )
    if len(group_names) == n_rows:
        fail(
            path,
            f"column '{column}': every row is a group of its own, so that groups and noise cannot be told "
            "apart; name a column whose values repeat",
        )


def _check_constant_within_groups(
    cells: Cells,
    name: str,
    values: FloatArray,
    group: IntegerArray,
    group_names: Sequence[str],
) -> None:
    _, first = np.unique(group, return_index=True)
    odd = np.flatnonzero(values != values[first][group])
    if odd.size:
        row, other = int(odd[0]), int(first[group[odd[0]]])
        fail(
            cells.source,
            f"column '{name}': group '{group_names[group[row]]}' has the value {values[other]:g} in {cells.row(other)} "
            f"and {values[row]:g} in {cells.row(row)}; a group regressor has one value in a group: correct it or name "
            "it in row_regressors",
        )
