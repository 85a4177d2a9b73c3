"""Time of one density estimate of the Gaussian process probit model, against a textbook program.

    python benchmarks/gp_probit.py [--repetitions 20] [--seconds 5] [--output benchmarks/results]

Measures, on all complete rows of the breast cancer data and one thread, a full estimate at a new x (Newton
iteration, factorisations, N importance samples) and an estimate with new auxiliary variables at the same x:

* textbook: the same model compiled with JAX, each formula as printed: dense covariance of the approximation,
  its Cholesky factor, `jnp.linalg.cholesky`, `jax.scipy.special.log_ndtr`, one latent value a row;
* rows: `auxmc.models.regression.gp_probit` with one latent value a row;
* collapsed: the same with one latent value for each distinct row, which the studies use;
* LAPACK: the Cholesky factorisations of a collapsed estimate and nothing else, called through SciPy on ready
  matrices: what no program of the same algorithm can undercut with this LAPACK.

Repetitions of the programs are interleaved, so that a disturbance of the machine falls on all of them. CPU
time is given beside wall time because it is less affected by other programs. Then one and two worker
processes make estimates for a while, which shows what a second core brings. Writes gp_probit.csv and
gp_probit.md.
"""

import argparse
import csv
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from auxmc.driver.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.special import log_ndtr, logsumexp
from scipy.linalg.lapack import dpotrf

from auxmc.models.regression.gp_probit import (
    GPProbitModel,
    estimator,
    gp_probit_model,
    load_biopsy,
    standardise,
)

__all__ = ["main", "textbook_estimate"]

POSTERIOR_REGION = (2.1, 1.0, 1.2, 1.1, 1.4, 1.3, 0.9, 1.2, 1.1, 1.3)
COLUMNS = ("program", "quantity", "latent_values", "wall_ms", "wall_minimum_ms", "cpu_ms", "ratio")


class Program(NamedTuple):
    """A compiled program to time, and what it is called in the table.

    Attributes:
        name: textbook, rows, collapsed or LAPACK.
        quantity: full estimate, new auxiliary variables, or factorisations alone.
        n_latent: latent values in the model.
        call: runs it once, to the end, at position number i.
    """

    name: str
    quantity: str
    n_latent: int
    call: Callable[[int], None]


def textbook_estimate(features: Array, labels: Array, x: Array, u: Array) -> Array:
    """Log density estimate by the printed formulae.

    Args:
        features: [row, feature].
        labels: +1 or -1 [row].
        x: (log s, log l_1, ..., log l_K) [dim].
        u: auxiliary variables [row, importance].

    Returns:
        Log estimate, in nats.
    """
    n_rows, n_features = features.shape
    lengths = jnp.exp(x[1:])
    differences = (features[:, None, :] - features[None, :, :]) / lengths
    covariance = jnp.exp(x[0]) * jnp.exp(-0.5 * jnp.sum(differences**2, axis=-1)) + 1e-8 * jnp.eye(n_rows)

    def newton_step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        z = state[0]
        v = jnp.exp(-0.5 * z**2 - log_ndtr(labels * z) - 0.5 * jnp.log(2.0 * jnp.pi))
        w = jnp.maximum(v**2 + labels * z * v, 0.0)
        root = jnp.sqrt(w)
        factor = jnp.linalg.cholesky(jnp.eye(n_rows) + root[:, None] * covariance * root[None, :])
        b = w * z + labels * v
        a = b - root * cho_solve((factor, True), root * (covariance @ b))
        z_new = covariance @ a
        return z_new, root, factor, jnp.mean((z_new - z) ** 2)

    zeros = jnp.zeros(n_rows)
    start = (zeros, zeros, jnp.eye(n_rows), jnp.asarray(jnp.inf))
    mode, root, factor, _ = jax.lax.while_loop(lambda state: state[3] >= 1e-4, newton_step, start)
    half = solve_triangular(factor, root[:, None] * covariance, lower=True)
    posterior_factor = jnp.linalg.cholesky(covariance - half.T @ half)
    prior_factor = jnp.linalg.cholesky(covariance)
    z = mode[:, None] + posterior_factor @ u
    log_weights = (
        jnp.sum(log_ndtr(labels[:, None] * z), axis=0)
        - 0.5 * jnp.sum(solve_triangular(prior_factor, z, lower=True) ** 2, axis=0)
        - jnp.sum(jnp.log(jnp.diagonal(prior_factor)))
        + 0.5 * jnp.sum(u**2, axis=0)
        + jnp.sum(jnp.log(jnp.diagonal(posterior_factor)))
    )
    rate = n_features**-0.5
    log_prior = 1.1 * x[0] - 0.1 * jnp.exp(x[0]) + jnp.sum(x[1:] - rate * lengths)
    log_prior += 1.1 * jnp.log(0.1) - jax.lax.lgamma(1.1) + n_features * jnp.log(rate)
    return log_prior + logsumexp(log_weights) - jnp.log(u.shape[1])


