"""Estimators that need all rows at every step, run again for each number of rows."""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.progress import Progress
from auxmc.kernels.streams.full_data_evidence import AnnealedRun, AnnealedSettings, full_data_evidence
from auxmc.kernels.streams.nested_sampling import NestedRun
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc_pipeline.chain_statistics import units_of
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.units import each
from experiments.streaming_evidence.nested import PUBLISHED, evidence_of, nested_runs
from experiments.streaming_evidence.problem import exact_linear, keys_of_runs, model_of, rows_of_stream
from experiments.streaming_evidence.settings import MODELS, Settings

_ROWS_TO_COMPILE = 10  # a number with which compiling takes no more time than it must
_TITLES = {"nested": "nested sampling", "annealed": "annealed importance sampling"}

_UNITS = units_of(
    {
        "nats": "nested_log_evidence nested_standard_error annealed_log_evidence",
        "processor s": "nested_seconds annealed_seconds",
        "rows": "nested_likelihood_rows annealed_likelihood_rows annealed_gradient_rows",
        "points": "nested_iterations nested_stuck",
        "annealing steps": "annealed_steps",
        "runs": "n_failures annealed_unfinished",
        "particles": "n_not_finite",
    }
)

_Program = Callable[[Array], Any]  # Makes a run from a key


def run_full_data(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Nested sampling and AIS with the published settings by number of rows [size, repeat], missing if not made."""
    rows = rows_of_stream(dataclasses.replace(settings, n_rows=settings.sizes[-1]))
    model = model_of(settings)
    annealed_sizes = [n for n in settings.sizes if n <= settings.annealed_rows]
    estimators: list[tuple[Any, ...]] = [
        ("nested", settings.sizes, _nested_programs(model, rows), _nested_quantities),
        ("annealed", annealed_sizes, _annealed_programs(model, rows), _annealed_quantities),
    ]
    nested, annealed = each(lambda about: _run_sizes(settings, context, *about), estimators)
    variables: dict[str, Any] = {**nested, **annealed}
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
    quantities: Callable[[Any, int, float], Mapping[str, float]],
) -> dict[str, Any]:
    """Variables of an estimator for the first of the sizes of a case; every run is a unit."""
    progress = Progress(f"{context.label} [{_TITLES[name]}]")
    few = {n: settings.n_few_runs for n in sizes if n > settings.few_runs_above}
    n_runs = {n: min(few.get(n, settings.n_repeats), settings.n_repeats) for n in sizes}
    runs = [(n, repeat) for n in sizes for repeat in range(n_runs[n])]

    def make(number: int) -> NamedArrays:
        n_rows, repeat = runs[number]
        program = program_for(n_rows)
        key = keys_of_runs(context, repeat + 1, settings.stream, name, n_rows)[repeat]
        start = time.process_time()
        run = jax.block_until_ready(program(key))
        seconds = time.process_time() - start
        progress.say(f"{n_rows} rows in {seconds:.1f} s")
        return {quantity: np.asarray(value) for quantity, value in quantities(run, n_rows, seconds).items()}

    found = context.units.stage(name, len(runs), make)
    variables = {}
    for quantity in found[0] if found else ():
        values = np.full((len(settings.sizes), settings.n_repeats), np.nan)
        for (n_rows, repeat), unit in zip(runs, found, strict=True):
            values[settings.sizes.index(n_rows), repeat] = unit[quantity]
        variables[quantity] = (("size", "repeat"), values, {"units": _UNITS[quantity]})
    return variables


def _nested_programs(model: RowModel, rows: FloatArray) -> Callable[[int], _Program]:
    compiled: list[Callable[[Array, int], NestedRun]] = []

    def program_for(n_rows: int) -> _Program:
        if not compiled:
            compiled.append(nested_runs(model, rows, PUBLISHED))
            compiled[0](jax.random.key(0), _ROWS_TO_COMPILE)  # before the clock starts
        return lambda key: compiled[0](key, n_rows)

    return program_for


def _annealed_programs(model: RowModel, rows: FloatArray) -> Callable[[int], _Program]:
    run = jax.jit(full_data_evidence(model, AnnealedSettings()))

    @functools.lru_cache(maxsize=1)
    def program_for(n_rows: int) -> _Program:
        data = jnp.asarray(rows[:n_rows])
        compiled = run.lower(jax.random.key(0), data).compile()
        return lambda key: compiled(key, data)

    return program_for


def _nested_quantities(run: NestedRun, n_rows: int, seconds: float) -> Mapping[str, float]:
    found = evidence_of(run, PUBLISHED)
    return {
        "nested_log_evidence": found.value,
        "nested_standard_error": found.standard_error,
        "nested_seconds": seconds,
        "nested_likelihood_rows": float(run.n_evaluations) * n_rows,
        "nested_iterations": float(run.n_iterations),
        "nested_stuck": float(run.n_stuck),
        "n_failures": float(not run.finished),
    }


def _annealed_quantities(run: AnnealedRun, n_rows: int, seconds: float) -> Mapping[str, float]:
    del n_rows
    return {
        "annealed_log_evidence": float(run.log_evidence),
        "annealed_seconds": seconds,
        "annealed_steps": float(run.n_annealing_steps),
        "annealed_likelihood_rows": float(run.n_likelihood_rows),
        "annealed_gradient_rows": float(run.n_gradient_rows),
        "annealed_unfinished": float(run.n_unfinished),
        "n_not_finite": float(run.n_not_finite),
    }
