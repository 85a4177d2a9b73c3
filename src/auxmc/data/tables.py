"""What is a column of data: the one reader of text, Parquet and NumPy files, of data frames and of arrays.

Rows that cannot be used are rejected with row and column; the rows before them are handed over first. PyArrow is
imported where a file or a frame needs it: the workflow imports this module before it starts anything.
"""

import csv
import difflib
import gzip
import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from auxmc.data.cells import (
    Cells,
    as_array,
    is_missing,
    is_number,
    list_values,
    read_array,
    read_floats,
    read_floats_before_fault,
    read_numbers,
    show_cell,
)
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray

_BATCH_ROWS = 65_536
_BATCH_CELLS = 1 << 17
_KINDS = {b"PAR1": "parquet", b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_ROW_LABELS = re.compile(r"__index_level_\d+__")
# Row labels whose name was lost on the way through another file.
_LOST_LABELS = re.compile(rf"|Unnamed: \d+|{_ROW_LABELS.pattern}")
_NOT_TEXT = "not UTF-8 text; save the table as CSV with UTF-8 encoding, possibly compressed by gzip"


class Table(NamedTuple):
    """A file of rows and the columns to read; `open_rows` makes it."""

    path: Path  # the file
    columns: tuple[str, ...]  # names in the order in which they are read
    n_rows: int | None  # rows, None where only reading the whole file would tell
    read: Callable[[Sequence[str]], Iterator[Cells]]  # maps names of columns to an iterator over their cells

    def cells(self, first_row: int = 0) -> Iterator[Cells]:
        """Yields the rows of the chosen columns, some at a time, from one row on.

        DataError for damage, a row of another length, or too few rows to skip comes after the rows before it.
        """
        n_rows = 0
        for cells in self.read(self.columns):
            n_rows = cells.first + cells.n_rows
            if n_rows > first_row:
                yield cells.skip(max(0, first_row - cells.first))
        if n_rows < first_row:
            fail(self.path, f"has {n_rows} rows, expected at least the {first_row} that were read before")


def fail(source: str | os.PathLike[str], message: str, cause: Exception | None = None) -> NoReturn:
    """Raises DataError with the source in front of the message."""
    raise DataError(f"{os.fspath(source)}: {message}") from cause


def nearest_name(name: str, candidates: Sequence[str]) -> str:
    """Returns the end of a message that asks whether a similar name was meant; empty without one."""
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


def open_rows(path: str | os.PathLike[str], columns: Sequence[str] = ()) -> Table:
    """Returns the names and size of a table, without reading its rows.

    Text is separated by tabs, semicolons or commas (the first of these in the first line), UTF-8, and may be
    compressed by gzip. Empty lines, and lines above the first row that begin with # or sep=, are skipped. The first
    line is names if none of its cells is a number; it is data if all are, and columns are then called 0, 1, ... as
    those of an array. Row labels that pandas wrote are not data.

    Args:
        path: text, Parquet (`.parquet`), a NumPy matrix (`.npy`), or vectors or one matrix in an archive (`.npz`).
        columns: those to read, in this order; all by default.

    Raises:
        DataError: If the file is missing, empty or of another kind, or names cannot be used or are not there.
    """
    table = _OPEN[_kind(Path(path))](Path(path))
    _check_names(path, table.columns, columns)
    if table.n_rows == 0 or not table.columns:
        fail(path, f"the file has no rows below its names ({list_values(table.columns)}); add data")
    return table._replace(columns=tuple(columns) or table.columns)


def read_blocks(table: Table, block_rows: int, first_row: int = 0) -> Iterator[FloatArray]:
    """Yields float64 rows [row, column] in the order of the file, so many at most; DataError after the good ones."""
    for cells in table.cells(first_row):
        rows, fault = read_floats_before_fault(cells)
        for begin in range(0, len(rows), block_rows):
            yield rows[begin : begin + block_rows]
        if fault is not None:
            raise fault


def read_cells(path: str | os.PathLike[str], columns: Sequence[str] = (), min_rows: int = 1) -> Cells:
    """Returns all rows of some columns of a table, as `open_rows` takes it; DataError if there are too few."""
    parts = list(open_rows(path, columns).cells())
    n_rows = sum(part.n_rows for part in parts)
    if n_rows < min_rows:
        fail(path, f"has {n_rows} row{'s' * (n_rows != 1)} of data, needs at least {min_rows}; add rows")
    lines = None if parts[0].lines is None else [i for part in parts for i in part.lines or ()]
    joined = [
        np.concatenate(one) if isinstance(one[0], np.ndarray) else list(itertools.chain.from_iterable(one))
        for one in zip(*(part.columns for part in parts), strict=True)
    ]
    return parts[0]._replace(columns=tuple(joined), lines=lines)


def read_matrix(path: str | os.PathLike[str], min_rows: int = 2) -> FloatArray:
    """Returns a table of numbers [row, column], rows in the order of a file as `open_rows` takes it."""
    return read_floats(read_cells(path, min_rows=min_rows))


def read_arrays(path: str | os.PathLike[str]) -> Any:
    """Returns the numbers of a file: an array for `.npy`, of any shape, and columns or arrays by name for others.

    They are int64 where all are integers, else float64. DataError is raised if the file cannot be read, or holds
    something other than finite real numbers.
    """
    file = Path(path)
    if _kind(file) not in ("npy", "npz"):
        cells = read_cells(file)
        return dict(zip(cells.names, read_numbers(cells), strict=True))
    found = load_arrays(file)
    if isinstance(found, dict):
        return {name: _read_array(file, list_values([name]), array) for name, array in found.items()}
    return _read_array(file, "array", found)


def rows_in_memory(value: Any, source: str, first: int = 0, names: Sequence[str] = ()) -> Cells:
    """Returns the rows of an array, a nested list [row, column], or a frame of pandas or with an Arrow interface.

    Messages call it `source`; `first` is the index of its first row. The columns of a frame are put in the order of
    `names`; by default all are taken as they are.

    Raises:
        DataError: If the names of a frame cannot be used, or differ.
        TypeError: If it cannot be made an array.
        ValueError: If there are not two axes, or the number of columns differs.
    """
    if hasattr(value, "__arrow_c_stream__") and not hasattr(value, "iloc"):
        import pyarrow as pa

        value = pa.table(value).to_pandas(timestamp_as_object=True)
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        columns = tuple(np.asarray(value.iloc[:, i]) for i in range(len(value.columns)))
        found = tuple(str(name).strip() for name in value.columns)
    else:
        array = _array_of_rows(value, source, first, len(names))
        columns, found = tuple(array.T), tuple(names) or _number_names(array.shape[1])
    _check_names(source, found)
    cells = Cells(source, found, columns, first)
    if not names or set(found) == set(names):
        return cells.select(names or found)
    if tuple(names) != _number_names(len(found)):
        fail(source, f"row {first + 1}: expected columns {list_values(names)}, got {list_values(found)}")
    return cells


def load_arrays(path: Path, without: str = "") -> Any:
    """Returns the content of a `.npy` or `.npz`: an array, mapped into memory, or a dictionary of arrays.

    An array that may hold objects can be left out by its name (`without`).
    """
    _kind(path)
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            arrays = {name: np.asarray(found[name]) for name in found.files if name != without}
    except MemoryError:
        raise
    except Exception as error:
        # A damaged header is parsed as a text of Python, which fails in many ways.
        fail(path, f"not a NumPy file of plain arrays ({_one_line(error) or type(error).__name__})", error)
    if not arrays:
        fail(path, "the archive holds no arrays; write it with numpy.savez")
    return arrays


def _array_of_rows(value: Any, source: str, first: int, n_columns: int) -> NDArray[Any]:
    try:
        array = as_array(value)
    except (TypeError, ValueError):
        got = f"{type(value).__name__} after row {first}"
        raise TypeError(f"{source}: expected arrays of numbers [row, column], got {got}") from None
    if array.ndim != 2 or (n_columns or array.shape[1]) != array.shape[1]:
        advice = f"; give {source}[:, None] for one number a row" if array.ndim == 1 else ""
        got = f"shape {array.shape} after row {first}"
        raise ValueError(f"{source}: expected [row, {n_columns or 'column'}], got {got}{advice}")
    return array


def _check_names(source: str | os.PathLike[str], names: Sequence[str], columns: Sequence[str] = ()) -> None:
    """Rejects names that are missing or there twice, and columns that are not there or asked for twice."""
    for place, name in enumerate(names):
        if not columns and _LOST_LABELS.fullmatch(name):
            what = f"is called {name!r}" if name else "has no name"
            fail(source, f"column {place + 1} {what}; name it, or save without row labels (index=False)")
        if name and (first := names.index(name)) < place:
            fail(source, f"columns {first + 1} and {place + 1} are both called {name!r}; rename one")
    for place, name in enumerate(columns):
        if name not in names:
            fail(source, f"there is no column {name!r}, only {list_values(names)}{nearest_name(name, names)}")
        if name in columns[:place]:
            fail(source, f"column {name!r} is asked for twice; name it once")


def _number_names(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(n))


def _kind(path: Path) -> str:
    """Returns the kind of a file by its first bytes, or by the ending of its name where they do not tell."""
    if path.exists() and not path.is_file():
        fail(path, "is a directory or a pipe; give the path of one data file")
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError as error:
        siblings = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        where = f" (looked in {Path.cwd()})" if not path.is_absolute() else ""
        fail(path, f"no such file{where}{nearest_name(path.name, siblings) or '; check the path'}", error)
    except OSError as error:
        fail(path, f"cannot be read: {error.strerror}; check its permissions", error)
    if not start:
        fail(path, "the file is empty; it needs rows of numbers")
    kind = _KINDS.get(start)
    if kind == "npz" and path.suffix != ".npz":
        fail(path, f"a ZIP archive, as workbooks are, {_NOT_TEXT}")
    return kind or (path.suffix[1:] if path.suffix in (".parquet", ".npy", ".npz") else "text")


def _open_text(path: Path) -> Table:
    rows = _text_rows(path)
    line, first = next(rows, (0, []))
    if not first:
        fail(path, "the file is empty; it needs rows of numbers")
    second = next(rows, (0, []))[1]
    parts = re.split("[ |]+", (second or first)[0]) if len(first) == 1 else []
    if len(parts) > 1 and all(map(is_number, parts)):
        got = show_cell(first[0])
        fail(path, f"line {line}: expected tabs, semicolons or commas between cells, got {got}")
    has_names = _is_names(path, line, first, second)
    names = tuple(first) if has_names else _number_names(len(first))

    def read(chosen: Sequence[str]) -> Iterator[Cells]:
        places = [names.index(name) for name in chosen]
        remaining, done = itertools.islice(_text_rows(path), int(has_names), None), 0
        while True:
            batch: list[tuple[int, list[str]]] = []
            fault = None
            try:
                for line, row in itertools.islice(remaining, max(1, _BATCH_CELLS // len(names))):
                    if len(row) != len(names):
                        where, got = f"row {done + len(batch) + 1} (line {line})", show_cell(", ".join(row))
                        cells = f"expected {len(names)} cells as in the first line, got {len(row)}, {got}"
                        fail(path, f"{where}: {cells}; check commas in cells and at the end of lines")
                    batch.append((line, row))
            except DataError as error:
                fault = error
            if batch:
                lines, found = zip(*batch, strict=True)
                texts = list(zip(*found, strict=True))
                yield Cells(str(path), tuple(chosen), tuple(texts[place] for place in places), done, lines)
                done += len(batch)
            if fault is not None:
                raise fault
            if not batch:
                return

    return Table(path, names, 0 if has_names and not second else None, read)


def _text_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yields the line where a row begins, and its stripped cells."""
    line = 0
    try:
        with path.open("rb") as file:
            opened: Any = gzip.open if file.read(2) == b"\x1f\x8b" else open
        with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            first = "#"
            while first and (not first.strip() or first.lstrip().startswith(("#", "sep="))):
                line, first = line + 1, text.readline()
            above, empty, width = line - 1, list[tuple[int, list[str]]](), 0
            lines = itertools.chain([first], text)
            # In a file with decimal commas or with commas in text, tabs or semicolons still separate the columns.
            unquoted = re.sub(r'"[^"]*("|$)', "", first)
            separator = next((mark for mark in "\t;" if mark in unquoted), ",")
            reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
            for row in reader:
                "".join(row).encode()
                cells = [cell.strip() for cell in row]
                if any(cells) or len(row) > 1 or (row and width == 1):
                    width = width or len(cells)
                    # In a file of one column an empty line between rows is a missing value.
                    yield from empty if width == 1 else ()
                    empty = []
                    yield line, cells
                else:
                    empty.append((line, [""]))
                line = above + reader.line_num + 1
    except UnicodeEncodeError as error:  # a byte that is not UTF-8 became half a character
        fail(path, f"line {line}: {_NOT_TEXT}", error)
    except csv.Error as error:
        fail(path, f"line {line}: {error}; check quotation marks and separators", error)
    except (OSError, EOFError, zlib.error) as error:
        fail(path, f"damaged or cut short after line {max(0, line - 1)} ({_one_line(error)})", error)


def _is_names(path: Path, line: int, cells: list[str], second: list[str]) -> bool:
    """Whether the first row is names; DataError if it may be either."""
    present = [cell for cell in cells if not is_missing(cell)]
    n_numbers = sum(map(is_number, present))
    if n_numbers == 0:
        return bool(present)
    integers = [int(cell) for cell in present if _INTEGER.fullmatch(cell)]
    # Integers may be names that pandas gives an array, or years, or stand above numbers with decimals.
    counts_up = bool(integers) and integers == list(range(integers[0], integers[0] + len(present)))
    is_above = bool(second) and not any(map(_INTEGER.fullmatch, second))
    is_above_decimals = is_above and 1 < len(present) == len(integers)
    may_be_names = (counts_up and (integers[0] == 0 or len(present) > 2)) or is_above_decimals
    if n_numbers < len(present) or may_be_names:
        advice = "begin with a line of names, none of them a number"
        fail(path, f"line {line}: {show_cell(', '.join(cells))} may be names or data; {advice}")
    return False


def _open_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    def opened() -> Any:
        try:
            # Not mapped: pages of a file read once would count as memory of this process.
            return pa_parquet.ParquetFile(path, buffer_size=1 << 20)
        except (pa.ArrowException, OSError) as error:
            fail(path, f"not a complete Parquet file ({_one_line(error)})", error)

    def read(chosen: Sequence[str]) -> Iterator[Cells]:
        done = 0
        with opened() as file:
            try:
                # In batches: a row group may itself be larger than memory.
                for batch in file.iter_batches(_BATCH_ROWS, columns=[fields[name] for name in chosen]):
                    # What pandas wrote of types and labels would rename columns, and may be damaged.
                    frame = batch.replace_schema_metadata().to_pandas(timestamp_as_object=True)
                    columns = tuple(np.asarray(frame[fields[name]]) for name in chosen)
                    yield Cells(str(path), tuple(chosen), columns, done)
                    done += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                fail(path, f"cannot be read after row {done}: {_one_line(error)}", error)

    with opened() as file:
        names, n_rows = _data_fields(file.schema_arrow), int(file.metadata.num_rows)
    fields = {name.strip(): name for name in names}
    return Table(path, tuple(name.strip() for name in names), n_rows, read)


def _data_fields(schema: Any) -> list[str]:
    """Returns the names in an Arrow schema, without those of the row labels that pandas wrote."""
    try:
        labels = (schema.pandas_metadata or {}).get("index_columns", [])
    except ValueError:  # what another program wrote in its place
        labels = []
    return [name for name in schema.names if name not in labels and not _ROW_LABELS.fullmatch(name)]


def _open_numpy(path: Path) -> Table:
    names, columns = _numpy_columns(path)
    n_rows = len(columns[0]) if columns else 0

    def read(chosen: Sequence[str]) -> Iterator[Cells]:
        step, now = max(1, _BATCH_CELLS // len(names)), columns
        for begin in range(0, n_rows, step):
            if isinstance(columns[0], np.memmap):
                # Mapped again each time: pages that stay mapped would count as memory of this process.
                now = _numpy_columns(path)[1]
            part = (np.array(now[names.index(name)][begin : begin + step]) for name in chosen)
            yield Cells(str(path), tuple(chosen), tuple(part), begin)

    return Table(path, names, n_rows, read)


def _numpy_columns(path: Path) -> tuple[tuple[str, ...], tuple[NDArray[Any], ...]]:
    """Returns names and columns of a matrix, or of vectors of one length."""
    found = load_arrays(path)
    arrays = found if isinstance(found, dict) else {"the array": found}
    shapes = {array.shape for array in arrays.values()}
    first = next(iter(arrays.values()))
    if isinstance(found, dict) and len(shapes) == 1 and first.ndim == 1:
        return tuple(name.strip() for name in found), tuple(found.values())
    if len(arrays) > 1 or first.ndim != 2 or first.dtype.names:
        got = list_values([f"{name} {array.dtype} {list(array.shape)}" for name, array in arrays.items()])
        fail(path, f"must be a matrix of numbers [row, column] or columns of one length, got {got}")
    return _number_names(first.shape[1]), tuple(first.T)


def _read_array(path: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.size == 0:
        fail(path, f"{name}: expected numbers, got shape {array.shape}")
    try:
        return read_array(array, name)
    except DataError as error:
        fail(path, str(error), error)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


_OPEN = {"text": _open_text, "parquet": _open_parquet, "npy": _open_numpy, "npz": _open_numpy}
