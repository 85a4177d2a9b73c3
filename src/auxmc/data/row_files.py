"""Rows of numbers from files larger than memory, block by block: Parquet, CSV and NumPy arrays.

A file that cannot be used is refused with its row and column; the good rows before the bad one are handed over first,
so that whatever is computed from them can be kept.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from auxmc.data.reading import DataError

__all__ = ["ROW_FILES", "RowFile", "open_rows", "read_blocks"]

ROW_FILES = (".parquet", ".csv", ".npy")
"""Endings of files that can be read."""

_CSV_BLOCK_BYTES = 1 << 24

Float64Array = NDArray[np.float64]


class RowFile(NamedTuple):
    """A file of rows and what is read of it.

    Attributes:
        path: the file.
        columns: names in the order in which they are read.
        n_rows: rows, None where only reading the whole file would tell.
    """

    path: Path
    columns: tuple[str, ...]
    n_rows: int | None


def open_rows(path: str | os.PathLike[str], columns: Sequence[str] = ()) -> RowFile:
    """Looks at a file's names and size, without reading its rows.

    Args:
        path: a Parquet, CSV (comma, with a header) or NumPy file (a matrix; columns are called 0, 1, ...).
        columns: those to read, in this order; all by default.

    Raises:
        DataError: there is no such file, it is empty or of another kind, or lacks a column.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: there is no such file")
    if file.suffix not in ROW_FILES:
        raise DataError(f"{file}: rows are read from {', '.join(ROW_FILES)} files")
    if file.stat().st_size == 0:
        raise DataError(f"{file}: the file is empty")
    names, n_rows = _NAMES[file.suffix](file)
    if n_rows == 0 or not names:
        raise DataError(f"{file}: the file has no rows")
    for name in columns:
        if name not in names:
            raise DataError(f"{file}: there is no column {name!r}; columns are {', '.join(names)}")
    return RowFile(file, tuple(columns) or names, n_rows)


def read_blocks(source: RowFile, block_rows: int, first_row: int = 0) -> Iterator[Float64Array]:
    """Rows in the order of the file, in blocks of equal size, the last one shorter.

    Args:
        source: what `open_rows` returned.
        block_rows: rows of a block, however the file is laid out.
        first_row: rows to leave out at the beginning.

    Yields:
        [row, column], float64.

    Raises:
        DataError: a cell is missing, not a number or not finite, the file is damaged, or its columns have changed.
            Raised after the rows before it. Rows in messages are counted from 1, the header not included.
        ValueError: block_rows is not positive, or first_row is negative.
    """
    if block_rows < 1 or first_row < 0:
        raise ValueError(
            f"block_rows must be positive and first_row not negative, got {block_rows} and {first_row}"
        )
    waiting: list[Float64Array] = []
    n_waiting, n_done = 0, first_row
    fault: DataError | None = None
    parts = _PARTS[source.path.suffix](source, first_row)
    while fault is None:
        try:
            part = next(parts, None)
        except DataError as error:
            fault, part = error, None
        if part is None:
            break
        bad = np.argwhere(~np.isfinite(part))
        if len(bad):
            fault = _bad_cell(source, n_done + n_waiting + int(bad[0, 0]), int(bad[0, 1]))
            part = part[: bad[0, 0]]
        waiting.append(part)
        n_waiting += len(part)
        while n_waiting >= block_rows:
            joined = np.concatenate(waiting)
            yield joined[:block_rows]
            waiting = [joined[block_rows:]]
            n_waiting -= block_rows
            n_done += block_rows
    if n_waiting:
        yield np.concatenate(waiting)
    if fault is not None:
        raise fault


def _parquet_names(path: Path) -> tuple[tuple[str, ...], int | None]:
    with _parquet(path) as file:
        return tuple(file.schema_arrow.names), int(file.metadata.num_rows)


