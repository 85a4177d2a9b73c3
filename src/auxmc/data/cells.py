"""What is a number: cells of text, of typed columns and of arrays, by one rule for every reader.

A number is a finite real number: integers are int64, all others float64; decimals and booleans (1 and 0) count. Masked
cells, NaN, NaT, None and the usual words are missing. Text, times, durations and complex numbers are rejected.
NumPy only.
"""

import datetime
import decimal
import math
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from auxmc.errors import DataError
from auxmc.numerics.array_types import FloatArray

__all__ = [
    "Cells",
    "as_array",
    "as_number",
    "as_numbers",
    "as_texts",
    "good",
    "is_missing",
    "is_number",
    "listed",
    "matrix",
    "plain_array",
    "shown",
]

_MISSING = frozenset({"", "na", "n/a", "nan", "nat", "<na>", "?", "null", "none", "."})
_TRUTH = {"true": 1, "false": 0}
_EXACT = 2**53
_MOST_LISTED = 10
# Rows in which further missing cells are looked for.
_LOOKED_AT = 10_000
_FILL_IN = "fill it in or remove the row"
_UNITS = "convert it to a number in a unit that you choose, such as seconds since a start"
_TIMES = datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64

_Found = TypeVar("_Found")


class Cells(NamedTuple):
    """Some rows of a table.

    Attributes:
        source: file or argument, for messages.
        names: of the columns.
        columns: cells of each column [row]: a sequence of texts, or an array, which has a type and may be masked.
        first: number of the first row, from 0.
        places: where each row is in the source, or None.
        unit: what `places` counts, such as "line".
    """

    source: str
    names: tuple[str, ...]
    columns: tuple[Any, ...]
    first: int = 0
    places: Sequence[int] | None = None
    unit: str = "line"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def row(self, index: int) -> str:
        """A row for a message: its number from 1, and where it is."""
        place = "" if self.places is None else f" ({self.unit} {self.places[index]})"
        return f"row {self.first + index + 1}{place}"

    def error(self, index: int, name: str, reason: str) -> DataError:
        """The error that names source, row and column."""
        return DataError(f"{self.source}: {self.row(index)}, column {name!r}: {reason}")

    def rest(self, begin: int) -> "Cells":
        """The rows from one on."""
        columns = tuple(column[begin:] for column in self.columns)
        places = None if self.places is None else self.places[begin:]
        return self._replace(columns=columns, first=self.first + begin, places=places)

    def of(self, names: Sequence[str]) -> "Cells":
        """The same rows of some columns."""
        chosen = tuple(self.columns[self.names.index(name)] for name in names)
        return self._replace(names=tuple(names), columns=chosen)


def listed(values: Sequence[object]) -> str:
    """Values for a message, the first ten of them."""
    more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
    return ", ".join(map(str, values[:_MOST_LISTED])) + more


def shown(cell: object) -> str:
    """A cell in quotation marks on one line, cut to 40 characters."""
    text = str(cell)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def is_missing(cell: str) -> bool:
    """Whether a text is empty or a usual word for a missing value."""
    return cell.casefold() in _MISSING


def as_number(cell: str) -> float | None:
    """The number written in a text, possibly infinite, or None."""
    # Python's own notation 1_000 and digits of other scripts are no numbers in a data file.
    if "_" in cell or not cell.isascii():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def is_number(cell: str) -> bool:
    """Whether a text is a number, or true or false."""
    return as_number(cell) is not None or cell.casefold() in _TRUTH


def good(read: tuple[_Found, DataError | None]) -> _Found:
    """Returns what was read, where nothing was wrong with it; raises the error that came with it."""
    if read[1] is not None:
        raise read[1]
    return read[0]


