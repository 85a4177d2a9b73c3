"""What is a number: cells of text, of typed columns and of arrays, by one rule for every reader.

A number is a finite real number: integers are int64, all others float64; decimals and booleans (1 and 0) count. Masked
cells, NaN, NaT, None and the usual words are missing. Text, times, durations and complex numbers are rejected.
"""

import decimal
import math
import numbers
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray

_MISSING = frozenset({"", "na", "n/a", "nan", "nat", "<na>", "?", "null", "none", "."})
_TRUTH = {"true": 1, "false": 0}
_EXACT = 2**53
_MAX_LISTED = 10


class Cells(NamedTuple):
    """Some rows of a table."""

    source: str  # file or argument, for messages
    names: tuple[str, ...]  # of the columns
    # Cells of each column [row]: a sequence of texts, or an array, which has a type and may be masked.
    columns: tuple[Any, ...]
    first: int = 0  # index of the first row
    lines: Sequence[int] | None = None  # line of a text where each row begins, or None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def describe_row(self, index: int) -> str:
        """Returns the number of a row, from 1, and its line or its index, from 0."""
        place = f"index {self.first + index}" if self.lines is None else f"line {self.lines[index]}"
        return f"row {self.first + index + 1} ({place})"

    def error(self, index: int, name: str, reason: str) -> DataError:
        """Returns the error that names source, row and column."""
        return DataError(f"{self.source}: {self.describe_row(index)}, column {name!r}: {reason}")

    def skip(self, n_rows: int) -> "Cells":
        """Returns all rows but the first ones."""
        columns = tuple(column[n_rows:] for column in self.columns)
        lines = None if self.lines is None else self.lines[n_rows:]
        return self._replace(columns=columns, first=self.first + n_rows, lines=lines)

    def select(self, names: Sequence[str]) -> "Cells":
        """Returns some of the columns."""
        chosen = tuple(self.columns[self.names.index(name)] for name in names)
        return self._replace(names=tuple(names), columns=chosen)


def list_values(values: Sequence[object]) -> str:
    """Returns the first ten values for a message of one line; quoted where they have characters like line ends."""
    more = f" and {len(values) - _MAX_LISTED} more" if len(values) > _MAX_LISTED else ""
    texts = map(str, values[:_MAX_LISTED])
    return ", ".join(text if text.isprintable() else repr(text) for text in texts) + more


def show_cell(cell: object) -> str:
    """Returns a cell for a message: in quotation marks, cut to 40 characters."""
    text = str(cell)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def is_missing(cell: str) -> bool:
    """Whether a text is empty or a usual word for a missing value."""
    return cell.casefold() in _MISSING


def is_number(cell: str) -> bool:
    """Whether a text is a number, or true or false."""
    return parse_number(cell) is not None or cell.casefold() in _TRUTH


def parse_number(cell: str) -> float | None:
    """Returns the number that a text holds, possibly infinite, or None."""
    if "_" in cell or not cell.isascii():  # Python reads 1_000, and digits of other scripts
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def read_numbers(cells: Cells) -> list[NDArray[Any]]:
    """Returns the numbers of each column, int64 or float64 [row]; DataError if a cell is not a number."""
    found, fault = _read_before_fault(cells, as_floats=False)
    if fault is not None:
        raise fault
    return found


def read_floats(cells: Cells) -> FloatArray:
    """Returns float64 numbers [row, column]; DataError if a cell is not a number that float64 holds."""
    found, fault = read_floats_before_fault(cells)
    if fault is not None:
        raise fault
    return found


def read_floats_before_fault(cells: Cells) -> tuple[FloatArray, DataError | None]:
    """Returns float64 numbers [row, column] of the rows before the first bad one, and the error about that."""
    found, fault = _read_before_fault(cells, as_floats=True)
    return np.column_stack(found) if found else np.zeros((0, 0)), fault


def read_texts(cells: Cells, name: str, *, may_lack: bool = False) -> list[str]:
    """Returns the cells of a column as texts, empty where a typed one has no value (DataError unless it may lack)."""
    column = cells.columns[cells.names.index(name)]
    texts = ["" if _is_none(cell) else str(cell) for cell in column]
    missing = [] if may_lack else [row for row, text in enumerate(texts) if is_missing(text)]
    if missing:
        raise cells.error(missing[0], name, _describe_missing(texts[missing[0]]))
    return texts


def read_array(value: Any, name: str, *, as_floats: bool = False) -> NDArray[Any]:
    """Returns an array of any shape as int64, or as float64 where an element is not an integer or floats are wanted.

    DataError, with the name of the array and the index, is raised if an element is not a number that is held exactly.
    """
    array = as_array(value)
    values, reason = _read_column(array.ravel(), as_floats=as_floats)
    if not reason:
        return values.reshape(array.shape)
    index = ", ".join(str(int(i)) for i in np.unravel_index(len(values), array.shape))
    raise DataError(f"{name}[{index}]: {reason}" if index else f"{name}: {reason}")


