"""Time of a stochastic-gradient step, and of a whole stream, next to what the machine allows.

Published settings (10 particles, 500 past rows drawn for each and 500 rows of the chunk), float32. The limit of a
step is the sum of three times measured in turns with it: its multiplications and additions at the rate of a
matrix product that fits in the cache, its exponentials at the rate of the library's vectorised exponential, and the
gathering of its past rows. Then whole streams without compilation.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.driver.row_chunks import ChunkSizes, growing_chunks
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams.contract import Chunk, PastRows, Stream, StreamSettings, Target
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.kernels.streams.stochastic_gradient_moves import stochastic_gradient_moves
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.regression.softmax_regression import softmax_regression
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray, NamedArrays
from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from experiments.streaming_evidence.model import blocks, rows

MODELS: dict[str, RowModel] = {
    "linear": linear_regression(5),
    "softmax": softmax_regression(10, 4),
    "mixture": gaussian_mixture(5),
}
# Of a row's gradient: multiplications and additions, and exponentials (a logarithm is not needed).
WORK = {"linear": (24, 0), "softmax": (4 * 4 * 11, 4), "mixture": (12 * 5 * 2, 5)}
SETTINGS = StreamSettings()
CAPACITY = 100_000
STEP, SECONDS, ERROR = "CPU time of a step", "CPU time of the stream", "error of log evidence"


@cache
def _stored(name: str) -> Array:
    return jnp.asarray(rows(name, CAPACITY), jnp.float32)


def _seconds(program: Any, i: int) -> float:
    """CPU seconds of a call, over calls of about a tenth of a second together."""
    key = jax.random.key(i)
    once = timed(program, key).cpu_s
    return timed(program, key, calls=max(1, int(0.1 / max(once, 1e-6)))).cpu_s


def _step(name: str) -> Run:
    model, n, stored = MODELS[name], SETTINGS.n_particles, _stored(name)
    past, chunk = PastRows(stored, jnp.int32(CAPACITY)), Chunk(stored[:500], jnp.int32(500))
    particles = 0.1 * jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(0), n)).astype(jnp.float32)
    target = Target(chunk, jnp.float64(0.5), past, jnp.int64(CAPACITY))
    move = stochastic_gradient_moves(model, SETTINGS)
    program = compiled(lambda key: move(key, particles, target), jax.random.key(0))
    return lambda i: {STEP: 1e6 * _seconds(program, i) / SETTINGS.n_moves}


def _limit(name: str) -> Run:
    """The parts of a step at their best rates."""

    def unknown(key: Array) -> Array:
        # A small number that the compiler does not know.
        return jax.random.key_data(key)[-1].astype(jnp.float32) * 1e-9

    n, size, stored, key = SETTINGS.n_particles, 256, _stored(name), jax.random.key(0)
    matrix = jnp.ones((size, size), jnp.float32)
    values = jnp.linspace(-3.0, 3.0, 8192, dtype=jnp.float32)
    numbers = jax.random.randint(jax.random.key(2), (SETTINGS.n_moves, n, 500), 0, CAPACITY, jnp.int32)
    n_rows, (flops, exponentials) = n * (SETTINGS.batch_size + 500), WORK[name]
    parts: list[tuple[Callable[[Array], Array], float]] = [
        (lambda key: matrix @ (matrix + unknown(key)), n_rows * flops / (2 * size**3)),
        (lambda key: jnp.exp(values + unknown(key)), n_rows * exponentials / len(values)),
        (
            lambda key: stored.at[numbers + unknown(key).astype(jnp.int32)].get(mode="clip"),
            1 / SETTINGS.n_moves,
        ),
    ]
    programs = [(compiled(part, key), times) for part, times in parts]
    return lambda i: {STEP: sum(1e6 * times * _seconds(program, i) for program, times in programs)}


def _steps(name: str, quick: bool) -> Sequence[Program]:
    return [Program("auxmc", partial(_step, name)), Program("limit", partial(_limit, name))]


def _streams(name: str, quick: bool) -> Sequence[Program]:
    model, n_rows, growing = MODELS[name], 1_000_000, growing_chunks(20, 500)

    def prepare(stream: Stream, sizes: ChunkSizes) -> Run:
        def run(i: int) -> dict[str, float]:
            key = jax.random.key(i)
            record, seconds = absorb(
                stream, lambda _: blocks(name, n_rows), key, model.n_columns, chunk_sizes=sizes
            )
            if name != "linear":
                return {SECONDS: seconds}
            return {SECONDS: seconds, ERROR: float(record["log_evidence"][-1]) - exact_evidence(n_rows)}

        return run

    sequential = particle_evidence(model, SETTINGS._replace(estimator="sequential"))
    programs = {
        "auxmc, running Laplace": partial(prepare, running_laplace(model), growing),
        "auxmc, sequential": partial(prepare, sequential, growing),
        "auxmc, annealed": partial(prepare, particle_evidence(model, SETTINGS), ChunkSizes()),
    }
    # Their errors differ by hundreds of nats.
    return [Program(program, make, compared=False) for program, make in programs.items()]


def absorb(
    stream: Stream, read: Callable[[int], Iterator[FloatArray]], key: Array, n_columns: int, **options: Any
) -> tuple[NamedArrays, float]:
    """Runs a stream: its record, and the CPU seconds from the first reading on, when everything is compiled.

    Args:
        stream: as for `run_stream`, like the others.
    """
    begin = 0.0

    def noted(skip: int) -> Iterator[FloatArray]:
        nonlocal begin
        begin = time.process_time()
        return read(skip)

    record = run_stream(stream, noted, key, n_columns, **options).record
    return record, time.process_time() - begin


@cache
def exact_evidence(n_rows: int) -> float:
    """Log evidence of so many rows of the linear model, in nats."""
    exact = PrefixEvidence.empty(5)
    for block in blocks("linear", n_rows):
        exact = extend_evidence(exact, block, 1.0)
    return exact.log_evidence(1.0)


BENCHMARK = Benchmark(
    problems={f"a step, {name}": partial(_steps, name) for name in MODELS}
    | {f"{name}, 1e6 rows": partial(_streams, name) for name in MODELS},
    units={STEP: "microseconds", SECONDS: "s", ERROR: "nats"},
    quick=["a step, linear", "a step, softmax"],
)
