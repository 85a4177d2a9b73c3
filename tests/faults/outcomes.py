"""What came of all trials, as a table for a terminal and as a page of the documentation."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auxmc.command_line.columns import columns
from tests.faults.trials import BAD, GOOD, Outcome

_HEAD = ("group", "fault", "tried", *GOOD, "bad", "lost work")

_ELSEWHERE = """## What is tried elsewhere, and what is not

- *A node that goes, and a job that is preempted and requeued*: on a real SLURM, started for the test, with the arrays
  of one undisturbed job in the end (`tests/pipeline/test_slurm.py`; it takes minutes and the installed SLURM, so it
  belongs to `make test-all`). A worker of Dask is killed in `tests/unit/interface/test_executors.py`.
- *A file system that is slow*: here each renaming, flush, new folder and removal takes 20 ms. Files that a node has
  written and that are shown later elsewhere are waited for by Snakemake, 30 s at most (`latency-wait` in
  `profiles/slurm`); that is Snakemake's and is not tried.
- *SIGSTOP* lasts a minute in one trial of five, up to 3 s in the others.
- *All studies from start to end, killed at random moments*, everything or one process:
  `python -m tests.faults.storm`. In the table a trial is one case, or one stream, that meets one fault.
- *Numerical faults*: {doc}`numerical_faults`. *Errors in the code itself*: {doc}`mutations`.
- *Not tried*: a machine that loses its power (files are flushed before they take their names, which no trial checks),
  memory that flips bits, a network file system, more than two runs in one folder.
"""


class Row(NamedTuple):
    """Trials of one fault.

    Attributes:
        group: group of trials.
        fault: the fault.
        good: number of each outcome of `GOOD`, in that order.
        bad: trials with an outcome that must not be.
        lost: what work was lost at most; empty for none.
    """

    group: str
    fault: str
    good: tuple[int, ...]
    bad: int
    lost: str

    @property
    def tried(self) -> int:
        """Number of trials."""
        return sum(self.good) + self.bad


def rows_of(group: str, outcomes: Iterable[Outcome]) -> list[Row]:
    """A row for each fault."""
    rows: dict[tuple[str, str], Row] = {}
    for fault, outcome, lost, _ in outcomes:
        good = tuple(int(outcome == name) for name in GOOD)
        added(rows, [Row(group, fault, good, int(outcome in BAD), lost)])
    return list(rows.values())


def added(rows: dict[tuple[str, str], Row], more: Iterable[Row]) -> None:
    """Adds up rows of the same fault."""
    for row in more:
        before = rows.get((row.group, row.fault), Row(row.group, row.fault, (0,) * len(GOOD), 0, ""))
        good = tuple(a + b for a, b in zip(before.good, row.good, strict=True))
        lost = max(before.lost, row.lost, key=_amount)
        rows[row.group, row.fault] = Row(row.group, row.fault, good, before.bad + row.bad, lost)


def terminal_table(rows: Sequence[Row]) -> str:
    """The table, and its sums."""
    total = Row(
        "all",
        "",
        tuple(map(sum, zip(*(row.good for row in rows), strict=True))),
        sum(r.bad for r in rows),
        "",
    )
    return columns([_HEAD, *(_cells(row) for row in [*sorted(rows), total])], right=range(2, 4 + len(GOOD)))


def page(rows: Sequence[Row], groups: Sequence[str], seed: int, long_runs: str = "") -> str:
    """The page `docs/faults.md`; its part about long runs is written elsewhere and stays."""
    ordered = sorted(rows, key=lambda row: (groups.index(row.group), row.fault))
    lines = [f"| {' | '.join(_cells(row))} |" for row in ordered]
    n_bad = sum(row.bad for row in rows)
    meanings = "\n".join(f"- *{name}*: {meaning}." for name, meaning in GOOD.items())
    total = sum(row.tried for row in rows)
    return f"""# Faults: what is put to the project, and what comes of it

Written by `python -m tests.faults --write docs/faults.md`, group by group; `make faults` tries a part of it in a
quarter of an hour, and `make faults HOURS=3` the whole and more. Every trial has a number:
`python -m tests.faults --only GROUP --trial N` makes it again (seed {seed}).

{total} trials, of which {n_bad} ended badly: in a traceback, in other arrays than those of a run without the fault and
without a word about it, in a file opened that nobody had named, in code run from data, or in no end. The others:

{meanings}

*Lost work* is what had been finished and was made again, at most.

| {" | ".join(_HEAD)} |
|{"---|" * len(_HEAD)}
{chr(10).join(lines)}

{_ELSEWHERE}{long_runs and f"{chr(10)}{long_runs}"}"""


def read_page(text: str) -> list[Row]:
    """The rows of a page."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(_HEAD) and cells[2].isdigit():
            good = tuple(int(cell) for cell in cells[3 : 3 + len(GOOD)])
            rows.append(Row(cells[0], cells[1], good, int(cells[-2]), cells[-1].replace("none", "")))
    return rows


def _cells(row: Row) -> tuple[str, ...]:
    return (row.group, row.fault, str(row.tried), *map(str, row.good), str(row.bad), row.lost or "none")


def _amount(lost: str) -> float:
    """How much work a text speaks of; "block 3 and later" and the like are ordered by their first number."""
    found = re.search(r"\d+", lost)
    return float(found[0]) if found else float(bool(lost)) / 2.0
