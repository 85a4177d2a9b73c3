"""One reader: every kind of file, frame and array gives the same columns, or is rejected for the same reason."""

import datetime
import decimal
import gzip
import os
import re
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
import yaml

import auxmc
from auxmc.command_line.own_models.model_file import read_model
from auxmc.command_line.stream_setup import open_source
from auxmc.data.tables import open_rows, read_arrays, read_blocks, read_matrix
from auxmc.errors import CommandError, DataError
from auxmc.interface.arguments import float64_tree
from auxmc.interface.streams.rows import read_rows

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

GOOD = {
    "floats": {"a": np.array([0.1, -2.5e-7, 3e8]), "b": np.array([1.5, 2.5, 4.5])},
    "integers": {"a": np.array([3, -1, 2**53]), "b": np.array([0, 0, 7])},
    "bytes": {"a": np.array([200, 100, 3], np.uint8), "b": np.array([3, 100, 255], np.uint8)},
    "narrow": {"a": np.array([1, -1, 127], np.int8), "b": np.array([0.5, 0.25, 2.0], np.float32)},
    "unsigned": {"a": np.array([1, 2, 2**52], np.uint64), "b": np.array([1.0, 2.5, 3.0])},
    "booleans": {"a": np.array([True, False, True]), "b": np.array([1.0, 2.5, 3.0])},
    "decimals": {"a": [decimal.Decimal(t) for t in ("0.125", "2", "-3.50")], "b": np.array([1.0, 2.5, 3.0])},
    "objects": {"a": np.array([1, 2.5, 3], object), "b": np.array([4, 5, 6], object)},
    "categories": {"a": pd.Categorical([3, 1, 3]), "b": np.array([1.0, 2.5, 3.0])},
    "nullable": {"a": pd.array([3, 1, 2], "Int32"), "b": pd.array([1.5, 2.5, 3.5], "Float32")},
    "arrow": {"a": pd.array([3, 1, 2], "int16[pyarrow]"), "b": np.array([1.5, 2.5, 3.5])},
    "half": {"a": np.array([0.5, 0.25, 8.0], np.float16), "b": np.array([1.5, 2.5, 3.5])},
}
DAY = np.datetime64("2026-03-01T00:00:00", "us")
BAD = {
    "missing": ({"a": np.array([1.0, np.nan, 3.0])}, 2, "missing value"),
    "missing integer": ({"a": pd.array([1, None, 3], "Int64")}, 2, "missing value"),
    "missing boolean": ({"a": pd.array([True, False, None], "boolean")}, 3, "missing value"),
    "missing object": ({"a": np.array([1.5, 2.5, None], object)}, 3, "missing value"),
    "infinite": ({"a": np.array([1.0, 2.5, -np.inf])}, 3, "not a finite number"),
    "text": ({"a": np.array(["x", "y", "z"], object)}, 1, "'x' is not a number"),
    "time": ({"a": DAY + np.arange(3)}, 1, "'2026-03-01.*' is not a number"),
    "missing time": ({"a": pd.Series([pd.Timestamp(DAY), pd.NaT, pd.NaT])}, 1, "'2026-03-01.*' is"),
    "duration": ({"a": pd.to_timedelta([1, 2, 3], unit="s")}, 1, "is not a number"),
    "date": ({"a": [datetime.date(2026, 3, 1)] * 3}, 1, "'2026-03-01' is"),
    "complex": ({"a": np.array([1j, 2.0, 3.0])}, 1, "(not a number|plain)"),
    "large integer": ({"a": np.array([1, 2**53 + 1, 3])}, 2, "9007199254740993 is too large an integer"),
    "huge integer": ({"a": np.array([1, 2, 2**64 - 1], np.uint64)}, 3, "18446744073709551615 is too large"),
}


# By ending: writes a frame.
FILES = {
    ".csv": lambda path, frame: frame.to_csv(path, index=False),
    ".csv.gz": lambda path, frame: frame.to_csv(path, index=False),
    ".tsv": lambda path, frame: frame.to_csv(path, index=False, sep="\t", lineterminator="\r"),
    ".parquet": lambda path, frame: frame.to_parquet(path),
    "shuffled.parquet": lambda path, frame: frame.set_axis([2, 0, 1]).to_parquet(path),
    "labelled.parquet": lambda path, frame: frame.set_axis(pd.Index([2, 0, 1], name="t")).to_parquet(path),
    ".npy": lambda path, frame: np.save(path, np.column_stack([np.asarray(frame[name]) for name in frame])),
    ".npz": lambda path, frame: np.savez(path, **{name: np.asarray(frame[name]) for name in frame}),
}


def matrix_of(columns):
    return np.column_stack([np.asarray(values).astype(np.float64) for values in columns.values()])


