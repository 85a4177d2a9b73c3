"""Estimators that need all rows at every step, run anew for each number of rows."""

import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream
from auxmc.kernels.streams.full_data_evidence import AnnealedSettings, annealed_evidence
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.nested import PUBLISHED, evidence_of, nested_runs
from experiments.streaming_evidence.problem import exact_linear, model_of, rows_of_stream
from experiments.streaming_evidence.settings import MODELS, Settings


def run_full_data(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Nested sampling and annealed importance sampling with the published settings, for each number of rows.

    Returns:
        Group `statistics`, quantities [size, repeat]; runs that are not made are missing.
    """
    rows = rows_of_stream(dataclasses.replace(settings, n_rows=settings.sizes[-1]))
    model = model_of(settings)
    table = _Table(settings)
    _run_nested(settings, context, model, rows, table)
    _run_annealed(settings, context, model, rows, table)
    variables = table.variables()
    if MODELS[settings.stream] == "linear":
        variables["exact"] = ("size", exact_linear(rows, settings.sizes), {"units": "nats"})
    coords = {"size": settings.sizes, "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


class _Table:
    """Quantities of runs [size, repeat], by name."""

    def __init__(self, settings: Settings) -> None:
        self.shape = (len(settings.sizes), settings.n_repeats)
        self.values: dict[str, tuple[FloatArray, str]] = {}

    def put(self, size: int, repeat: int, found: dict[str, tuple[float, str]]) -> None:
        for name, (value, unit) in found.items():
            array, _ = self.values.setdefault(name, (np.full(self.shape, np.nan), unit))
            array[size, repeat] = value

    def variables(self) -> dict[str, Any]:
        return {
            name: (("size", "repeat"), array, {"units": unit}) for name, (array, unit) in self.values.items()
        }


def _run_nested(
    settings: Settings, context: RunContext, model: RowModel, rows: FloatArray, table: _Table
) -> None:
    program = nested_runs(model, rows, PUBLISHED)
    # Compiled before the clock starts.
    program(stream(context.seed, context.study, settings.stream, "nested", "compile"), settings.sizes[0])
    progress = Progress(f"{context.label} [nested sampling]")
    for size, n_rows in enumerate(settings.sizes):
        for repeat in range(_n_runs(settings, n_rows)):
            key = stream(context.seed, context.study, settings.stream, "nested", n_rows, repeat)
            start = time.process_time()
            run = program(key, n_rows)
            seconds = time.process_time() - start
            found = evidence_of(run, PUBLISHED)
            table.put(
                size,
                repeat,
                {
                    "nested_log_evidence": (found.evidence.value, "nats"),
                    "nested_standard_error": (found.evidence.standard_error, "nats"),
                    "nested_seconds": (seconds, "processor s"),
                    "nested_likelihood_rows": (float(found.n_passes) * n_rows, "rows"),
                    "nested_iterations": (found.n_iterations, "points"),
                    "nested_stuck": (found.n_stuck, "points"),
                    "n_failures": (float(not found.finished), "runs"),
                },
            )
        progress.say(f"{n_rows} rows in {seconds:.1f} s a run")


def _run_annealed(
    settings: Settings, context: RunContext, model: RowModel, rows: FloatArray, table: _Table
) -> None:
    progress = Progress(f"{context.label} [annealed importance sampling]")
    run = jax.jit(annealed_evidence(model, AnnealedSettings()))
    for size, n_rows in enumerate(settings.sizes):
        if n_rows > settings.annealed_rows:
            break
        data = jnp.asarray(rows[:n_rows])
        keys = [
            stream(context.seed, context.study, settings.stream, "annealed", n_rows, repeat)
            for repeat in range(_n_runs(settings, n_rows))
        ]
        program = run.lower(keys[0], data).compile()
        for repeat, key in enumerate(keys):
            start = time.process_time()
            found = jax.block_until_ready(program(key, data))
            seconds = time.process_time() - start
            table.put(
                size,
                repeat,
                {
                    "annealed_log_evidence": (float(found.log_evidence), "nats"),
                    "annealed_seconds": (seconds, "processor s"),
                    "annealed_steps": (float(found.n_annealing_steps), "annealing steps"),
                    "annealed_likelihood_rows": (float(found.n_likelihood_rows), "rows"),
                    "annealed_gradient_rows": (float(found.n_gradient_rows), "rows"),
                    "annealed_unfinished": (float(found.n_unfinished), "runs"),
                    "n_not_finite": (float(found.n_not_finite), "particles"),
                },
            )
        progress.say(f"{n_rows} rows in {seconds:.1f} s a run")


def _n_runs(settings: Settings, n_rows: int) -> int:
    return 1 if n_rows > settings.few_runs_above else settings.n_repeats
