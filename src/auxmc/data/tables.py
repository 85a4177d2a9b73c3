"""What is a column of data: the one reader of text, Parquet and NumPy files, of data frames and of arrays.

Rows that cannot be used are rejected with row and column; the rows before them are handed over first. Needs NumPy
alone, and PyArrow where a file or a frame is of its kind: the workflow imports it before it starts anything.
"""

import csv
import difflib
import gzip
import io
import itertools
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from auxmc.data.cells import Cells, as_array, as_numbers, good, is_missing, is_number, listed, matrix, shown
from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray

__all__ = [
    "DataError",
    "Table",
    "fail",
    "load_arrays",
    "nearest_name",
    "open_rows",
    "read_arrays",
    "read_blocks",
    "read_cells",
    "rows_in_memory",
]

_BATCH_ROWS = 65_536
_BATCH_CELLS = 1 << 17
_BUFFER_BYTES = 1 << 20
_KINDS = {b"PAR1": "parquet", b"\x93NUM": "npy", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz"}
_NOT_READ = {
    b"BZh": "compressed by bzip2 (gzip is read)",
    b"\xfd7zXZ": "compressed by xz (gzip is read)",
    b"\x28\xb5\x2f\xfd": "compressed by zstd (gzip is read)",
    b"\xff\xfe": "not UTF-8 text but UTF-16",
    b"\xfe\xff": "not UTF-8 text but UTF-16",
}
_SAVE = "save the table as CSV with UTF-8 encoding"
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_ROW_LABELS = re.compile(r"__index_level_\d+__")
# Row labels whose name was lost on the way through another file.
_LABELS = re.compile(rf"Unnamed: \d+|{_ROW_LABELS.pattern}")


class Table(NamedTuple):
    """A file of rows and what is read of it; `open_rows` makes it.

    Attributes:
        path: the file.
        columns: names in the order in which they are read.
        n_rows: rows, None where only reading the whole file would tell.
        read: maps names of columns and a number of rows, which may be left out, to the cells of the others, once.
    """

    path: Path
    columns: tuple[str, ...]
    n_rows: int | None
    read: Callable[[Sequence[str], int], Iterator[Cells]]

    def cells(self, first_row: int = 0) -> Iterator[Cells]:
        """Yields the rows of the chosen columns, some at a time.

        Args:
            first_row: rows to leave out at the beginning.

        Raises:
            DataError: The file is damaged or has changed, a row has another number of cells, or there are fewer rows
                than are left out. Raised after the rows before it.
        """
        now = _OPEN[_kind(self.path)](self.path)
        for name in self.columns:
            if name not in now.columns:
                fail(self.path, f"column {name!r} is no longer there")
        n_rows = 0
        for cells in now.read(self.columns, first_row):
            skipped = max(0, first_row - cells.first)
            n_rows = cells.first + cells.n_rows
            if skipped < cells.n_rows:
                yield cells.rest(skipped)
        n_rows = n_rows if now.n_rows is None else now.n_rows
        if n_rows < first_row:
            fail(self.path, f"has {n_rows} rows, but {first_row} have been read before: rows were taken away")


def fail(source: str | os.PathLike[str], message: str, cause: Exception | None = None) -> NoReturn:
    """Raises DataError with the source in front of the message."""
    raise DataError(f"{os.fspath(source)}: {message}") from cause


def nearest_name(name: str, candidates: Sequence[str]) -> str:
    """The end of a message that asks whether a similar name was meant; empty if there is none."""
    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1)
    return f"; did you mean '{folded[close[0]]}'?" if close else ""


def open_rows(path: str | os.PathLike[str], columns: Sequence[str] = ()) -> Table:
    """Returns the names and size of a table, without reading its rows.

    Text is separated by tabs, semicolons or commas (the first of these that splits the first line), UTF-8, and may be
    compressed by gzip. Empty lines, and lines above the first row that begin with #, are left out. The first line is
    names if none of its cells is a number; it is data if all are, and columns are then called 0, 1, ... as those of an
    array. Row labels that pandas wrote are not data.

    Args:
        path: text, Parquet (`.parquet`), a NumPy matrix (`.npy`), or vectors or one matrix in an archive (`.npz`).
        columns: those to read, in this order; all by default.

    Raises:
        DataError: There is no such file, it is empty or of another kind, or names cannot be used or are not there.
    """
    table = _OPEN[_kind(Path(path))](Path(path))
    _check_names(path, table.columns, columns)
    if table.n_rows == 0 or not table.columns:
        fail(path, f"the file has no rows below its names ({listed(table.columns)}); add data")
    return table._replace(columns=tuple(columns) or table.columns)