def through_sample(path):
    (path.parent / "model.py").write_text(
        "def log_density(v):\n    return 0.0\n\ndef start(data):\n    return data\n", encoding="utf-8"
    )
    return read_model(path.parent / "model.py", path).parts["start"]


DOORS = {
    "stream": lambda path: np.concatenate(list(read_blocks(open_source(path, "", ""), 2))),
    "sample": through_sample,
    "study": partial(read_matrix, min_rows=1),
}
REJECTIONS = (DataError, CommandError)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("ending", FILES)
def test_every_kind_of_file_gives_the_columns_that_made_it(tmp_path, ending, door):
    for name, columns in GOOD.items():
        expected = matrix_of(columns)
        path = tmp_path / f"{name}{ending}"
        try:
            FILES[ending](path, pd.DataFrame(columns))
            if ending in (".npy", ".npz"):
                np.load(path, allow_pickle=False)[("a" if ending == ".npz" else ())]
        except (ValueError, pa.ArrowException):
            continue  # arrays of objects, and what Parquet cannot hold
        found = DOORS[door](path)
        if isinstance(found, dict):
            assert list(found) == list(columns)
            assert {array.dtype for array in found.values()} <= {np.dtype(np.int64), np.dtype(np.float64)}
            if name in ("integers", "bytes", "booleans"):
                assert found["a"].dtype == np.int64
            found = np.column_stack(list(found.values()))
        np.testing.assert_array_equal(found, expected, err_msg=f"{name}: {ending}")


def test_every_frame_and_array_gives_the_columns_that_made_it():
    for columns in GOOD.values():
        expected = matrix_of(columns)
        frame = pd.DataFrame(columns)
        array = np.column_stack([np.asarray(values) for values in columns.values()])
        kinds = [frame, frame.set_axis([5, 3, 4]), array, array.tolist(), np.ma.array(array)]
        if "half" not in columns:
            kinds.append(pa.table(frame.set_axis([5, 3, 4])))
        for rows in kinds:
            np.testing.assert_array_equal(read_rows(rows, 3).first, expected)
            blocks = [rows, rows] if not isinstance(rows, list) else rows + rows
            np.testing.assert_array_equal(read_rows(blocks, 6).first, np.tile(expected, (2, 1)))
        found = float64_tree("observed", array if array.dtype != np.float32 else array.astype(float))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", BAD)
def test_every_door_rejects_what_is_no_number_and_names_it(tmp_path, kind):
    columns, row, reason = BAD[kind]
    columns = {**columns, "b": np.array([1.5, 2.5, 3.5])}
    for ending, write in FILES.items():
        if ending == ".npy" and kind not in ("missing", "infinite", "complex"):
            continue
        path = tmp_path / f"rows{ending}"
        try:
            write(path, pd.DataFrame(columns))
        except (ValueError, NotImplementedError, pa.ArrowException):
            continue
        for door, read in DOORS.items():
            if "large" in kind and door == "sample":
                continue  # integers stay what they are
            with pytest.raises(REJECTIONS) as caught:
                read(path)
            said = str(caught.value)
            assert re.search(reason, said) or "plain arrays" in said, (ending, door, said)
            place = rf"row {row}( \(.*\))?, column '[a0]'|(a|array)\[{row - 1}(, 0)?\]|plain arrays"
            assert re.search(place, said), (ending, door, said)
            assert len(said) - len(str(path)) < 190
    frame = pd.DataFrame(columns)
    for rows in (frame, [frame.iloc[:1], frame.iloc[1:]], pa.table(frame) if kind != "complex" else frame):
        with pytest.raises(DataError, match=rf"rows: row {row} \(index {row - 1}\), column 'a': .*{reason}"):
            list(read_rows(rows, 3).read(0))
    with pytest.raises((TypeError, ValueError), match=r"^observed"):
        float64_tree("observed", np.asarray(columns["a"]))


def test_masked_cells_are_missing():
    masked = np.ma.array([[1.0, 2.0], [3.0, 99.0]], mask=[[0, 0], [0, 1]])
    for rows in (masked, [masked[:1], masked[1:]], list(masked)):
        with pytest.raises(DataError, match=r"row 2 \(index 1\), column '1': missing value \(masked\)"):
            read_rows(rows, 2)
    for observed in (masked, {"y": masked[1]}, list(masked), [[masked]]):
        with pytest.raises(ValueError, match=r"observed.*\[.*1\]: missing value \(masked\)"):
            float64_tree("observed", observed)
    with pytest.raises(ValueError, match=r"observed\[2\]: missing value \(masked\)"):
        auxmc.simulator(
            lambda inputs: inputs["m"] + inputs["noise"],
            observed=np.ma.array([1.0, 1.2, 99.0], mask=[0, 0, 1]),
            inputs={"m": auxmc.prior.normal(), "noise": auxmc.prior.normal(3)},
        )
    # Without a masked cell it is an array like others.
    np.testing.assert_array_equal(float64_tree("x", np.ma.array([1, 2])), [1.0, 2.0])


