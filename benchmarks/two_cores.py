"""What a second core brings: probit estimates by two processes, and four chains of `auxmc.sample` on two cores."""

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from auxmc.driver.runtime import configure
from benchmarks import gp_probit, library_speed
from benchmarks.harness import Benchmark, Program, Run, timed
from experiments.gp_probit.model import gp_probit_model, load_biopsy, standardise

RATE, WALL = "estimates per second", "wall time"
# Of a process: when all have come, each goes through its positions.
_state: dict[str, Any] = {}


def _begin(barrier: Any) -> None:
    configure("cpu")
    data = load_biopsy()
    model = gp_probit_model(standardise(data.features), data.labels)
    _state.update(barrier=barrier, program=gp_probit.estimates(model))


def _work(seconds: float) -> float:
    """Estimates a second of this process."""
    _state["barrier"].wait()
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        float(_state["program"](gp_probit.position(count)))
        count += 1
    return count / (time.perf_counter() - begin)


def _estimates(quick: bool) -> Sequence[Program]:
    seconds = 1.0 if quick else 5.0

    def prepare(n: int) -> Run:
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(n, spawn, _begin, (spawn.Barrier(n),))
        list(pool.map(_work, [0.1] * n))
        return lambda i: {RATE: sum(pool.map(_work, [seconds] * n))}

    words = {2: "two processes", 1: "one process"}
    return [Program(f"auxmc, {word}", partial(prepare, n)) for n, word in words.items()]


def _chains(quick: bool) -> Sequence[Program]:
    def prepare(cores: int) -> Run:
        sample = library_speed.sample_chains("simulator", 4, cores)
        return lambda i: {WALL: timed(lambda: sample(i) and None).wall_s}

    words = {2: "two cores", 1: "one core"}
    return [Program(f"auxmc.sample, {word}", partial(prepare, n)) for n, word in words.items()]


BENCHMARK = Benchmark(
    problems={"probit estimates": _estimates, "four chains, simulator": _chains},
    units={RATE: "1/s", WALL: "s"},
    quick=["four chains, simulator"],
    repeats=3,
    cores=2,
)
