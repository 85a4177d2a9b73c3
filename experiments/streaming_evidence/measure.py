"""Quantities of streaming runs, from the records of their chunks."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from auxmc.numerics.array_types import FloatArray, IntegerArray, NamedArrays
from experiments.streaming_evidence.drive import Runs
from experiments.streaming_evidence.nested import HybridStart
from experiments.streaming_evidence.problem import HYBRID_ROWS, exact_linear, shown_ends
from experiments.streaming_evidence.settings import METHODS, MODELS, Settings


def stream_statistics(
    settings: Settings, rows: FloatArray, runs: Runs, ends: list[int], start: HybridStart | None
) -> tuple[xr.Dataset, xr.Dataset]:
    """Statistics of runs [repeat, chunk], and findings after chosen chunks; `start` has nested sampling's values."""
    shown = shown_ends(ends)
    record = runs.record
    steps = np.cumsum(record["n_annealing_steps"], axis=1, dtype=np.int64)
    work = operations(settings, record, ends)
    estimates = {"": record["log_evidence"]}
    if start is not None:
        for name, values in (("_hybrid", start.robust), ("_hybrid_published", start.published)):
            estimates[name] = hybrid_estimate(record["log_evidence"], ends, values)
    dims = ("repeat", "absorbed")
    nats: dict[str, Any] = {"units": "nats"}
    curves: dict[str, Any] = {
        **{f"log_evidence{name}": (dims, found[:, shown], nats) for name, found in estimates.items()},
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
    if start is not None:
        statistics["hybrid_seconds"] = ((), start.seconds, {"units": "s"})
    if MODELS[settings.stream] == "linear":
        exact = exact_linear(rows, ends)
        curves["exact"] = ("absorbed", exact[shown], nats)
        errors = {name: (found - exact)[:, shown] for name, found in estimates.items()}
        curves |= {f"error{name}": (dims, error, nats) for name, error in errors.items()}
        statistics["final_error"] = ("repeat", final - exact[-1], nats)
        statistics["final_error_per_row"] = ("repeat", (final - exact[-1]) / ends[-1], nats)
    repeats = {"repeat": np.arange(len(final))}
    absorbed = {"absorbed": np.asarray(ends)[shown]}
    return xr.Dataset(statistics, repeats), xr.Dataset(curves, repeats | absorbed)


def operations(settings: Settings, record: NamedArrays, ends: list[int]) -> FloatArray:
    """Likelihoods and gradients of rows of a chunk, with anchors [repeat, chunk]; missing for the running Gaussian."""
    method = METHODS[settings.method]
    if "n_gradient_rows" in record:
        return np.asarray(record["n_likelihood_rows"] + record["n_gradient_rows"], float)
    if method.estimator == "running_laplace":
        return np.full(record["log_evidence"].shape, np.nan)
    sizes = np.diff([0, *ends])
    past = np.where(np.arange(len(ends)) > 0, settings.batch_size, 0) * (1 + method.control_variates)
    each = settings.n_particles * (sizes + settings.n_moves * (sizes + past))
    return np.asarray(record["n_annealing_steps"] * each, float)


def hybrid_estimate(log_evidence: FloatArray, ends: list[int], start: FloatArray) -> FloatArray:
    """Estimates [repeat, chunk] with the first HYBRID_ROWS rows' terms from `start` [run], repeated as needed."""
    first = ends.index(HYBRID_ROWS)
    own = np.resize(start, len(log_evidence))
    joined = log_evidence - log_evidence[:, first : first + 1] + own[:, None]
    joined[:, :first] = np.nan
    return joined


def _interval_means(values: NDArray[Any], shown: IntegerArray) -> FloatArray:
    """Means over the chunks since the one shown before [repeat, shown]."""
    sums = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=float)], axis=1)
    edges = np.concatenate([[0], shown + 1])
    return np.asarray(np.diff(sums[:, edges], axis=1) / np.diff(edges))
