"""Evidence of a model over a stream of rows, after every chunk, with an error from independent replicates."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.progress import Progress
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.seeds import stream
from auxmc.driver.stream_program import KeyedStream
from auxmc.driver.streams import StreamRun, run_streams
from auxmc.interface import arguments
from auxmc.interface.advice import Advice, issue
from auxmc.interface.running import same_run
from auxmc.interface.streams.rows import Rows, RowsModel, checked_model, read_rows
from auxmc.interface.trees import dataset_of
from auxmc.kernels.streams.replicates import replicate_log_evidences, replicated_evidence
from auxmc.kernels.streams.running_laplace import RunningLaplaceSettings
from auxmc.models.row_model import RowModel
from auxmc.models.user_model import program_digest
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc.numerics.values import by_value
from auxmc.sampling.resampling import systematic_indices

MAX_SD = 1.0
"""Spread of replicates from which on their mean is that of the luckiest."""
EXCLUDED = "Look at these rows, and give a likelihood with heavier tails or a wider prior"
"""What to do about rows that no particle gives a positive probability."""


@by_value
class StreamEvidence(NamedTuple):
    """Evidence of a model over a stream of rows.

    Attributes:
        log_evidence: log p(all rows), in nats.
        standard_error: from the spread between replicates, and not below what the resampling of their particles leads
            to expect (`diagnostics.errors_of_means.replicated_evidence_error`), in nats.
        n_rows: rows absorbed.
        replicates: log evidence of each replicate, of all rows [replicate], in nats.
        record: dataset over chunks: `n_rows` absorbed, `log_evidence` of them and `standard_error`, both in nats,
            `effective_size` of the importance draws as a fraction of their number (the least of the replicates), and
            `seconds` of running.
        posterior: ArviZ tree of draws given all rows, a chain for each replicate.
        warnings: what is to be said about the estimate; empty where nothing is.
    """

    log_evidence: float
    standard_error: float
    n_rows: int
    replicates: FloatArray
    record: xr.Dataset
    posterior: xr.DataTree
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence of {self.n_rows} rows {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"

    def log_bayes_factor(self, other: "StreamEvidence") -> tuple[float, float]:
        """Log Bayes factor in favour of this model and its standard error, in nats.

        The errors are added as if the two estimates were independent.

        Args:
            other: another model on the same rows.

        Raises:
            TypeError: it is no such evidence.
            ValueError: it has absorbed another number of rows.
        """
        arguments.check_instance("other", other, StreamEvidence, "auxmc.stream_evidence")
        if other.n_rows != self.n_rows:
            raise ValueError(f"evidences of {self.n_rows} and of {other.n_rows} rows cannot be compared")
        error = math.hypot(self.standard_error, other.standard_error)
        return self.log_evidence - other.log_evidence, error


def stream_evidence(
    model: RowsModel | RowModel,
    rows: Any,
    *,
    chunk: int = 500,
    replicates: int = 8,
    capacity: int = 100_000,
    settings: RunningLaplaceSettings = RunningLaplaceSettings(),  # noqa: B008
    seed: int = 0,
    checkpoint: str | Path | None = None,
    progress: bool = True,
) -> StreamEvidence:
    """Log evidence of rows as they come, which need not fit in memory, with its error.

    The first rows are absorbed by particles that make exact moves; a running Gaussian that every chunk corrects then
    takes their place. Independent replicates on one reading of the rows give the error. It covers what differs between
    replicates; where the posterior stays far from a Gaussian when `capacity` rows have come, all of them miss
    the same, and `record.effective_size` and a warning tell.

    Args:
        model: `auxmc.row_model(log_likelihood, log_prior, draw_prior)`, or a RowModel on vectors.
        rows: an array or data frame [row, column], a list of them, or an iterator over them, which is read once.
        chunk: rows that come in together, and after which there is an evidence.
        replicates: independent estimates, at least 2.
        capacity: rows that are kept in memory; a Gaussian must hold the posterior of so many.
        settings: of `auxmc.kernels.streams.running_laplace`.
        seed: of all random numbers.
        checkpoint: folder in which the state is kept every few seconds. The same call with the same rows, or with more
            of them behind these, continues from there, number for number; another is rejected.
        progress: print how far the run is, to standard error, at most every five seconds.

    Raises:
        TypeError: the model or the rows are none, or a function cannot be traced.
        ValueError: a number is out of range, a row is not finite, a function returns another shape than it should, or
            the checkpoint holds a run of something else.

    Warns:
        SamplingWarning: the estimate must not be trusted as it is; says why and what to do.

    Source: `auxmc.kernels.streams.running_laplace`, this project's.
    """
    arguments.require_x64()
    arguments.check_integer("chunk", chunk, 1)
    arguments.check_integer("replicates", replicates, 2, "their spread is the error")
    arguments.check_integer("capacity", capacity, 1)
    arguments.check_seed(seed)
    folder = arguments.checkpoint_folder(checkpoint)
    source = read_rows(rows, chunk)
    checked, said = checked_model(model, source, stream(seed, "stream", "checks"))
    estimator = replicated_evidence(checked, settings, replicates)
    kept = None
    if folder is not None:
        # The functions as they are compiled, the first chunk, and the numbers.
        numbers = repr((chunk, replicates, capacity, settings, seed)).encode()
        parts = (numbers, source.first.tobytes(), program_digest(checked).encode())
        identity = hashlib.sha256(b"".join(parts)).hexdigest()
        kept = Checkpoint(folder / "stream", identity)
        same_run(folder, kept.path(0), identity)
    run = run_streams(
        {"": KeyedStream(estimator, stream(seed, "stream"))},
        source.read,
        source.n_columns,
        chunk_sizes=ChunkSizes((), chunk),
        capacity=capacity,
        dtype=jnp.float64,
        checkpoint=kept,
        report=_reporter(source) if progress else None,
    )[""]
    record = _dataset(run.record, replicates, settings.n_particles)
    last = record.isel(chunk=-1)
    return StreamEvidence(
        float(last["log_evidence"]),
        float(last["standard_error"]),
        int(last["n_rows"]),
        np.asarray(replicate_log_evidences(run.state, replicates)),
        record,
        _posterior(checked, run.state, replicates, stream(seed, "stream", "resampling")),
        issue([*said, *_advice(run, record, replicates)]),
    )


def _dataset(record: NamedArrays, n_replicates: int, n_particles: int) -> xr.Dataset:
    error = replicated_evidence_error(record["replicate_sd"], n_replicates, record["expected_sd"])
    columns = {
        "n_rows": (record["n_rows"], ""),
        "log_evidence": (record["log_evidence"], "nats"),
        "standard_error": (error, "nats"),
        "effective_size": (record["weight_size"] / n_particles, ""),
        "seconds": (record["seconds"], "s"),
    }
    return xr.Dataset({name: ("chunk", values, {"units": unit}) for name, (values, unit) in columns.items()})


def _advice(run: StreamRun, record: xr.Dataset, n_replicates: int) -> Iterator[Advice]:
    impossible = ~np.isfinite(record["log_evidence"].to_numpy())
    if impossible.any():
        chunk = int(np.flatnonzero(impossible)[0])
        last = int(record["n_rows"][chunk])
        first = int(record["n_rows"][chunk - 1]) if chunk else 0
        what = f"the log evidence is {record['log_evidence'][chunk]:g} in rows {first} to {last - 1} (from 0)"
        yield Advice(f"{what}: no particle gives all of them a positive probability", EXCLUDED)
    lost, unfinished = int(run.record["n_not_finite"][-1]), int(run.record["n_unfinished"].sum())
    if lost:
        fix = "Bring the columns to a scale of about 1, or write log_likelihood so that it stays finite"
        yield Advice(f"{lost} particles were lost: their parameters are not finite", fix)
    if unfinished:
        problem = f"{unfinished} chunks were given up before they were absorbed, or fits found no maximum"
        yield Advice(problem, "Give smaller chunks, or a prior that is nearer to what the rows say")
    spread = float(run.record["replicate_sd"][-1])
    if not spread <= MAX_SD:
        fix = "Give settings=RunningLaplaceSettings(n_particles=400, n_moves=10), or smaller chunks"
        problem = f"replicates differ by {spread:.1f} nats (one standard deviation of {n_replicates})"
        yield Advice(f"{problem}: the error is rough", fix)
    state: Any = run.state
    poor = record["effective_size"].to_numpy() < 0.1
    if np.any(state.inner.gaussian) and np.mean(poor[len(poor) // 2 :]) > 0.5:
        size = f"its importance draws have an effective fraction of {float(record['effective_size'][-1]):.2f}"
        fix = "Give more capacity and exact_rows, or smaller chunks"
        yield Advice(f"the running Gaussian does not fit the posterior: {size}", fix)


def _posterior(model: RowModel, state: Any, n_replicates: int, key: Array) -> xr.DataTree:
    particles = jnp.asarray(state.particles).reshape(n_replicates, -1, model.dim)
    log_weights = jnp.asarray(state.log_weights).reshape(n_replicates, -1)
    keys = jax.random.split(key, n_replicates)
    chosen = jax.vmap(lambda k, w: systematic_indices(k, w, w.shape[0]))(keys, log_weights)
    drawn = jnp.take_along_axis(particles, chosen[:, :, None], axis=1)
    values = jax.vmap(jax.vmap(model.natural))(drawn)
    return xr.DataTree.from_dict({"posterior": dataset_of(jax.tree.map(np.asarray, values))})


def _reporter(rows: Rows) -> Any:
    progress = Progress("stream_evidence")
    begun: list[int] = []

    def report(found: dict[str, NamedArrays], resumed: bool) -> None:
        record = found[""]
        n_rows, seconds = int(record["n_rows"][-1]), float(record["seconds"][-1])
        total = rows.n_rows or n_rows + 1
        if resumed or not begun:
            begun.append(n_rows)
            progress.start(total, n_rows if resumed else 0, 0.0, "rows")
        if not resumed:
            progress.advance(n_rows, seconds)

    return report