def as_array(value: Any) -> NDArray[Any]:
    """Returns an array of what NumPy makes arrays of, with its mask, and those of arrays in nested lists."""
    parts = [value]
    if isinstance(value, list | tuple):
        parts = value = [as_array(part) if isinstance(part, list | tuple) else part for part in value]
    is_masked = any(isinstance(part, np.ma.MaskedArray) for part in parts)
    return np.ma.asarray(value) if is_masked else np.asarray(value)


def _read_before_fault(cells: Cells, *, as_floats: bool) -> tuple[list[NDArray[Any]], DataError | None]:
    n_good, fault, found = cells.n_rows, None, []
    for name, column in zip(cells.names, cells.columns, strict=True):
        values, reason = _read_column(column[:n_good], as_floats=as_floats)
        if reason:
            n_good, fault = len(values), cells.error(len(values), name, reason)
        found.append(values)
    return [values[:n_good] for values in found], fault


def _read_column(cells: Any, *, as_floats: bool) -> tuple[NDArray[Any], str]:
    """Returns the numbers before the first bad cell, and what is wrong with it; an empty text if all are good."""
    is_typed = isinstance(cells, np.ndarray)
    values: Any = _convert_array(cells) if is_typed else _convert_texts(cells)
    reason = ""
    if values is None:
        values, read = [], _read_typed if is_typed else _read_text
        for cell in cells:
            value = read(cell)
            if isinstance(value, str):
                reason = value
                break
            values.append(value)
        if all(isinstance(value, int) for value in values):
            values = np.array(values, np.int64)
    if as_floats or isinstance(values, list):
        values, inexact = _as_floats(values)
        return values, inexact or reason
    return values, reason


def _convert_array(cells: NDArray[Any]) -> NDArray[Any] | None:
    """Returns an array as int64 or float64, or None if cells must be looked at one by one."""
    array, kind = np.ma.getdata(cells), cells.dtype.kind
    if np.ma.is_masked(cells):
        return None
    if kind in "bi" or (kind == "u" and np.max(array, initial=0) < 2**63):
        return array.astype(np.int64)
    if kind == "f":
        with np.errstate(over="ignore"):
            wide = array.astype(np.float64)
        return wide if np.isfinite(wide).all() else None
    return None


def _convert_texts(texts: Sequence[str]) -> NDArray[Any] | None:
    """Returns texts as int64 or float64, or None if cells must be looked at one by one."""
    joined = "".join(texts)
    if "_" in joined or not joined.isascii():
        return None
    for kind, dtype in ((int, np.int64), (float, np.float64)):
        try:
            values = np.array(list(map(kind, texts)), dtype)
        except (ValueError, OverflowError):
            continue
        # Beyond 2^53 an integer among other numbers may lose digits.
        return values if kind is int or (np.abs(values) < _EXACT).all() else None
    return None


def _as_floats(values: Any) -> tuple[FloatArray, str]:
    floats = np.array(values, np.float64)
    for row in np.flatnonzero(np.abs(floats) >= _EXACT):
        if int(floats[row]) != int(values[row]):
            return floats[:row], _describe_inexact(values[row])
    return floats, ""


def _read_text(cell: str) -> int | float | str:
    """Returns the number in a text, or what is wrong with it."""
    if is_missing(cell):
        return _describe_missing(cell)
    if cell.casefold() in _TRUTH:
        return _TRUTH[cell.casefold()]
    value = parse_number(cell)
    if value is None:
        return f"{show_cell(cell)} is not a number; write it as 1234.5, or remove the column if it holds text"
    if not math.isfinite(value):
        return f"{show_cell(cell)} is not a finite number; correct it or remove the row"
    return _check_size(int(cell)) if re.fullmatch(r"[+-]?\d+", cell) else value


def _read_typed(cell: Any) -> int | float | str:
    """Returns the number in a cell of an array, or what is wrong with it."""
    if _is_none(cell):
        return _describe_missing("masked" if cell is np.ma.masked else str(cell))
    # Durations of NumPy are integers by their class.
    if isinstance(cell, numbers.Real | np.bool_ | decimal.Decimal) and not isinstance(cell, np.timedelta64):
        if not math.isfinite(cell):
            return f"{cell} is not a finite number; correct it or remove the row"
        if isinstance(cell, numbers.Integral | np.bool_):
            return _check_size(int(cell))
        if isinstance(cell, decimal.Decimal) and cell.as_tuple().exponent == 0:
            return _check_size(int(cell))
        return float(cell)
    return f"{show_cell(cell)} is not a number but a {type(cell).__name__}; convert it or remove the column"


def _check_size(value: int) -> int | str:
    return value if abs(value) < 2**63 else _describe_inexact(value)


def _describe_inexact(value: Any) -> str:
    return f"{value} is too large an integer (2^53 in float64, 2^63 in int64); subtract a constant"


def _describe_missing(text: str) -> str:
    return f"missing value ({text or 'empty cell'}); fill it in or remove the row"


def _is_none(cell: Any) -> bool:
    # NaN and NaT differ from themselves; comparisons with pandas.NA have no truth value.
    if cell is None or cell is np.ma.masked or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.generic | decimal.Decimal) and bool(cell != cell)
