"""Grouped tables are read as they are, and every way to spoil one is named."""

from pathlib import Path

import numpy as np
import pytest

from auxmc.errors import DataError
from experiments.radon.grouped import RADON_COLUMNS, RADON_FILE, GroupedColumns, read_grouped

COLUMNS = GroupedColumns("score", "school", ("hours",), ("funding",))
HEADER = "school,hours,funding,score"
ROWS = ("A,1.0,0.5,2.0", "A,2.0,0.5,3.0", "B,1.5,-1.0,1.0", "B,0.5,-1.0,0.5")


def write(folder, *rows, header=HEADER):
    path = folder / "rows.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_radon_has_the_published_size_and_groups_in_order():
    data = read_grouped(RADON_FILE, RADON_COLUMNS)
    assert data.outcome.shape == (919,)
    assert len(data.group_names) == 85
    assert data.group_names[:2] == ("AITKIN", "ANOKA")
    assert data.regressor_names == ("first_floor", "log_uranium")
    assert data.regressors[:, 0].sum() == 153
    assert data.outcome.min() == pytest.approx(np.log(0.1), abs=1e-8)
    np.testing.assert_array_equal(np.unique(data.group), np.arange(85))


def test_the_example_file_is_readable():
    example = Path(__file__).parents[3] / "docs" / "examples" / "grouped.csv"
    data = read_grouped(example, COLUMNS)
    assert len(data.group_names) == 8
    assert data.regressors.shape == (len(data.outcome), 2)


def test_rows_keep_their_order_and_other_columns_are_passed_over(tmp_path):
    rows = (f"{row},note {i}" for i, row in enumerate(ROWS))
    data = read_grouped(write(tmp_path, *rows, header=f"{HEADER},remark"), COLUMNS)
    np.testing.assert_array_equal(data.outcome, [2.0, 3.0, 1.0, 0.5])
    np.testing.assert_array_equal(data.group, [0, 0, 1, 1])
    np.testing.assert_array_equal(data.regressors[:, 1], [0.5, 0.5, -1.0, -1.0])


def changed(row, text):
    return (*ROWS[:row], text, *ROWS[row + 1 :])


WRONG_ROWS = [
    (changed(1, "A,x,0.5,3.0"), "row 2 (line 3), column 'hours': 'x' is not a number"),
    (changed(1, "A,nan,0.5,3.0"), "row 2 (line 3), column 'hours': missing value (nan)"),
    (changed(0, "A,1.0,0.5,inf"), "row 1 (line 2), column 'score': 'inf' is not a finite number"),
    (changed(3, ",0.5,-1.0,0.5"), "row 4 (line 5), column 'school': missing value"),
    (tuple(row.replace("-1.0", "0.5") for row in ROWS), "column 'funding': every row has the value 0.5"),
    (
        tuple(f"{row.rpartition(',')[0]},2.0" for row in ROWS),
        "column 'score': every row has the value 2; name another column as outcome",
    ),
    (
        changed(3, "B,0.5,-2.0,0.5"),
        "group 'B' has -1 in row 3 (line 4) and -2 in row 4 (line 5); name it in row_regressors",
    ),
    (
        tuple(row.replace("B", "A") for row in ROWS),
        "column 'school': expected two or more groups, some of them with several rows, got 1 groups of 4 rows",
    ),
    (
        tuple(group + row[1:] for group, row in zip("ABCD", ROWS, strict=True)),
        "some of them with several rows, got 4 groups of 4 rows",
    ),
    (ROWS[:3], "has 3 rows of data, needs at least 4"),
]
WRONG_COLUMNS = [
    ({"outcome": "scor"}, "outcome: there is no column 'scor', only school, hours"),
    ({"outcome": "scor"}, "did you mean 'score'?"),
    ({"group": "shool"}, "group: there is no column 'shool'"),
    ({"row_regressors": ("score",)}, "column 'score' is named twice, in outcome and in row_reg"),
    ({"row_regressors": (), "group_regressors": ()}, "no regressor is named"),
]


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [(rows, {}, message) for rows, message in WRONG_ROWS] + [(ROWS, *wrong) for wrong in WRONG_COLUMNS],
)
def test_what_cannot_be_used_is_named(tmp_path, rows, columns, message):
    with pytest.raises(DataError) as raised:
        read_grouped(write(tmp_path, *rows), COLUMNS._replace(**columns))
    assert message in str(raised.value)
