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
        words = shlex.split(text) or [""]
        settings = {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            if not key or not value:
                raise ValueError(f"settings: expected KEY=VALUE, got {word!r}")
            settings[key] = value
        own = re.fullmatch(r"(.+\.py)(?::(\w+))?", words[0])
        if own is None and words[0] not in _MODELS:
            raise ValueError(f"expected one of {', '.join(_MODELS)} or FILE.py[:NAME], got {words[0]!r}")
        name = " ".join(words)
        if own is None:
            return _build(name, _MODELS[words[0]], n_columns, settings)
        return _load(name, Path(own[1]), own[2] or "", n_columns, settings)
    except ValueError as error:
        raise CommandError(f"--model {text!r}: {error}") from error


def _build(name: str, make: Callable[..., RowModel], n_columns: int, settings: dict[str, str]) -> NamedModel:
    kinds = {key: one.annotation for key, one in inspect.signature(make).parameters.items()}
    try:
        inspect.signature(make).bind(n_columns, **settings)
    except TypeError as error:
        raise ValueError(f"{error}; {name.split()[0]} takes {', '.join(list(kinds)[1:])}") from None
    values: dict[str, Any] = {}
    for key, text in settings.items():
        try:
            values[key] = kinds[key](text)
        except ValueError:
            raise ValueError(f"{key}: expected {kinds[key].__name__}, got {text!r}") from None
    if make is not _mixture and n_columns < 2:
        raise ValueError("a regression: expected two or more columns, the last one its response, got one")
    model = NamedModel(name, make(n_columns, **values))
    if make is not _logistic:
        return model

    def has_class(rows: FloatArray) -> BooleanArray:
        return np.isin(rows[:, -1], np.arange(values["classes"]))

    requirement = f"one of the classes 0 to {values['classes'] - 1}"
    return model._replace(valid_rows=has_class, requirement=requirement, column=n_columns - 1)


def _load(name: str, path: Path, function: str, n_columns: int, settings: dict[str, str]) -> NamedModel:
    model, valid_rows = load_model(
        path, n_columns, function, {key: _number_or_text(text) for key, text in settings.items()}
    )
    found = NamedModel(name, model, file_digest=hashlib.sha256(path.read_bytes()).hexdigest()[:16])
    if valid_rows is None:
        return found

    def checked(rows: FloatArray) -> BooleanArray:
        try:
            valid = np.asarray(valid_rows(rows))
        except (Exception, SystemExit) as error:
            raise CommandError(f"{path}: valid_rows fails: {type(error).__name__}: {error}") from error
        if valid.shape != (len(rows),) or valid.dtype != np.bool_:
            got = f"{valid.dtype} {list(valid.shape)}"
            raise CommandError(f"{path}: valid_rows: expected booleans [{len(rows)}], one a row, got {got}")
        return valid

    return found._replace(valid_rows=checked, requirement=f"what valid_rows of {path} accepts")


def _number_or_text(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
