"""One fault put to the project: what may come of it, and a watch over what happens meanwhile."""

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from auxmc.command_line import main
from tests.copies import ROOT

RIGHT, REFUSED, REMADE, STOPPED = "right", "refused", "remade", "stopped"
GOOD = {
    RIGHT: "the arrays, or values, of a run without the fault",
    REFUSED: "one line that says what is wrong and where; nothing has changed",
    REMADE: "the fault was named, what it spoilt made again, and the arrays are those of a run without it",
    STOPPED: "runs until it is stopped, and then ends in one line",
}
"""Outcomes that are wanted."""
BAD = ("traceback", "wrong", "read elsewhere", "ran data", "hung", "not one line")
"""Outcomes that must not be."""


class Outcome(NamedTuple):
    """What came of a trial.

    Attributes:
        fault: the kind of fault, a row of the table.
        outcome: a key of `GOOD`, or one of `BAD`.
        lost: what work was lost, for readers; empty for none.
        detail: the message, or the example that shows what is wrong.
    """

    fault: str
    outcome: str
    lost: str = ""
    detail: str = ""


Trial = Callable[[np.random.Generator, Path], Outcome]
"""Tries one fault, drawn with a generator, in an empty folder of its own."""


class Group(NamedTuple):
    """Trials of one kind.

    Attributes:
        trial: the trial.
        whole: how many make up a whole campaign.
        short: how many are tried by `make faults`.
        seconds: limit of a trial, after which it is stopped and counts as hung.
        at_a_time: trials of a task, few enough that all groups have their turn.
    """

    trial: Trial
    whole: int
    short: int
    seconds: float = 60.0
    at_a_time: int = 20


class Hung(BaseException):
    """A trial took longer than its limit."""


# What a process may read beside the files of the trial: the interpreter, the project, the system.
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/lib64", "/var/cache/fontconfig")
_READABLE = [
    os.path.realpath(place) + os.sep
    for place in (
        sys.prefix,
        sys.base_prefix,
        *(ROOT / name for name in ("src", "experiments", "conf", "tests", ".git", "published")),
        *_SYSTEM,
        *filter(None, [os.environ.get("AUXMC_DATA_DIR")]),
    )
] + [os.path.realpath(ROOT / "pyproject.toml")]
_RUNS = {"pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect"}


class _Watch:
    """What the interpreter says that it opens and runs, while it is on."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[tuple[str, str]] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in _RUNS:
            self.seen.append(("ran data", f"{event} {arguments!r}"))
        elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith((self.folder, *_READABLE)):
                self.seen.append(("read elsewhere", path))


_WATCH: list[_Watch] = []


@contextlib.contextmanager
def watched(folder: Path) -> Iterator[list[tuple[str, str]]]:
    """Notes files opened outside a folder, unpickled objects, processes and connections; they are yielded."""
    if not _WATCH:
        _WATCH.append(_Watch())
        sys.addaudithook(_WATCH[0])
    watch = _WATCH[0]
    watch.folder, watch.seen = os.path.realpath(folder) + os.sep, []
    try:
        yield watch.seen
    finally:
        watch.folder = None


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises `Hung` in code of Python that takes longer."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hung(f"after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def tried(trial: Trial, rng: np.random.Generator, folder: Path, seconds: float, label: str) -> Outcome:
    """Runs a trial; what it lets through is an outcome as well.

    Args:
        trial: the trial.
        rng: draws the fault.
        folder: an empty folder.
        seconds: its limit.
        label: the fault, where the trial ends before it has said it.
    """
    try:
        with at_most(seconds), contextlib.redirect_stdout(io.StringIO()):
            return trial(rng, folder)
    except Hung as error:
        return Outcome(label, "hung", "", str(error))
    except Exception:
        return Outcome(label, "traceback", "", traceback.format_exc()[-2000:])


def refusal(fault: str, message: str, named: str = "") -> Outcome:
    """A refusal, which must be one line and name what it is about."""
    if not message.strip() or "\n" in message.strip() or (named and named not in message):
        return Outcome(fault, "not one line", "", message)
    return Outcome(fault, REFUSED, "", message)


def run_command(words: Sequence[str]) -> tuple[int, str]:
    """Exit status of `auxmc` with these words, run in this process, and what it wrote to the standard error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            code = main(words)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
    return code, errors.getvalue()


def command_outcome(fault: str, code: int, errors: str, allowed: tuple[int, ...] = (1, 2)) -> Outcome:
    """A command that ended without doing its work: which exit status, and what it said last."""
    if "Traceback" in errors:
        return Outcome(fault, "traceback", "", errors[-2000:])
    last = (errors.strip().splitlines() or [""])[-1]
    if code not in allowed or "error" not in last:
        return Outcome(fault, "not one line", "", f"exit status {code}: {errors[-500:]}")
    return Outcome(fault, REFUSED, "", last)


def with_example(outcome: Outcome, example: object) -> Outcome:
    """The outcome; where it is neither right nor a refusal, what led to it stands before its message."""
    if outcome.outcome in (RIGHT, REFUSED):
        return outcome
    return outcome._replace(detail=f"{example}\n{outcome.detail}")
