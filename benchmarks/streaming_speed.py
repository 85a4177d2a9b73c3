"""Time and memory of streams: a stochastic-gradient step, whole streams, and runs of 1e4 to 1e8 rows.

Published settings (10 particles, 500 past rows drawn for each and 500 rows of the chunk), float32. The limit of a
step is the sum of three times measured in turns with it: its multiplications and additions at the rate of a
matrix product that fits in the cache, its exponentials at the rate of the library's vectorised exponential, and the
gathering of its past rows. Then whole streams without compilation, and memory: the linear model in a process of its own
with a checkpoint on disk, its rows simulated block by block as they are read.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.provenance import peak_memory_mib
from auxmc.driver.row_chunks import ChunkSizes, growing_chunks
from auxmc.driver.runtime import configure
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
from benchmarks.harness import Benchmark, Program, Run, compiled, reported, timed
from experiments.streaming_evidence.model import blocks, rows

MODELS: dict[str, RowModel] = {
    "linear": linear_regression(5),
    "softmax": softmax_regression(10, 4),
    "mixture": gaussian_mixture(5),
}
# Of a row's gradient: multiplications and additions, and exponentials (a logarithm is not needed).
WORK = {"linear": (24, 0), "softmax": (4 * 4 * 11, 4), "mixture": (12 * 5 * 2, 5)}
SETTINGS = StreamSettings()
CAPACITY, N_ROWS = 100_000, 1_000_000
STEP, SECONDS, ERROR = "CPU time of a step", "CPU time of the stream", "error of log evidence"
CPU, MEMORY = "CPU time for a million rows", "peak memory"


@cache
def _stored(name: str) -> Array:
    return jnp.asarray(rows(name, CAPACITY), jnp.float32)


def _seconds(program: Any, i: int) -> float:
    """CPU seconds of a call, over calls of about a tenth of a second together."""
    key = jax.random.key(i)
    once = timed(program, key).cpu_s
    return timed(program, key, calls=max(1, int(0.1 / max(once, 1e-6)))).cpu_s


def _step(name: str, quick: bool) -> Run:
    model, n, stored = MODELS[name], SETTINGS.n_particles, _stored(name)
    past, chunk = PastRows(stored, jnp.int32(CAPACITY)), Chunk(stored[:500], jnp.int32(500))
    particles = 0.1 * jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(0), n)).astype(jnp.float32)
    target = Target(chunk, jnp.float64(0.5), past, jnp.int64(CAPACITY))
    move = stochastic_gradient_moves(model, SETTINGS)
    program = compiled(lambda key: move(key, particles, target), jax.random.key(0))
    return lambda i: {STEP: 1e6 * _seconds(program, i) / SETTINGS.n_moves}


def _limit(name: str, quick: bool) -> Run:
    """The parts of a step at their best rates."""

    def unknown(key: Array) -> Array:
        # A small number that the compiler does not know.
        return jax.random.key_data(key)[-1].astype(jnp.float32) * 1e-9

    n, size, stored, key = SETTINGS.n_particles, 256, _stored(name), jax.random.key(0)
    matrix = jnp.ones((size, size), jnp.float32)
    values = jnp.linspace(-3.0, 3.0, 8192, dtype=jnp.float32)
    numbers = jax.random.randint(jax.random.key(2), (SETTINGS.n_moves, n, 500), 0, CAPACITY, jnp.int32)
    n_rows, (flops, exponentials) = n * (SETTINGS.batch_size + 500), WORK[name]

    def gather(key: Array) -> Array:
        return stored.at[numbers + unknown(key).astype(jnp.int32)].get(mode="clip")

    parts: list[tuple[Callable[[Array], Array], float]] = [
        (lambda key: matrix @ (matrix + unknown(key)), n_rows * flops / (2 * size**3)),
        (lambda key: jnp.exp(values + unknown(key)), n_rows * exponentials / len(values)),
        (gather, 1 / SETTINGS.n_moves),
    ]
    programs = [(compiled(part, key), times) for part, times in parts]
    return lambda i: {STEP: sum(1e6 * times * _seconds(program, i) for program, times in programs)}


def _stream(name: str, stream: Stream, sizes: ChunkSizes, quick: bool) -> Run:
    def run(i: int) -> dict[str, float]:
        key, n_columns = jax.random.key(i), MODELS[name].n_columns
        record, seconds = absorb(stream, lambda _: blocks(name, N_ROWS), key, n_columns, chunk_sizes=sizes)
        if name != "linear":
            return {SECONDS: seconds}
        return {SECONDS: seconds, ERROR: float(record["log_evidence"][-1]) - exact_evidence(N_ROWS)}

    return run


def _streams(name: str, model: RowModel) -> list[Program]:
    sequential, growing = SETTINGS._replace(estimator="sequential"), growing_chunks(20, 500)
    return [
        Program("auxmc, running Laplace", partial(_stream, name, running_laplace(model), growing)),
        Program("auxmc, sequential", partial(_stream, name, particle_evidence(model, sequential), growing)),
        Program("auxmc, annealed", partial(_stream, name, particle_evidence(model, SETTINGS), ChunkSizes())),
    ]


def absorb(
    stream: Stream, read: Callable[[int], Iterator[FloatArray]], key: Array, n_columns: int, **options: Any
) -> tuple[NamedArrays, float]:
    """Runs a stream, as `run_stream`: its record, and CPU seconds from the first reading on, when all is compiled."""
    begin = 0.0

    def noted(skip: int, checksum: int) -> Iterator[FloatArray]:
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


SPEED = {
    f"a step, {name}": [Program("auxmc", partial(_step, name)), Program("limit", partial(_limit, name))]
    for name in MODELS
} | {f"{name}, 1e6 rows": _streams(name, model) for name, model in MODELS.items()}
MEMORIES = {
    f"1e{power} rows": [Program("auxmc, annealed", partial(reported, "streaming_speed", [str(10**power)]))]
    for power in (4, 6, 8)
}
BENCHMARKS = {
    "streaming_speed": Benchmark(
        SPEED,
        units={STEP: "microseconds", SECONDS: "s", ERROR: "nats"},
        quick=["a step, linear", "a step, softmax"],
        of_other_quality=["auxmc, sequential", "auxmc, annealed"],
    ),
    "streaming_memory": Benchmark(MEMORIES, units={CPU: "s", MEMORY: "MiB"}, quick=["1e4 rows", "1e6 rows"]),
}

if __name__ == "__main__":
    configure("cpu")
    n_rows, key = int(sys.argv[1]), jax.random.key(int(sys.argv[2]))
    stream = particle_evidence(MODELS["linear"], SETTINGS)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "state", "benchmark")
        _, seconds = absorb(stream, lambda _: blocks("linear", n_rows), key, 6, checkpoint=checkpoint)
    print(json.dumps({CPU: 1e6 * seconds / n_rows, MEMORY: peak_memory_mib()}))
