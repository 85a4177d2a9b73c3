"""Time of a stochastic-gradient step, and of a whole stream, beside what the machine allows.

    python benchmarks/streaming_speed.py [--rows 1000000] [--models linear,softmax,mixture] [--repeats 7] [--output DIR]

Published settings (10 particles, 500 past rows drawn for each and 500 rows of the chunk), float32, one core. The
limit of a step is the sum of three times measured in the same run: its multiplications and additions at the rate of a
matrix product that fits in the cache, its exponentials at the rate of the library's vectorised exponential, and the
gathering of its past rows. Then the whole stream: seconds without compilation for the given number of rows, annealing
steps a chunk, and the error in nats where the evidence is known. Writes streaming_steps.csv, streaming_streams.csv and
streaming_speed.md.
"""

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from auxmc.driver.runtime import configure, limit_threads

limit_threads()
configure("cpu")  # before JAX is imported, as a run of a study does

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.data.simulated_streams import blocks, rows
from auxmc.driver.row_chunks import ChunkSizes, growing_chunks
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.kernels.streams.stochastic_gradient_moves import stochastic_gradient_moves
from auxmc.kernels.streams.contract import Chunk, PastRows, Stream, StreamSettings, Target
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.row_model import RowModel
from auxmc.models.regression.softmax_regression import softmax_regression

__all__ = ["main"]

MODELS: dict[str, RowModel] = {
    "linear": linear_regression(5),
    "softmax": softmax_regression(10, 4),
    "mixture": gaussian_mixture(5),
}
# Of a row's gradient: multiplications and additions, and exponentials (a logarithm is not needed).
WORK = {"linear": (24, 0), "softmax": (4 * 4 * 11, 4), "mixture": (12 * 5 * 2, 5)}
SETTINGS = StreamSettings()
CAPACITY = 100_000


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args(arguments)
    names = options.models.split(",")
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}: choose from {', '.join(MODELS)}")
    steps = [step_times(name, options.repeats) for name in names]
    streams = []
    for name in names:
        for program in ("annealed", "sequential", "running_laplace"):
            streams.append(whole_stream(name, program, options.rows))
            print(streams[-1], flush=True)
    write(options.output, steps, streams)
    return 0


def step_times(name: str, repeats: int) -> dict[str, Any]:
    """Microseconds of a step and of its parts at their best rates."""
    model, n = MODELS[name], SETTINGS.n_particles
    stored = jnp.asarray(rows(name, CAPACITY), jnp.float32)
    past, chunk = PastRows(stored, jnp.int32(CAPACITY)), Chunk(stored[:500], jnp.int32(500))
    particles = 0.1 * jax.vmap(model.draw_prior)(jax.random.split(jax.random.key(0), n)).astype(jnp.float32)
    target = Target(chunk, jnp.float64(0.5), past, jnp.int64(CAPACITY))
    move = jax.jit(stochastic_gradient_moves(model, SETTINGS))
    step = seconds(lambda key: move(key, particles, target), repeats) / SETTINGS.n_moves

    size = 256
    matrix = jnp.ones((size, size), jnp.float32)
    product = seconds(jax.jit(lambda key: matrix @ (matrix + key_number(key))), repeats)
    values = jnp.linspace(-3.0, 3.0, 8192, dtype=jnp.float32)
    exponential = seconds(jax.jit(lambda key: jnp.exp(values + key_number(key))), repeats)
    numbers = jax.random.randint(jax.random.key(2), (SETTINGS.n_moves, n, 500), 0, CAPACITY, jnp.int32)
    gather = seconds(
        jax.jit(lambda key: stored.at[numbers + key_number(key).astype(jnp.int32)].get(mode="clip")), repeats
    )
    n_rows = n * (SETTINGS.batch_size + 500)
    flops, exponentials = WORK[name]
    parts = {
        "arithmetic": n_rows * flops * product / (2 * size**3),
        "exponentials": n_rows * exponentials * exponential / len(values),
        "gathering": gather / SETTINGS.n_moves,
    }
    limit = sum(parts.values())
    found = {"model": name, "step_us": 1e6 * step, "limit_us": 1e6 * limit, "share_of_limit": limit / step}
    found |= {f"{part}_us": 1e6 * value for part, value in parts.items()}
    print(found, flush=True)
    return found


def key_number(key: Array) -> Array:
    """A small number that the compiler does not know."""
    return jax.random.key_data(key)[-1].astype(jnp.float32) * 1e-9


def seconds(function: Callable[[Array], Any], repeats: int) -> float:
    """Median CPU seconds of a call, each median over calls of about a tenth of a second together."""
    key = jax.random.key(1)
    jax.block_until_ready(function(key))
    start = time.process_time()
    jax.block_until_ready(function(key))
    n_calls = max(1, int(0.1 / max(time.process_time() - start, 1e-6)))
    found = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(n_calls):
            result = function(key)
        jax.block_until_ready(result)
        found.append((time.process_time() - start) / n_calls)
    return statistics.median(found)


def whole_stream(name: str, program: str, n_rows: int) -> dict[str, Any]:
    """A run over a simulated stream."""
    model = MODELS[name]
    sizes, stream = _program(model, program)
    start = time.process_time()
    run = run_stream(
        stream, lambda skip: _after(name, n_rows, skip), jax.random.key(0), model.n_columns, chunk_sizes=sizes
    )
    used = time.process_time() - start
    record = run.record
    found = {
        "model": name,
        "program": program,
        "rows": int(record["n_rows"][-1]),
        "seconds": float(record["seconds"][-1]),
        "compile_s": run.compile_s,
        "cpu_s_in_all": used,
        "annealing_steps": float(record["n_annealing_steps"].mean()),
        "log_evidence": float(record["log_evidence"][-1]),
        "error_nats": "",
    }
    if name == "linear":
        exact = PrefixEvidence.empty(5)
        for block in blocks(name, n_rows):
            exact = extend_evidence(exact, block, 1.0)
        found["error_nats"] = found["log_evidence"] - exact.log_evidence(1.0)
    return found


def _program(model: RowModel, program: str) -> tuple[ChunkSizes, Stream]:
    if program == "running_laplace":
        return growing_chunks(20, 500), running_laplace(model)
    if program == "sequential":
        return growing_chunks(20, 500), stream_evidence(model, SETTINGS._replace(estimator="sequential"))
    return ChunkSizes(), stream_evidence(model, SETTINGS)


def _after(name: str, n_rows: int, skip: int) -> Any:
    if skip:
        raise ValueError("these streams are not resumed")
    return blocks(name, n_rows)


def write(folder: Path, steps: list[dict[str, Any]], streams: list[dict[str, Any]]) -> None:
    """Tables as CSV and Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for part, table in (("steps", steps), ("streams", streams)):
        with (folder / f"streaming_{part}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(table)
        lines += ["| " + " | ".join(table[0]) + " |", "|" + "---|" * len(table[0])]
        lines += ["| " + " | ".join(_cell(value) for value in row.values()) + " |" for row in table]
        lines.append("")
    (folder / "streaming_speed.md").write_text("\n".join(lines))


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) and abs(value) < 1e5 else str(value)


if __name__ == "__main__":
    sys.exit(main())
