"""Speed of pseudo-marginal chains on the Gaussian latent variable model, against a plain JAX program.

    python benchmarks/gaussian_latent.py [--repetitions 5] [--seconds 1] [--output benchmarks/results]

Runs 10 chains side by side on one pinned core, for PM MH and APM MI+MH with 1, 8 and 32 importance samples:

* plain: the method as one would first write it, a `lax.scan` of a step that splits its key, draws all auxiliary
  variables [importance, observation, dim] with `jax.random.normal`, evaluates and selects, under `vmap`;
* full: the kernels of the package and its driver with the same auxiliary variables;
* lumped: the same with the few numbers on which the estimate depends, as the studies use where it is exact.

All three record the position and the accept flags of every iteration, as NumPy arrays. Repetitions are
interleaved, so that a disturbance of the machine falls on all programs. Compilation is not counted. Rates
per second of CPU time are given beside those per second of wall time because they are less affected by other
programs. The generators of normal and chi-squared numbers are measured alone as well. Writes
gaussian_latent.csv and gaussian_latent.md.
"""

import argparse
import csv
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from auxmc.driver.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.blocks import Sampler, sample
from auxmc.driver.progress import Progress
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.models.estimator import Estimator
from auxmc.models.gaussian.latent import (
    GaussianLatentModel,
    estimator,
    gaussian_latent_model,
    lumped_estimator,
    simulate_data,
)
from auxmc.numerics.random import chi_square, standard_normal

__all__ = ["main"]

N_CHAINS = 10
SCALE = 0.425
METHODS = ("pm_mh", "apm_mi_mh")
N_IMPORTANCE = (1, 8, 32)
PILOT_DRAWS = 2000
COLUMNS = ("method", "n_importance", "program", "wall_rate", "cpu_rate", "cpu_ratio", "repetitions")
GENERATOR_COLUMNS = ("law", "n_numbers", "program", "cpu_ns_per_number", "ratio")


class Timing(NamedTuple):
    """Iterations of all chains together in one second of wall time and of CPU time."""

    wall_rate: float
    cpu_rate: float


class _Clock(Progress):
    """Notes wall and CPU time after compilation and after the last block, in place of printing."""

    def start(self, total: int, done: int, compile_s: float) -> None:
        del total, done, compile_s
        self.begin = (time.perf_counter(), time.process_time())

    def advance(self, done: int, run_s: float) -> None:
        del done, run_s
        self.end = (time.perf_counter(), time.process_time())


