"""Random tables, written and read back through every reader: equal, or rejected with row and column."""

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from auxmc.data.cells import is_missing, is_number
from auxmc.data.reading import read_matrix
from auxmc.data.tables import open_rows, read_arrays, read_blocks
from auxmc.errors import DataError
from auxmc.interface.streams.rows import read_rows

WORDS = ("", "NA", "nan", "NaN", "?", "null", "None", "n/a")
NUMBERS = {
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "int": st.integers(-(2**53), 2**53),
    "bool": st.booleans(),
}
TYPES = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
PLAIN = st.from_regex(r"[a-z][a-z0-9_ .]{0,6}[a-z0-9]", fullmatch=True).filter(
    lambda name: not is_missing(name) and not is_number(name)
)
ODD = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    [
        "0",
        "1",
        "1.5",
        "",
        "NA",
        '"',
        "a,b",
        "a;b",
        "#x",
        "Unnamed: 0",
        " a",
        "\u00e9",
        "true",
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[str], list[list[Any]], bool]:
    """Names, kinds of columns, columns with at most one bad cell (None or a text), whether names are plain."""
    n_columns, n_rows = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    plain = draw(st.integers(0, 3)) > 0
    names = draw(
        st.lists(PLAIN if plain else ODD, min_size=n_columns, max_size=n_columns, unique_by=str.strip)
    )
    kinds = draw(st.lists(st.sampled_from(list(NUMBERS)), min_size=n_columns, max_size=n_columns))
    columns = [draw(st.lists(NUMBERS[kind], min_size=n_rows, max_size=n_rows)) for kind in kinds]
    if draw(st.booleans()):
        column = draw(st.integers(0, n_columns - 1))
        bad = draw(st.sampled_from([None, None, "oops"]))
        columns[column][draw(st.integers(0, n_rows - 1))] = bad
        kinds[column] = kinds[column] if bad is None else "text"
    return names, kinds, columns, plain


@st.composite
def written_as_text(draw: st.DrawFn, names: list[str], columns: list[list[Any]]) -> bytes:
    """A table as text of some dialect."""
    missing = draw(st.sampled_from(WORDS))
    rows = [[missing if cell is None else str(cell) for cell in row] for row in zip(*columns, strict=True)]
    buffer = io.StringIO()
    csv.writer(
        buffer,
        delimiter=draw(st.sampled_from(",;\t")),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r"])),
    ).writerows([names, *rows])
    return (
        draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\n", b"# made by hand\n\n"]))
        + buffer.getvalue().encode()
    )


def _tried(read: Callable[[], Any]) -> tuple[Any, str]:
    """What is read, or what is said instead."""
    try:
        return read(), ""
    except DataError as error:
        return None, str(error)


def _check(read: Callable[[], Any], names: list[str], columns: list[list[Any]], plain: bool) -> None:
    """Compares what is read with what was written."""
    bad = [
        (row, name)
        for name, cells in zip(names, columns, strict=True)
        for row, cell in enumerate(cells)
        if cell is None or isinstance(cell, str)
    ]
    found, said = _tried(read)
    if not said:
        assert not bad, "a bad cell was read"
        if not plain and len(found) == len(columns[0]) + 1:
            found = found[1:]  # names that are all numbers are a row
        np.testing.assert_array_equal(found, np.array(columns, float).T)
    elif plain:
        assert bad, said
        row, name = bad[0]
        assert f": row {row + 1}" in said
        assert f"column {name!r}: " in said
    assert "\n" not in said


def _stacked(found: Any) -> np.ndarray:
    return np.column_stack(list(found.values()))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.data())
def test_a_table_is_read_as_it_was_written_or_rejected(data: st.DataObject) -> None:
    names, kinds, columns, plain = data.draw(tables())
    arrays = [
        pa.array([None if cell is None else str(cell) for cell in cells] if kind == "text" else cells,
                 pa.string() if kind == "text" else TYPES[kind])
        for kind, cells in zip(kinds, columns, strict=True)
    ]  # fmt: skip
    table = pa.table(arrays, names)
    with tempfile.TemporaryDirectory() as folder:
        text, parquet = Path(folder) / "rows.csv", Path(folder) / "rows.parquet"
        text.write_bytes(data.draw(written_as_text(names, columns)))
        pa_parquet.write_table(table, parquet, row_group_size=2)
        for path in (text, parquet):
            if "text" in kinds and path is parquet:
                continue  # a column of texts is rejected at its first row
            _check(lambda: _stacked(read_arrays(path)), names, columns, plain)  # noqa: B023
            _check(lambda: read_matrix(path, 1), names, columns, plain)  # noqa: B023
            _check(lambda: np.concatenate(list(read_blocks(open_rows(path), 2))), names, columns, plain)  # noqa: B023
    if "text" not in kinds:
        frame = pd.DataFrame(
            {name: pd.array(cells, dtype=object) for name, cells in zip(names, columns, strict=True)}
        )
        for rows in (table, frame):
            _check(lambda: read_rows(rows, 9).first, [name.strip() for name in names], columns, plain)  # noqa: B023


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.binary(max_size=80) | st.text(st.sampled_from("0123456789.,;eE+-\"'#\n\r\tax ")).map(str.encode))
def test_bytes_are_read_or_rejected_in_one_line(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".csv", ".parquet", ".npy", ".npz"):
            path = Path(folder) / f"rows{ending}"
            path.write_bytes(content)
            for read in (read_arrays, read_matrix, lambda path: list(read_blocks(open_rows(path), 2))):
                _, said = _tried(lambda: read(path))  # noqa: B023
                assert "\n" not in said
                assert not said or said.startswith(f"{path}: ")
