"""Joint estimates of a model in the study's tables."""

import math
from typing import NamedTuple

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.tables import MissingData, Tables, Wanted


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


def models_in(tables: Tables) -> list[str]:
    """Models that the tables have, in the order of the cases."""
    summary = tables.summary.frame
    return list(dict.fromkeys(summary["model"])) if "model" in summary else []


def value_of(tables: Tables, model: str, quantity: str, **wanted: Wanted) -> float:
    """A quantity of a model that has one value; cases of a model agree on it.

    Raises:
        MissingData: the summary does not have it.
    """
    rows = tables.summary.rows(quantity, model=model, **wanted)["value"].dropna()
    if rows.empty:
        raise MissingData(f"{quantity} for model {model}: not run at this preset")
    return float(rows.iloc[0])


def reference(tables: Tables, model: str) -> Reference:
    """Bounds of a model, the upper one in its tighter form.

    Raises:
        MissingData: the summary does not have them.
    """
    lower, upper, lower_error, upper_error = (
        value_of(tables, model, quantity)
        for quantity in ("joint_lower", "joint_upper", "joint_lower_error", "joint_upper_error")
    )
    return Reference(0.5 * (lower + upper), 0.5 * math.hypot(lower_error, upper_error), lower)


def running_estimate(tables: Tables, model: str, method: str) -> RunningEstimate:
    """Running estimate of a method of chains.

    Raises:
        MissingData: the curves do not have it.
    """
    found = []
    for quantity in ("running_seconds", "running_gradients", "running_mean", "running_error"):
        rows = tables.curves.rows(quantity, model=model, method=method).dropna(subset="value")
        found.append(rows.sort_values("point")["value"].to_numpy(float))
    return RunningEstimate(*found)
