"""Random and damaged tables through every reader: equal to what was written, or rejected in one line."""

import csv
import io
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auxmc.data.cells import is_missing, is_number
from auxmc.errors import CommandError, DataError
from auxmc.interface.arguments import float64_tree
from auxmc.interface.streams.rows import read_rows
from experiments.boltzmann.model.data import read_parameters
from experiments.gp_probit.labelled import read_labelled
from experiments.image_models.model.autoencoder_weights import read_autoencoder
from tests.audit import nothing_runs
from tests.unit.data.test_reading_tables import DOORS

MISSING = ("", "NA", "nan", "?", "null", "None", "n/a")
NUMBERS = {
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "int": st.integers(-(2**53), 2**53),
    "bool": st.booleans(),
}
TYPES = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
BAD_TEXTS = ("oops", "inf", "1_000", "0x1p3", "1e400", "'1'", "=1+1", "--1", "\u22121")
PLAIN = st.from_regex(r"[a-z][a-z0-9_ .]{0,6}[a-z0-9]", fullmatch=True).filter(
    lambda name: not is_missing(name) and not is_number(name)
)
ODD = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["0", "1.5", "", "NA", '"', "a,b", "a;b", "#x", "Unnamed: 0", " a", "true"]
)
RUNS = settings(max_examples=50, deadline=None, derandomize=True)


@st.composite
def tables(draw):
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
        bad = draw(st.none() | st.sampled_from(BAD_TEXTS))
        columns[column][draw(st.integers(0, n_rows - 1))] = bad
        kinds[column] = kinds[column] if bad is None else "text"
    return names, kinds, columns, plain


def text_of(draw, names, columns):
    """A table as text of some dialect."""
    missing = draw(st.sampled_from(MISSING))
    rows = [[missing if cell is None else str(cell) for cell in row] for row in zip(*columns, strict=True)]
    buffer = io.StringIO()
    csv.writer(
        buffer,
        delimiter=draw(st.sampled_from(",;\t")),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r"])),
    ).writerows([names, *rows])
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\n", b"# comment\n\n"])) + buffer.getvalue().encode()


def tried(read):
    """What is read, or the message of the rejection."""
    try:
        with nothing_runs():
            return read(), ""
    except (DataError, CommandError) as error:
        found, message = None, str(error)
    assert "\n" not in message
    return found, message


def check(read, names, columns, plain):
    """Compares what is read with what was written."""
    bad = [
        (row, name)
        for name, cells in zip(names, columns, strict=True)
        for row, cell in enumerate(cells)
        if cell is None or isinstance(cell, str)
    ]
    found, message = tried(read)
    if not message:
        assert not bad, "a bad cell was read"
        found = np.column_stack(list(found.values())) if isinstance(found, dict) else np.asarray(found)
        if not plain and len(found) == len(columns[0]) + 1:
            found = found[1:]  # names that are all numbers are a row
        np.testing.assert_array_equal(found, np.array(columns, float).T)
    elif plain:
        assert bad, message
        row, name = bad[0]
        place = f": row {row + 1}", f"column {name!r}: "
        assert all(part in message for part in place) or f"[{row}" in message, message


@RUNS
@given(st.data())
def test_a_table_is_read_as_it_was_written_or_rejected(data):
    names, kinds, columns, plain = data.draw(tables())
    stripped, has_text = [name.strip() for name in names], "text" in kinds
    has_missing = any(cell is None for cells in columns for cell in cells)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"rows{ending}" for ending in (".csv", ".parquet", ".npy", ".npz")]
        text, parquet, npy, npz = paths
        text.write_bytes(text_of(data.draw, names, columns))
        if has_text:
            paths = [text]  # a column of texts is rejected at its first row
        else:
            arrays = [pa.array(cells, TYPES[kind]) for kind, cells in zip(kinds, columns, strict=True)]
            table = pa.table(arrays, names)
            pa_parquet.write_table(table, parquet, row_group_size=2)
            matrix = np.array(columns, object).astype(float).T
            np.save(npy, matrix)
            if plain:
                np.savez(npz, **dict(zip(stripped, matrix.T, strict=True)))
            paths = paths if plain else paths[:3]
            frame = pd.DataFrame({n: pd.array(c, dtype=object) for n, c in zip(names, columns, strict=True)})
            for rows in (table, frame):
                check(lambda: read_rows(rows, 9).first, stripped, columns, plain)  # noqa: B023
            numbered = [str(i) for i in range(len(names))]
            check(lambda: read_rows(matrix, 9).first, numbered, columns, True)
            if not has_missing:
                check(lambda: float64_tree("observed", matrix), numbered, columns, True)
        for path in paths:
            expected = [str(i) for i in range(len(names))] if path is npy else stripped
            for read in DOORS.values():
                check(lambda: read(path), expected, columns, plain or path is npy)  # noqa: B023


@RUNS
@given(st.binary(max_size=80) | st.text(st.sampled_from("0123456789.,;eE+-\"'#\n\r\tax ")).map(str.encode))
def test_bytes_are_read_or_rejected_in_one_line(content):
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".csv", ".parquet", ".npy", ".npz"):
            path = Path(folder) / f"rows{ending}"
            path.write_bytes(content)
            for read in (*DOORS.values(), read_labelled):
                _, message = tried(lambda: read(path))  # noqa: B023
                assert not message or str(path) in message


@RUNS
@given(st.data())
def test_damaged_files_are_read_or_rejected_in_one_line(data):
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(20, 2)), columns=["a", "b"])
    with tempfile.TemporaryDirectory() as folder:
        csv_gz, parquet, npy, npz = (
            Path(folder) / f"rows{end}" for end in (".csv.gz", ".parquet", ".npy", ".npz")
        )
        frame.to_csv(csv_gz, index=False)
        frame.to_parquet(parquet)
        np.save(npy, frame.to_numpy())
        np.savez(npz, a=frame["a"], b=frame["b"])
        path = data.draw(st.sampled_from([csv_gz, parquet, npy, npz]))
        content = path.read_bytes()
        place = data.draw(st.integers(0, len(content) - 1))
        flipped = content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]
        path.write_bytes(data.draw(st.sampled_from([content[:place], flipped, content + b"\xff\x00"])))
        for read in DOORS.values():
            found, message = tried(lambda: read(path))  # noqa: B023
            assert message or np.isfinite([*found.values()] if isinstance(found, dict) else found).all()


class Opens(str):
    """A path whose unpickling writes a file."""

    def __reduce__(self):
        return open, (str(self), "w")


def test_nothing_in_an_array_file_is_unpickled(tmp_path):
    array = np.array([Opens(tmp_path / "ran")], dtype=object)
    for name in ("W0", "weights"):
        np.savez(tmp_path / f"{name}.npz", allow_pickle=True, **{name: array})
    np.save(tmp_path / "rows.npy", array, allow_pickle=True)
    readers = [(read, "rows.npy") for read in DOORS.values()]
    readers += [
        (lambda path: read_autoencoder("own_digits", str(path)), "W0.npz"),
        (read_parameters, "weights.npz"),
    ]
    for read, name in readers:
        _, message = tried(lambda: read(tmp_path / name))  # noqa: B023
        assert name in message
    assert not (tmp_path / "ran").exists()
    with pytest.raises(AssertionError), nothing_runs():
        pickle.loads(pickle.dumps(Opens(tmp_path / "ran")))
