"""Runs the streaming estimators of a case and makes tidy quantities of their records."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import stream
from auxmc.numerics.array_types import FloatArray, IntegerArray, NamedArrays
from experiments.streaming_evidence.drive import Runs, run_repeats
from experiments.streaming_evidence.estimators import build_stream, extras_of
from experiments.streaming_evidence.hybrid import HybridStart, hybrid_start
from experiments.streaming_evidence.problem import (
    HYBRID_ROWS,
    ends_of,
    exact_linear,
    model_of,
    rows_of_stream,
    shown_ends,
)
from experiments.streaming_evidence.references import near_exact
from experiments.streaming_evidence.settings import METHODS, MODELS, Point, Settings, points


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
        rows = data[own.stream][: own.n_rows]
        runs, ends = _run_point(point, rows, context)
        start = None
        if own.n_hybrid_runs and METHODS[own.method].estimator == "sequential":
            start = hybrid_start(own, rows, context)
        about = {name: [value] for name, value in point.axes.items()}
        part, curve = series_datasets(own, rows, runs, ends, start)
        statistics.append(part.expand_dims(about))
        curves.append(curve.expand_dims(about))
    if settings.reference == "auto" and MODELS[settings.stream] != "linear":
        curves.append(_references(settings, context))
    return {"statistics": _merged(statistics), "curves": _merged(curves)}


def _run_point(point: Point, rows: FloatArray, context: RunContext) -> tuple[Runs, list[int]]:
    settings = point.settings
    model = model_of(settings)
    # The streams of random numbers do not depend on the settings of the estimator: neighbours in a sweep share them.
    about = (settings.stream, settings.n_components, settings.method)
    keys = [stream(context.seed, context.study, *about, repeat) for repeat in range(settings.n_repeats)]
    ends = ends_of(settings)
    names = "-".join([settings.method, *(f"{name}={value}" for name, value in point.axes.items())])
    estimator = build_stream(model, settings)
    # A running Gaussian needs all digits of the rows.
    dtype = jnp.float64 if METHODS[settings.method].estimator == "running_laplace" else jnp.float32
    runs = run_repeats(
        estimator, [rows] * len(keys), ends, keys, context, names, extras=extras_of(settings), dtype=dtype
    )
    return runs, ends


def series_datasets(
    settings: Settings, rows: FloatArray, runs: Runs, ends: list[int], start: HybridStart | None
) -> tuple[xr.Dataset, xr.Dataset]:
    """Statistics of each run, and what it has found after chosen chunks.

    Args:
        settings: of the runs.
        rows: that were absorbed.
        runs: records [repeat, chunk].
        ends: rows absorbed at the end of each chunk.
        start: nested sampling's values for the first rows, where there is one.
    """
    shown = shown_ends(ends)
    at = np.asarray(ends)[shown]
    record = runs.record
    steps = np.cumsum(record["n_annealing_steps"], axis=1, dtype=np.int64)
    work = operations(settings, record, ends)
    dims = ("repeat", "absorbed")
    nats: dict[str, Any] = {"units": "nats"}
    curves: dict[str, Any] = {
        "log_evidence": (dims, record["log_evidence"][:, shown], nats),
        "n_steps_so_far": (dims, steps[:, shown], {"units": "annealing steps"}),
        "n_chunks_so_far": ("absorbed", shown + 1, {"units": "chunks"}),
        "seconds": (dims, record["seconds"][:, shown], {"units": "processor s"}),
        "operations": (dims, np.cumsum(work, axis=1)[:, shown], {"units": "row likelihoods and gradients"}),
    }
    if "mean_log_weight" in record:
        curves["mean_log_weight"] = (dims, record["mean_log_weight"][:, shown], nats)
        curves["variance_ratio"] = (dims, _interval_means(record["variance_ratio"], shown), {"units": ""})
    final = record["log_evidence"][:, -1]
    statistics: dict[str, Any] = {
        "final_log_evidence": ("repeat", final, nats),
        "final_log_evidence_per_row": ("repeat", final / ends[-1], nats),
        "steps_per_chunk": ("repeat", steps[:, -1] / len(ends), {"units": "annealing steps"}),
        "seconds_total": ("repeat", record["seconds"][:, -1], {"units": "processor s"}),
        "seconds_compiling": ((), runs.compile_s, {"units": "s"}),
        "operations_total": ("repeat", work.sum(axis=1), {"units": "row likelihoods and gradients"}),
        "n_chunks": ((), len(ends), {"units": "chunks"}),
        "n_failures": ("repeat", record["n_unfinished"].sum(axis=1), {"units": "chunks"}),
        "n_not_finite": ("repeat", record["n_not_finite"][:, -1], {"units": "particles"}),
    }
    if MODELS[settings.stream] == "linear":
        exact = exact_linear(rows, ends)
        curves["exact"] = ("absorbed", exact[shown], nats)
        curves["error"] = (dims, record["log_evidence"][:, shown] - exact[shown], nats)
        statistics["final_error"] = ("repeat", final - exact[-1], nats)
        statistics["final_error_per_row"] = ("repeat", (final - exact[-1]) / ends[-1], nats)
    if start is not None:
        _add_hybrid(statistics, curves, settings, rows, record, ends, shown, start)
    coords = {"repeat": np.arange(len(final)), "absorbed": at}
    return xr.Dataset(statistics, {"repeat": coords["repeat"]}), xr.Dataset(curves, coords)


def operations(settings: Settings, record: NamedArrays, ends: list[int]) -> FloatArray:
    """Likelihoods and gradients of rows that each chunk has cost, gradients at anchors included [repeat, chunk].

    Missing for the estimator that moves particles by what the rows ask for.
    """
    method = METHODS[settings.method]
    if "n_gradient_rows" in record:
        return np.asarray(record["n_likelihood_rows"] + record["n_gradient_rows"], float)
    if method.estimator == "running_laplace":
        return np.full(record["log_evidence"].shape, np.nan)
    sizes = np.diff([0, *ends])
    past = np.where(np.arange(len(ends)) > 0, settings.batch_size, 0) * (1 + method.control_variates)
    each = settings.n_particles * (sizes + settings.n_moves * (sizes + past))
    return np.asarray(record["n_annealing_steps"] * each, float)


def _add_hybrid(
    statistics: dict[str, Any],
    curves: dict[str, Any],
    settings: Settings,
    rows: FloatArray,
    record: NamedArrays,
    ends: list[int],
    shown: IntegerArray,
    start: HybridStart,
) -> None:
    """Replaces the terms of the first rows; runs beyond the number of nested runs use these again."""
    first = ends.index(HYBRID_ROWS)
    for name, values in (("hybrid", start.robust), ("hybrid_published", start.published)):
        own = np.resize(values, len(record["log_evidence"]))
        joined = record["log_evidence"] - record["log_evidence"][:, first : first + 1] + own[:, None]
        joined[:, :first] = np.nan
        curves[f"log_evidence_{name}"] = (("repeat", "absorbed"), joined[:, shown], {"units": "nats"})
        if MODELS[settings.stream] == "linear":
            exact = exact_linear(rows, ends)
            curves[f"error_{name}"] = (("repeat", "absorbed"), (joined - exact)[:, shown], {"units": "nats"})
    statistics["hybrid_seconds"] = ((), start.seconds, {"units": "s"})


def _interval_means(values: NDArray[Any], shown: IntegerArray) -> FloatArray:
    """Means over the chunks since the one shown before [repeat, shown]."""
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=float)], axis=1)
    edges = np.concatenate([[0], shown + 1])
    return np.asarray(np.diff(sums[:, edges], axis=1) / np.diff(edges))


def _references(settings: Settings, context: RunContext) -> xr.Dataset:
    found = near_exact(settings, _reference_sizes(settings), context)
    variables: dict[str, Any] = {
        "reference": ("absorbed", found.log_evidence, {"units": "nats"}),
        "reference_error": ("absorbed", found.standard_error, {"units": "nats"}),
        "reference_size": ("absorbed", found.relative_size, {"units": ""}),
    }
    return xr.Dataset(variables, {"absorbed": found.n_rows})


def _reference_sizes(settings: Settings) -> list[int]:
    """Powers of ten from 1000 rows on and the last row; of streams that change, the last row alone."""
    if settings.stream in ("non_stationary", "shuffled"):
        return [settings.n_rows]
    tens = [10**power for power in range(3, 8) if 10**power < settings.n_rows]
    return [*tens, settings.n_rows]


def _merged(parts: list[xr.Dataset]) -> xr.Dataset:
    return parts[0] if len(parts) == 1 else xr.merge(parts, join="outer", compat="no_conflicts")
