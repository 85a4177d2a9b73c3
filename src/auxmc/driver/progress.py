"""Progress of a run as plain lines, which read well in a terminal, in a log file and on a cluster."""

import math
import sys
import time
from collections.abc import Iterator
from typing import TextIO

# Of a block of work, about: what is told, kept and stopped between blocks comes soon.
_BLOCK_S = 0.5


def timed_blocks(done: int, total: int, most: int) -> Iterator[tuple[int, int]]:
    """Yields first number and size of blocks of work, at most `most`, that take about half a second each.

    A block is the caller's loop over one pair; Ctrl-C is heeded after each.
    """
    size = 1
    while done < total:
        n, clock = min(size, total - done), time.perf_counter()
        yield done, n
        done, seconds = done + n, time.perf_counter() - clock
        size = max(1, min(int(n * _BLOCK_S / max(seconds, 1e-9)), 4 * n, most))


class Progress:
    """Prints a line when a run starts, at most every few seconds while it runs, and when it ends."""

    def __init__(self, label: str, interval_s: float = 5.0, file: TextIO | None = None) -> None:
        self.label, self.interval_s, self.file = label, interval_s, file
        self._last, self._begin = -math.inf, 0.0
        self._total, self._resumed, self._what = 0, 0, "iterations"

    def start(self, total: int, done: int, compile_s: float, what: str = "iterations") -> None:
        """Announces a run of `total` units named `what`; `done` of them were taken from a checkpoint."""
        self._total, self._resumed, self._begin, self._what = total, done, time.monotonic(), what
        self._last = -math.inf
        compiled = f", compiled in {compile_s:.1f} s" if compile_s else ""
        resumed = f", resumed at {done}" if done else ""
        self.say(f"{total} {what}{compiled}{resumed}")

    def advance(self, done: int, run_s: float) -> None:
        """Reports `done` finished iterations after `run_s` seconds of running."""
        now = time.monotonic()
        if done < self._total and now - self._last < self.interval_s:
            return
        self._last = now
        fraction = (done - self._resumed) / max(1, self._total - self._resumed)
        left_s = (now - self._begin) * (1 - fraction) / max(fraction, 1e-9)
        left = f", about {left_s:.0f} s left" if done < self._total else f", done in {run_s:.1f} s"
        self.say(f"{done} of {self._total} {self._what} ({100 * done / self._total:.0f} %){left}")

    def say(self, text: str) -> None:
        """Prints one line."""
        print(f"{self.label}: {text}", file=self.file or sys.stderr, flush=True)
