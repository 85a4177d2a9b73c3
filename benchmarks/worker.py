"""Measures one benchmark, for `python -m benchmarks`, in a process of its own."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from auxmc.driver.runtime import configure
from benchmarks.contract import ROOT, Benchmark, Program, Run
from benchmarks.measurements import RATIO, TABLE, add, done, read, stamp

__all__ = ["installed", "measure"]


def main() -> int:
    """Arguments: benchmark, cores to be bound to, quick or full, seeds. Returns the exit status."""
    name, cores, form, seeds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    # Threads of JAX are started where the process may run at that time.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-cores:]))
    # Of XLA; `configure` would leave it one, on which programs of several threads wait for each other.
    os.environ["NPROC"] = str(cores)
    configure("cpu", ROOT / ".cache" / "benchmarks")
    benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
    return measure(name, benchmark, form, seeds, lambda text: print(text, flush=True))


def installed(program: Program) -> bool:
    """Whether the package that the program is of is there."""
    return importlib.util.find_spec(program.package) is not None


def measure(
    name: str,
    benchmark: Benchmark,
    form: str,
    n_seeds: int,
    say: Callable[[str], None],
    path: Path = TABLE,
) -> int:
    """Measures what the table has not yet, and keeps it seed by seed.

    Args:
        name: of the benchmark.
        benchmark: its problems.
        form: quick or full.
        n_seeds: how many seeds.
        say: told of what comes next and of what failed.
        path: the table.

    Returns:
        Exit status: 1 if a program failed. It has a row without a value.
    """
    status = 0
    for problem in benchmark.quick if form == "quick" else benchmark.problems:
        programs = benchmark.problems[problem](form == "quick")
        missing = [p.package for p in programs if not installed(p)]
        programs = [p for p in programs if installed(p)]
        here = stamp([p.package for p in programs])
        key: dict[str, object] = {"benchmark": name, "problem": problem, "form": form}
        key |= {"machine": here["machine"]} if benchmark.timed else {}
        kept = read(path)
        seeds = [s for s in range(n_seeds) if not done(kept, key | {"seed": s}, [p.name for p in programs])]
        if missing:
            say(f"  {problem}: without {', '.join(dict.fromkeys(missing))}: not installed")
        if not seeds or not programs:
            continue
        runs: list[tuple[Program, Run | None]] = []
        for program in programs:
            say(f"  {problem}: {program.name}")
            runs.append((program, _attempt(program.prepare, program, say)))
        for seed in seeds:
            say(f"  {problem}: seed {seed + 1} of {n_seeds}, load {os.getloadavg()[0]:.1f}")
            before = os.getloadavg()[0]
            rows = _measure_seed(runs, seed, benchmark, say)
            here |= {"load": round(max(before, os.getloadavg()[0]), 1)}
            add(pd.DataFrame([key | here | {"seed": seed} | row for row in rows]), path)
            status |= any(pd.isna(row["value"]) for row in rows)
    return status


def _attempt(
    function: Callable[..., Any], program: Program, say: Callable[[str], None], *arguments: Any
) -> Any:
    """What the function returns, or None after saying what was raised: others continue."""
    try:
        return function(*arguments)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        say(f"error: {program.name} failed: {type(error).__name__}: {lines[0]}")
        return None


def _measure_seed(
    runs: Sequence[tuple[Program, Run | None]],
    seed: int,
    benchmark: Benchmark,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Rows of all programs, measured in turns, there and back, so that a disturbance falls on all of them."""
    rows = []
    for repeat in range(benchmark.repeats):
        for program, run in runs[:: 1 if repeat % 2 == 0 else -1]:
            if benchmark.repeats == 1:
                say(f"    {program.name}")
            values = run and _attempt(run, program, say, seed * benchmark.repeats + repeat)
            for quantity, value in (values or {next(iter(benchmark.units)): float("nan")}).items():
                about = {"program": program.name, "settings": program.settings, "quantity": quantity}
                rows.append(about | {"unit": benchmark.units[quantity], "repeat": repeat, "value": value})
    return rows + _ratios(pd.DataFrame(rows), [program for program, _ in runs], benchmark)


def _ratios(rows: pd.DataFrame, programs: Sequence[Program], benchmark: Benchmark) -> list[dict[str, Any]]:
    """How many times better the first program is than each, by medians over the repeats of this seed."""
    if sum(program.compared for program in programs) < 2 or not benchmark.ratios:
        return []
    quantity = next(q for q in benchmark.units if q in set(rows["quantity"]))
    medians = rows[rows["quantity"] == quantity].groupby("program")["value"].median().dropna()
    power = 1.0 if benchmark.units[quantity] == "1/s" else -1.0
    about = {"quantity": RATIO, "unit": "", "repeat": 0}
    return [
        about
        | {"program": p.name, "settings": p.settings}
        | {"value": (medians[programs[0].name] / medians[p.name]) ** power}
        for p in programs
        if p.compared and p.name in medians and programs[0].name in medians
    ]


if __name__ == "__main__":
    sys.exit(main())
