"""What long runs are said to have done: comparison, memory, the table of the page, and how a command for them ends."""

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

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


class LongRunError(RuntimeError):
    """A run ended in an error, or does not get on between kills."""


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


def differences(
    first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]
) -> tuple[int, int, list[str]]:
    """Number of arrays, of numbers in them, and names of those that are not the same to the last bit."""
    names = sorted({*first, *second})
    differ = [name for name in names if name not in first or name not in second]
    n_numbers = 0
    for name in names:
        if name in differ:
            continue
        one, other = _as_bytes(first[name]), _as_bytes(second[name])
        n_numbers += one.size
        if (one.dtype, one.shape) != (other.dtype, other.shape) or one.tobytes() != other.tobytes():
            differ.append(name)
    return len(names), n_numbers, differ


def _as_bytes(array: np.ndarray) -> np.ndarray:
    """Objects, whose bytes are addresses, as texts."""
    return np.strings.encode(array.astype(str), "utf-8") if array.dtype.kind in "OUT" else array


def compared_in_words(alone: Mapping[str, np.ndarray], killed: Mapping[str, np.ndarray]) -> tuple[str, bool]:
    """Differences as a cell of the table, and whether there are none; names of arrays that differ are printed."""
    n_arrays, n_numbers, differ = differences(alone, killed)
    print(*(f"{name} differs" for name in differ), sep="\n")
    return f"{len(differ)} of {n_arrays}, with {n_numbers:,} numbers", not differ


def when(loads: Sequence[float]) -> str:
    """Today and the machine as a cell of the table, from its loads at some moments."""
    return f"{datetime.now(UTC):%Y-%m-%d}, load {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores"


def concluded(both: Callable[[Path], tuple[LongRun, bool]], options: argparse.Namespace) -> int:
    """Makes two runs in a temporary folder; prints their line and writes it into the page.

    Args:
        both: makes them, and returns their line and whether it says what it should.
        options: `folder`, where the temporary one is made, and `write`, the page; None for none.

    Returns:
        Exit status: 0 if the line says what it should, 130 after Ctrl-C, else 1.
    """
    try:
        # What has just been killed may still be writing a file.
        with tempfile.TemporaryDirectory(
            dir=options.folder, prefix="long", ignore_cleanup_errors=True
        ) as name:
            row, well = both(Path(name))
    except KeyboardInterrupt:
        print("interrupted: nothing is left of it", file=sys.stderr)
        return 130
    except LongRunError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(*(f"{title:12} {cell}" for title, cell in zip(LongRun._fields, row, strict=True)), sep="\n")
    if options.write:
        options.write.write_text(with_row(options.write.read_text(), row))
    return 0 if well else 1


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
processes older than {_SETTLED_S:.0f} s, and the most at any moment. That of a stream grows by its record alone,
some 80 bytes for each of its chunks ({{doc}}`streaming`); draws of a chain lie on disk until its end, when they are
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
