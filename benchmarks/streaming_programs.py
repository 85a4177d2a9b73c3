"""The estimators of this package, as programs of the comparison in streaming_evidence.py."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.diagnostics.nested_evidence import nested_evidence
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.kernels.streams.contract import Stream, StreamSettings
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.models.row_model import RowModel
from benchmarks.contract import compiled, timed
from benchmarks.streaming_problems import Prepare, Problem, laplace_importance, log_likelihood_of
from benchmarks.streaming_speed import absorb

__all__ = ["annealed", "growing", "laplace", "nested", "running"]

CHUNK = 500
N_DRAWS = 2000
N_STARTS = 8


def of_stream(stream_of: Callable[[RowModel], Stream]) -> Prepare:
    """A stream estimator as a program; it compiles in every run, before its time begins."""

    def prepare(problem: Problem, size: int) -> Any:
        stream, n_rows = stream_of(problem.model), len(problem.rows)

        def run(seed: int) -> tuple[float, float]:
            record, seconds = absorb(
                stream,
                lambda n_before: iter([problem.rows[n_before:]]),
                jax.random.key(seed),
                problem.model.n_columns,
                chunk_sizes=ChunkSizes(later=CHUNK),
                capacity=n_rows,
                dtype=jnp.float64,
            )
            return float(record["log_evidence"][-1]), seconds

        return run

    return prepare


annealed = of_stream(lambda model: stream_evidence(model, StreamSettings()))
running = of_stream(running_laplace)


def growing(problem: Problem, size: int) -> Any:
    """Sequential Monte Carlo over growing data."""
    settings = GrowingDataSettings(size, own_pilot=False, largest_chunk=len(problem.rows), move_always=False)
    program = compiled(growing_data_evidence(problem.model, settings), jax.random.key(0), problem.rows)

    def run(seed: int) -> tuple[float, float]:
        found, seconds, _ = timed(program, jax.random.key(seed), problem.rows)
        return float(found.log_evidence), seconds

    return run


def nested(problem: Problem, size: int) -> Any:
    """Nested sampling with robust settings."""
    model, log_likelihood = problem.model, log_likelihood_of(problem)
    settings = NestedSettings(n_live=size, n_moves=5 * model.dim, max_iterations=400 * size)

    def sample(key: Array, data: Array) -> Any:
        draw_key, run_key = jax.random.split(key)
        draws = jax.vmap(model.draw_prior)(jax.random.split(draw_key, size))
        run = nested_sampling(lambda point: log_likelihood(point, data), model.log_prior, settings)
        return run(run_key, draws)

    program = compiled(sample, jax.random.key(0), problem.rows)

    def run(seed: int) -> tuple[float, float]:
        found, seconds, _ = timed(program, jax.random.key(seed), problem.rows)
        if not bool(found.finished):
            raise RuntimeError(f"not at the end after {settings.max_iterations} iterations")
        dead = found.log_likelihoods[: int(found.n_iterations)]
        return nested_evidence(dead, size, found.live_log_likelihoods).value, seconds

    return run


def laplace(problem: Problem, size: int) -> Any:
    """Importance sampling at the mode."""
    laplace_importance(problem, 0, N_DRAWS, N_STARTS)  # compiles

    def run(seed: int) -> tuple[float, float]:
        found, seconds, _ = timed(laplace_importance, problem, seed + 1, N_DRAWS, N_STARTS)
        return found.log_evidence, seconds

    return run
