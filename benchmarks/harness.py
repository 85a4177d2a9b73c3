"""Measures programs in turns, in a process bound to its cores, and keeps every value as a row of one table."""

import datetime
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "measurements.csv"
# Before JAX is set up for programs in this process: those in processes of their own have their own settings.
_ENVIRONMENT = dict(os.environ)
CASE = ["benchmark", "problem", "form"]
COLUMNS = [*CASE, *("program", "quantity", "seed", "value", "date", "machine", "load", "versions")]
PEERS = {"blackjax", "dynesty", "jaxns", "mici", "nautilus", "numpyro", "pyabc", "pymc", "ultranest"}

Run = Callable[[int], Mapping[str, float]]
"""Runs a program once: maps a seed, which no two calls share, to values by quantity."""


class Program(NamedTuple):
    """One way to solve a problem."""

    name: str  # in tables, unique within a problem; begins with its package if that is one of `PEERS`
    # Builds and compiles, none of which is measured; the argument says whether the quick form is wanted.
    prepare: Callable[[bool], Run]

    @property
    def package(self) -> str:
        """The package whose absence leaves the program out, and whose version is kept with the values."""
        word = re.split("[ ,]", self.name)[0].lower()
        return word if word in PEERS else "jax"


class Benchmark(NamedTuple):
    """Problems with the programs that solve each."""

    # Programs of each problem. The first is the one of this package that ratios are taken against.
    problems: Mapping[str, Sequence[Program]]
    # Of every quantity. Ratios are of a problem's first one: more is better if its unit is 1/s, else less.
    units: Mapping[str, str]
    quick: Sequence[str]  # problems of the quick form
    # Measurements with one seed, in turns over the programs of a problem; their median is kept.
    repeats: int = 1
    seeds: int = 3  # of the full form; the quick form has three
    cores: int = 1  # that the benchmark is bound to
    ratios: bool = True  # whether the programs of a problem are compared
    # Programs without a ratio, as their errors are much larger than those of the first.
    of_other_quality: Sequence[str] = ()
    timed: bool = True  # whether values depend on the machine
    # Makes the page's table from rows of this benchmark and itself; None for the common one.
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
    """Compiles a function for arguments of these shapes."""
    import jax

    return jax.jit(function).lower(*arguments).compile()


def own_process(*words: str) -> tuple[str, float]:
    """Runs Python with these words; its output, and the CPU seconds of all of it, imports and compilation included.

    Raises RuntimeError with the last line of a process that failed.
    """
    before = os.times()
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=_ENVIRONMENT)
    after = os.times()
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1])
    return done.stdout, sum(after[2:4]) - sum(before[2:4])


def reported(module: str, words: Sequence[str], quick: bool) -> Run:
    """Runs a module of benchmarks with these words and a seed; the values that its last line reports as JSON."""
    command = ["-m", f"benchmarks.{module}", *words]
    return lambda seed: json.loads(own_process(*command, str(seed))[0].splitlines()[-1])


def read(path: Path = TABLE) -> pd.DataFrame:
    """All rows that were kept."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, keep_default_na=False, na_values={"value": [""], "load": [""]})


def add(rows: pd.DataFrame, is_timed: bool, path: Path = TABLE) -> None:
    """Keeps rows of one problem in place of those of the same seeds and, if it is timed, of other machines."""
    from auxmc.driver.files import write_atomically

    kept = read(path)
    is_old = kept["seed"].isin(rows["seed"]) | (is_timed & ~kept["machine"].isin(rows["machine"]))
    is_old &= (kept[CASE] == rows[CASE].iloc[0]).all(axis=1)
    parts = [part for part in (kept[~is_old], rows[COLUMNS]) if len(part)]
    table = pd.concat(parts).sort_values("benchmark", kind="stable")
    write_atomically(path, lambda file: table.to_csv(file, index=False, float_format="%.6g"))


def measure(
    name: str, benchmark: Benchmark, quick: bool, n_seeds: int, again: bool = False, path: Path = TABLE
) -> int:
    """Measures what the table lacks for this machine, or all if `again`, seed by seed; 1 if a program fails."""
    status = 0
    for problem in benchmark.quick if quick else benchmark.problems:
        programs = [p for p in benchmark.problems[problem] if importlib.util.find_spec(p.package)]
        if missing := dict.fromkeys(p.package for p in benchmark.problems[problem] if p not in programs):
            print(f"  {problem}: without {', '.join(missing)}: not installed", flush=True)
        about = _provenance([p.package for p in programs])
        about |= {"benchmark": name, "problem": problem, "form": "quick" if quick else "full"}
        kept, known = read(path), [*CASE, "machine"] if benchmark.timed else CASE
        for column in known:
            kept = kept[kept[column] == about[column]]
        done = kept.groupby("seed")["program"].agg(set).to_dict()
        seeds = [s for s in range(n_seeds) if again or not {p.name for p in programs} <= done.get(s, set())]
        if not seeds or not programs:
            continue
        runs = []
        for program in programs:
            print(f"  {problem}: {program.name}", flush=True)
            runs.append((program.name, _attempt(program.name, program.prepare, quick)))
        for seed in seeds:
            before = os.getloadavg()[0]
            print(f"  {problem}: seed {seed + 1} of {n_seeds}, load {before:.1f}", flush=True)
            rows = _measure_seed(runs, seed, benchmark)
            load = round(max(before, os.getloadavg()[0]), 1)
            add(rows.assign(**about, seed=seed, load=load), benchmark.timed, path)
            status |= int(rows["value"].isna().any())
    return status


def _provenance(packages: Sequence[str]) -> dict[str, str]:
    """When and where something is measured, and with which versions."""
    from auxmc.driver.provenance import describe_environment

    about = describe_environment(ROOT)
    versions = {"Python": about["python"], "auxmc": about["git_commit"][:7]}
    for name in dict.fromkeys(["jax", *packages]):
        versions[name] = importlib.metadata.version("nautilus-sampler" if name == "nautilus" else name)
    return {
        "date": datetime.date.today().isoformat(),
        "machine": about["processor"],
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def _attempt(name: str, function: Callable[..., Any], argument: int) -> Any:
    """What the function returns, or None after printing what was raised: others continue."""
    try:
        return function(argument)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        print(f"error: {name} failed: {type(error).__name__}: {reason}", flush=True)
        return None


def _measure_seed(runs: Sequence[tuple[str, Run | None]], seed: int, benchmark: Benchmark) -> pd.DataFrame:
    """Medians over repeats, in turns over programs, there and back, so that a disturbance falls on all of them."""
    rows: list[tuple[str, str, float]] = []
    for repeat in range(benchmark.repeats):
        for name, run in runs[:: 1 if repeat % 2 == 0 else -1]:
            values = run and _attempt(name, run, seed * benchmark.repeats + repeat)
            found = values or {next(iter(benchmark.units)): np.nan}
            rows += [(name, quantity, value) for quantity, value in found.items()]
    table = pd.DataFrame(rows, columns=["program", "quantity", "value"])
    of_quantities = table.groupby(["program", "quantity"], sort=False)
    return of_quantities["value"].agg(lambda values: values.median(skipna=False)).reset_index()
