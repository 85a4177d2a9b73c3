"""Rows come in equal blocks from any kind of file, and faults are named where they are."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from auxmc.data.tables import open_rows, read_blocks
from auxmc.errors import DataError

DATA = np.random.default_rng(3).normal(size=(1000, 3))
NAMES = ("a", "b", "c")


def write_parquet(path: Path, data: np.ndarray = DATA) -> Path:
    table = pa.table({name: data[:, i] for i, name in enumerate(NAMES)})
    pa_parquet.write_table(table, path, row_group_size=137)
    return path


def write_csv(path: Path, data: np.ndarray = DATA) -> Path:
    lines = [",".join(repr(float(value)) for value in row) for row in data]
    path.write_text("\n".join([",".join(NAMES), *lines]) + "\n", encoding="utf-8")
    return path


def write_npy(path: Path, data: np.ndarray = DATA) -> Path:
    np.save(path, data)
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {"parquet": write_parquet, "csv": write_csv, "npy": write_npy}


@pytest.fixture(params=WRITERS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return WRITERS[request.param](tmp_path / f"rows.{request.param}")


@pytest.mark.parametrize("first_row", [0, 137, 450, 999])
def test_blocks_have_a_largest_size_wherever_reading_begins(file: Path, first_row: int) -> None:
    blocks = list(read_blocks(open_rows(file), 64, first_row))
    assert max(len(block) for block in blocks) <= 64
    np.testing.assert_array_equal(np.concatenate(blocks), DATA[first_row:])


def test_columns_are_read_in_the_order_asked_for(file: Path) -> None:
    names = ("2", "0") if file.suffix == ".npy" else ("c", "a")
    source = open_rows(file, names)
    assert source.columns == names
    np.testing.assert_array_equal(np.concatenate(list(read_blocks(source, 300))), DATA[:, [2, 0]])


def test_a_missing_value_is_named_after_the_rows_before_it(file: Path, tmp_path: Path) -> None:
    broken = DATA.copy()
    broken[811, 1] = np.nan
    file = {".parquet": write_parquet, ".csv": write_csv, ".npy": write_npy}[file.suffix](file, broken)
    read = []
    with pytest.raises(
        DataError,
        match=r"row 812( \(line 813\))?, column '(b|1)': missing value .*; fill it in or remove the row",
    ):
        read.extend(read_blocks(open_rows(file), 100))
    np.testing.assert_array_equal(np.concatenate(read), DATA[:811])


def test_text_in_a_csv_is_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv")
    lines = path.read_text().splitlines()
    lines[500] = "0.1,oops,0.2"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"row 500 \(line 501\), column 'b': 'oops' is not a number"):
        list(read_blocks(open_rows(path), 64))


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_csv_in_another_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes("h\u00f6he,b\n1,2\n".encode(encoding))
    with pytest.raises(
        DataError, match=r"rows.csv: .*not UTF-8 text.*; save the table as CSV with UTF-8 encoding"
    ):
        open_rows(path)


def test_a_damaged_header_of_numpy_is_refused(tmp_path: Path) -> None:
    path = write_npy(tmp_path / "rows.npy")
    content = path.read_bytes()
    # An open bracket, which the parser of the header does not take for a ValueError.
    path.write_bytes(content[:10] + b"(" + content[11:])
    with pytest.raises(DataError, match=r"rows.npy: not a NumPy file of plain arrays"):
        open_rows(path)


def test_what_a_library_says_of_a_file_stays_in_one_line(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "rows.parquet")
    content = path.read_bytes()
    for place in range(len(content) - 400, len(content) - 8):
        path.write_bytes(content[:place] + b"\x06" + content[place + 1 :])
        said = ""
        try:
            list(read_blocks(open_rows(path), 64))
        except DataError as error:
            said = str(error)
        assert "\n" not in said


def test_a_line_with_another_number_of_cells_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4,5\n")
    read = []
    with pytest.raises(DataError, match=r"row 2 \(line 3\): 3 cells, expected 2 .*'3, 4, 5'; write decimals"):
        read.extend(read_blocks(open_rows(path), 64))
    assert np.concatenate(read).tolist() == [[1.0, 2.0]]


def test_an_empty_line_in_a_file_of_one_column_is_a_missing_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n\n3\n")
    with pytest.raises(DataError, match=r"row 2 \(line 3\), column 'a': missing value \(empty cell\)"):
        list(read_blocks(open_rows(path), 64))


def test_empty_lines_below_the_header_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n\n\n1,2\n\n3,4\n")
    assert np.concatenate(list(read_blocks(open_rows(path), 64))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_column_names_may_be_quoted_and_spaced(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('\ufeff"load, kN", b\n1,2\n')
    source = open_rows(path)
    assert source.columns == ("load, kN", "b")
    assert np.concatenate(list(read_blocks(source, 4))).tolist() == [[1.0, 2.0]]


def test_rows_that_were_taken_away_are_missed(file: Path) -> None:
    with pytest.raises(
        DataError, match=r"has 1000 rows, but 1001 have been read before: rows were taken away"
    ):
        list(read_blocks(open_rows(file), 64, 1001))
    assert list(read_blocks(open_rows(file), 64, 1000)) == []


def test_a_row_group_larger_than_a_batch_is_read_whole(tmp_path: Path) -> None:
    data = np.random.default_rng(4).normal(size=(150_000, 3))
    table = pa.table({name: data[:, i] for i, name in enumerate(NAMES)})
    pa_parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=140_000)
    source = open_rows(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(np.concatenate(list(read_blocks(source, 1000, 70_001))), data[70_001:])


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "rows.parquet")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"not a complete Parquet file .*still being written"):
        open_rows(path)


def test_a_damaged_row_group_is_named_after_those_before_it(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "rows.parquet")
    offset = pa_parquet.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))
    read = []
    with pytest.raises(DataError, match=r"damaged in row group 2 \(rows 275 to 411\)"):
        read.extend(read_blocks(open_rows(path), 100))
    np.testing.assert_array_equal(np.concatenate(read), DATA[:274])


def test_columns_that_are_no_longer_there_are_named(tmp_path: Path) -> None:
    source = open_rows(write_parquet(tmp_path / "rows.parquet"))
    pa_parquet.write_table(pa.table({"a": [1.0], "c": [2.0]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="column 'b' is no longer there"):
        list(read_blocks(source, 10))


def test_files_that_hold_no_rows_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        open_rows(empty)
    for text in ("a,b\n", "a,b\n\n\n"):
        empty.write_text(text)
        with pytest.raises(DataError, match="the file has no rows"):
            open_rows(empty)
    with pytest.raises(DataError, match="the file has no rows"):
        open_rows(write_npy(tmp_path / "empty.npy", np.zeros((0, 2))))
    with pytest.raises(DataError, match="no such file"):
        open_rows(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="there is no column 'd', only a, b, c"):
        open_rows(write_csv(tmp_path / "rows.csv"), ["a", "d"])
    with pytest.raises(DataError, match="must be a matrix of numbers"):
        open_rows(write_npy(tmp_path / "vector.npy", np.zeros(4)))


@pytest.mark.parametrize("first", ["0.5,-1.2,3e4", "1,3,2", "7,7.5,1", "-1,2,5"])
def test_a_first_line_of_numbers_is_a_row(tmp_path: Path, first: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{first}\n1,2,3\n", encoding="utf-8")
    rows = np.concatenate(list(read_blocks(open_rows(path), 10)))
    assert rows.tolist() == [[float(cell) for cell in first.split(",")], [1.0, 2.0, 3.0]]


@pytest.mark.parametrize("names", ["0,1,2", "1990,1991,1992", "1,x,2"])
def test_numbers_that_may_be_names_are_asked_about(tmp_path: Path, names: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{names}\n1,2,3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 1: .* may be names or data; begin with a line of names"):
        open_rows(path)


def test_an_index_that_was_written_with_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",a,b\n0,1,2\n1,3,4\n")
    with pytest.raises(DataError, match=r"column 1 has no name, .* without row labels \(index=False\)"):
        open_rows(path)
    (block,) = read_blocks(open_rows(path, ["a", "b"]), 10)
    np.testing.assert_array_equal(block, [[1.0, 2.0], [3.0, 4.0]])


def test_columns_of_texts_in_a_parquet_file_are_refused(tmp_path: Path) -> None:
    pa_parquet.write_table(pa.table({"a": ["1.5", "2.5"]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=r"row 1, column 'a': '1\.5' is text, not a number; convert it"):
        list(read_blocks(open_rows(tmp_path / "rows.parquet"), 10))
