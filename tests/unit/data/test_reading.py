"""Tables that must be read, and the exact words for those that cannot be."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from auxmc.data.reading import read_labelled, read_matrix
from auxmc.errors import DataError

GOOD = "a,b,class\n1,2,yes\n2,3.5,no\n3,-1e3,yes\n4,0,no\n"

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "mine.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def message(function: Callable, path: Path, **settings) -> str:
    with pytest.raises(DataError) as caught:
        function(path, **settings)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def test_table_is_read_with_labels_of_plus_and_minus_one(write: Write) -> None:
    data = read_labelled(write(GOOD))
    np.testing.assert_array_equal(data.features, [[1, 2], [2, 3.5], [3, -1000], [4, 0]])
    np.testing.assert_array_equal(data.labels, [1.0, -1.0, 1.0, -1.0])
    assert data.features.dtype == data.labels.dtype == np.float64
    assert data.feature_names == ("a", "b")
    assert data.classes == ("no", "yes")


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("\n", "\r").encode(),
        GOOD.replace(",", ";").encode(),
        GOOD.replace(",", "\t").encode(),
        GOOD.replace(",", ", ").encode(),
        GOOD.rstrip("\n").encode(),
        ("\n" + GOOD.replace("\n", "\n\n")).encode(),
        b'"a","b","class"\n"1","2","yes"\n"2","3.5","no"\n3,-1e3,"yes"\n4,0,"no"\n',
    ],
    ids=["bom", "crlf", "cr", "semicolon", "tab", "spaces", "no_final_newline", "blank_lines", "quoted"],
)
@pytest.mark.filterwarnings("error")
def test_dialects_give_the_same_table(write: Write, content: bytes) -> None:
    data = read_labelled(write(content))
    np.testing.assert_array_equal(data.features, [[1, 2], [2, 3.5], [3, -1000], [4, 0]])
    assert data.feature_names == ("a", "b")
    assert data.classes == ("no", "yes")


def test_quoted_names_may_hold_separators_and_quotes(write: Write) -> None:
    data = read_labelled(write(GOOD.replace("a,b", '"size, ""cm""","two\nlines"')))
    assert data.feature_names == ('size, "cm"', "two\nlines")


def test_label_is_found_anywhere_or_named(write: Write) -> None:
    first = write("class,a,b\nyes,1,0\nno,2,1\nyes,3,0\nno,4,1\n")
    assert read_labelled(first).feature_names == ("a", "b")
    named = write("y,a,b\n1,1,5\n0,2,6\n1.0,3,7\n0,4,9\n")
    data = read_labelled(named, label="y")
    np.testing.assert_array_equal(data.labels, [1.0, -1.0, 1.0, -1.0])
    assert data.classes == ("0", "1")
    assert data.feature_names == ("a", "b")


def test_last_column_is_the_label_where_all_are_numbers(write: Write) -> None:
    data = read_labelled(write("a,b,y\n1,5,4\n2,6,2\n3,7,4\n4,9,2\n"), label=None)
    assert data.feature_names == ("a", "b")
    assert data.classes == ("2", "4")
    np.testing.assert_array_equal(data.labels, [1.0, -1.0, 1.0, -1.0])


def test_numeric_classes_are_ordered_as_numbers(write: Write) -> None:
    assert read_labelled(write("a,y\n1,10\n2,9\n3,10\n4,9\n")).classes == ("9", "10")


