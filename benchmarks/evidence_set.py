"""Ten problems with known evidence (`evidence_problems.py`): CPU time, errors and warnings of nine programs.

Each run is a process of its own with the package's defaults and the settings that its documentation asks for
(`peers.py`), imports and compilation included, and ends after 120 CPU seconds.
"""

import signal
from functools import partial

import numpy as np
import pandas as pd

from auxmc_pipeline.readme_tables import markdown
from benchmarks.evidence_problems import PROBLEMS
from benchmarks.harness import Benchmark, Program, Run, reported
from benchmarks.pages import shown
from benchmarks.peers import CPU_LIMIT_S, EVIDENCE

COLD, SECOND, OFF = "CPU time", "CPU time of a second seed", "error"
STATED, WARNINGS = "stated error", "warnings"
WANTED = 0.1


def _prepare(problem: str, program: str, quick: bool) -> Run:
    run = reported("peers", [problem, program], quick)

    def until_limit(seed: int) -> dict[str, float]:
        try:
            return dict(run(seed))
        except RuntimeError as error:
            if str(error) != f"ended with status {-signal.SIGXCPU}":
                raise
            return {COLD: np.inf}

    return until_limit


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown: CPU seconds brought to an error of 0.1 nats, and the largest z, of each program on each problem."""
    keys = ["problem", "program", "seed"]
    wide = shown(rows).pivot(index=keys, columns="quantity", values="value")
    wide = wide.reindex(columns=list(benchmark.units))
    groups = dict(list(wide.groupby(keys[:2])))
    names = [name for name in EVIDENCE if name in set(rows["program"])]
    cells = {p: [_cell(groups.get((p, name), wide[:0])) for name in names] for p in PROBLEMS}
    lines = [[f"`{problem}`", *own] for problem, own in cells.items() if any(own)]
    return markdown([["problem", *names], *lines])


def _cell(runs: pd.DataFrame) -> str:
    """Time, z and warnings of the seeds of a program; the time of compilation does not grow with fewer errors."""
    if runs.empty:
        return ""
    if np.isinf(runs[COLD]).any():
        return f">{CPU_LIMIT_S}"
    if runs[[COLD, OFF]].isna().any(axis=None):
        return "failed"
    error = max(np.sqrt((runs[OFF] ** 2).mean()), runs[STATED].median())
    cold, second = runs[COLD].median(), runs[SECOND].fillna(runs[COLD]).median()
    cost = max(cold - second, 0.0) + second * max(1.0, (error / WANTED) ** 2)
    z, warned = (runs[OFF].abs() / runs[STATED]).max(), int((runs[WARNINGS] > 0).sum())
    text = f"{cost:.3g};{z:.2g}" + f";{warned}w" * bool(warned)
    return f"**{text}**" if z > 3.5 else text


PROGRAMS = {p: [Program(name, partial(_prepare, p, name)) for name in EVIDENCE] for p in PROBLEMS}
UNITS = {COLD: "s", SECOND: "s", OFF: "nats", STATED: "nats", WARNINGS: ""}
BENCHMARKS = {"evidence_set": Benchmark(PROGRAMS, UNITS, quick=["two_modes"], ratios=False, table=table)}