def read_blocks(table: Table, block_rows: int, first_row: int = 0) -> Iterator[FloatArray]:
    """Yields float64 rows [row, column] in the order of the file, so many at most.

    Raises:
        DataError: As `Table.cells`, or a cell is not a finite number. Raised after the rows before it.
    """
    for cells in table.cells(first_row):
        rows, fault = matrix(cells)
        for begin in range(0, len(rows), block_rows):
            yield rows[begin : begin + block_rows]
        good((rows, fault))


def read_cells(path: str | os.PathLike[str], columns: Sequence[str] = (), min_rows: int = 1) -> Cells:
    """Returns all rows of some columns of a table, as `open_rows` takes it; DataError if there are too few."""
    parts = list(open_rows(path, columns).cells())
    n_rows = sum(part.n_rows for part in parts)
    if n_rows < min_rows:
        fail(path, f"has {n_rows} row{'s' * (n_rows != 1)} of data, needs at least {min_rows}; add rows")
    places = None if parts[0].places is None else [i for part in parts for i in part.places or ()]
    joined = (_joined(columns) for columns in zip(*(part.columns for part in parts), strict=True))
    return parts[0]._replace(columns=tuple(joined), places=places)


def read_arrays(path: str | os.PathLike[str]) -> Any:
    """Returns the numbers of a file: columns by name, or one array, or the arrays of an archive by name.

    Args:
        path: as for `open_rows`; arrays of NumPy files may have any shape.

    Returns:
        int64 where all numbers are integers, else float64; an array for `.npy`, for others a dictionary.

    Raises:
        DataError: The file cannot be read, or holds something other than finite real numbers.
    """
    file = Path(path)
    if _kind(file) not in ("npy", "npz"):
        cells = read_cells(file)
        return dict(zip(cells.names, good(as_numbers(cells)), strict=True))
    found = load_arrays(file)
    if isinstance(found, dict):
        return {name: _real(file, name, array) for name, array in found.items()}
    return _real(file, "", found)


def rows_in_memory(value: Any, source: str, first: int = 0, names: Sequence[str] = ()) -> Cells:
    """Returns the rows of an array or a data frame.

    Args:
        value: an array or nested list [row, column], or a frame of pandas or with an Arrow interface.
        source: what it is, for messages.
        first: number of its first row.
        names: of the columns, in whose order those of a frame are put; all as they are by default.

    Raises:
        DataError: The names of a frame cannot be used, or are others.
        TypeError: It cannot be made an array.
        ValueError: There are not two axes, or other columns than `names`.
    """
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        found = tuple(str(name).strip() for name in value.columns)
        columns = tuple(np.asarray(value.iloc[:, i]) for i in range(len(found)))
    elif hasattr(value, "__arrow_c_stream__"):
        import pyarrow as pa

        table = pa.table(value)
        fields = _data_fields(table.schema)
        found = tuple(name.strip() for name in fields)
        columns = tuple(_arrow_cells(table.column(table.schema.names.index(name))) for name in fields)
    else:
        try:
            array = as_array(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"{source} must hold arrays of numbers [row, column], got {type(value).__name__} after row {first}"
            ) from None
        if array.ndim != 2 or len(names or _numbered(array.shape[1])) != array.shape[1]:
            wanted = len(names) or "column"
            advice = f"; give {source}[:, None] for one number a row" if array.ndim == 1 else ""
            got = f"got shape {array.shape} after row {first}"
            raise ValueError(f"{source} must be [row, {wanted}], {got}{advice}")
        found, columns = tuple(names) or _numbered(array.shape[1]), tuple(array.T)
    _check_names(source, found)
    cells = Cells(source, found, columns, first, unit="index")
    cells = cells._replace(places=range(first, first + cells.n_rows))
    if not names or set(found) == set(names):
        return cells.of(names or found)
    if tuple(names) != _numbered(len(found)):
        fail(source, f"from row {first + 1} on columns are {listed(found)}, expected {listed(names)}")
    return cells


