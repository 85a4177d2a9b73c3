"""Dispatches a case to its design, and runs the streaming estimators of a case."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.units import each
from experiments.streaming_evidence.bounds import run_bounds
from experiments.streaming_evidence.designs import run_nested_pair, run_starts, run_stopping
from experiments.streaming_evidence.drive import Runs, run_repeats
from experiments.streaming_evidence.estimators import build_stream, particle_extras
from experiments.streaming_evidence.full_data import run_full_data
from experiments.streaming_evidence.measure import stream_statistics
from experiments.streaming_evidence.nested import hybrid_start
from experiments.streaming_evidence.problem import ends_of, keys_of_runs, model_of, rows_of_stream
from experiments.streaming_evidence.references import near_exact
from experiments.streaming_evidence.settings import METHODS, MODELS, Point, Settings, points

_Found = tuple[xr.Dataset | None, xr.Dataset]  # statistics, of runs alone, and curves


def run_series(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs all combinations of batched settings, each `n_repeats` times; returns groups `statistics` and `curves`."""
    data: dict[str, FloatArray] = {}

    def of_point(point: Point) -> _Found:
        own = point.settings
        if own.stream not in data or len(data[own.stream]) < own.n_rows:
            data.clear()
            data[own.stream] = rows_of_stream(own)
        return _run_point(point, data[own.stream][: own.n_rows], context)

    tasks: list[Callable[[], _Found]] = [partial(of_point, point) for point in points(settings)]
    if settings.reference == "auto" and MODELS[settings.stream] != "linear":
        tasks.append(lambda: (None, near_exact(settings, _reference_sizes(settings), context)))
    found = each(operator.call, tasks)
    statistics = [part for part, _ in found if part is not None]
    return {"statistics": _merged(statistics), "curves": _merged([curves for _, curves in found])}


def _run_point(point: Point, rows: FloatArray, context: RunContext) -> _Found:
    own, ends = point.settings, ends_of(point.settings)
    names = "-".join([own.method, *(f"{name}={value}" for name, value in point.axes.items())])
    tasks: list[Callable[[], Any]] = [partial(_run_repeats, own, rows, ends, context, names)]
    if own.n_hybrid_runs and METHODS[own.method].estimator == "sequential":
        tasks.append(partial(hybrid_start, own, rows, context, names))
    runs, *start = each(operator.call, tasks)
    statistics, curves = stream_statistics(own, rows, runs, ends, start[0] if start else None)
    about = {name: [value] for name, value in point.axes.items()}
    return statistics.expand_dims(about), curves.expand_dims(about)


def _run_repeats(
    settings: Settings, rows: FloatArray, ends: list[int], context: RunContext, names: str
) -> Runs:
    # The streams of random numbers do not depend on the settings of the estimator: neighbours in a sweep share them.
    about = (settings.stream, settings.n_components, settings.method)
    estimator = METHODS[settings.method].estimator
    numbers = range(1, settings.n_repeats + 1)
    return run_repeats(
        build_stream(model_of(settings), settings),
        [rows_of_stream(settings, n) for n in numbers] if settings.redrawn else [rows] * settings.n_repeats,
        ends,
        keys_of_runs(context, settings.n_repeats, *about),
        context,
        names,
        extras=particle_extras if estimator in ("annealed", "sequential") else lambda _: {},
        # A running Gaussian needs all digits of the rows.
        dtype=jnp.float64 if estimator == "running_laplace" else jnp.float32,
    )


def _reference_sizes(settings: Settings) -> list[int]:
    """Powers of ten from 1000 rows on and the last row; of streams that change, the last row alone."""
    if settings.stream in ("non_stationary", "shuffled"):
        return [settings.n_rows]
    tens = [10**power for power in range(3, 8) if 10**power < settings.n_rows]
    return [*tens, settings.n_rows]


def _merged(parts: list[xr.Dataset]) -> xr.Dataset:
    return parts[0] if len(parts) == 1 else xr.merge(parts, join="outer", compat="no_conflicts")


_DESIGNS = {
    "stream": run_series,
    "full_data": run_full_data,
    "stopping": run_stopping,
    "starts": run_starts,
    "nested_pair": run_nested_pair,
    "bounds": run_bounds,
}


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns group `statistics`, and `curves` for streams."""
    return _DESIGNS[settings.design](settings, context)