def main() -> None:
    """Runs the measurements and writes the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=20, help="timed calls of each program")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each throughput run, in s")
    parser.add_argument("--n-importance", type=int, default=50, help="importance samples in an estimate")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results", help="folder")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work(arguments.n_importance, arguments.seconds)
        return
    _check_agreement()
    rows = _measure(_programs(arguments.n_importance), arguments.repetitions)
    one, two = (_throughput(n, arguments) for n in (1, 2))
    _write(arguments, rows, one, two)


def _positions() -> Array:
    """A few points of the posterior region, so that no call can reuse the result of the one before."""
    noise = np.random.default_rng(0).normal(0.0, 0.1, (8, len(POSTERIOR_REGION)))
    return jnp.asarray(np.asarray(POSTERIOR_REGION) + noise)


def _check_agreement() -> None:
    """Both programs must compute the same number before their times are compared."""
    data = load_biopsy()
    features, labels = standardise(data.features)[:120], data.labels[:120]
    u = jax.random.normal(jax.random.key(0), (10, 120), jnp.float64)
    density = estimator(gp_probit_model(features, labels, collapse_duplicates=False), 10)
    x = jnp.asarray(POSTERIOR_REGION)
    ours = jax.jit(lambda x: density.log_estimate(density.prepare(x), u))(x)
    theirs = jax.jit(textbook_estimate)(jnp.asarray(features), jnp.asarray(labels), x, u.T)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def _programs(n_importance: int) -> list[Program]:
    data = load_biopsy()
    features, labels = standardise(data.features), data.labels
    positions = _positions()
    u = jax.random.normal(jax.random.key(1), (len(labels), n_importance), jnp.float64)
    plain = jax.jit(textbook_estimate)
    programs = [
        Program(
            "textbook",
            "full estimate",
            len(labels),
            lambda i: _finish(plain(jnp.asarray(features), jnp.asarray(labels), positions[i], u)),
        )
    ]
    for name, collapse in (("rows", False), ("collapsed", True)):
        programs.extend(_own_programs(name, gp_probit_model(features, labels, collapse), n_importance))
    return [*programs, _factorisations(gp_probit_model(features, labels))]


def _factorisations(model: GPProbitModel) -> Program:
    """As many factorisations as the estimate at each position makes, of matrices of its size."""
    prepare = jax.jit(estimator(model, 1).prepare)
    # One each Newton step, one of the prior covariance, and one of the importance distribution's precision.
    counts = [int(prepare(x).n_newton) + 2 for x in _positions()]
    n_latent = len(model.inputs)
    matrix = np.asfortranarray(np.asarray(model.covariance(_positions()[0])) + np.eye(n_latent))

    def factorise(i: int) -> None:
        for _ in range(counts[i]):
            _, failed = dpotrf(matrix, lower=1, clean=0)
            if failed:
                raise FloatingPointError("a Cholesky factorisation failed: nothing to time")

    mean = sum(counts) / len(counts)
    return Program("LAPACK", f"factorisations alone ({mean:.1f})", n_latent, factorise)


def _own_programs(name: str, model: GPProbitModel, n_importance: int) -> list[Program]:
    density = estimator(model, n_importance)
    positions = _positions()
    u = density.draw_auxiliary(jax.random.key(1))
    full = jax.jit(lambda x, u: density.log_estimate(density.prepare(x), u))
    again = jax.jit(density.log_estimate)
    cache = jax.jit(density.prepare)(positions[0])
    n_latent = len(model.inputs)
    return [
        Program(name, "full estimate", n_latent, lambda i: _finish(full(positions[i], u))),
        Program(name, "new auxiliary variables", n_latent, lambda i: _finish(again(cache, u))),
    ]


def _finish(value: Array) -> None:
    if not np.isfinite(float(value)):
        raise FloatingPointError("the density estimate is not finite: nothing to time")


def _measure(programs: list[Program], repetitions: int) -> list[dict[str, str]]:
    wall = np.empty((len(programs), repetitions))
    cpu = np.empty((len(programs), repetitions))
    for program in programs:
        program.call(0)
    for repetition in range(repetitions):
        for index, program in enumerate(programs):
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            program.call(repetition % len(_positions()))
            cpu[index, repetition] = 1e3 * (time.process_time() - cpu_start)
            wall[index, repetition] = 1e3 * (time.perf_counter() - wall_start)
    reference = float(np.median(wall[0]))
    rows = []
    for index, program in enumerate(programs):
        median = float(np.median(wall[index]))
        full = program.quantity == "full estimate"
        values = (
            program.name,
            program.quantity,
            str(program.n_latent),
            f"{median:.2f}",
            f"{wall[index].min():.2f}",
            f"{np.median(cpu[index]):.2f}",
            f"{reference / median:.2f}" if full else "",
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def _work(n_importance: int, seconds: float) -> None:
    """Worker: compiles, says so, waits for a line, and prints how many estimates a second it made."""
    data = load_biopsy()
    model = gp_probit_model(standardise(data.features), data.labels)
    program = _own_programs("collapsed", model, n_importance)[0]
    program.call(0)
    print("ready", flush=True)
    sys.stdin.readline()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        program.call(count % 8)
        count += 1
    print(count / (time.perf_counter() - start), flush=True)


def _throughput(n_workers: int, arguments: argparse.Namespace) -> float:
    """Estimates a second of n_workers processes together, collapsed model."""
    command = [
        sys.executable,
        __file__,
        "--worker",
        f"--seconds={arguments.seconds}",
        f"--n-importance={arguments.n_importance}",
    ]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(n_workers)]
    for worker in workers:
        assert worker.stdout is not None
        if worker.stdout.readline().strip() != "ready":
            raise RuntimeError(f"a worker process ended early with status {worker.wait()}")
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return sum(float(worker.communicate()[0]) for worker in workers)


def _processor() -> str:
    """Name of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _write(arguments: argparse.Namespace, rows: list[dict[str, str]], one: float, two: float) -> None:
    arguments.output.mkdir(parents=True, exist_ok=True)
    with (arguments.output / "gp_probit.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    lines = [
        "# Gaussian process probit: time of a density estimate",
        "",
        f"Processor: {_processor()}, {os.cpu_count()} cores, load average at the end {load}. One thread a",
        f"process, float64, jax {jax.__version__}, Python {platform.python_version()}.",
        f"{arguments.n_importance} importance samples, medians of {arguments.repetitions} interleaved calls.",
        "",
        "| program | quantity | latent values | wall, ms | least wall, ms | CPU, ms | textbook time / time |",
        "|---|---|---|---|---|---|---|",
        *("| " + " | ".join(row[column] for column in COLUMNS) + " |" for row in rows),
        "",
        f"Throughput, collapsed, {arguments.seconds:g} s: {one:.1f} estimates/s with one process,",
        f"{two:.1f} with two (ratio {two / one:.2f}).",
        "",
    ]
    text = "\n".join(lines)
    (arguments.output / "gp_probit.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