def test_frames_are_joined_by_the_names_of_the_first():
    first = pd.DataFrame({"a": [1.0, 2.0], "y": [3.0, 4.0]})
    second = pd.DataFrame({"y": [6.0], " a": [5.0]})
    expected = [[1.0, 3.0], [2.0, 4.0], [5.0, 6.0]]
    for rows in ([first, second], iter([first, pa.table(second)]), [first, np.array([[5.0, 6.0]])]):
        assert read_rows(rows, 3).first.tolist() == expected
    with pytest.raises(DataError, match="rows: row 3: expected columns a, y, got y, x"):
        read_rows([first, second.set_axis(["y", "x"], axis=1)], 3)
    with pytest.raises(DataError, match="columns 1 and 2 are both called 'a'"):
        read_rows(first.set_axis(["a", "a"], axis=1), 3)


@pytest.mark.parametrize("door", DOORS)
def test_one_rule_says_whether_the_first_line_is_names(tmp_path, door):
    path = tmp_path / "rows.csv"
    for text, names, n_rows in GIVEN["first_lines"].values():
        path.write_text(text, encoding="utf-8")
        if door == "study" and n_rows < 2:
            continue
        found = DOORS[door](path)
        if isinstance(found, dict):
            assert list(found) == names
            found = np.column_stack(list(found.values()))
        assert found.shape == (n_rows, len(names)), text
    for text in GIVEN["neither"].values():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(REJECTIONS, match=r"line 1: .* may be names or data; begin with a line of"):
            DOORS[door](path)


@pytest.mark.parametrize(("text", "reason"), GIVEN["rows"].values(), ids=GIVEN["rows"])
def test_every_door_names_what_is_wrong_with_a_row(tmp_path, text, reason):
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    for read in DOORS.values():
        with pytest.raises(REJECTIONS, match=reason):
            read(path)


def test_what_is_no_table_is_called_what_it_is(tmp_path, capfd):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    content = "h\u00f6he,b\n1,2\n"
    bad = {
        "pipe.csv": (None, "is a directory or a pipe"),
        "folder.csv": (None, "is a directory or a pipe"),
        "utf16.csv": (content.encode("utf-16"), "line 1: not UTF-8 text"),
        "latin.csv": (content.encode("latin-1"), "line 1: not UTF-8 text; save the table as CSV with UTF-8"),
        "late.csv": (b"a,b\n1,2\n\xff,3\n", "line 3: not UTF-8 text"),
        "xz.csv": (b"\xfd7zXZ\x00...", r"line 1: not UTF-8 text.*compressed by gzip"),
        "book.csv": (b"PK\x03\x04....", "a ZIP archive, as workbooks are"),
        "short.csv.gz": (gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-9], "damaged or cut short after line"),
        "empty.csv": (b"", "the file is empty"),
        "empty.npz": (b"", "the file is empty"),
        "none.npz": (b"PK\x05\x06" + bytes(18), "the archive holds no arrays"),
        "text.npz": (b"a,b\n1,2\n", "not a NumPy file of plain arrays"),
        "text.parquet": (b"a,b\n1,2\n", "not a complete Parquet file"),
        "none.csv": (None, "no such file"),
    }
    for name, (written, reason) in bad.items():
        if written is not None:
            (tmp_path / name).write_bytes(written)
        for read in DOORS.values():
            with pytest.raises(REJECTIONS, match=rf"{name}.*: .*{reason}"):
                read(tmp_path / name)
    assert capfd.readouterr().err == ""


def test_columns_that_are_asked_for_twice_are_rejected(tmp_path):
    for ending in (".csv", ".parquet", ".npz"):
        FILES[ending](tmp_path / f"rows{ending}", pd.DataFrame(GOOD["floats"]))
        with pytest.raises(DataError, match="column 'a' is asked for twice"):
            open_source(tmp_path / f"rows{ending}", "a,a,b", "")


def test_integers_stay_what_they_are(tmp_path):
    (tmp_path / "rows.csv").write_text("group,large,x\n0,9007199254740993,0.5\n3,7,1\n", encoding="utf-8")
    found = read_arrays(tmp_path / "rows.csv")
    assert [array.dtype.kind for array in found.values()] == ["i", "i", "f"]
    assert found["large"].tolist() == [2**53 + 1, 7]
    assert jnp.arange(5)[found["group"]].tolist() == [0, 3]


def test_columns_of_several_levels_have_the_names_that_the_file_gives_them(tmp_path):
    levels = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    pd.DataFrame([[1, 2.5], [3, 4.5]], columns=levels).to_parquet(tmp_path / "rows.parquet")
    found = {name: array.tolist() for name, array in read_arrays(tmp_path / "rows.parquet").items()}
    assert found == {"('a', 'b')": [1, 3], "('a', 'c')": [2.5, 4.5]}


