"""Tables with labels, and matrices."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from auxmc.data.tables import read_matrix
from auxmc.errors import DataError
from experiments.gp_probit.labelled import read_labelled

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

GOOD = "a,b,class\n1,2,yes\n2,3.5,no\n3,-1e3,yes\n4,0,no\n"


@pytest.fixture
def write(tmp_path):
    def write_file(content):
        path = tmp_path / "mine.csv"
        path.write_text(content)
        return path

    return write_file


def message(function, path, **settings):
    with pytest.raises(DataError) as caught:
        function(path, **settings)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def test_table_is_read_with_labels_of_plus_and_minus_one(write):
    data = read_labelled(write(GOOD))
    np.testing.assert_array_equal(data.features, [[1, 2], [2, 3.5], [3, -1000], [4, 0]])
    np.testing.assert_array_equal(data.labels, [1.0, -1.0, 1.0, -1.0])
    assert data.features.dtype == data.labels.dtype == np.float64
    assert data.feature_names == ("a", "b")
    assert data.classes == ("no", "yes")


def test_label_is_found_anywhere_or_named(write):
    first = write("class,a,b\nyes,1,0\nno,2,1\nyes,3,0\nno,4,1\n")
    assert read_labelled(first).feature_names == ("a", "b")
    named = write("y,a,b\n1,1,5\n0,2,6\n1.0,3,7\n0,4,9\n")
    data = read_labelled(named, label="y")
    np.testing.assert_array_equal(data.labels, [1.0, -1.0, 1.0, -1.0])
    assert data.classes == ("0", "1")
    assert data.feature_names == ("a", "b")


def test_last_column_is_the_label_where_all_are_numbers(write):
    data = read_labelled(write("a,b,y\n1,5,4\n2,6,2\n3,7,4\n4,9,2\n"), label=None)
    assert data.feature_names == ("a", "b")
    assert data.classes == ("2", "4")
    np.testing.assert_array_equal(data.labels, [1.0, -1.0, 1.0, -1.0])
    # Classes that are numbers are ordered as numbers.
    assert read_labelled(write("a,y\n1,10\n2,9\n3,10\n4,9\n")).classes == ("9", "10")


@pytest.mark.parametrize(("content", "expected"), GIVEN["bad"].values(), ids=GIVEN["bad"])
def test_unusable_labelled_table_is_rejected(write, content, expected):
    assert message(read_labelled, write(content)) == expected


@pytest.mark.parametrize(
    ("label", "near"), [("clas", "; did you mean 'class'?"), ("B", "; did you mean 'b'?"), ("target", "")]
)
def test_unknown_label_column_is_rejected_with_the_nearest(write, label, near):
    expected = f"label: expected one of a, b, class, got '{label}'{near}"
    assert message(read_labelled, write(GOOD), label=label) == expected


def test_missing_file_is_rejected_with_the_nearest(write, tmp_path, monkeypatch):
    write(GOOD)
    assert message(read_labelled, tmp_path / "mien.csv") == "no such file; did you mean 'mine.csv'?"
    assert message(read_matrix, tmp_path / "other" / "x.csv") == "no such file; check the path"
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    where = f"(looked in {tmp_path / 'empty'})"
    assert message(read_matrix, Path("x.csv")) == f"no such file {where}; check the path"


def test_a_matrix_needs_two_rows(write):
    assert message(read_matrix, write("x,y\n1,2\n")) == "has 1 row of data, needs at least 2; add rows"