def main() -> None:
    """Runs the benchmark and writes its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repetitions", type=int, default=5, help="runs of each program; their median counts"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a run, about")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="folder for the tables"
    )
    arguments = parser.parse_args()
    if arguments.repetitions < 1 or not arguments.seconds > 0.0:
        parser.error("--repetitions and --seconds must be positive")
    core = _pin()

    model = gaussian_latent_model(simulate_data(1).observations)
    rows = []
    # The driver compiles its program in every run; the cache makes that short after the first.
    with tempfile.TemporaryDirectory() as cache:
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        for method in METHODS:
            for n_importance in N_IMPORTANCE:
                rows += _compare(model, method, n_importance, arguments.repetitions, arguments.seconds)
        generators = _compare_generators(arguments.repetitions)
    arguments.output.mkdir(parents=True, exist_ok=True)
    _write_csv(arguments.output / "gaussian_latent.csv", COLUMNS, rows)
    _write_csv(arguments.output / "gaussian_latent_generators.csv", GENERATOR_COLUMNS, generators)
    text = _markdown(rows, generators, core)
    (arguments.output / "gaussian_latent.md").write_text(text)
    print(text)


def _pin() -> str:
    """Binds the process, before JAX starts its threads, to the last core that it may use."""
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def _compare(
    model: GaussianLatentModel, method: str, n_importance: int, repetitions: int, seconds: float
) -> list[tuple[Any, ...]]:
    """Rows of the table for one method and number of importance samples."""
    programs = {
        "plain": partial(_run_plain, model, method, n_importance, {}),
        "full": partial(_run_driver, model, method, estimator(model, n_importance)),
        "lumped": partial(_run_driver, model, method, lumped_estimator(model, n_importance)),
    }
    n_draws = {}
    for name, run in programs.items():
        pilot = run(PILOT_DRAWS)
        n_draws[name] = max(PILOT_DRAWS, int(seconds * pilot.cpu_rate / N_CHAINS) // 1000 * 1000)
    timings: dict[str, list[Timing]] = {name: [] for name in programs}
    for _ in range(repetitions):
        for name, run in programs.items():
            timings[name].append(run(n_draws[name]))
            print(f"{method} N={n_importance} {name}: {timings[name][-1]}", file=sys.stderr, flush=True)
    wall = {name: statistics.median(t.wall_rate for t in runs) for name, runs in timings.items()}
    cpu = {name: statistics.median(t.cpu_rate for t in runs) for name, runs in timings.items()}
    return [
        (
            method,
            n_importance,
            name,
            round(wall[name]),
            round(cpu[name]),
            cpu[name] / cpu["plain"],
            repetitions,
        )
        for name in programs
    ]


def _run_driver(model: GaussianLatentModel, method: str, estimate: Estimator, n_draws: int) -> Timing:
    """Runs the package's kernel with the package's driver."""

    def build(scale: Array) -> Any:
        return pseudo_marginal_method(method, estimate, scale, model.dim)

    def initial(key: Array, scale: Array) -> Any:
        position = jax.random.normal(jax.random.fold_in(key, 0), (model.dim,))
        return build(scale).init(jax.random.fold_in(key, 1), position)

    def record(state: Any, info: Any) -> dict[str, Array]:
        return {
            "position": state.position,
            "accepted_position": info.accepted_position,
            "accepted_auxiliary": info.accepted_auxiliary,
        }

    clock = _Clock("benchmark")
    keys = jax.random.split(jax.random.key(0), N_CHAINS)
    sample(
        Sampler(build, initial, record),
        jnp.full(N_CHAINS, SCALE),
        keys,
        n_draws=n_draws,
        block_size=n_draws,
        progress=clock,
    )
    return _timing(n_draws, clock.begin, clock.end)


def _run_plain(
    model: GaussianLatentModel, method: str, n_importance: int, compiled: dict[int, Any], n_draws: int
) -> Timing:
    """Runs the plain program, which is compiled once for each number of draws."""
    states = _plain_initial(model, n_importance)
    if n_draws not in compiled:
        step = _plain_step(model, method, n_importance)
        run = jax.jit(jax.vmap(lambda state: jax.lax.scan(step, state, None, length=n_draws)))
        compiled[n_draws] = run.lower(states).compile()
    begin = (time.perf_counter(), time.process_time())
    _, recorded = compiled[n_draws](states)
    jax.tree.map(np.asarray, recorded)
    return _timing(n_draws, begin, (time.perf_counter(), time.process_time()))


def _plain_log_estimate(model: GaussianLatentModel) -> Callable[[Array, Array], Array]:
    observations = jnp.asarray(model.observations)

    def log_estimate(x: Array, u: Array) -> Array:
        latent = x + model.sd_latent * u
        log_weights = -0.5 * jnp.sum(((observations - latent) / model.sd_observation) ** 2, axis=(1, 2))
        return -0.5 * jnp.sum(x**2) + jax.nn.logsumexp(log_weights)

    return log_estimate


def _plain_initial(model: GaussianLatentModel, n_importance: int) -> tuple[Array, ...]:
    log_estimate = _plain_log_estimate(model)
    keys = jax.random.split(jax.random.key(0), N_CHAINS)
    x = jax.vmap(lambda key: jax.random.normal(jax.random.fold_in(key, 0), (model.dim,)))(keys)
    shape = (n_importance, *model.observations.shape)
    u = jax.vmap(lambda key: jax.random.normal(jax.random.fold_in(key, 1), shape))(keys)
    return keys, x, u, jax.vmap(log_estimate)(x, u)


def _plain_step(model: GaussianLatentModel, method: str, n_importance: int) -> Callable[[Any, None], Any]:
    log_estimate = _plain_log_estimate(model)
    shape = (n_importance, *model.observations.shape)

    def joint_step(state: tuple[Array, ...], _: None) -> Any:
        key, x, u, current = state
        key, key_x, key_u, key_accept = jax.random.split(key, 4)
        new_x = x + SCALE * jax.random.normal(key_x, x.shape)
        new_u = jax.random.normal(key_u, shape)
        proposed = log_estimate(new_x, new_u)
        accept = jnp.log(jax.random.uniform(key_accept)) < proposed - current
        x, u = jnp.where(accept, new_x, x), jnp.where(accept, new_u, u)
        return (key, x, u, jnp.where(accept, proposed, current)), (x, accept, accept)

    def split_step(state: tuple[Array, ...], _: None) -> Any:
        key, x, u, current = state
        key, key_x, key_u, key_accept_u, key_accept_x = jax.random.split(key, 5)
        new_u = jax.random.normal(key_u, shape)
        proposed = log_estimate(x, new_u)
        accept_u = jnp.log(jax.random.uniform(key_accept_u)) < proposed - current
        u, current = jnp.where(accept_u, new_u, u), jnp.where(accept_u, proposed, current)
        new_x = x + SCALE * jax.random.normal(key_x, x.shape)
        proposed = log_estimate(new_x, u)
        accept_x = jnp.log(jax.random.uniform(key_accept_x)) < proposed - current
        x, current = jnp.where(accept_x, new_x, x), jnp.where(accept_x, proposed, current)
        return (key, x, u, current), (x, accept_x, accept_u)

    return joint_step if method == "pm_mh" else split_step


def _compare_generators(repetitions: int) -> list[tuple[Any, ...]]:
    """Rows of the table of random numbers: many small draws side by side, as the driver makes them."""
    rows: list[tuple[Any, ...]] = []
    for shape in ((10,), (10, 10), (32, 10, 10)):
        programs = {
            "jax.random.normal": partial(jax.random.normal, shape=shape),
            "auxmc": partial(standard_normal, shape=shape),
        }
        rows += _generator_rows("normal", shape, programs, repetitions)
    for shape in ((1,), (8,), (32,)):
        programs = {
            "jax.random.gamma": lambda key, shape=shape: 2.0 * jax.random.gamma(key, 44.5, shape),
            "auxmc": partial(chi_square, degrees=89, shape=shape),
        }
        rows += _generator_rows("chi-squared, 89 degrees", shape, programs, repetitions)
    return rows


def _generator_rows(
    law: str, shape: tuple[int, ...], programs: dict[str, Callable[[Array], Array]], repetitions: int
) -> list[tuple[Any, ...]]:
    n_numbers = int(np.prod(shape))
    keys = jax.random.split(jax.random.key(0), max(256, 40_000 // n_numbers))
    compiled = {name: jax.jit(jax.vmap(draw)).lower(keys).compile() for name, draw in programs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(3 * repetitions):
        for name, run in compiled.items():
            begin = time.process_time()
            jax.block_until_ready(run(keys))
            seconds[name].append(time.process_time() - begin)
    cost = {name: 1e9 * statistics.median(s) / (len(keys) * n_numbers) for name, s in seconds.items()}
    reference = next(iter(cost.values()))
    return [(law, n_numbers, name, value, reference / value) for name, value in cost.items()]


def _timing(n_draws: int, begin: tuple[float, float], end: tuple[float, float]) -> Timing:
    iterations = n_draws * N_CHAINS
    return Timing(iterations / (end[0] - begin[0]), iterations / (end[1] - begin[1]))


def _write_csv(path: Path, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def _markdown(rows: list[tuple[Any, ...]], generators: list[tuple[Any, ...]], core: str) -> str:
    lines = [
        "# Gaussian latent variable model: iterations per second",
        "",
        f"{N_CHAINS} chains side by side, one core of {_processor()} ({core}), float64, Python "
        f"{platform.python_version()}, JAX {jax.__version__}, {time.strftime('%Y-%m-%d')}. Iterations of all chains "
        f"together, medians of {rows[0][-1]} interleaved repetitions, compilation not counted. Load average "
        f"at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.",
        "",
        "| method | N | program | per second | per CPU second | CPU ratio to plain |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {m} | {n} | {p} | {wall:,} | {cpu:,} | {ratio:.1f} |" for m, n, p, wall, cpu, ratio, _ in rows
    ]
    lines += [
        "",
        "Random numbers alone, drawn for many keys side by side:",
        "",
        "| law | numbers a key | program | CPU ns per number | ratio |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {law} | {n} | {p} | {cost:.1f} | {ratio:.1f} |" for law, n, p, cost, ratio in generators]
    return "\n".join(lines) + "\n"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
