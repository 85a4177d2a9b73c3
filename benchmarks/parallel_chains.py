"""Wall time of chains on several cores beside one core, on a machine that does nothing else.

    python -m benchmarks.parallel_chains [--chains 4] [--cores 2] [--pairs 7]

`auxmc.sample` puts each chain on a thread of its own, as many at a time as there are cores; threads share one compiled
program, which runs outside Python's lock. Compilation is left out. One core and several are timed in pairs, in
alternating order. The table has the median of the pairs' ratios with the smallest and the largest, and how many cores
were busy: more than one where one was asked for would hide a gain. What the machine gives is timed in the same way:
processes that count, as many at a time as there are cores, beside the same one after the other. Load averages stand
below the table: a ratio from a machine that was busy says nothing, and the script says so.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.library_speed import PROBLEMS, sample_chains

_COUNT = "x = 0\nfor i in range(20_000_000): x += i"
_BUSY = 0.3


class Times(NamedTuple):
    """Pairs (one core, several) of wall times in seconds, and of cores that were busy meanwhile."""

    walls: list[tuple[float, float]]
    cores: list[tuple[float, float]]


def interleaved(few: Callable[[], object], many: Callable[[], object], pairs: int) -> Times:
    """Times of two functions in turns; which of them is first changes from pair to pair."""
    found = Times([], [])
    for pair in range(pairs):
        order = (few, many) if pair % 2 == 0 else (many, few)
        times = dict(zip(order, map(_timed, order), strict=True))
        found.walls.append((times[few][0], times[many][0]))
        found.cores.append((times[few][1] / times[few][0], times[many][1] / times[many][0]))
    return found


def _timed(function: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of this process and its children."""
    before, wall = os.times(), time.perf_counter()
    function()
    after = os.times()
    return time.perf_counter() - wall, sum(after[:4]) - sum(before[:4])


def _count(n: int, at_a_time: int) -> None:
    for _ in range(n // at_a_time):
        begun = [subprocess.Popen([sys.executable, "-S", "-c", _COUNT]) for _ in range(at_a_time)]
        for process in begun:
            process.wait()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    n, cores = options.chains, options.cores
    if n % cores:
        parser.error("--chains must be a multiple of --cores: else the last ones run alone")
    load = os.getloadavg()[0]
    print(f"{n} chains on {cores} cores beside one\n")
    print("| what | one core, s | times faster | smallest to largest | cores busy, of one | of several |")
    print("|---|---|---|---|---|---|")
    for name in ("processes that count", *PROBLEMS):
        if name in PROBLEMS:
            few, many = (partial(sample_chains(name, n, k), 1) for k in (1, cores))
        else:
            few, many = (partial(_count, n, k) for k in (1, cores))
        found = interleaved(few, many, options.pairs)
        ratios = [one / several for one, several in found.walls]
        busy = [np.median([pair[i] for pair in found.cores]) for i in (0, 1)]
        print(
            f"| {name} | {np.median([one for one, _ in found.walls]):.1f} | {np.median(ratios):.2f} | "
            f"{min(ratios):.2f} to {max(ratios):.2f} | {busy[0]:.2f} | {busy[1]:.2f} |",
            flush=True,
        )
    loads = f"load average {load:.1f} before and {os.getloadavg()[0]:.1f} after"
    print(f"\n{os.cpu_count()} cores, {loads}, jax {jax.__version__}")
    if load > _BUSY:
        print("the machine was busy before: these ratios do not count")


if __name__ == "__main__":
    main()
