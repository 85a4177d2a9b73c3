"""The estimators of this package, as programs of the comparison in streaming_evidence.py."""

from auxmc.numerics.array_types import FloatArray
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from streaming_problems import (
    Outcome,
    Prepared,
    Problem,
    Sizes,
    laplace_importance,
    log_likelihood_of,
)

from auxmc.diagnostics.nested_evidence import nested_evidence
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.streams import StreamRun, run_stream
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.kernels.streams.contract import Stream, StreamSettings
from auxmc.kernels.streams.published_estimators import stream_evidence

__all__ = ["PROGRAMS"]

CHUNK = 500
N_DRAWS = 2000
N_STARTS = 8


def of_stream(stream: Stream, per_chunk: Callable[[dict[str, np.ndarray]], float]) -> Any:
    """A stream estimator as a program; compilation is repeated, and counted apart, in every run."""

    def prepare(problem: Problem) -> Prepared:
        def read(n_before: int) -> Iterator[FloatArray]:
            yield problem.rows[n_before:]

        def absorb(seed: int, read: Callable[[int], Iterator[FloatArray]]) -> StreamRun:
            return run_stream(
                stream,
                read,
                jax.random.key(seed),
                problem.model.n_columns,
                chunk_sizes=ChunkSizes(later=CHUNK),
                capacity=len(problem.rows),
                dtype=jnp.float64,
            )

        def run(seed: int) -> Outcome:
            record = absorb(seed, read).record
            return Outcome(float(record["log_evidence"][-1]), float(record["seconds"][-1]), per_chunk(record))

        return Prepared(absorb(0, lambda n: iter([problem.rows[n:CHUNK]])).compile_s, run)

    return prepare


def annealed(problem: Problem, sizes: Sizes) -> Prepared:
    """The published stream estimator."""
    settings = StreamSettings()

    def evaluations(record: dict[str, np.ndarray]) -> float:
        batch = np.where(record["n_rows"] > CHUNK, settings.batch_size, 0)
        moves = settings.n_moves * settings.n_particles * (CHUNK + batch)
        return float(np.sum(record["n_annealing_steps"] * (settings.n_particles * CHUNK + moves)))

    return of_stream(stream_evidence(problem.model, settings), evaluations)(problem)


def running(problem: Problem, sizes: Sizes) -> Prepared:
    """Particles at first, then a running Gaussian."""
    return of_stream(running_laplace(problem.model), lambda record: math.nan)(problem)


def growing(problem: Problem, sizes: Sizes) -> Prepared:
    """Sequential Monte Carlo over growing data."""
    settings = GrowingDataSettings(
        sizes.n_particles, own_pilot=False, largest_chunk=len(problem.rows), move_always=False
    )
    compile_s, program = _compiled(
        growing_data_evidence(problem.model, settings), jax.random.key(0), problem.rows
    )

    def run(seed: int) -> Outcome:
        found, seconds = _timed(program, jax.random.key(seed), problem.rows)
        work = found.record.n_likelihood_rows.sum() + found.record.n_gradient_rows.sum()
        return Outcome(float(found.log_evidence), seconds, float(work))

    return Prepared(compile_s, run)


def nested(problem: Problem, sizes: Sizes) -> Prepared:
    """Nested sampling with robust settings."""
    model, log_likelihood = problem.model, log_likelihood_of(problem)
    settings = NestedSettings(n_live=sizes.n_live, n_moves=5 * model.dim, max_iterations=400 * sizes.n_live)

    def sample(key: Array, data: Array) -> Any:
        draw_key, run_key = jax.random.split(key)
        draws = jax.vmap(model.draw_prior)(jax.random.split(draw_key, sizes.n_live))
        run = nested_sampling(lambda point: log_likelihood(point, data), model.log_prior, settings)
        return run(run_key, draws)

    compile_s, program = _compiled(sample, jax.random.key(0), problem.rows)

    def run(seed: int) -> Outcome:
        found, seconds = _timed(program, jax.random.key(seed), problem.rows)
        n_dead = int(found.n_iterations)
        value = nested_evidence(
            found.log_likelihoods[:n_dead], sizes.n_live, found.live_log_likelihoods
        ).value
        return Outcome(
            value if bool(found.finished) else math.nan,
            seconds,
            float(found.n_evaluations) * len(problem.rows),
        )

    return Prepared(compile_s, run)


def laplace(problem: Problem, sizes: Sizes) -> Prepared:
    """Importance sampling at the mode. What a second run does not need again is compilation."""
    jax.clear_caches()
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        laplace_importance(problem, 0, 2, N_STARTS)
        seconds.append(time.perf_counter() - begin)
    compile_s = seconds[0] - seconds[1]

    def run(seed: int) -> Outcome:
        begin = time.perf_counter()
        found = laplace_importance(problem, seed + 1, N_DRAWS, N_STARTS)
        return Outcome(found.log_evidence, time.perf_counter() - begin, math.nan)

    return Prepared(compile_s, run)


def _compiled(function: Callable[..., Any], *arguments: Any) -> tuple[float, Callable[..., Any]]:
    begin = time.perf_counter()
    program = jax.jit(function).lower(*arguments).compile()
    return time.perf_counter() - begin, program


def _timed(program: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    begin = time.perf_counter()
    found = jax.block_until_ready(program(*arguments))
    return found, time.perf_counter() - begin


PROGRAMS: dict[str, Callable[[Problem, Sizes], Prepared]] = {
    "auxmc, annealed": annealed,
    "auxmc, running Laplace": running,
    "auxmc, growing data": growing,
    "auxmc, nested sampling": nested,
    "auxmc, Laplace importance sampling": laplace,
}
