"""Long runs that are killed again and again, beside the same runs left alone: `python -m tests.faults.long --help`."""

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.faults.long.long_runs import (
    LongRun,
    LongRunError,
    Memory,
    compared_in_words,
    concluded,
    flat,
    in_words,
    when,
)
from tests.faults.long.long_works import WORKS, LongWork
from tests.faults.runs import start

_LOOK_EVERY_S, _SAY_EVERY_S = 1.0, 60.0


class Watched(NamedTuple):
    """A run that has come to its end: how often it was killed, its minutes, and its memory second by second."""

    n_kills: int
    minutes: float
    memory: list[Memory]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one kind; returns 0 if all arrays agree and memory is flat, 130 after Ctrl-C, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.long",
        description="Makes a long run twice, left alone and killed again and again, and compares all arrays and the "
        "memory in the first and in the last quarter. Nothing is left behind but the line of the page.",
    )
    parser.add_argument(
        "what", choices=sorted(WORKS), help="stream: rows through auxmc stream; chain: a case of a study"
    )
    parser.add_argument("--size", type=_count, help="rows (1e8), or iterations of a chain (2e7)")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between kills, about (60)")
    parser.add_argument("--seed", type=int, default=20, help="of rows, chains and moments (20)")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--write", type=Path, help="page that gets the line")
    options = parser.parse_args(arguments)
    if options.every <= 0:
        parser.error(f"--every must be above 0, got {options.every:g}")
    size = options.size or {"stream": 100_000_000, "chain": 20_000_000}[options.what]
    return concluded(partial(_both, options.what, size, options.every, options.seed), options)


def _both(what: str, size: int, every_s: float, seed: int, folder: Path) -> tuple[LongRun, bool]:
    """Both runs in a folder; the line of the page, and whether it says what it should."""
    work = WORKS[what](size, seed, folder)
    rng = np.random.default_rng([seed, size])
    alone, killed = folder / "alone", folder / "killed"
    loads = [os.getloadavg()[0]]
    runs = []
    for place, kill_every_s in ((alone, None), (killed, every_s)):
        place.mkdir()
        runs.append(run_to_the_end(work, place, kill_every_s, rng))
        loads.append(os.getloadavg()[0])
    compared, same = compared_in_words(work.arrays(alone), work.arrays(killed))
    row = LongRun(
        work.what,
        f"{size:,}",
        f"{runs[1].n_kills} times, every {every_s:g} s",
        compared,
        f"{runs[0].minutes:.1f}",
        f"{runs[1].minutes:.1f}",
        in_words(runs[0].memory),
        in_words(runs[1].memory),
        when(loads),
    )
    return row, same and all(flat(run.memory) for run in runs)


def run_to_the_end(
    work: LongWork, folder: Path, kill_every_s: float | None, rng: np.random.Generator
) -> Watched:
    """Runs a command until it ends by itself, killed and started anew again and again as long as there is work.

    Args:
        work: the run.
        folder: where it works.
        kill_every_s: mean time between kills; None for none.
        rng: moments of the kills, up to a quarter sooner or later.

    Raises:
        LongRunError: it ends in an error, or three processes in a row have saved nothing.
    """
    begin = said = time.monotonic()
    memory: list[Memory] = []
    n_kills, reached, n_idle = 0, work.saved(folder), 0
    name = "left alone" if kill_every_s is None else "killed"
    while True:
        with (folder / "messages.txt").open("w") as messages:
            process = start(folder, work.words, errors=messages)
        born = time.monotonic()
        end = born + kill_every_s * rng.uniform(0.75, 1.25) if kill_every_s else float("inf")
        try:
            while process.poll() is None and time.monotonic() < end:
                time.sleep(_LOOK_EVERY_S)
                share, now = work.saved(folder), time.monotonic()
                if mib := _resident_mib(process.pid):
                    memory.append(Memory(share, now - born, mib))
                if share >= 1.0:
                    end = float("inf")
                if now - said > _SAY_EVERY_S and memory:
                    said = now
                    minutes = (now - begin) / 60.0
                    print(
                        f"{name}: {100.0 * share:.0f} % saved after {minutes:.0f} min, {n_kills} kills, "
                        f"{memory[-1].mib:.0f} MiB",
                        flush=True,
                    )
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if code == 0:
            return Watched(n_kills, (time.monotonic() - begin) / 60.0, memory)
        if code != -signal.SIGKILL:
            text = (folder / "messages.txt").read_text()[-2000:]
            raise LongRunError(f"{name}: exit status {code} after {n_kills} kills: {text}")
        n_kills += 1
        share = work.saved(folder)
        n_idle, reached = (0, share) if share > reached else (n_idle + 1, reached)
        if n_idle == 3:
            raise LongRunError(
                f"three processes of about {kill_every_s:g} s saved nothing: give a longer --every"
            )


def _resident_mib(process: int) -> float:
    """Memory of a process now, 0 if it is no more."""
    pages = 0
    with contextlib.suppress(OSError):
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _count(text: str) -> int:
    number = float(text)
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"a whole number above 0 is wanted, such as 1e8, got {text}")
    return int(number)


if __name__ == "__main__":
    sys.exit(main())
