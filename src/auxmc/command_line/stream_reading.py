"""Reads the rows of `auxmc stream`, and reports those that a model has no probability for."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from auxmc.command_line.stream_models import BadRow, NamedModel
from auxmc.data.tables import Table, nearest_name, open_rows, read_blocks
from auxmc.errors import CommandError, DataError
from auxmc.numerics.array_types import FloatArray

__all__ = ["first_rows", "open_source", "read_checked"]

_BLOCK_ROWS = 32_768


def open_source(path: Path, columns: str, response: str) -> Table:
    """Looks at a file and puts its columns in order, the response last.

    Args:
        path: the file.
        columns: names separated by commas; empty for all.
        response: name of the response; empty for the last column.

    Raises:
        CommandError: the file cannot be read, or lacks a column.
    """
    asked = [name.strip() for name in columns.split(",") if name.strip()]
    try:
        source = open_rows(path, asked)
    except DataError as error:
        raise CommandError(str(error)) from error
    names = source.columns
    last = response or names[-1]
    if last not in names:
        near = nearest_name(last, names) or f"; columns are {', '.join(names)}"
        raise CommandError(f"{path}: --response {last!r}: there is no such column{near}")
    return source._replace(columns=(*(name for name in names if name != last), last))


def first_rows(
    source: Table, models: Sequence[NamedModel], dtype: Any, n_rows: int, least: int
) -> FloatArray:
    """The first rows of a file, as many as are asked for, or fewer where they end or one is bad.

    Args:
        source: the file.
        models: the models.
        dtype: that the rows must fit into.
        n_rows: rows to read.
        least: rows among which none may be bad.

    Returns:
        [row, column], at least one row.

    Raises:
        CommandError: one of the first `least` rows cannot be used.
    """
    found: list[FloatArray] = []
    try:
        found.extend(read_checked(source, models, dtype, n_rows, 0))
    except DataError as error:
        if sum(len(block) for block in found) < least:
            raise CommandError(str(error)) from error
    return np.concatenate(found)


def read_checked(
    source: Table, models: Sequence[NamedModel], dtype: Any, n_rows: int | None, first_row: int
) -> Iterator[FloatArray]:
    """Rows that all models have a probability for.

    Args:
        source: the file.
        models: the models.
        dtype: that the rows must fit into.
        n_rows: rows of the file to read; None for all.
        first_row: rows to leave out at the beginning.

    Yields:
        Blocks [row, column].

    Raises:
        DataError: a row cannot be used; after the rows before it.
    """
    done = first_row
    for block in read_blocks(source, _BLOCK_ROWS, first_row):
        if n_rows is not None:
            block = block[: max(0, n_rows - done)]
        fault: DataError | None = None
        checks = [(lambda rows: _too_large(rows, dtype), "")]
        checks += [(model.first_bad_row, f" (model {model.name})") for model in models]
        for first_bad_row, whose in checks:
            bad = first_bad_row(block)
            if bad is not None:
                fault = _fault(source, done + bad.row, bad.column, bad.reason + whose)
                # A later check can only find an earlier row.
                block = block[: bad.row]
        if len(block):
            yield block
        if fault is not None:
            raise fault
        done += len(block)
        if n_rows is not None and done >= n_rows:
            return


def _too_large(rows: FloatArray, dtype: Any) -> BadRow | None:
    large = np.abs(rows) > np.finfo(dtype).max
    if not large.any():
        return None
    row, column = (int(place) for place in np.argwhere(large)[0])
    return BadRow(row, column, f"{rows[row, column]:g}, too large for {dtype}")


def _fault(source: Table, row: int, column: int | None, reason: str) -> DataError:
    where = "" if column is None else f", column {source.columns[column]!r}"
    return DataError(f"{source.path}: row {row + 1}{where} is {reason}; correct it or remove the row")
