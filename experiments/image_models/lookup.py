"""Quantities of a model in the study's tables."""

import math
from typing import NamedTuple

import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.lookup import MissingData, rows_of


class Reference(NamedTuple):
    """Joint log evidence by annealing in both directions: middle of the bounds, its error, and the lower one."""

    value: float
    error: float
    lower: float


class RunningEstimate(NamedTuple):
    """Joint estimates along the chains of a method [point].

    Attributes:
        seconds: run time of a repetition up to the point.
        gradients: evaluations in a repetition up to the point.
        mean: over repetitions, in nats.
        error: its standard error.
    """

    seconds: FloatArray
    gradients: FloatArray
    mean: FloatArray
    error: FloatArray


def models_in(summary: pd.DataFrame) -> list[str]:
    """Models that the tables have, in the order of the cases."""
    return list(dict.fromkeys(summary["model"])) if "model" in summary else []


def value_of(summary: pd.DataFrame, model: str, quantity: str, **where: str | float) -> float:
    """A quantity of a model that has one value; cases of a model agree on it.

    Raises:
        MissingData: the table does not have it.
    """
    rows = rows_of(summary, quantity, model=model, **where)["value"].dropna()
    if rows.empty:
        raise MissingData(f"{quantity} for model {model}: not run at this preset")
    return float(rows.iloc[0])


def reference(summary: pd.DataFrame, model: str) -> Reference:
    """Bounds of a model, the upper one in its tighter form.

    Raises:
        MissingData: the table does not have them.
    """
    lower, upper = (value_of(summary, model, f"joint_{name}") for name in ("lower", "upper"))
    errors = [value_of(summary, model, f"joint_{name}_error") for name in ("lower", "upper")]
    return Reference(0.5 * (lower + upper), 0.5 * math.hypot(*errors), lower)


def running_estimate(curves: pd.DataFrame, model: str, method: str) -> RunningEstimate:
    """Running estimate of a method of chains.

    Raises:
        MissingData: the table does not have it.
    """
    found = []
    for name in ("seconds", "gradients", "mean", "error"):
        rows = rows_of(curves, f"running_{name}", model=model, method=method).dropna(subset="value")
        found.append(rows.sort_values("point")["value"].to_numpy(float))
    return RunningEstimate(*found)