def test_arrays_of_any_shape_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 2, 2), np.uint8), scale=np.float32(0.5))
    found = {name: (a.shape, a.dtype.name) for name, a in read_arrays(tmp_path / "a.npz").items()}
    assert found == {"images": ((2, 2, 2), "int64"), "scale": ((), "float64")}
    with pytest.raises(DataError, match=r"must be a matrix .* of one length, got images uint8 \[2, 2, 2\]"):
        open_source(tmp_path / "a.npz", "", "")
    for images, message in (
        (np.array([[1.0, 2.0], [3.0, np.nan]]), r"images\[1, 1\]: missing value"),
        (np.zeros(0), r"images: expected numbers, got shape \(0,\)"),
    ):
        np.savez(tmp_path / "a.npz", images=images)
        with pytest.raises(DataError, match=f"a.npz: {message}"):
            read_arrays(tmp_path / "a.npz")


DATA = np.random.default_rng(3).normal(size=(1000, 3))
NAMES = ["a", "b", "c"]
WRITERS = {
    ".parquet": lambda path, data: pd.DataFrame(data, columns=NAMES).to_parquet(path, row_group_size=137),
    ".csv": lambda path, data: pd.DataFrame(data, columns=NAMES).to_csv(path, index=False),
    ".npy": lambda path, data: np.save(path, data),
}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    path = tmp_path / f"rows{request.param}"
    WRITERS[request.param](path, DATA)
    return path


@pytest.mark.parametrize("first_row", [0, 137, 450, 999])
def test_blocks_have_a_largest_size_wherever_reading_begins(file, first_row):
    blocks = list(read_blocks(open_rows(file), 64, first_row))
    assert max(map(len, blocks)) <= 64
    np.testing.assert_array_equal(np.concatenate(blocks), DATA[first_row:])


def test_columns_are_read_in_the_order_asked_for(file):
    names = ("2", "0") if file.suffix == ".npy" else ("c", "a")
    source = open_rows(file, names)
    assert source.columns == names
    np.testing.assert_array_equal(np.concatenate(list(read_blocks(source, 300))), DATA[:, [2, 0]])


def test_a_bad_cell_is_named_after_the_rows_before_it(file):
    broken = DATA.copy()
    broken[811, 1] = np.nan
    WRITERS[file.suffix](file, broken)
    read = []
    place = r"row 812 \((line 813|index 811)\), column '(b|1)'"
    with pytest.raises(DataError, match=f"{place}: missing value .*; fill it in"):
        read.extend(read_blocks(open_rows(file), 100))
    np.testing.assert_array_equal(np.concatenate(read), DATA[:811])


def test_rows_that_were_taken_away_are_missed(file):
    with pytest.raises(DataError, match="has 1000 rows, expected at least the 1001 that were read before"):
        list(read_blocks(open_rows(file), 64, 1001))
    assert list(read_blocks(open_rows(file), 64, 1000)) == []


def test_a_row_group_larger_than_a_batch_is_read_whole(tmp_path):
    data = np.random.default_rng(4).normal(size=(150_000, 3))
    pd.DataFrame(data, columns=NAMES).to_parquet(tmp_path / "rows.parquet", row_group_size=140_000)
    blocks = read_blocks(open_rows(tmp_path / "rows.parquet"), 1000, 70_001)
    np.testing.assert_array_equal(np.concatenate(list(blocks)), data[70_001:])


def test_a_damaged_row_group_is_named_after_the_rows_before_it(tmp_path):
    path = tmp_path / "rows.parquet"
    WRITERS[".parquet"](path, DATA)
    offset = pa_parquet.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))
    read = []
    with pytest.raises(DataError, match=r"cannot be read after row \d+: "):
        read.extend(read_blocks(open_rows(path), 100))
    done = sum(map(len, read))
    assert done <= 274
    np.testing.assert_array_equal(np.concatenate([DATA[:0], *read]), DATA[:done])


def test_what_a_table_lacks_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",a,b\n0,1,2\n1,3,4\n", encoding="utf-8")
    with pytest.raises(DataError, match="there is no column 'd', only , a, b"):
        open_rows(path, ["a", "d"])
    # Row labels are passed over where columns are named.
    (block,) = read_blocks(open_rows(path, ["a", "b"]), 10)
    np.testing.assert_array_equal(block, [[1.0, 2.0], [3.0, 4.0]])
    for array, message in (
        (np.zeros((0, 2)), "the file has no rows"),
        (np.zeros(4), "must be a matrix of num"),
    ):
        np.save(tmp_path / "rows.npy", array)
        with pytest.raises(DataError, match=message):
            open_rows(tmp_path / "rows.npy")