def _check_names(source: str | os.PathLike[str], names: Sequence[str], columns: Sequence[str] = ()) -> None:
    """Rejects names that are missing or there twice, and columns that are not there or asked for twice."""
    for place, name in enumerate(names):
        if not columns and (not name or _LABELS.fullmatch(name)):
            what = f"is called {name!r}" if name else "has no name"
            advice = "name it, or save the table without row labels (index=False)"
            fail(
                source, f"column {place + 1} {what}, as row labels or a comma at the end of a line; {advice}"
            )
        if name and (first := names.index(name)) < place:
            fail(source, f"columns {first + 1} and {place + 1} are both called {name!r}; rename one")
    for place, name in enumerate(columns):
        if name not in names:
            fail(source, f"there is no column {name!r}, only {listed(names)}{nearest_name(name, names)}")
        if name in columns[:place]:
            fail(source, f"column {name!r} is asked for twice; name it once")


def _joined(parts: tuple[Any, ...]) -> Any:
    if not isinstance(parts[0], np.ndarray):
        return list(itertools.chain.from_iterable(parts))
    return np.ma.concatenate(parts) if any(map(np.ma.isMaskedArray, parts)) else np.concatenate(parts)


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(n))


def _kind(path: Path) -> str:
    """What a file is, by its first bytes; by the ending of its name where they are of no kind."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            fail(path, "is a directory; give the path of one data file")
        if not stat.S_ISREG(mode):
            fail(path, "is a pipe or a device, which can be read once only; save its content in a file")
        with path.open("rb") as file:
            start = file.read(6)
    except FileNotFoundError as error:
        siblings = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        where = f" (looked in {Path.cwd()})" if not path.is_absolute() else ""
        fail(path, f"no such file{where}{nearest_name(path.name, siblings) or '; check the path'}", error)
    except OSError as error:
        fail(path, f"cannot be read: {error.strerror}; check its permissions", error)
    if not start:
        fail(path, "the file is empty; it needs rows of numbers")
    kind = _KINDS.get(start[:4])
    what = next((what for mark, what in _NOT_READ.items() if start.startswith(mark)), None)
    if kind == "npz" and path.suffix != ".npz":
        what = "a ZIP archive, as workbooks are"
    if what:
        fail(path, f"the file is {what}; {_SAVE}")
    return kind or (path.suffix[1:] if path.suffix in (".parquet", ".npy", ".npz") else "text")


# --- text ---


def _open_text(path: Path) -> Table:
    lines = _text_rows(path)
    line, first = next(lines, (0, DataError(f"{path}: the file is empty; it needs rows of numbers")))
    if isinstance(first, DataError):
        raise first
    waiting = list(itertools.islice(lines, 1))
    second = waiting[0][1] if waiting else []
    names = tuple(first)
    if not _is_names(path, line, first, [] if isinstance(second, DataError) else second):
        names, waiting = _numbered(len(first)), [(line, first), *waiting]

    def read(chosen: Sequence[str], first_row: int) -> Iterator[Cells]:
        del first_row
        places = [names.index(name) for name in chosen]
        found: list[list[str]] = []
        at: list[int] = []
        done, fault = 0, None
        for line, row in itertools.chain(waiting, lines, [(0, None)]):
            if isinstance(row, list) and len(row) == len(names):
                found.append(row)
                at.append(line)
            elif isinstance(row, list):
                place = f"{path}: row {done + len(found) + 1} (line {line})"
                fault = DataError(f"{place}: {_wrong_width(row, len(names))}")
            else:
                fault = row
            if found and (len(found) * len(names) >= _BATCH_CELLS or row is None or fault):
                texts = list(zip(*found, strict=True))
                yield Cells(str(path), tuple(chosen), tuple(texts[place] for place in places), done, at)
                done, found, at = done + len(found), [], []
            if fault is not None:
                raise fault

    return Table(path, names, None if waiting else 0, read)


def _text_rows(path: Path) -> Iterator[tuple[int, list[str] | DataError]]:
    """Stripped cells of each row, and the line where it begins; at last the error, where the text has one."""
    line = 0
    try:
        with (
            _open_bytes(path) as file,
            io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="") as text,
        ):
            for first in text:
                line += 1
                if first.strip() and not first.lstrip().startswith("#"):
                    break
            else:
                return
            above, empty, width = line - 1, list[tuple[int, list[str]]](), 0
            rest, separator = itertools.chain([first], text), _separator(first)
            reader = csv.reader(rest, delimiter=separator, strict=True, skipinitialspace=True)
            for row in reader:
                if not (joined := "".join(row)).isascii():
                    joined.encode()
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
        return
    except UnicodeEncodeError:  # a byte that is not UTF-8 became half a character
        reason = f"line {line}: not UTF-8 text; {_SAVE}"
    except csv.Error as error:
        reason = f"line {line}: {error}; check the quotation marks from this line on"
    except (OSError, EOFError, zlib.error) as error:
        reason = f"damaged or cut short after line {max(0, line - 1)} ({_one_line(error)})"
    yield line, DataError(f"{path}: {reason}")


def _open_bytes(path: Path) -> IO[bytes]:
    file = path.open("rb")
    is_compressed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.open(file) if is_compressed else file  # type: ignore[return-value]


def _separator(first_line: str) -> str:
    # In a file with decimal commas or with commas in text, tabs or semicolons still separate the columns.
    unquoted = re.sub(r'"[^"]*("|$)', "", first_line)
    return next((mark for mark in "\t;" if mark in unquoted), ",")


def _is_names(path: Path, line: int, cells: list[str], second: list[str]) -> bool:
    """Whether the first row is names: the only place where that is decided."""
    there = [cell for cell in cells if not is_missing(cell)]
    numbers = [cell for cell in there if is_number(cell)]
    if not numbers:
        return bool(there)
    integers = [int(cell) for cell in there if _INTEGER.fullmatch(cell)]
    # As names that pandas gives an array, as years, or above numbers with decimals.
    counts_up = integers == list(range(integers[0], integers[0] + len(there))) if integers else False
    may_be_names = (counts_up and (integers[0] == 0 or len(there) > 2)) or (
        1 < len(there) == len(integers) and second and not any(map(_INTEGER.fullmatch, second))
    )
    if len(numbers) < len(there) or may_be_names:
        advice = "begin with a line of names, none of them a number"
        fail(path, f"line {line}: {shown(', '.join(cells))} may be names or data; {advice}")
    return False


def _wrong_width(cells: list[str], width: int) -> str:
    """What is wrong with a row of another length, and the likely cause."""
    if len(cells) < width:
        cause = "fill in what is missing, or remove the row"
    elif not any(cells[width:]):
        cause = "remove the separators at the end of the lines"
    elif all(map(_INTEGER.fullmatch, cells)):
        cause = "write decimals with a point and thousands without separators"
    else:
        cause = "put quotation marks around a cell that holds a separator"
    n_cells = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
    return f"{n_cells}, expected {width} as in the first line, got {shown(', '.join(cells))}; {cause}"


# --- Parquet and frames ---


def _open_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pa_parquet

    def opened() -> Any:
        try:
            # Not mapped: pages of a file read once would count as memory of this process.
            return pa_parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES)
        except (pa.ArrowException, OSError) as error:
            what = f"not a complete Parquet file ({_one_line(error)})"
            fail(path, f"{what}; was it still being written?", error)

    def cells(chosen: Sequence[str], first_row: int) -> Iterator[Cells]:
        begin = 0
        with opened() as file:
            for group in range(file.num_row_groups):
                done, begin = begin, begin + file.metadata.row_group(group).num_rows
                if begin <= first_row:
                    continue
                where = f"row group {group} (rows {done + 1} to {begin})"
                try:
                    # In batches: a row group may itself be larger than memory.
                    for batch in file.iter_batches(_BATCH_ROWS, [group], [fields[name] for name in chosen]):
                        columns = tuple(_arrow_cells(batch.column(fields[name])) for name in chosen)
                        yield Cells(str(path), tuple(chosen), columns, done)
                        done += batch.num_rows
                except (pa.ArrowException, OSError) as error:
                    fail(path, f"damaged in {where}: {_one_line(error)}", error)

    with opened() as file:
        names, n_rows = _data_fields(file.schema_arrow), int(file.metadata.num_rows)
    fields = {name.strip(): name for name in names}
    return Table(path, tuple(name.strip() for name in names), n_rows, cells)


def _data_fields(schema: Any) -> list[str]:
    """Names in an Arrow schema, without those of the row labels that pandas wrote."""
    try:
        labels = (schema.pandas_metadata or {}).get("index_columns", [])
    except ValueError:  # what another program wrote in its place
        labels = []
    return [name for name in schema.names if name not in labels and not _ROW_LABELS.fullmatch(name)]


def _arrow_cells(column: Any) -> NDArray[Any]:
    """Cells of an Arrow column as an array, masked where integers or booleans are missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _arrow_cells(column.cast(kind.value_type))
    if column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        values = column.fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
        masked: NDArray[Any] = np.ma.array(values, mask=column.is_null().to_numpy(zero_copy_only=False))
        return masked
    try:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    except pa.ArrowNotImplementedError:
        return np.array([*column.to_pylist(), None], object)[:-1]


