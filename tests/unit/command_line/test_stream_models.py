"""Models by the words of a command line."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from auxmc.command_line.stream_setup import parse_model
from auxmc.errors import CommandError

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "student_regression.py"


@pytest.mark.parametrize(
    ("text", "name", "dim"),
    [
        ("linear   noise_scale=0.5", "linear noise_scale=0.5", 3),
        ("logistic classes=4", None, 12),
        ("mixture components=2", None, 14),
        ("mixture components=2 weights=stick_breaking means=non_centred", None, 13),
        (f"{EXAMPLE} degrees=3", None, 4),
        (f"{EXAMPLE}:model", None, 4),
    ],
)
def test_words_name_a_model_with_settings(text, name, dim):
    model = parse_model(text, 3)
    assert model.name == (name or text)
    assert (model.model.dim, model.model.n_columns) == (dim, 3)
    assert bool(model.file_digest) == (".py" in text)


@pytest.mark.parametrize(("text", "message"), GIVEN["wrong"])
def test_words_that_name_no_model_are_rejected(text, message):
    with pytest.raises(CommandError, match=message):
        parse_model(text, 3)


def test_a_regression_needs_a_response_and_an_input():
    with pytest.raises(CommandError, match="expected two or more columns"):
        parse_model("linear", 1)
    assert parse_model("mixture components=2", 1).model.n_columns == 1


def test_rows_without_a_probability_are_found(tmp_path):
    classes = np.array([[0.5, 0.0], [0.5, 2.0], [0.5, 1.5], [0.5, -1.0], [0.5, 3.0]])
    model = parse_model("logistic classes=3", 2)
    assert model.valid_rows(classes).tolist() == [True, True, False, False, False]
    assert (model.column, model.requirement) == (1, "one of the classes 0 to 2")
    assert parse_model("linear", 2).valid_rows(classes).all()
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text() + "\n\ndef valid_rows(rows):\n    return rows[:, -1] > 0\n")
    assert parse_model(str(path), 2).valid_rows(classes).tolist() == [False, True, True, False, True]
    path.write_text(EXAMPLE.read_text() + "\n\ndef valid_rows(rows):\n    return rows\n")
    with pytest.raises(CommandError, match=r"valid_rows: expected booleans \[5\], one a row, got float64"):
        parse_model(str(path), 2).valid_rows(classes)
