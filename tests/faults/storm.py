"""The whole workflow, killed at random moments, everything or one process: `python -m tests.faults.storm --help`."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from auxmc.driver.results import read_result
from auxmc_pipeline.publishing.digests import lasting_arrays
from tests.copies import ROOT, copied, python_path
from tests.faults.long.long_runs import LongRun, LongRunError, compared_in_words, concluded, when

EVERYTHING, ONE = "everything", "one process"
_PARTS = ("conf", "experiments", "profiles", "src", "workflow", "pyproject.toml", "requirements.lock")
# Before a start that was refused is tried again.
_WAIT_S = 2.0
_SMOKE = ("smoke", "--cores", "1")
_AT_WORK = "another run is at work in this folder"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if all arrays agree and no traceback was shown, 130 after Ctrl-C, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.storm",
        description="Runs all studies at preset smoke as `make reproduce` does, killed and started anew, and once more "
        "left alone, in copies of the project; compares all arrays.",
    )
    parser.add_argument("--kills", type=int, default=100, help="after which it is left alone (100)")
    parser.add_argument("--every", type=float, default=15.0, help="mean of the seconds between kills (15)")
    parser.add_argument("--seed", type=int, default=20, help="of moments and processes (20)")
    parser.add_argument("--folder", type=Path, help="where a temporary folder is made")
    parser.add_argument("--write", type=Path, help="page that gets the line")
    options = parser.parse_args(arguments)
    if options.kills < 1 or options.every <= 0:
        parser.error(f"--kills and --every must be above 0, got {options.kills} and {options.every:g}")
    return concluded(partial(_both, options.kills, options.every, options.seed), options)


def _both(n_kills: int, every_s: float, seed: int, folder: Path) -> tuple[LongRun, bool]:
    loads, minutes = [os.getloadavg()[0]], []
    for name in ("killed", "alone"):
        _copy(folder / name, folder / "cache")
    for name, kills in (("killed", n_kills), ("alone", 0)):
        begin = time.monotonic()
        found = storm(folder / name, reproducing(folder / name), kills, every_s, np.random.default_rng(seed))
        minutes.append((time.monotonic() - begin) / 60.0)
        loads.append(os.getloadavg()[0])
        if kills:
            killed = found
        print(f"{name}: {minutes[-1]:.1f} min, {dict(found)}", flush=True)
    results = {name: folder / name / "results" / "smoke" for name in ("killed", "alone")}
    compared, same = compared_in_words(_Arrays(results["alone"]), _Arrays(results["killed"]))
    said = (folder / "killed" / "messages.txt").read_text()
    n_tracebacks = said.count("Traceback (most recent call last)")
    if n_tracebacks:
        print(f"{n_tracebacks} tracebacks, the first: {said[said.index('Traceback') :][:3000]}")
    of_each = f"{EVERYTHING} {killed[EVERYTHING]} times, {ONE} {killed[ONE]} times"
    row = LongRun(
        "`make reproduce`, all studies at preset `smoke`",
        f"{len(list(results['alone'].glob('*/*.nc')))} cases",
        f"{of_each}, every {every_s:g} s",
        compared,
        f"{minutes[1]:.1f}",
        f"{minutes[0]:.1f}",
        "not measured",
        "not measured",
        when(loads),
    )
    return row, same and not n_tracebacks


def reproducing(folder: Path) -> list[str]:
    """The command of `make reproduce` on the code of a copy."""
    modules = f"PYTHONPATH={python_path(folder)}"
    return ["env", modules, sys.executable, "-m", "auxmc_pipeline.steps.reproduce", *_SMOKE]


def storm(
    folder: Path, words: Sequence[str], n_kills: int, every_s: float, rng: np.random.Generator
) -> Counter[str]:
    """Runs a command until it succeeds, with kills at random moments of everything or of one process.

    Args:
        folder: where it works; all that it says goes to `messages.txt` in it.
        words: the command. It may leave processes behind when one is killed, and may refuse to work beside them.
        n_kills: after which it is left alone.
        every_s: mean time between kills.
        rng: moments and processes.

    Returns:
        Number of kills of each kind, of starts, and of starts that were refused beside processes still at work.

    Raises:
        LongRunError: it ends in an error that no kill explains.
    """
    found: Counter[str] = Counter()
    sessions: set[int] = set()
    messages = folder / "messages.txt"
    said = time.monotonic()
    try:
        while True:
            n_said = messages.stat().st_size if messages.exists() else 0
            with messages.open("a") as file:
                process = subprocess.Popen(
                    words, cwd=folder, stdout=file, stderr=file, start_new_session=True
                )
            sessions.add(process.pid)
            found["started"] += 1
            disturbed = False
            while process.poll() is None:
                wait_s = every_s * float(rng.uniform(0.0, 2.0))
                if found[EVERYTHING] + found[ONE] >= n_kills:
                    process.wait()
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(wait_s)
                if process.poll() is None:
                    disturbed |= _kill(sessions, found, rng)
                if time.monotonic() - said > 60.0:
                    said = time.monotonic()
                    done = len(list(folder.glob("results/*/*/*.nc")))
                    print(f"{dict(found)}, {done} results", flush=True)
            if process.returncode == 0:
                return found
            text = messages.read_text()[n_said:]
            if _AT_WORK in text:
                found["refused"] += 1
                time.sleep(_WAIT_S)
                if found[EVERYTHING] + found[ONE] < n_kills and rng.random() < _WAIT_S / every_s:
                    _kill(sessions, found, rng)
            elif not disturbed:
                raise LongRunError(f"exit status {process.returncode} without a kill: {text[-3000:]}")
    finally:
        for victim in processes_of(sessions):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)


def _kill(sessions: set[int], found: Counter[str], rng: np.random.Generator) -> bool:
    """Kills everything or one process, and counts it; whether there was any."""
    alive = sorted(processes_of(sessions))
    kind = str(rng.choice([EVERYTHING, ONE]))
    for victim in alive if kind == EVERYTHING or not alive else [int(rng.choice(alive))]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    found[kind] += bool(alive)
    return bool(alive)


def processes_of(sessions: set[int]) -> list[int]:
    """Processes that belong to one of some sessions and have not ended."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session) in sessions and state not in "ZX":
                    found.append(int(folder.name))
    return found


def _copy(folder: Path, cache: Path) -> None:
    """The project in a folder of its own: others may work on the source while it runs."""
    copied(folder, _PARTS)
    cache.mkdir(exist_ok=True)
    (folder / ".cache").symlink_to(cache)
    for part in ("docs", "published"):
        (folder / part).symlink_to(ROOT / part)


class _Arrays(Mapping[str, np.ndarray]):
    """Arrays of all result files of a preset, without times, one file at a time."""

    def __init__(self, folder: Path) -> None:
        self._places: dict[str, tuple[Path, str]] = {}
        self._open: tuple[Path, dict[str, np.ndarray]] | None = None
        for path in sorted(folder.glob("*/*.nc")):
            for name in self._arrays(path):
                self._places[f"{path.parent.name}/{path.name}{name}"] = (path, name)

    def _arrays(self, path: Path) -> dict[str, np.ndarray]:
        if self._open is None or self._open[0] != path:
            with read_result(path) as tree:
                self._open = (path, lasting_arrays(tree))
        return self._open[1]

    def __getitem__(self, name: str) -> np.ndarray:
        path, own = self._places[name]
        return self._arrays(path)[own]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


if __name__ == "__main__":
    sys.exit(main())