def _parquet_parts(source: RowFile, first_row: int) -> Iterator[Float64Array]:
    with _parquet(source.path) as file:
        missing = [name for name in source.columns if name not in file.schema_arrow.names]
        if missing:
            raise DataError(f"{source.path}: column {missing[0]!r} is no longer there")
        begin = 0
        for group in range(file.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            if begin + n_rows > first_row:
                try:
                    table = file.read_row_group(group, columns=list(source.columns))
                except (pa.ArrowException, OSError) as error:
                    raise DataError(
                        f"{source.path}: damaged in row group {group} (rows {begin + 1} to {begin + n_rows}): {error}"
                    ) from error
                yield _numbers(source, table, begin)[max(0, first_row - begin) :]
            begin += n_rows


def _parquet(path: Path) -> pa_parquet.ParquetFile:
    try:
        return pa_parquet.ParquetFile(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: not a complete Parquet file ({error}); was it still being written?"
        ) from error


def _csv_names(path: Path) -> tuple[tuple[str, ...], int | None]:
    with path.open(encoding="utf-8-sig") as file:
        header = file.readline().rstrip("\r\n")
        has_rows = bool(file.readline().strip())
    names = tuple(name.strip().strip('"') for name in header.split(","))
    if len(set(names)) < len(names):
        raise DataError(f"{path}: column names must differ, got {', '.join(names)}")
    return names, None if has_rows else 0


def _csv_parts(source: RowFile, first_row: int) -> Iterator[Float64Array]:
    done = 0
    try:
        # As texts: a conversion by the reader would not say which row is wrong.
        reader = pa_csv.open_csv(
            source.path,
            read_options=pa_csv.ReadOptions(block_size=_CSV_BLOCK_BYTES),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(source.columns),
                column_types={name: pa.string() for name in source.columns},
            ),
        )
        for batch in reader:
            n_rows = batch.num_rows
            if done + n_rows > first_row:
                skipped = max(0, first_row - done)
                yield _numbers(source, pa.Table.from_batches([batch.slice(skipped)]), done + skipped)
            done += n_rows
    except (pa.ArrowException, OSError, KeyError) as error:
        raise DataError(f"{source.path}: cannot be read after row {done}: {error}") from error


def _numpy_names(path: Path) -> tuple[tuple[str, ...], int | None]:
    array = _numpy(path)
    return tuple(str(i) for i in range(array.shape[1])), len(array)


def _numpy_parts(source: RowFile, first_row: int) -> Iterator[Float64Array]:
    array = _numpy(source.path)
    if any(int(name) >= array.shape[1] for name in source.columns):
        raise DataError(
            f"{source.path}: has {array.shape[1]} columns, column {source.columns[-1]} is no longer there"
        )
    chosen = [int(name) for name in source.columns]
    step = max(1, _CSV_BLOCK_BYTES // (8 * array.shape[1]))
    for begin in range(first_row, len(array), step):
        yield np.asarray(array[begin : begin + step, chosen], dtype=np.float64)


def _numpy(path: Path) -> NDArray[np.float64]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not a NumPy array file: {error}") from error
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise DataError(
            f"{path}: must be a matrix of numbers [row, column], got {array.dtype} {list(array.shape)}"
        )
    return np.asarray(array) if array.size == 0 else array


def _numbers(source: RowFile, table: pa.Table, first_row: int) -> Float64Array:
    """Float64 columns of a table; NaN where a cell is missing or, in a text column, not a number."""
    columns = []
    for name in source.columns:
        column = table.column(name)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            columns.append(_parsed(column))
        elif pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            columns.append(column.cast(pa.float64()).to_numpy())
        else:
            raise DataError(
                f"{source.path}: column {name!r} holds {column.type} from row {first_row + 1} on, numbers are needed"
            )
    return np.column_stack(columns)


def _parsed(column: pa.ChunkedArray) -> Float64Array:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        return np.array([_number(text) for text in column.to_pylist()])


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _bad_cell(source: RowFile, row: int, column: int) -> DataError:
    return DataError(
        f"{source.path}: row {row + 1}, column {source.columns[column]!r} is missing or not a finite number; mend it "
        "and go on: rows before it are kept"
    )


_NAMES = {".parquet": _parquet_names, ".csv": _csv_names, ".npy": _numpy_names}
_PARTS = {".parquet": _parquet_parts, ".csv": _csv_parts, ".npy": _numpy_parts}
