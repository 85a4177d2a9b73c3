"""Bayes factors of two linear models, the second with one input more, as streaming estimates give them."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import generator
from auxmc.driver.units import each
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.drive import Runs, run_repeats
from experiments.streaming_evidence.estimators import build_stream
from experiments.streaming_evidence.problem import (
    NOISE_SCALE,
    ends_of,
    exact_linear,
    keys_of_runs,
    rows_of_stream,
)
from experiments.streaming_evidence.settings import Settings

INPUTS = ("irrelevant", "weak")
"""What the additional input does: nothing, or just enough to be worth its prior."""

PAIR_METHODS = ("annealed", "corrected")

# Log Bayes factor in favour of the weak input that its coefficient is chosen for, in nats.
_EXPECTED_GAIN = 5.0


def run_nested_pair(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Estimates log Bayes factors of a linear model with one input more than the stream has.

    Returns:
        Group `statistics`: exact log Bayes factors [input], and estimates [method, input, repeat], in favour of the
        larger model and in nats.
    """
    rows = rows_of_stream(settings)
    extra = generator(context.seed, context.study, "input").standard_normal(len(rows))
    data = [with_input(rows, extra, name) for name in INPUTS]
    exact = [float(exact_linear(d, [len(rows)])[0] - exact_linear(d[:, 1:], [len(rows)])[0]) for d in data]
    shape = (len(PAIR_METHODS), len(INPUTS), settings.n_repeats)

    def run(which: tuple[str, int]) -> Runs:
        method, n_features = which
        own, where = dataclasses.replace(settings, method=method), (method, n_features, "pair")
        keys = [key for name in INPUTS for key in keys_of_runs(context, settings.n_repeats, *where, name)]
        # The larger model has the additional input as its first column.
        columns = [d[:, 6 - n_features :] for d in data]
        given = [own_rows for own_rows in columns for _ in range(settings.n_repeats)]
        estimator = build_stream(linear_regression(n_features, NOISE_SCALE), own)
        return run_repeats(estimator, given, ends_of(own), keys, context, "-".join(map(str, where)))

    combinations = list(itertools.product(PAIR_METHODS, (6, 5)))
    found, lost = np.zeros(shape), np.zeros(shape)
    for (method, n_features), runs in zip(combinations, each(run, combinations), strict=True):
        sign, place = 1.0 if n_features == 6 else -1.0, PAIR_METHODS.index(method)
        found[place] += sign * runs.record["log_evidence"][:, -1].reshape(shape[1:])
        lost[place] += runs.record["n_not_finite"][:, -1].reshape(shape[1:])
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "exact_factor": ("input", exact, nats),
        "factor": (("method", "input", "repeat"), found, nats),
        "n_not_finite": (("method", "input", "repeat"), lost, {"units": "particles"}),
    }
    coords = {"method": list(PAIR_METHODS), "input": list(INPUTS), "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


def with_input(rows: FloatArray, extra: FloatArray, name: str) -> FloatArray:
    """Rows with the additional input before the others, and what it does to the response.

    Args:
        rows: features and response [row, feature + 1].
        extra: values of the input [row].
        name: one of INPUTS.
    """
    coefficient = 0.0
    if name == "weak":
        # Its likelihood ratio is worth the gain and half the log of the rows, the price of a coefficient.
        n = len(rows)
        coefficient = float(np.sqrt((2.0 * _EXPECTED_GAIN + np.log(n)) / n))
    response = rows[:, -1] + coefficient * extra
    return np.column_stack([extra, rows[:, :-1], response])