BAD_LABELLED = {
    "empty": ("", "the file is empty; it needs rows of numbers"),
    "blank": ("\n \n", "the file is empty; it needs rows of numbers"),
    "header_only": ("a,b,class\n", "the file has no rows below its names (a, b, class); add data"),
    "few_rows": ("a,class\n1,yes\n2,no\n3,no\n", "has 3 rows of data, needs at least 4; add rows"),
    "missing_empty": (
        GOOD.replace("2,3.5", "2,"),
        "row 2 (line 3), column 'b': missing value (empty cell); fill it in or remove the row",
    ),
    "missing_many": (
        GOOD.replace("1,2", "1,?").replace("4,0", "NA,0"),
        "row 1 (line 2), column 'b': missing value '?' (also row 4); fill it in or remove the row",
    ),
    "missing_nan": (
        GOOD.replace("3.5", "NaN"),
        "row 2 (line 3), column 'b': missing value 'NaN'; fill it in or remove the row",
    ),
    "missing_label": (
        GOOD.replace("2,3.5,no", "2,3.5,"),
        "row 2 (line 3), column 'class': missing value (empty cell); fill it in or remove the row",
    ),
    "text": (
        GOOD.replace("3.5", "tall"),
        "row 2 (line 3), column 'b': 'tall' is not a number; correct it, or remove the column if it holds text; the "
        "label is column 'class' (taken as the label because it alone has two values that are not numbers)",
    ),
    "underscore": (
        GOOD.replace("3.5", "1_0"),
        "row 2 (line 3), column 'b': '1_0' is not a number; correct it, or remove the column if it holds text; the "
        "label is column 'class' (taken as the label because it alone has two values that are not numbers)",
    ),
    "decimal_comma": (
        GOOD.replace(",", ";").replace("3.5", "3,5"),
        "row 2 (line 3), column 'b': '3,5' is not a number; write decimals with a point",
    ),
    "infinite": (
        GOOD.replace("3.5", "-inf"),
        "row 2 (line 3), column 'b': '-inf' is not a finite number; correct it or remove the row",
    ),
    "overflow": (
        GOOD.replace("3.5", "1e999"),
        "row 2 (line 3), column 'b': '1e999' is not a finite number; correct it or remove the row",
    ),
    "short_row": (
        GOOD.replace("2,3.5,no", "2,no"),
        "row 2 (line 3): 2 cells, expected 3 as in the first line, got '2, no'; "
        "fill in what is missing, or remove the row",
    ),
    "long_row_after_blank_line": (
        GOOD.replace("2,3.5,no", "\n2,3,5,no"),
        "row 2 (line 4): 4 cells, expected 3 as in the first line, got '2, 3, 5, no'; "
        "put quotation marks around a cell that holds a separator",
    ),
    "duplicate_names": (GOOD.replace("a,b", "a,a"), "columns 1 and 2 are both called 'a'; rename one"),
    "empty_name": (
        GOOD.replace("a,b", '"",b'),
        "column 1 has no name, as row labels or a comma at the end of a line; "
        "name it, or save the table without row labels (index=False)",
    ),
    "no_header": (
        GOOD.removeprefix("a,b,class\n"),
        "line 1: '1, 2, yes' may be names or data; begin with a line of names, none of them a number",
    ),
    "one_class": (
        GOOD.replace("yes", "no"),
        "column 'class' (taken as the label because it is the last): a label needs two classes, "
        "but this column has only the value 'no'; add rows of the other class",
    ),
    "three_classes": (
        GOOD.replace("4,0,no", "4,0,maybe"),
        "column 'class' (taken as the label because it is the last): a label needs two classes, but this "
        "column has 3 values: maybe, no, yes; keep two of them or name another label column",
    ),
    "many_classes": (
        "a,y\n" + "".join(f"{i},{i}\n" for i in range(12)),
        "column 'y' (taken as the label because it is the last): a label needs two classes, but this column "
        "has 12 values: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more; "
        "keep two of them or name another label column",
    ),
    "constant": (
        "a,b,class\n1,7,yes\n2,7.0,no\n3,7,yes\n4,7,no\n",
        "column 'b': every row has the value 7, so the column says nothing about the label and cannot be "
        "standardised; remove the column",
    ),
    "label_only": (
        "class\nyes\nno\nyes\nno\n",
        "the label column is the only column; add at least one column of numbers",
    ),
    "quotation": (
        GOOD.replace("2,3.5,no", '2,3.5,"no'),
        "line 3: unexpected end of data; check the quotation marks from this line on",
    ),
    "encoding": (
        GOOD.replace("2,3.5,no", "2,3.5,n\u00f6").encode("latin-1"),
        "line 3: not UTF-8 text; save the table as CSV with UTF-8 encoding",
    ),
}


