"""Rows of numbers, block by block: from Parquet, CSV and NumPy files larger than memory, or from an array.

A file that cannot be used is refused with its row and column; the good rows before the bad one are handed over first,
so that whatever is computed from them can be kept.
"""

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from auxmc.data.tables import DataError
from auxmc.numerics.array_types import FloatArray

__all__ = ["ROW_FILES", "RowFile", "array_blocks", "bad_cell", "open_rows", "read_blocks"]

ROW_FILES = (".parquet", ".csv", ".npy")
"""Endings of files that can be read."""

_BLOCK_BYTES = 1 << 24
_BATCH_ROWS = 65_536
_BUFFER_BYTES = 1 << 20
# Number that the CSV reader gives to the line after the header.
_CSV_FIRST_LINE = 2


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
    if "" in names and not columns:
        raise DataError(
            f"{file}: column {names.index('') + 1} has no name, as an index that was written with the table: save it "
            "without (index=False), or say which columns to read"
        )
    for name in columns:
        if name not in names:
            raise DataError(f"{file}: there is no column {name!r}; columns are {', '.join(names)}")
    return RowFile(file, tuple(columns) or names, n_rows)


def read_blocks(source: RowFile, block_rows: int, first_row: int = 0) -> Iterator[FloatArray]:
    """Rows in the order of the file, in blocks of equal size, the last one shorter.

    Args:
        source: what `open_rows` returned.
        block_rows: rows of a block, however the file is laid out.
        first_row: rows to leave out at the beginning.

    Returns:
        Blocks [row, column], float64.

    Raises:
        DataError: a cell is missing, not a number or not finite, the file is damaged, its columns have changed, or it
            has fewer rows than are to be left out. Raised after the rows before the fault. Rows in messages are
            counted from 1, the header not included.
        ValueError: block_rows is not positive, or first_row is negative.
    """
    _check_sizes(block_rows, first_row)
    parts = _PARTS[source.path.suffix](source, first_row)
    return _whole_blocks(parts, str(source.path), source.columns, block_rows, first_row)


def array_blocks(rows: NDArray[Any], block_rows: int = 65_536, first_row: int = 0) -> Iterator[FloatArray]:
    """Rows of an array in blocks of equal size, with the checks of `read_blocks`; columns are called 0, 1, ...

    Args:
        rows: [row, column]; may be mapped into memory.
        block_rows: rows of a block.
        first_row: rows to leave out at the beginning.

    Raises:
        DataError: a number is not finite, or there are fewer rows than are to be left out.
        ValueError: rows is not a matrix of numbers, or a size is out of range.
    """
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise ValueError(f"rows must be numbers [row, column], got {rows.dtype} {list(rows.shape)}")
    _check_sizes(block_rows, first_row)
    if first_row > len(rows):
        raise _too_few("array", len(rows), first_row)
    parts = (
        np.asarray(rows[begin : begin + block_rows], dtype=np.float64)
        for begin in range(first_row, len(rows), block_rows)
    )
    names = tuple(str(column) for column in range(rows.shape[1]))
    return _whole_blocks(parts, "array", names, block_rows, first_row)


def bad_cell(source: str, row: int, column: str, reason: str) -> DataError:
    """The error that names a cell.

    Args:
        source: where the row is from.
        row: its number, counted from 0.
        column: name of the column.
        reason: what is wrong, to be read after "is".
    """
    return DataError(
        f"{source}: row {row + 1}, column {column!r} is {reason}; mend it and go on: rows before it are kept"
    )


def _check_sizes(block_rows: int, first_row: int) -> None:
    if block_rows < 1 or first_row < 0:
        raise ValueError(
            f"block_rows must be positive and first_row not negative, got {block_rows} and {first_row}"
        )


