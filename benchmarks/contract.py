"""What a benchmark is, and what all of them measure with: time, effective sample size, processes of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ROOT", "Benchmark", "Cost", "Program", "Run", "compiled", "own_process", "smallest_ess", "timed"]

ROOT = Path(__file__).parents[1]
# As it is before JAX is set up for programs in this process: those in processes of their own have their own settings.
_ENVIRONMENT = dict(os.environ)

Run = Callable[[int], Mapping[str, float]]
"""Measures once: maps the number of the random numbers, which no two calls share, to values by quantity."""


class Program(NamedTuple):
    """One way to solve a problem.

    Attributes:
        name: in tables; one name, one program, within a problem.
        prepare: builds and compiles, none of which is measured unless a quantity says so.
        settings: those that were chosen for this program, in words.
        package: whose absence leaves the program out, and whose version is kept with the values.
        compared: whether it does the same as the first program of its problem, as well, so that a ratio says something.
    """

    name: str
    prepare: Callable[[], Run]
    settings: str = ""
    package: str = "jax"
    compared: bool = True


class Benchmark(NamedTuple):
    """Problems with the programs that solve each.

    Attributes:
        problems: programs of each problem, by its name; the argument says whether the quick form is wanted. The first
            program is the one of this package next to which ratios are taken.
        units: of every quantity, in the order of the tables. Ratios are of a problem's first one: more of it is better
            if its unit is 1/s, less of it otherwise.
        quick: problems of the quick form.
        repeats: measurements with one seed, in turns over the programs of a problem.
        seeds: of the whole form; the quick form has three.
        cores: that the benchmark is bound to.
        ratios: whether the programs of a problem are compared.
        timed: whether values belong to the machine.
        table: writes the table from rows of this benchmark and itself; None for the common one.
    """

    problems: Mapping[str, Callable[[bool], Sequence[Program]]]
    units: Mapping[str, str]
    quick: Sequence[str]
    repeats: int = 1
    seeds: int = 3
    cores: int = 1
    ratios: bool = True
    timed: bool = True
    table: Callable[[Any, Any], str] | None = None


class Cost(NamedTuple):
    """What a call returned, and the CPU and wall seconds that it took."""

    value: Any
    cpu_s: float
    wall_s: float


def timed(function: Callable[..., Any], *arguments: Any, calls: int = 1) -> Cost:
    """Calls a function, waits until its arrays are there, and counts the seconds of a call."""
    import jax

    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        value = function(*arguments)
    value = jax.block_until_ready(value)
    return Cost(value, (time.process_time() - cpu) / calls, (time.perf_counter() - wall) / calls)


def compiled(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The function's program for arguments of these shapes."""
    import jax

    return jax.jit(function).lower(*arguments).compile()


def smallest_ess(draws: Any) -> float:
    """Smallest bulk effective sample size over the variables of one chain [draw, dim]."""
    import numpy as np

    from auxmc.diagnostics.convergence import bulk_ess

    return float(np.min(bulk_ess(np.asarray(draws).T[:, None, :])))


def own_process(*words: str) -> tuple[str, float]:
    """Runs Python with these words; its output, and the CPU seconds of all of it, imports and compilation included.

    Raises:
        RuntimeError: the process failed; the message is its last line.
    """
    before = os.times()
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=ROOT, env=_ENVIRONMENT, check=False
    )
    after = os.times()
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1])
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout, seconds