# --- NumPy ---


def _open_numpy(path: Path) -> Table:
    names, columns = _numpy_columns(path)
    n_rows = len(columns[0]) if columns else 0

    def cells(chosen: Sequence[str], first_row: int) -> Iterator[Cells]:
        step, now = max(1, _BATCH_CELLS // len(names)), columns
        for begin in range(first_row, n_rows, step):
            if isinstance(columns[0], np.memmap):
                # Mapped again each time: pages that stay mapped would count as memory of this process.
                now = _numpy_columns(path)[1]
            part = (np.array(now[names.index(name)][begin : begin + step]) for name in chosen)
            yield Cells(str(path), tuple(chosen), tuple(part), begin)

    return Table(path, names, n_rows, cells)


def _numpy_columns(path: Path) -> tuple[tuple[str, ...], tuple[NDArray[Any], ...]]:
    found = load_arrays(path)
    arrays = found if isinstance(found, dict) else {"the array": found}
    shapes = {array.shape for array in arrays.values()}
    if isinstance(found, dict) and len(shapes) == 1 and len(next(iter(shapes))) == 1:
        return tuple(name.strip() for name in found), tuple(found.values())
    first = next(iter(arrays.values()))
    if len(arrays) > 1 or first.ndim != 2 or first.dtype.names:
        found = [f"{name} {array.dtype} {list(array.shape)}" for name, array in arrays.items()]
        fail(path, f"must be a matrix of numbers [row, column] or columns of one length, got {listed(found)}")
    return _numbered(first.shape[1]), tuple(first.T)


def load_arrays(path: Path, without: str = "") -> Any:
    """Returns what is in a NumPy file, of any numbers: an array, mapped into memory, or a dictionary of arrays.

    Raises:
        DataError: The file cannot be read, is not a NumPy file, or holds nothing or objects (but in `without`).
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


def _real(path: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An array of any shape as finite numbers, rows along its first axis."""
    if array.size == 0:
        fail(path, f"array {name!r} is empty" if name else "the array is empty")
    (flat,), fault = as_numbers(Cells(str(path), (name,), (array.ravel(),)))
    if fault is not None:
        # Once more by columns, to name the one.
        rows = array.reshape(len(array) if array.ndim else 1, -1)
        names = _numbered(rows.shape[1])
        if name:
            names = (name,) if array.ndim < 2 else tuple(f"{name}[{i}]" for i in names)
        raise as_numbers(Cells(str(path), names, tuple(rows.T)))[1] or fault
    return flat.reshape(array.shape)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


_OPEN = {"text": _open_text, "parquet": _open_parquet, "npy": _open_numpy, "npz": _open_numpy}
