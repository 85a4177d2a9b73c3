"""Estimators that need all rows at every step, run anew for each number of rows."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.chains import RunContext
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream
from auxmc.kernels.streams.full_data_evidence import AnnealedRun, AnnealedSettings, full_data_evidence
from auxmc.kernels.streams.nested_sampling import NestedRun
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.nested import PUBLISHED, evidence_of, nested_runs
from experiments.streaming_evidence.problem import exact_linear, keys_of_runs, model_of, rows_of_stream
from experiments.streaming_evidence.settings import MODELS, Settings

_TITLES = {"nested": "nested sampling", "annealed": "annealed importance sampling"}

_Program = Callable[[Array], Any]
"""Makes a run from a key."""


def run_full_data(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Nested sampling and annealed importance sampling with the published settings, for each number of rows.

    Returns:
        Group `statistics`, quantities [size, repeat]; runs that are not made are missing.
    """
    rows = rows_of_stream(dataclasses.replace(settings, n_rows=settings.sizes[-1]))
    model = model_of(settings)
    nested = nested_runs(model, rows, PUBLISHED)
    # Compiled before the clock starts.
    nested(stream(context.seed, context.study, settings.stream, "nested", "compile"), settings.sizes[0])
    annealed_sizes = [n for n in settings.sizes if n <= settings.annealed_rows]
    run_sizes = partial(_run_sizes, settings, context)
    variables = {
        **run_sizes("nested", settings.sizes, lambda n: lambda key: nested(key, n), _nested_quantities),
        **run_sizes("annealed", annealed_sizes, _annealed_programs(model, rows), _annealed_quantities),
    }
    if MODELS[settings.stream] == "linear":
        variables["exact"] = ("size", exact_linear(rows, settings.sizes), {"units": "nats"})
    coords = {"size": settings.sizes, "repeat": np.arange(settings.n_repeats)}
    return {"statistics": xr.Dataset(variables, coords)}


def _run_sizes(
    settings: Settings,
    context: RunContext,
    name: str,
    sizes: list[int],
    program_for: Callable[[int], _Program],
    quantities: Callable[[Any, int, float], Mapping[str, tuple[float, str]]],
) -> dict[str, Any]:
    """Variables of an estimator for the first of the sizes of a case.

    Args:
        settings: of the case.
        context: random streams and progress.
        name: of the estimator, one of _TITLES.
        sizes: numbers of rows.
        program_for: compiles a program for a number of rows.
        quantities: values with their units of a run, its number of rows and its seconds.
    """
    shape = (len(settings.sizes), settings.n_repeats)
    progress = Progress(f"{context.label} [{_TITLES[name]}]")
    variables: dict[str, Any] = {}
    for size, n_rows in enumerate(sizes):
        program = program_for(n_rows)
        n_runs = 1 if n_rows > settings.few_runs_above else settings.n_repeats
        for repeat, key in enumerate(keys_of_runs(context, n_runs, settings.stream, name, n_rows)):
            start = time.process_time()
            run = jax.block_until_ready(program(key))
            seconds = time.process_time() - start
            for quantity, (value, unit) in quantities(run, n_rows, seconds).items():
                missing = (("size", "repeat"), np.full(shape, np.nan), {"units": unit})
                variables.setdefault(quantity, missing)[1][size, repeat] = value
        progress.say(f"{n_rows} rows in {seconds:.1f} s a run")
    return variables


def _annealed_programs(model: RowModel, rows: FloatArray) -> Callable[[int], _Program]:
    run = jax.jit(full_data_evidence(model, AnnealedSettings()))

    def program_for(n_rows: int) -> _Program:
        data = jnp.asarray(rows[:n_rows])
        compiled = run.lower(jax.random.key(0), data).compile()
        return lambda key: compiled(key, data)

    return program_for


def _nested_quantities(run: NestedRun, n_rows: int, seconds: float) -> Mapping[str, tuple[float, str]]:
    found = evidence_of(run, PUBLISHED)
    return {
        "nested_log_evidence": (found.value, "nats"),
        "nested_standard_error": (found.standard_error, "nats"),
        "nested_seconds": (seconds, "processor s"),
        "nested_likelihood_rows": (float(run.n_evaluations) * n_rows, "rows"),
        "nested_iterations": (float(run.n_iterations), "points"),
        "nested_stuck": (float(run.n_stuck), "points"),
        "n_failures": (float(not run.finished), "runs"),
    }


def _annealed_quantities(run: AnnealedRun, n_rows: int, seconds: float) -> Mapping[str, tuple[float, str]]:
    del n_rows
    return {
        "annealed_log_evidence": (float(run.log_evidence), "nats"),
        "annealed_seconds": (seconds, "processor s"),
        "annealed_steps": (float(run.n_annealing_steps), "annealing steps"),
        "annealed_likelihood_rows": (float(run.n_likelihood_rows), "rows"),
        "annealed_gradient_rows": (float(run.n_gradient_rows), "rows"),
        "annealed_unfinished": (float(run.n_unfinished), "runs"),
        "n_not_finite": (float(run.n_not_finite), "particles"),
    }
