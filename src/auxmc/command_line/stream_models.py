"""Models of rows by the words of a command line."""

import hashlib
import inspect
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auxmc.errors import CommandError
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.mixtures.single_gaussian import single_gaussian
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import RowModel
from auxmc.models.user_model import ValidRows, load_model
from auxmc.numerics.array_types import BooleanArray, FloatArray

__all__ = ["NamedModel", "parse_model"]


class NamedModel(NamedTuple):
    """A model from the command line.

    Attributes:
        name: words as they were given, with single spaces.
        model: the model.
        valid_rows: maps rows [row, column] to whether the model has a probability for each [row].
        requirement: what `valid_rows` asks of a row, for messages.
        column: column that decides it; None where no single column does.
        file_digest: of the user's file; empty for a built-in model.
    """

    name: str
    model: RowModel
    valid_rows: ValidRows = lambda rows: np.ones(len(rows), dtype=bool)
    requirement: str = ""
    column: int | None = None
    file_digest: str = ""


def _linear(n_columns: int, *, noise_scale: float = 1.0) -> RowModel:
    return linear_regression(n_columns - 1, noise_scale)


def _logistic(n_columns: int, *, classes: int) -> RowModel:
    return softmax_regression(n_columns - 1, classes)


def _mixture(
    n_columns: int, *, components: int, weights: str = "log_gamma", means: str = "centred"
) -> RowModel:
    if components == 1:
        return single_gaussian(n_columns)
    return gaussian_mixture(components, n_columns, weight_coordinates=weights, mean_coordinates=means)


_MODELS: dict[str, Callable[..., RowModel]] = {"linear": _linear, "logistic": _logistic, "mixture": _mixture}


def parse_model(text: str, n_columns: int) -> NamedModel:
    """Returns the model that a text names.

    Args:
        text: name of a model, or FILE.py or FILE.py:NAME, followed by KEY=VALUE for each setting.
        n_columns: numbers in a row; the last one is the response of a regression.

    Raises:
        CommandError: If there is no such model, or a setting or the file cannot be used.
    """
    try:
        words = shlex.split(text)
        if not words:
            raise ValueError(f"expected one of {', '.join(_MODELS)} or FILE.py[:NAME]")
        settings = _parse_settings(words[1:])
        own = re.fullmatch(r"(.+\.py)(?::(\w+))?", words[0])
        if own:
            return _load_own(" ".join(words), Path(own[1]), own[2] or "", n_columns, settings)
        if words[0] not in _MODELS:
            raise ValueError(f"expected one of {', '.join(_MODELS)} or FILE.py[:NAME], got {words[0]!r}")
        return _build(words, n_columns, settings)
    except ValueError as error:
        raise CommandError(f"--model {text!r}: {error}") from error


def _build(words: list[str], n_columns: int, settings: dict[str, str]) -> NamedModel:
    name, values = words[0], dict[str, Any]()
    signature = inspect.signature(_MODELS[name])
    try:
        signature.bind(n_columns, **settings)
    except TypeError as error:
        raise ValueError(f"{error}; {name} takes {', '.join(list(signature.parameters)[1:])}") from None
    for key, text in settings.items():
        kind = signature.parameters[key].annotation
        try:
            values[key] = kind(text)
        except ValueError:
            raise ValueError(f"{key}: expected {kind.__name__}, got {text!r}") from None
    if name != "mixture" and n_columns < 2:
        raise ValueError("a regression: expected two or more columns, the last one its response, got one")
    model = NamedModel(" ".join(words), _MODELS[name](n_columns, **values))
    if name != "logistic":
        return model
    n_classes = values["classes"]

    def has_class(rows: FloatArray) -> BooleanArray:
        labels = rows[:, -1]
        return (labels == np.floor(labels)) & (labels >= 0) & (labels < n_classes)

    requirement = f"one of the classes 0 to {n_classes - 1}"
    return model._replace(valid_rows=has_class, requirement=requirement, column=n_columns - 1)


def _load_own(name: str, path: Path, function: str, n_columns: int, settings: dict[str, str]) -> NamedModel:
    values = {key: _parse_value(text) for key, text in settings.items()}
    model, valid_rows = load_model(path, n_columns, function, values)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    found = NamedModel(name, model, file_digest=digest)
    if valid_rows is None:
        return found
    return found._replace(
        valid_rows=lambda rows: _check_validity(path, valid_rows, rows),
        requirement=f"what valid_rows of {path} accepts",
    )


def _check_validity(path: Path, valid_rows: ValidRows, rows: FloatArray) -> BooleanArray:
    try:
        valid = np.asarray(valid_rows(rows))
    except (Exception, SystemExit) as error:
        raise CommandError(f"{path}: valid_rows fails: {type(error).__name__}: {error}") from error
    if valid.shape != (len(rows),) or valid.dtype != np.bool_:
        got = f"{valid.dtype} {list(valid.shape)}"
        raise CommandError(f"{path}: valid_rows: expected booleans [{len(rows)}], one a row, got {got}")
    return valid


def _parse_settings(words: list[str]) -> dict[str, str]:
    parts = [word.partition("=") for word in words]
    for word, (key, _, value) in zip(words, parts, strict=True):
        if not key or not value:
            raise ValueError(f"settings: expected KEY=VALUE, got {word!r}")
    return {key: value for key, _, value in parts}


def _parse_value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