def as_numbers(cells: Cells, hint: str = "", read: Any = None) -> tuple[list[NDArray[Any]], DataError | None]:
    """Numbers of each column before the first row that has a cell which is none, and the error that names it.

    Args:
        cells: rows.
        hint: added to the message about a text.
        read: reads a column.

    Returns:
        int64 or float64 [row] for each column, all of one length, and the error, or None.
    """
    n_good, fault = cells.n_rows, None
    found = []
    for name, column in zip(cells.names, cells.columns, strict=True):
        values, reason = (read or _column)(column[:n_good])
        if reason:
            n_good, fault = len(values), (name, reason)
        found.append(values)
    if fault is None:
        return found, None
    name, reason = fault
    also = _missing_after(cells, n_good)
    if reason.startswith("missing"):
        reason += (f" (also row {also})" if also else "") + f"; {_FILL_IN}"
    elif reason.endswith(_UNITS):
        reason += f"; missing in row {also}" if also else ""
    elif reason.endswith("text"):
        reason += hint
    return [values[:n_good] for values in found], cells.error(n_good, name, reason)


def matrix(cells: Cells, hint: str = "") -> tuple[FloatArray, DataError | None]:
    """Float64 numbers [row, column] before the first bad row, and the error that names it; see `as_numbers`."""
    found, fault = as_numbers(cells, hint, _floats)
    return np.column_stack(found) if found else np.zeros((0, 0)), fault


def as_texts(cells: Cells, name: str, *, may_lack: bool = False) -> list[str]:
    """Returns the texts of a column, empty where there is no value; DataError if one is, unless it may."""
    column = cells.columns[cells.names.index(name)]
    texts = [cell if isinstance(cell, str) else "" if _is_none(cell) else str(cell) for cell in column]
    if not may_lack:
        marks = [text if is_missing(text) else "0" for text in texts]
        good(as_numbers(cells._replace(names=(name,), columns=(marks,))))
    return texts


def plain_array(value: Any) -> NDArray[Any]:
    """Returns an array without a mask; float64 where it holds objects that are numbers, or integers.

    Raises:
        DataError: A cell is masked, an object is not a number, or float64 does not hold an integer exactly.
    """
    array = as_array(value)
    if array.dtype.kind not in "Oiu" and not np.ma.is_masked(array):
        return np.ma.getdata(array)
    values, reason = _floats(array.ravel())
    if reason:
        place = ", ".join(str(int(i)) for i in np.unravel_index(len(values), array.shape))
        raise DataError(f"element [{place}]: {reason}")
    return values.reshape(array.shape)


def as_array(value: Any) -> NDArray[Any]:
    """An array of what NumPy makes arrays of; masks are kept, those in a list too."""
    if isinstance(value, np.ma.MaskedArray) or (
        isinstance(value, list | tuple) and any(isinstance(one, np.ma.MaskedArray) for one in value)
    ):
        masked: NDArray[Any] = np.ma.asarray(value)
        return masked
    return np.asarray(value)


def _column(cells: Any) -> tuple[NDArray[Any], str]:
    """Numbers before the first cell that is none, and why it is none; an empty reason where all are."""
    if not isinstance(cells, np.ndarray):
        values = _parsed_at_once(cells)
        return (values, "") if values is not None else _one_by_one(cells, _text_cell)
    array, kind = np.ma.getdata(cells), cells.dtype.kind
    if not np.ma.is_masked(cells) and (kind in "bi" or (kind == "u" and np.max(array, initial=0) < 2**63)):
        return array.astype(np.int64), ""
    if not np.ma.is_masked(cells) and kind == "f":
        with np.errstate(over="ignore"):
            wide = array.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(wide))
        return (wide[: bad[0]], str(_typed_cell(array[bad[0]]))) if len(bad) else (wide, "")
    return _one_by_one(cells, _typed_cell)


def _floats(cells: Any) -> tuple[FloatArray, str]:
    """As `_column`, in float64, which must hold integers exactly."""
    values, reason = _column(cells)
    floats = values.astype(np.float64)
    for row in np.flatnonzero(np.abs(floats) >= _EXACT) if values.dtype.kind == "i" else ():
        if not _is_exact(int(values[row])):
            return floats[:row], _inexact(values[row])
    return floats, reason


