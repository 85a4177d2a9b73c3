"""Runs the streaming estimators of a case."""

import jax.numpy as jnp
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.drive import Runs, run_repeats
from experiments.streaming_evidence.estimators import build_stream, extras_of
from experiments.streaming_evidence.hybrid import hybrid_start
from experiments.streaming_evidence.problem import ends_of, keys_of_runs, model_of, rows_of_stream
from experiments.streaming_evidence.references import near_exact
from experiments.streaming_evidence.settings import METHODS, MODELS, Point, Settings, points
from experiments.streaming_evidence.statistics import stream_statistics


def run_series(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs every combination of the batched settings, each `n_repeats` times.

    Returns:
        Groups `statistics` and `curves`.
    """
    statistics, curves = [], []
    data: dict[str, FloatArray] = {}
    for point in points(settings):
        own = point.settings
        if own.stream not in data or len(data[own.stream]) < own.n_rows:
            data = {own.stream: rows_of_stream(own)}
        rows, ends = data[own.stream][: own.n_rows], ends_of(own)
        runs = _run_point(point, rows, ends, context)
        start = None
        if own.n_hybrid_runs and METHODS[own.method].estimator == "sequential":
            start = hybrid_start(own, rows, context)
        about = {name: [value] for name, value in point.axes.items()}
        part, curve = stream_statistics(own, rows, runs, ends, start)
        statistics.append(part.expand_dims(about))
        curves.append(curve.expand_dims(about))
    if settings.reference == "auto" and MODELS[settings.stream] != "linear":
        curves.append(near_exact(settings, _reference_sizes(settings), context))
    return {"statistics": _merged(statistics), "curves": _merged(curves)}


def _run_point(point: Point, rows: FloatArray, ends: list[int], context: RunContext) -> Runs:
    settings = point.settings
    # The streams of random numbers do not depend on the settings of the estimator: neighbours in a sweep share them.
    about = (settings.stream, settings.n_components, settings.method)
    return run_repeats(
        build_stream(model_of(settings), settings),
        [rows] * settings.n_repeats,
        ends,
        keys_of_runs(context, settings.n_repeats, *about),
        context,
        "-".join([settings.method, *(f"{name}={value}" for name, value in point.axes.items())]),
        extras=extras_of(settings),
        # A running Gaussian needs all digits of the rows.
        dtype=jnp.float64 if METHODS[settings.method].estimator == "running_laplace" else jnp.float32,
    )


def _reference_sizes(settings: Settings) -> list[int]:
    """Powers of ten from 1000 rows on and the last row; of streams that change, the last row alone."""
    if settings.stream in ("non_stationary", "shuffled"):
        return [settings.n_rows]
    tens = [10**power for power in range(3, 8) if 10**power < settings.n_rows]
    return [*tens, settings.n_rows]


def _merged(parts: list[xr.Dataset]) -> xr.Dataset:
    return parts[0] if len(parts) == 1 else xr.merge(parts, join="outer", compat="no_conflicts")
