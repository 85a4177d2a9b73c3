"""Processes that are killed, stopped, starved or disturbed: in the end the arrays of a run that was left alone."""

import contextlib
import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pandas as pd

from auxmc.driver.results import read_result
from auxmc_pipeline.cases import study_cases
from auxmc_pipeline.catalogue import CONF, load_study
from tests.faults.trials import REFUSED, REMADE, RIGHT, ROOT, Outcome

# Of many blocks, so that faults come between them and inside them.
_MANY_BLOCKS = (
    ("gaussian_latent", "n_importance=8", "n_draws=8000", "n_chains=2", "block_size=200"),
    ("gaussian_latent", "n_importance=2", "n_draws=4000", "n_chains=1", "block_size=100"),
)
# A case of every study, as the preset `smoke` has it.
_SMOKE = {
    "boltzmann": "chains__system-0",
    "estimator_illustrations": "kernels",
    "foundations": "chains",
    "gaussian_latent": "two_samples",
    "generalised_lambda": "constrained_hmc",
    "gp_probit": "main__method-apm_ss_mh",
    "human_pose": "constrained_hmc",
    "image_models": "model__model-own_digits",
    "lotka_volterra": "slices",
    "manifold_illustrations": "trajectory",
    "radon": "ais",
    "streaming_evidence": "linear",
    "tempering_illustration": "ladder",
}
_STREAM = (
    "--estimator",
    "annealed",
    "--particles",
    "8",
    "--moves",
    "2",
    "--batch-size",
    "20",
    "--replicates",
    "2",
)
NO_TIME = re.compile(r"seconds|_s$")
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


class Ended(NamedTuple):
    """How a process ended: its exit status, negative after a signal, and what it wrote."""

    code: int
    said: str


def try_process(rng: np.random.Generator, folder: Path) -> Outcome:
    """One fault in one run of a case or of a stream."""
    return (_of_case if rng.random() < 0.7 else _of_stream)(rng, folder)


def _of_case(rng: np.random.Generator, folder: Path) -> Outcome:
    cases = _MANY_BLOCKS if rng.random() < 0.6 else _smoke_cases()
    work = _case_work(cases[int(rng.integers(len(cases)))])
    return _FAULTS[list(_FAULTS)[int(rng.integers(len(_FAULTS)))]](rng, folder, work)


def _of_stream(rng: np.random.Generator, folder: Path) -> Outcome:
    work = _stream_work(folder, str(rng.choice(["reservoir", "store"])))
    return _FAULTS[list(_FAULTS)[int(rng.integers(len(_FAULTS)))]](rng, folder, work)


class Work(NamedTuple):
    """A run that can be repeated.

    Attributes:
        what: for readers.
        words: the command, which writes below the working folder.
        arrays: what it has made there.
        whole: arrays of a run that was left alone.
        seconds: how long that took.
        places: folders that hold its results and its state.
    """

    what: str
    words: Sequence[str]
    arrays: Callable[[Path], dict[str, np.ndarray]]
    whole: dict[str, np.ndarray]
    seconds: float
    places: tuple[str, ...]


@functools.cache
def _smoke_cases() -> tuple[tuple[str, ...], ...]:
    found = []
    for study, name in _SMOKE.items():
        cases = study_cases(CONF, study, load_study(study).schema, "smoke")
        overrides = next(case.overrides for case in cases if case.name == name)
        found.append((study, *(word for word in overrides if word != "preset=smoke")))
    return tuple(found)


def _case_words(case: tuple[str, ...]) -> list[str]:
    study, *settings = case
    words = [f"study={study}", "preset=smoke", *settings, "out=results/case.nc"]
    return [sys.executable, "-m", "auxmc_pipeline.steps.run", *words]


def _case_arrays(folder: Path) -> dict[str, np.ndarray]:
    tree = read_result(folder / "results" / "case.nc")
    try:
        return {
            f"{node.path}/{name}": np.asarray(array.values)
            for node in tree.subtree
            for name, array in node.to_dataset().data_vars.items()
            if not NO_TIME.search(str(name)) and "s" not in str(array.attrs.get("units", "")).split("/")
        }
    finally:
        tree.close()


@functools.cache
def _case_work(case: tuple[str, ...]) -> Work:
    return _left_alone(
        "a case", _case_words(case), _case_arrays, lambda folder: None, ("results", ".checkpoints", ".cache")
    )


def _rows(folder: Path) -> None:
    rng = np.random.default_rng(3)
    pd.DataFrame(rng.normal(size=(6000, 3)), columns=["a", "b", "c"]).to_parquet(
        folder / "rows.parquet", index=False
    )


def _stream_words(past: str) -> list[str]:
    words = [
        "stream",
        "--data",
        "rows.parquet",
        "--model",
        "linear",
        *_STREAM,
        "--chunk-rows",
        "20",
        "--every",
        "0",
    ]
    return [sys.executable, "-m", "auxmc.command_line", *words, "--past", past, "--output", "results"]


def stream_arrays(folder: Path) -> dict[str, np.ndarray]:
    """The record of a stream, without times."""
    record = pd.read_parquet(folder / "results" / "record.parquet")
    return {name: record[name].to_numpy() for name in record if not NO_TIME.search(name)}


def _stream_work(folder: Path, past: str) -> Work:
    _rows(folder)
    return _stream_alone(past)


@functools.cache
def _stream_alone(past: str) -> Work:
    return _left_alone(f"a stream, past in a {past}", _stream_words(past), stream_arrays, _rows, ("results",))


def _left_alone(
    what: str,
    words: list[str],
    arrays: Callable[[Path], dict[str, np.ndarray]],
    prepare: Callable[[Path], None],
    places: tuple[str, ...],
) -> Work:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        begin = time.monotonic()
        ended = finish(start(folder, words))
        if ended.code:
            raise RuntimeError(f"{words} fails without a fault: {ended.said}")
        return Work(what, words, arrays, arrays(folder), time.monotonic() - begin, places)


def start(
    folder: Path,
    words: Sequence[str],
    before: str = "",
    limit: Callable[[], None] | None = None,
    errors: IO[str] | int = subprocess.PIPE,
) -> "subprocess.Popen[str]":
    """Starts a command of the project in a folder, in a group of processes of its own.

    Args:
        folder: where it works.
        words: the command.
        before: code that its interpreter runs before anything else.
        limit: called in the process before the command.
        errors: where its messages go.
    """
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "JAX_PLATFORMS": "cpu"}
    if before:
        (folder / "disturbed").mkdir(exist_ok=True)
        (folder / "disturbed" / "sitecustomize.py").write_text(before)
        environment["PYTHONPATH"] = f"{folder / 'disturbed'}:{environment['PYTHONPATH']}"
    return subprocess.Popen(
        list(words),
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
        preexec_fn=limit,
    )


def finish(process: "subprocess.Popen[str]", seconds: float = 200.0) -> Ended:
    """Waits for a command; one that takes too long is killed, and its exit status is -999."""
    try:
        said = process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return Ended(-999, process.communicate()[1])
    return Ended(process.returncode, said)


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