def _whole_blocks(
    parts: Iterator[FloatArray], source: str, columns: Sequence[str], block_rows: int, first_row: int
) -> Iterator[FloatArray]:
    """Cuts parts of any length into blocks; a fault is raised after all rows before it have been handed over."""
    waiting: list[FloatArray] = []
    n_waiting, n_done = 0, first_row
    fault: DataError | None = None
    while fault is None:
        try:
            part = next(parts, None)
        except DataError as error:
            fault, part = error, None
        if part is None:
            break
        finite = np.isfinite(part)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            fault = bad_cell(
                source, n_done + n_waiting + int(row), columns[column], "missing or not a finite number"
            )
            part = part[:row]
        waiting.append(part)
        n_waiting += len(part)
        if n_waiting < block_rows:
            continue
        joined = np.concatenate(waiting)
        for begin in range(0, n_waiting - block_rows + 1, block_rows):
            yield joined[begin : begin + block_rows]
        n_left = n_waiting % block_rows
        # A copy, so that the whole part is not kept for the sake of its last rows.
        waiting, n_done, n_waiting = (
            [joined[n_waiting - n_left :].copy()],
            n_done + n_waiting - n_left,
            n_left,
        )
    if n_waiting:
        yield np.concatenate(waiting)
    if fault is not None:
        raise fault


def _parquet_names(path: Path) -> tuple[tuple[str, ...], int | None]:
    with _parquet(path) as file:
        return tuple(file.schema_arrow.names), int(file.metadata.num_rows)


def _parquet_parts(source: RowFile, first_row: int) -> Iterator[FloatArray]:
    with _parquet(source.path) as file:
        _require_columns(source, file.schema_arrow.names)
        begin = 0
        for group in range(file.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            if begin + n_rows > first_row:
                done = begin
                try:
                    # In batches: a row group may itself be larger than memory.
                    for batch in file.iter_batches(_BATCH_ROWS, [group], list(source.columns)):
                        skipped = max(0, first_row - done)
                        if skipped < batch.num_rows:
                            table = pa.Table.from_batches([batch.slice(skipped)])
                            yield _numbers(source, table, done + skipped)
                        done += batch.num_rows
                except (pa.ArrowException, OSError) as error:
                    raise DataError(
                        f"{source.path}: damaged in row group {group} (rows {begin + 1} to {begin + n_rows}): "
                        f"{_line(error)}"
                    ) from error
            begin += n_rows
        if begin < first_row:
            raise _too_few(str(source.path), begin, first_row)


def _parquet(path: Path) -> pa_parquet.ParquetFile:
    try:
        # Not mapped: pages of a file read once would count as memory of this process.
        return pa_parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path}: not a complete Parquet file ({_line(error)}); was it still being written?"
        ) from error


def _csv_names(path: Path) -> tuple[tuple[str, ...], int | None]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            names = tuple(name.strip() for name in next(csv.reader([file.readline()]), []))
            # Empty lines may stand above the first row: the reader passes them over.
            has_rows = any(line.strip() for line in file)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text; save the file as CSV with UTF-8 encoding") from error
    except csv.Error as error:
        raise DataError(f"{path}: row 1 is no line of column names: {error}") from error
    if len(set(names)) < len(names):
        raise DataError(f"{path}: column names must differ, got {', '.join(names)}")
    if _is_row(names):
        shown = ", ".join(names[:3]) + (", ..." if names[3:] else "")
        raise DataError(
            f"{path}: its first line holds numbers ({shown}), not column names: put a line of names above it"
        )
    return names, None if has_rows else 0


def _is_row(names: tuple[str, ...]) -> bool:
    """Whether a line holds numbers that are no names: whole numbers may be, that follow one another as 0, 1, ..."""
    try:
        numbers = np.array([float(name) for name in names if name])
    except ValueError:
        return False
    return not np.array_equal(numbers, np.floor(numbers[:1]) + np.arange(len(numbers)))


