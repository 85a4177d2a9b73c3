"""What long runs are said to have done: the table of the page, and how memory is summed up."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

TITLE = "## Long runs"
_HEAD = (
    "what",
    "size",
    "killed",
    "arrays that differ",
    "left alone, min",
    "killed, min",
    "memory left alone, MiB",
    "memory killed, MiB",
    "when, load",
)
# Until a process is so old it imports, compiles and reads its state.
_SETTLED_S = 20.0


class Memory(NamedTuple):
    """The memory of a process at one moment.

    Attributes:
        share: of the work that is done and saved, from 0 to 1.
        age_s: of the process.
        mib: resident memory.
    """

    share: float
    age_s: float
    mib: float


class LongRun(NamedTuple):
    """A line of the table; all texts, in the order of its columns.

    Attributes:
        what: the kind of run.
        size: rows or iterations.
        killed: how often, and how far apart.
        differ: arrays that differ, and how many were compared.
        alone_min: minutes of the run that was left alone.
        killed_min: minutes of the one that was killed.
        alone_mib: its memory in the first and in the last quarter of the work.
        killed_mib: that of the other.
        when: day, and load of the machine.
    """

    what: str
    size: str
    killed: str
    differ: str
    alone_min: str
    killed_min: str
    alone_mib: str
    killed_mib: str
    when: str


def quarters(found: Iterable[Memory]) -> tuple[float, float]:
    """Median memory in the first and in the last quarter of the work, of processes that have settled; NaN for none.

    What follows the work, when all of it is saved, does not count.
    """
    settled = [one for one in found if one.age_s >= _SETTLED_S and one.share < 1.0]
    parts = (
        [one.mib for one in settled if one.share < 0.25],
        [one.mib for one in settled if one.share >= 0.75],
    )
    first, last = (statistics.median(part) if part else math.nan for part in parts)
    return first, last


def flat(found: Iterable[Memory]) -> bool:
    """Whether memory in the last quarter is within a tenth of that in the first."""
    first, last = quarters(found)
    return last <= 1.1 * first


def in_words(found: Sequence[Memory]) -> str:
    """Memory of a run as a cell of the table."""
    first, last = quarters(found)
    return f"{first:.0f}, then {last:.0f}; at most {max((one.mib for one in found), default=math.nan):.0f}"


def section(rows: Iterable[LongRun]) -> str:
    """The part of the page about long runs; empty for none."""
    lines = [f"| {' | '.join(row)} |" for row in sorted(rows)]
    if not lines:
        return ""
    return f"""{TITLE}

Written line by line: `python -m tests.faults.long stream --write docs/faults.md`, the same with `chain`, and
`python -m tests.faults.storm --write docs/faults.md` for the whole workflow. A run is left alone; the same run is
killed by SIGKILL again and again and started anew, until it has come to its end. Then all arrays are compared, but
times. Moments of kills are drawn by seed. Memory is the median in the first and in the last quarter of the work, of
processes older than {_SETTLED_S:.0f} s, and the most at any moment. That of a stream grows by its record alone, a
hundred bytes for each of its chunks ({{doc}}`streaming`); draws of a chain lie on disk until its end, when they are
read to be summed up.

| {" | ".join(_HEAD)} |
|{"---|" * len(_HEAD)}
{chr(10).join(lines)}
"""


def read_section(text: str) -> list[LongRun]:
    """The lines of a page's part about long runs."""
    rows = []
    for line in text.partition(f"{TITLE}\n")[2].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| ") and len(cells) == len(_HEAD) and cells != list(_HEAD):
            rows.append(LongRun(*cells))
    return rows


def with_row(text: str, row: LongRun) -> str:
    """A page with a line of this kind, in place of the one that it has."""
    kept = [before for before in read_section(text) if before.what != row.what]
    return f"{text.partition(f'{TITLE}{chr(10)}')[0].rstrip()}\n\n{section([*kept, row])}"
