"""Processes that are killed, stopped, starved or disturbed: in the end the arrays of a run that was left alone."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.faults.runs import Ended, Work, drawn_work, finish, start
from tests.faults.trials import REFUSED, REMADE, RIGHT, Outcome

# Runs before anything else in a process that is to be disturbed.
_DISTURBED = {
    "the clock set back": """
import time
now, calls = time.time, [0]
def earlier():
    calls[0] += 3600
    return now() - calls[0]
time.time = earlier
""",
    "a slow file system": """
import os, time
def slow(function):
    def called(*words, **named):
        time.sleep(0.02)
        return function(*words, **named)
    return called
for name in ("replace", "fsync", "mkdir", "unlink"):
    setattr(os, name, slow(getattr(os, name)))
""",
}


def try_process(rng: np.random.Generator, folder: Path) -> Outcome:
    """One fault in one run of a case or of a stream."""
    work = drawn_work(rng, folder)
    return _FAULTS[list(_FAULTS)[int(rng.integers(len(_FAULTS)))]](rng, folder, work)


def _ends_well(
    fault: str, folder: Path, work: Work, earlier: Sequence[Ended], lost: str = "", *, again: bool = True
) -> Outcome:
    """After the fault the same command must give the arrays of a run that was left alone."""
    fault = f"{fault}: {work.what.split(',')[0]}"
    for ended in earlier:
        if "Traceback" in ended.said:
            return Outcome(fault, "traceback", "", ended.said[-2000:])
        if ended.code == -999:
            return Outcome(fault, "hung", "", ended.said[-1000:])
    last = finish(start(folder, work.words)) if again else Ended(0, "")
    if last.code:
        return Outcome(fault, "traceback" if "Traceback" in last.said else "wrong", "", last.said[-2000:])
    found = work.arrays(folder)
    for name, array in work.whole.items():
        if not np.array_equal(found[name], array, equal_nan=array.dtype.kind == "f"):
            return Outcome(fault, "wrong", "", f"{name} differs")
    left = [path for place in work.places[:1] for path in (folder / place).rglob("*partial*")]
    if left:
        return Outcome(fault, "wrong", "", f"half-written files are left: {left}")
    refused = any(ended.code in (1, 2) for ended in earlier)
    return Outcome(fault, REFUSED if refused else REMADE if lost else RIGHT, lost)


def _wait(rng: np.random.Generator, process: "subprocess.Popen[str]", work: Work) -> bool:
    """Waits for a random moment of a run; whether it is still at work."""
    until = time.monotonic() + float(rng.uniform(0.1, 1.05)) * work.seconds
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    return process.poll() is None


def _signalled(*numbers: signal.Signals) -> Callable[[np.random.Generator, Path, Work], Outcome]:
    def trial(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
        process = start(folder, work.words)
        if _wait(rng, process, work):
            for number in numbers:
                if number == signal.SIGKILL:
                    os.killpg(process.pid, number)
                else:
                    process.send_signal(number)
                time.sleep(float(rng.uniform(0.0, 0.3)))
        ended = finish(process)
        finished = len(list(folder.rglob("block*.npz")))
        name = " and ".join(number.name for number in numbers)
        if process.returncode == -signal.SIGINT and signal.SIGINT in numbers:
            # Before the program has begun, Ctrl-C ends the interpreter itself.
            ended = Ended(130, "") if "KeyboardInterrupt" in ended.said else ended
        outcome = _ends_well(
            name, folder, work, [ended], "what followed the last block" if finished or ended.code else ""
        )
        return outcome

    return trial


def _paused(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    process = start(folder, work.words)
    if _wait(rng, process, work):
        process.send_signal(signal.SIGSTOP)
        seconds = float(rng.uniform(0.2, 3.0))
        time.sleep(60.0 if rng.random() < 0.2 else seconds)
        process.send_signal(signal.SIGCONT)
    return _ends_well("SIGSTOP for a while", folder, work, [finish(process)], again=False)


@contextlib.contextmanager
def _small_disk(folder: Path, n_bytes: int) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _full_disk(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    """Results and state on a disk with room for a random part of them, which then is given room."""
    place = str(rng.choice(work.places))
    (folder / place).mkdir()
    fault = "no space for .cache" if place == ".cache" else "full disk"
    with _small_disk(folder / place, int(10 ** rng.uniform(4.0, 6.3))):
        ended = finish(start(folder, work.words))
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder / place)], check=True)
        return _ends_well(fault, folder, work, [ended], "what followed the last block" if ended.code else "")


def _read_only(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    place = str(rng.choice(work.places))
    (folder / place).mkdir()
    with _small_disk(folder / place, 64 << 20):
        subprocess.run(["mount", "-o", "remount,ro", str(folder / place)], check=True)
        ended = finish(start(folder, work.words))
        subprocess.run(["mount", "-o", "remount,rw", str(folder / place)], check=True)
        return _ends_well(f"read-only {place if place[0] == '.' else 'results'}", folder, work, [ended])


def _file_limit(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    """A quota that is reached in the middle of a file."""
    n_bytes = int(10 ** rng.uniform(3.0, 5.5))

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    ended = finish(start(folder, work.words, limit=limit))
    return _ends_well("a quota in the middle of a file", folder, work, [ended])


def _out_of_memory(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    n_bytes = int(rng.uniform(0.2, 4.0) * 2**30)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    ended = finish(start(folder, work.words, limit=limit))
    # Libraries that cannot even be loaded, or end the process themselves, say so in words of their own.
    return _ends_well(
        "out of memory",
        folder,
        work,
        [ended._replace(said="")],
        "what followed the last block" if ended.code else "",
    )


def _two_runs(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    first = start(folder, work.words)
    time.sleep(float(rng.uniform(0.0, 0.9)) * work.seconds)
    second = finish(start(folder, work.words))
    ended = finish(first)
    both = [ended, second]
    if all(one.code for one in both):
        return Outcome("two runs in one folder", "wrong", "", f"{both}")
    return _ends_well("two runs in one folder", folder, work, both, again=False)


def _cleaned(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
    process = start(folder, work.words)
    if _wait(rng, process, work):
        for place in work.places:
            shutil.rmtree(folder / place, ignore_errors=True)
    return _ends_well("a clean beside a run", folder, work, [finish(process)], "all: it was thrown away")


def _disturbed(fault: str) -> Callable[[np.random.Generator, Path, Work], Outcome]:
    def trial(rng: np.random.Generator, folder: Path, work: Work) -> Outcome:
        process = start(folder, work.words, _DISTURBED[fault])
        if rng.random() < 0.5 and _wait(rng, process, work):
            os.killpg(process.pid, signal.SIGKILL)
        ended = finish(process)
        return _ends_well(fault, folder, work, [ended], "what followed the last block" if ended.code else "")

    return trial


_FAULTS: dict[str, Callable[[np.random.Generator, Path, Work], Outcome]] = {
    "SIGKILL": _signalled(signal.SIGKILL),
    "SIGKILL again": _signalled(signal.SIGKILL),
    "SIGTERM": _signalled(signal.SIGTERM),
    "SIGINT twice": _signalled(signal.SIGINT, signal.SIGINT),
    "SIGSTOP": _paused,
    "full disk": _full_disk,
    "quota": _file_limit,
    "read-only": _read_only,
    "memory": _out_of_memory,
    "two runs": _two_runs,
    "clean": _cleaned,
    **{fault: _disturbed(fault) for fault in _DISTURBED},
}