def _csv_parts(source: RowFile, first_row: int) -> Iterator[FloatArray]:
    names, _ = _csv_names(source.path)
    _require_columns(source, names)
    wrong: list[pa_csv.InvalidRow] = []

    def leave_out(row: pa_csv.InvalidRow) -> str:
        wrong.append(row)
        return "skip"

    done = 0
    try:
        # As texts: a conversion by the reader would not say which row is wrong.
        reader = pa_csv.open_csv(
            source.path,
            read_options=pa_csv.ReadOptions(
                block_size=_BLOCK_BYTES, column_names=list(names), skip_rows=1, use_threads=False
            ),
            parse_options=pa_csv.ParseOptions(
                # In a file of one column an empty line is a missing value.
                ignore_empty_lines=len(names) > 1,
                invalid_row_handler=leave_out,
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=list(source.columns),
                column_types={name: pa.string() for name in source.columns},
            ),
        )
        for batch in reader:
            # Lines of a wrong length are left out of batches, and known ahead of them; rows before the first are good.
            n_good = wrong[0].number - _CSV_FIRST_LINE if wrong else done + batch.num_rows
            n_rows = min(batch.num_rows, n_good - done)
            skipped = max(0, first_row - done)
            if skipped < n_rows:
                good = batch.slice(skipped, n_rows - skipped)
                yield _numbers(source, pa.Table.from_batches([good]), done + skipped)
            done += n_rows
            if done == n_good and wrong:
                break
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source.path}: cannot be read after row {done}: {_line(error)}") from error
    if wrong:
        raise DataError(
            f"{source.path}: row {done + 1} has {wrong[0].actual_columns} cells instead of "
            f"{wrong[0].expected_columns} ({wrong[0].text!r}); mend it and go on: rows before it are kept"
        )
    if done < first_row:
        raise _too_few(str(source.path), done, first_row)


def _numpy_names(path: Path) -> tuple[tuple[str, ...], int | None]:
    array = _numpy(path)
    return tuple(str(i) for i in range(array.shape[1])), len(array)


def _numpy_parts(source: RowFile, first_row: int) -> Iterator[FloatArray]:
    n_rows, n_columns = _numpy(source.path).shape
    chosen = [int(name) for name in source.columns]
    if max(chosen) >= n_columns:
        raise DataError(f"{source.path}: has {n_columns} columns, column {max(chosen)} is no longer there")
    if n_rows < first_row:
        raise _too_few(str(source.path), n_rows, first_row)
    step = max(1, _BLOCK_BYTES // (8 * n_columns))
    for begin in range(first_row, n_rows, step):
        # Mapped anew each time: pages that stay mapped would count as memory of this process.
        yield np.asarray(_numpy(source.path)[begin : begin + step, chosen], dtype=np.float64)


def _numpy(path: Path) -> FloatArray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:
        # A damaged header is parsed as a text of Python, which fails in many ways.
        raise DataError(f"{path}: not a NumPy array file: {type(error).__name__}") from error
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise DataError(
            f"{path}: must be a matrix of numbers [row, column], got {array.dtype} {list(array.shape)}"
        )
    return np.asarray(array) if array.size == 0 else array


def _numbers(source: RowFile, table: pa.Table, first_row: int) -> FloatArray:
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


def _parsed(column: pa.ChunkedArray) -> FloatArray:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    except pa.ArrowInvalid:
        return np.array([_number(text) for text in column.to_pylist()])


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _require_columns(source: RowFile, names: Sequence[str]) -> None:
    for name in source.columns:
        if name not in names:
            raise DataError(f"{source.path}: column {name!r} is no longer there")


def _too_few(source: str, n_rows: int, first_row: int) -> DataError:
    return DataError(
        f"{source}: has {n_rows} rows, but {first_row} have been read before: rows were taken away"
    )


_NAMES = {".parquet": _parquet_names, ".csv": _csv_names, ".npy": _numpy_names}
_PARTS = {".parquet": _parquet_parts, ".csv": _csv_parts, ".npy": _numpy_parts}
