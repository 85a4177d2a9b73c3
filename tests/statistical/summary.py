"""Tables of a run of the statistical suite: what passed which layer, the sum of the levels, the nearest to failing."""

import csv
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.statistical.ledger import ALPHA, DECLARED, DEEP, TOTAL_LEVEL
from tests.statistical.matrix import COMPONENTS, EXCEPTIONS, LAYERS, Cell, markdown, requirement

__all__ = ["Ended", "Run", "marks_of", "page", "read_run", "table", "text"]

N_LARGEST = 10


class Ended(NamedTuple):
    """How a test ended, and which cells it tests."""

    test: str
    outcome: str
    seconds: float
    cells: tuple[Cell, ...]


class Run(NamedTuple):
    """A run of the suite.

    Attributes:
        seed: text that entered all seeds.
        tests: how each test ended.
        assertions: rows of the report.
    """

    seed: str
    tests: list[Ended]
    assertions: list[dict[str, str]]

    @property
    def failed(self) -> list[Ended]:
        """Tests that did not pass; one that was left out has not failed."""
        return [ended for ended in self.tests if ended.outcome == "failed"]


def read_run(seed: str, results: Path, report: Path) -> Run:
    """Reads what the tests of a run have written; files that no test has written to are empty."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    tests = [
        Ended(line["test"], line["outcome"], line["seconds"], tuple((a, b) for a, b in line["cells"]))
        for line in map(json.loads, lines)
    ]
    with (
        report.open(encoding="utf-8", newline="")
        if report.exists()
        else Path("/dev/null").open(encoding="utf-8") as file
    ):
        return Run(seed, tests, list(csv.DictReader(file)))


def marks_of(run: Run) -> dict[Cell, str]:
    """What stands in a cell: failed, or the number of tests that passed."""
    outcomes: dict[Cell, Counter[str]] = {}
    for ended in run.tests:
        for cell in ended.cells:
            outcomes.setdefault(cell, Counter())[ended.outcome] += 1
    return {
        cell: "FAILED" if counts["failed"] else str(counts["passed"]) if counts["passed"] else "skipped"
        for cell, counts in outcomes.items()
    }


def table(run: Run) -> str:
    """Component by layer as plain text: passed, FAILED, missing, or not applicable."""
    marks = marks_of(run)
    lines = [f"{'':24}" + "".join(f"{layer:>8}" for layer in LAYERS)]
    for component in COMPONENTS:
        entries = []
        for layer in LAYERS:
            mark = marks.get((component, layer), "")
            shown = "passed" if mark.isdigit() else mark
            needed = "*" if (component, layer) in EXCEPTIONS else "missing"
            entries.append(shown or {"R": needed, "o": ".", "-": "-"}[requirement(component, layer)])
        lines.append(f"{component:24}" + "".join(f"{entry:>8}" for entry in entries))
    return "\n".join(
        [*lines, "passed: all tests of the cell; - not applicable; . optional, not tested; * exception"]
    )


def text(run: Run) -> str:
    """The whole summary for a terminal."""
    parts = [table(run), _numbers(run), "Nearest to failing:"]
    parts += [f"  {share:6.3f}  {row['test']}  {row['label']}" for share, row in _largest(run.assertions)]
    parts += [f"FAILED {ended.test}" for ended in run.failed]
    return "\n".join(parts)


def page(run: Run, when: str, minutes: Sequence[tuple[str, float]]) -> str:
    """The page of the documentation.

    Args:
        run: the last run; without tests the page says how to make one.
        when: its day.
        minutes: (part, minutes) of the run.
    """
    layers = "\n".join(f"| {layer} | {what} |" for layer, what in LAYERS.items())
    marks = marks_of(run)
    times = ", ".join(f"{part} {value:.1f} minutes" for part, value in minutes)
    largest = "\n".join(
        f"| {share:.3f} | `{row['test'].removeprefix('tests/statistical/')}` | {row['label']} |"
        for share, row in _largest(run.assertions)
    )
    found = _LAST_RUN.format(
        when=when,
        seed=run.seed,
        numbers=_numbers(run),
        times=times,
        passed=markdown({cell: mark for cell, mark in marks.items() if requirement(*cell) != "-"}),
        largest=largest,
    )
    return _PAGE.format(
        layers=layers,
        matrix=markdown(),
        exceptions="\n".join(
            f"* {component}, {layer}: {why}." for (component, layer), why in EXCEPTIONS.items()
        ),
        alpha=f"{ALPHA:g}",
        total=f"{TOTAL_LEVEL:g}",
        declared=sum(DECLARED.values()),
        deep=sum(DEEP.values()),
        last=found if run.tests else "`make test-statistical` prints it; `--write-page` puts it here.\n",
    )


def _numbers(run: Run) -> str:
    outcomes = Counter(ended.outcome for ended in run.tests)
    deep = [float(row["alpha"]) for row in run.assertions if "/deep/" in row["test"]]
    usual = [float(row["alpha"]) for row in run.assertions if "/deep/" not in row["test"]]
    return (
        f"{outcomes['passed']} tests passed, {outcomes['failed']} failed, {outcomes['skipped']} were left out. "
        f"{len(usual)} stochastic assertions of the tests of every change, sum of levels {math.fsum(usual):.2g}; "
        f"{len(deep)} of the deeper part, {math.fsum(deep):.2g}."
    )


def _largest(assertions: list[dict[str, str]]) -> list[tuple[float, dict[str, str]]]:
    shares = [(float(row["statistic"]) / float(row["threshold"]), row) for row in assertions]
    return sorted(shares, key=lambda pair: -pair[0])[:N_LARGEST]


_PAGE = """# What is tested, and how well

Written by `python scripts/statistical_suite.py --write-page`; do not edit.

A wrong sampler should fail and a right one should not, both with stated probabilities. Every stochastic assertion has
a false-alarm probability of {alpha}. The sum over all assertions of a run is at most {total} for the tests of every
change (at most {declared} assertions) and as much for the deeper part (at most {deep}). An assertion also declares the
discrepancy that it finds with probability 0.999, and refuses samples that are too small for it. `make test`
runs most of the first part; `make test-all` and `make test-statistical` run both, with fresh random numbers. Passing
shows that a law is left unchanged up to the declared discrepancy on the targets tested; it shows neither that a chain
mixes nor that a model of yours is right.

## Layers

Numbers are those of a longer list: there is no L13, records of old outputs, since kept digests of results do
that work ({{doc}}`published`).

| layer | what is tested |
|---|---|
{layers}

## Which component is tested in which layer

● required, ○ useful, – makes no sense, empty: optional and not tested, * an exception.

{matrix}

{exceptions}

## The last run

{last}"""

_LAST_RUN = """{when}, seed `{seed}`: {numbers} {times}.

Number of tests that passed in each cell; a case of a parametrised test counts as one:

{passed}

The statistics nearest to their thresholds, as a share of the threshold; among so many assertions of a correct program
the largest is usually between 0.6 and 0.9:

| share | test | assertion |
|---|---|---|
{largest}
"""
