"""Where two rules end nested sampling, on the same dead points."""

from typing import Any

import jax
import numpy as np
import xarray as xr

from auxmc.diagnostics.nested_evidence import nested_evidence
from auxmc.driver.chains import RunContext
from auxmc.kernels.streams.nested_sampling import NestedSettings
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.nested import dead_points, nested_runs
from experiments.streaming_evidence.problem import (
    HYBRID_ROWS,
    exact_linear,
    keys_of_runs,
    model_of,
    rows_of_stream,
)
from experiments.streaming_evidence.settings import Settings

LIVE_POINTS = (2, 200)
"""The published number, and one with which runs are accurate."""

_FRACTION = 0.01


def run_stopping(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs nested sampling on the first rows until what is left does not matter.

    Returns:
        Group `statistics`, quantities [live points, repeat]: errors of the log evidence had the run ended by the
        additive rule, and at its own end, both without the points still alive.
    """
    rows = rows_of_stream(settings)[:HYBRID_ROWS]
    model = model_of(settings)
    exact = float(exact_linear(rows, [HYBRID_ROWS])[0])
    shape = (len(LIVE_POINTS), settings.n_repeats)
    errors = {name: np.full(shape, np.nan) for name in ("additive_error", "remaining_error", "spread")}
    unfinished = 0
    for place, n_live in enumerate(LIVE_POINTS):
        program = nested_runs(model, rows, NestedSettings(n_live=n_live, n_moves=5 * model.dim))
        keys = keys_of_runs(context, settings.n_repeats, settings.stream, "stopping", n_live)
        for repeat, key in enumerate(keys):
            run = program(key, HYBRID_ROWS)
            dead = dead_points(run)
            unfinished += int(not run.finished)
            early = nested_evidence(dead[: additive_stop(dead, n_live)], n_live)
            late = nested_evidence(dead, n_live)
            errors["additive_error"][place, repeat] = early.value - exact
            errors["remaining_error"][place, repeat] = late.value - exact
            errors["spread"][place, repeat] = late.standard_error
    jax.clear_caches()
    variables: dict[str, Any] = {
        name: (("live_points", "repeat"), values, {"units": "nats"}) for name, values in errors.items()
    }
    variables["n_failures"] = ((), unfinished, {"units": "runs"})
    coords = {"live_points": list(LIVE_POINTS), "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


def additive_stop(log_likelihoods: FloatArray, n_live: int) -> int:
    """Dead points after which a term of the sum is first below a hundredth of it, all if it never is.

    Args:
        log_likelihoods: of the dead points in the order of their death.
        n_live: live points.

    >>> additive_stop(np.array([0.0, 0.0, -9.0, 5.0]), 1)
    3
    """
    numbers = np.arange(1, log_likelihoods.size + 1)
    terms = log_likelihoods - numbers / n_live
    sums = np.logaddexp.accumulate(terms)
    below = np.flatnonzero((terms < sums + np.log(_FRACTION)) & (numbers > 1))
    return int(below[0]) + 1 if below.size else int(log_likelihoods.size)
