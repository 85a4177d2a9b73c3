"""Models by the words of a command line."""

from pathlib import Path

import numpy as np
import pytest

from auxmc.command_line.stream_models import BadRow, named_model
from auxmc.errors import CommandError

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "student_regression.py"


@pytest.mark.parametrize(
    ("text", "name", "dim"),
    [
        ("linear", "linear", 3),
        ("linear   noise_scale=0.5", "linear noise_scale=0.5", 3),
        ("logistic classes=4", "logistic classes=4", 12),
        ("mixture components=2", "mixture components=2", 14),
        ("mixture components=2 weights=stick_breaking means=non_centred", None, 13),
        (f"{EXAMPLE} degrees=3", f"{EXAMPLE} degrees=3", 4),
        (f"{EXAMPLE}:model", f"{EXAMPLE}:model", 4),
    ],
)
def test_texts_name_models(text: str, name: str | None, dim: int) -> None:
    model = named_model(text, 3)
    assert model.name == (name or text)
    assert (model.model.dim, model.model.n_columns) == (dim, 3)
    assert bool(model.file_digest) == (".py" in text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--model needs a name: linear, logistic, mixture, or FILE.py"),
        ("lineal", "there is no model 'lineal'; models are linear, logistic, mixture"),
        ("linear 0.5", "settings are KEY=VALUE, got '0.5'"),
        ("linear scale=2", "linear has no setting 'scale'; it has noise_scale"),
        ("linear noise_scale=big", "noise_scale must be a number, got 'big'"),
        ("linear noise_scale=-1", r"noise_scale must be positive, got -1\.0"),
        ("logistic", "say classes=..., for example 'logistic classes=3'"),
        ("logistic classes=1", "n_classes at least 2"),
        ("mixture components=2.5", "components must be a whole number, got '2.5'"),
        (
            "mixture components=2 weights=logs",
            "weights must be one of log_gamma, log_ratio, stick_breaking, got 'logs'",
        ),
        ("absent.py", "absent.py: there is no such model file"),
        ("linear 'a", "No closing quotation"),
    ],
)
def test_texts_that_name_no_model_are_refused(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        named_model(text, 3)


def test_a_regression_needs_a_response_and_a_feature() -> None:
    with pytest.raises(
        CommandError, match="a regression needs two columns or more, the last one its response"
    ):
        named_model("linear", 1)
    assert named_model("mixture components=2", 1).model.n_columns == 1


def test_the_first_row_without_a_class_is_found() -> None:
    model = named_model("logistic classes=3", 2)
    rows = np.array([[0.5, 0.0], [0.5, 2.0], [0.5, 1.5], [0.5, -1.0]])
    assert model.first_bad_row(rows[:2]) is None
    bad = model.first_bad_row(rows)
    assert bad == BadRow(2, 1, "1.5, no class: classes are the whole numbers 0 to 2")
    assert named_model("linear", 2).first_bad_row(rows) is None


def test_rows_that_a_user_refuses_are_found(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    text = EXAMPLE.read_text()
    path.write_text(text + "\n\ndef valid_rows(rows):\n    return rows[:, -1] > 0\n")
    rows = np.array([[1.0, 2.0], [1.0, -2.0]])
    bad = named_model(str(path), 2).first_bad_row(rows)
    assert bad == BadRow(1, None, f"refused by valid_rows of {path}")
    path.write_text(text + "\n\ndef valid_rows(rows):\n    return rows\n")
    with pytest.raises(
        CommandError, match=r"valid_rows must return true or false for each row, bool \[2\]; got float64"
    ):
        named_model(str(path), 2).first_bad_row(rows)