def _parsed_at_once(texts: Sequence[str]) -> NDArray[Any] | None:
    joined = "".join(texts)
    for kind, dtype in (
        ((int, np.int64), (float, np.float64)) if "_" not in joined and joined.isascii() else ()
    ):
        try:
            values = np.array(list(map(kind, texts)), dtype)
        except (ValueError, OverflowError):
            continue
        # Beyond 2^53 an integer among other numbers may lose digits, which is told cell by cell.
        return values if kind is int or (np.abs(values) < _EXACT).all() else None
    return None


def _one_by_one(cells: Iterable[Any], read: Callable[[Any], int | float | str]) -> tuple[NDArray[Any], str]:
    found: list[int | float] = []
    reason = ""
    for cell in cells:
        value = read(cell)
        if isinstance(value, str):
            reason = value
            break
        found.append(value)
    if all(isinstance(value, int) for value in found):
        try:
            return np.array(found, np.int64), reason
        except OverflowError:
            pass
    for place, value in enumerate(found):
        if isinstance(value, int) and not _is_exact(value):
            return np.array(found[:place], np.float64), _inexact(value)
    return np.array(found, np.float64), reason


def _is_exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _inexact(value: Any) -> str:
    return f"{value} is an integer above 2^53 that float64 does not hold exactly; subtract a constant or round it"


def _text_cell(cell: str) -> int | float | str:
    if is_missing(cell):
        return f"missing value {shown(cell)}" if cell else "missing value (empty cell)"
    if cell.casefold() in _TRUTH:
        return _TRUTH[cell.casefold()]
    value = as_number(cell)
    if value is not None:
        if not math.isfinite(value):
            return f"{shown(cell)} is not a finite number; correct it or remove the row"
        return int(cell) if re.fullmatch(r"[+-]?\d{1,400}", cell) else value
    wrong = f"{shown(cell)} is not a number"
    if re.fullmatch(r"[+-]?\d{1,3}([ ,'.\u00a0\u202f]\d{3})+([.,]\d+)?", cell):
        return f"{wrong}; remove the thousands separators"
    if cell.count(",") == 1 and as_number(cell.replace(",", ".")) is not None:
        return f"{wrong}; write decimals with a point"
    if len(cell.split()) > 1 and all(as_number(part) is not None for part in cell.split()):
        return f"{wrong}; separate columns with commas"
    return f"{wrong}; correct it, or remove the column if it holds text"


def _typed_cell(cell: Any) -> int | float | str:
    if _is_none(cell):
        return f"missing value ({'masked' if cell is np.ma.masked else cell})"
    # Durations of NumPy are integers by their class.
    if isinstance(cell, _TIMES):
        what = "duration" if isinstance(cell, datetime.timedelta | np.timedelta64) else "time"
        return f"{shown(cell)} is a {what}, not a number; {_UNITS}"
    if isinstance(cell, numbers.Integral | np.bool_):
        return int(cell)
    if isinstance(cell, numbers.Real | decimal.Decimal):
        if not math.isfinite(cell):
            return f"{cell} is not a finite number; correct it or remove the row"
        is_integer = isinstance(cell, decimal.Decimal) and cell.as_tuple().exponent == 0
        return int(str(cell)) if is_integer else float(cell)
    if isinstance(cell, numbers.Complex):
        return f"{cell} is a complex number; give real and imaginary parts as columns of their own"
    if isinstance(cell, str | bytes):
        return f"{shown(cell)} is text, not a number; convert it, or remove the column if it holds text"
    return f"a {type(cell).__name__} is not a number; convert it, or remove the column"


def _is_none(cell: Any) -> bool:
    # NaN and NaT differ from themselves; comparisons with pandas.NA have no truth value.
    if cell is None or cell is np.ma.masked or type(cell).__name__ == "NAType":
        return True
    return isinstance(cell, float | np.floating | decimal.Decimal | _TIMES) and bool(cell != cell)


def _missing_after(cells: Cells, row: int) -> str:
    later: set[int] = set()
    for column in cells.columns:
        for place, cell in enumerate(column[row + 1 : row + _LOOKED_AT], cells.first + row + 2):
            if is_missing(cell) if isinstance(cell, str) else _is_none(cell):
                later.add(place)
    return listed(sorted(later))
