"""Models of rows by the words of a command line."""

import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auxmc.errors import CommandError, ModelError
from auxmc.models.mixtures.gaussian_mixture import MEAN_COORDINATES, WEIGHT_COORDINATES, gaussian_mixture
from auxmc.models.mixtures.single_gaussian import single_gaussian
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import RowModel
from auxmc.models.user_model import ValidRows, load_model
from auxmc.numerics.array_types import FloatArray

__all__ = ["MODELS", "BadRow", "NamedModel", "named_model"]


class BadRow(NamedTuple):
    """A row that a model has no probability for.

    Attributes:
        row: counted from 0 within the block.
        column: counted from 0; None where no single one is to blame.
        reason: to be read after "is".
    """

    row: int
    column: int | None
    reason: str


class NamedModel(NamedTuple):
    """A model from the command line.

    Attributes:
        name: as it was given, with single spaces.
        model: the model.
        first_bad_row: maps rows [row, column] to the first that it has no probability for.
        file_digest: of the user's file; empty for a model of this package.
    """

    name: str
    model: RowModel
    first_bad_row: Callable[[FloatArray], BadRow | None]
    file_digest: str


class _Known(NamedTuple):
    settings: dict[str, Callable[[str], Any]]
    required: tuple[str, ...]
    build: Callable[..., RowModel]


def _one_of(allowed: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text

    return read


def _linear(n_columns: int, noise_scale: float = 1.0) -> RowModel:
    return linear_regression(n_columns - 1, noise_scale)


def _logistic(n_columns: int, classes: int) -> RowModel:
    return softmax_regression(n_columns - 1, classes)


def _mixture(n_columns: int, components: int, weights: str = "log_gamma", means: str = "centred") -> RowModel:
    if components == 1:
        return single_gaussian(n_columns)
    return gaussian_mixture(components, n_columns, weight_coordinates=weights, mean_coordinates=means)


MODELS = {
    "linear": _Known({"noise_scale": float}, (), _linear),
    "logistic": _Known({"classes": int}, ("classes",), _logistic),
    "mixture": _Known(
        {"components": int, "weights": _one_of(WEIGHT_COORDINATES), "means": _one_of(MEAN_COORDINATES)},
        ("components",),
        _mixture,
    ),
}
"""Models of this package by name, with their settings."""


def named_model(text: str, n_columns: int) -> NamedModel:
    """Makes the model that a text names.

    Args:
        text: name of a model, or FILE.py or FILE.py:NAME, followed by KEY=VALUE for each setting.
        n_columns: numbers in a row; the last one is the response of a regression.

    Raises:
        CommandError: there is no such model, a setting is unknown, missing or out of range, or the file cannot be used.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CommandError(f"--model {text!r}: {error}") from error
    if not words:
        raise CommandError(f"--model needs a name: {', '.join(MODELS)}, or FILE.py[:NAME]")
    given = _settings(text, words[1:])
    own = re.fullmatch(r"(.+\.py)(?::(\w+))?", words[0])
    try:
        if own:
            return _own_model(words, Path(own[1]), own[2] or "", n_columns, given)
        return _known_model(text, words, n_columns, given)
    except ModelError as error:
        raise CommandError(f"--model {text!r}: {error}") from error


def _known_model(text: str, words: list[str], n_columns: int, given: dict[str, str]) -> NamedModel:
    if words[0] not in MODELS:
        raise CommandError(
            f"--model {text!r}: there is no model {words[0]!r}; models are {', '.join(MODELS)}, or FILE.py[:NAME] for "
            "your own"
        )
    known = MODELS[words[0]]
    values = {}
    for key, value in given.items():
        if key not in known.settings:
            raise CommandError(
                f"--model {text!r}: {words[0]} has no setting {key!r}; it has {', '.join(known.settings)}"
            )
        try:
            values[key] = known.settings[key](value)
        except ValueError as error:
            kind = {int: "a whole number", float: "a number"}.get(known.settings[key], str(error))  # type: ignore[call-overload]
            raise CommandError(f"--model {text!r}: {key} must be {kind}, got {value!r}") from error
    for key in known.required:
        if key not in values:
            raise CommandError(f"--model {text!r}: say {key}=..., for example '{words[0]} {key}=3'")
    if words[0] != "mixture" and n_columns < 2:
        raise CommandError(
            f"--model {text!r}: a regression needs two columns or more, the last one its response"
        )
    try:
        model = known.build(n_columns, **values)
    except ValueError as error:
        raise CommandError(f"--model {text!r}: {error}") from error
    check = _classes(values["classes"]) if words[0] == "logistic" else lambda rows: None
    return NamedModel(" ".join(words), model, check, "")


def _own_model(words: list[str], path: Path, name: str, n_columns: int, given: dict[str, str]) -> NamedModel:
    model, valid_rows = load_model(path, n_columns, name, {key: _value(text) for key, text in given.items()})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    check = (lambda rows: None) if valid_rows is None else _valid(path, valid_rows)
    return NamedModel(" ".join(words), model, check, digest)


def _settings(text: str, words: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key or not value:
            raise CommandError(f"--model {text!r}: settings are KEY=VALUE, got {word!r}")
        given[key] = value
    return given


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _classes(n_classes: int) -> Callable[[FloatArray], BadRow | None]:
    def first_bad_row(rows: FloatArray) -> BadRow | None:
        labels = rows[:, -1]
        wrong = (labels != np.floor(labels)) | (labels < 0) | (labels >= n_classes)
        if not wrong.any():
            return None
        row = int(np.argmax(wrong))
        reason = f"{labels[row]:g}, no class: classes are the whole numbers 0 to {n_classes - 1}"
        return BadRow(row, rows.shape[1] - 1, reason)

    return first_bad_row


def _valid(path: Path, valid_rows: ValidRows) -> Callable[[FloatArray], BadRow | None]:
    def first_bad_row(rows: FloatArray) -> BadRow | None:
        try:
            valid = np.asarray(valid_rows(rows))
        except (Exception, SystemExit) as error:
            raise CommandError(f"{path}: valid_rows fails: {type(error).__name__}: {error}") from error
        if valid.shape != (len(rows),) or valid.dtype != np.bool_:
            raise CommandError(
                f"{path}: valid_rows must return true or false for each row, bool [{len(rows)}]; got "
                f"{valid.dtype} {list(valid.shape)}"
            )
        if valid.all():
            return None
        return BadRow(int(np.argmin(valid)), None, f"refused by valid_rows of {path}")

    return first_bad_row