@pytest.mark.parametrize(("content", "expected"), BAD_LABELLED.values(), ids=BAD_LABELLED)
def test_unusable_labelled_table_is_refused(write: Write, content: str | bytes, expected: str) -> None:
    assert message(read_labelled, write(content)) == expected


def test_row_is_the_line_where_a_record_with_a_line_break_starts(write: Write) -> None:
    path = write('"a\nb",class\n1,yes\nx,no\n3,yes\n4,no\n')
    assert message(read_labelled, path).startswith(r"row 2 (line 4), column 'a\nb': 'x' is not a number")


@pytest.mark.parametrize(("label", "near"), [("clas", "class"), ("Class", "class"), ("B", "b")])
def test_unknown_label_column_is_refused_with_the_nearest(write: Write, label: str, near: str) -> None:
    expected = f"has no column '{label}', only a, b, class; did you mean '{near}'?"
    assert message(read_labelled, write(GOOD), label=label) == expected


def test_unknown_label_column_unlike_any_is_refused(write: Write) -> None:
    expected = "has no column 'target', only a, b, class; give one of them as the label"
    assert message(read_labelled, write(GOOD), label="target") == expected


def test_missing_file_is_refused_with_the_nearest(write: Write, tmp_path: Path) -> None:
    write(GOOD)
    assert message(read_labelled, tmp_path / "mien.csv") == "no such file; did you mean 'mine.csv'?"
    assert message(read_matrix, tmp_path / "other" / "x.csv") == "no such file; check the path"


def test_missing_relative_file_says_where_it_was_looked_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert message(read_matrix, Path("x.csv")) == f"no such file (looked in {tmp_path}); check the path"


def test_directory_is_refused(tmp_path: Path) -> None:
    assert message(read_labelled, tmp_path) == "is a directory; give the path of one data file"


@pytest.mark.parametrize("header", ["", "x,y\n", '"first one",second\n'])
def test_matrix_is_read_with_or_without_names(write: Write, header: str) -> None:
    observations = read_matrix(write(header + "1,2\n3,4\n5,6\n"))
    np.testing.assert_array_equal(observations, [[1, 2], [3, 4], [5, 6]])


def test_single_column_is_a_matrix(write: Write) -> None:
    assert read_matrix(write("1\n2\n")).shape == (2, 1)


BAD_MATRIX = {
    "empty": ("", "the file is empty; it needs rows of numbers"),
    "header_only": ("x,y\n", "the file has no rows below its names (x, y); add data"),
    "few_rows": ("x,y\n1,2\n", "has 1 row of data, needs at least 2; add rows"),
    "missing": (
        "1,2\n3,n/a\n",
        "row 2 (line 2), column '1': missing value 'n/a'; fill it in or remove the row",
    ),
    "text": (
        "x,y\n1,2\n3,b\n",
        "row 2 (line 3), column 'y': 'b' is not a number; correct it, or remove the column if it holds text",
    ),
    "half_header": (
        "x,1\n1,2\n",
        "line 1: 'x, 1' may be names or data; begin with a line of names, none of them a number",
    ),
    "infinite": (
        "1,2\n3,Infinity\n",
        "row 2 (line 2), column '1': 'Infinity' is not a finite number; correct it or remove the row",
    ),
    "ragged": (
        "1,2\n3\n",
        "row 2 (line 2): 1 cell, expected 2 as in the first line, got '3'; fill in what is missing, or remove the row",
    ),
    "duplicate": ("x,x\n1,2\n", "columns 1 and 2 are both called 'x'; rename one"),
}


@pytest.mark.parametrize(("content", "expected"), BAD_MATRIX.values(), ids=BAD_MATRIX)
def test_unusable_matrix_is_refused(write: Write, content: str, expected: str) -> None:
    assert message(read_matrix, write(content)) == expected


def test_reading_needs_neither_jax_nor_pandas() -> None:
    code = "import sys, auxmc.data.reading; print(sorted({'jax', 'pandas', 'scipy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
