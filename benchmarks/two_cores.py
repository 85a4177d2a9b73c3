"""What a second core brings: probit estimates by two processes, and four chains of `auxmc.sample` on two cores.

Four processes that count say what the machine gives at all: where they gain little, something else runs as well.
"""

import multiprocessing
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from auxmc.driver.runtime import configure
from benchmarks import gp_probit, library_speed
from benchmarks.contract import Benchmark, Program, Run, timed
from experiments.gp_probit.model import gp_probit_model, load_biopsy, standardise

__all__ = ["BENCHMARK"]

RATE, WALL, CPU = "estimates per second", "wall time", "CPU time"
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


def _counting(quick: bool) -> Sequence[Program]:
    del quick
    count = [sys.executable, "-S", "-c", "x = 0\nfor i in range(20_000_000): x += i"]

    def run(at_a_time: int, i: int) -> dict[str, float]:
        del i
        begin = time.perf_counter()
        for _ in range(4 // at_a_time):
            for process in [subprocess.Popen(count) for _ in range(at_a_time)]:
                process.wait()
        return {WALL: time.perf_counter() - begin}

    words = {2: "two at a time", 1: "one at a time"}
    return [Program(word, partial(partial, run, n)) for n, word in words.items()]


def _chains(name: str, quick: bool) -> Sequence[Program]:
    def prepare(cores: int) -> Run:
        sample = library_speed.sample_chains(name, 4, cores)

        def run(i: int) -> dict[str, float]:
            cost = timed(lambda: sample(i) and None)
            return {WALL: cost.wall_s, CPU: cost.cpu_s}

        return run

    words = {2: "two cores", 1: "one core"}
    return [Program(f"auxmc.sample, {word}", partial(prepare, n)) for n, word in words.items()]


BENCHMARK = Benchmark(
    problems={"processes that count": _counting, "probit estimates": _estimates}
    | {f"four chains, {name}": partial(_chains, name) for name in library_speed.PROBLEMS},
    units={RATE: "1/s", WALL: "s", CPU: "s"},
    page_problems=["probit estimates", "four chains, simulator"],
    page_quantities=[RATE, WALL],
    quick=["processes that count", *(f"four chains, {name}" for name in library_speed.PROBLEMS)],
    repeats=3,
    cores=2,
)
