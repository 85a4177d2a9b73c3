"""Runs of cases and of streams that are repeated, with a fault and without one, and the arrays that they make."""

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pandas as pd

from auxmc.driver.results import read_result
from auxmc_pipeline.cases import study_cases
from auxmc_pipeline.catalogue import CONF, load_study
from auxmc_pipeline.publishing.digests import lasting_arrays, measures_time
from tests.copies import python_path

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
    "stream --data rows.parquet --model linear --estimator annealed --particles 8 --moves 2 --batch-size 20 "
    "--replicates 2 --chunk-rows 20 --every 0 --output results"
)


class Ended(NamedTuple):
    """How a process ended: its exit status, negative after a signal, and what it wrote."""

    code: int
    said: str


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


def drawn_work(rng: np.random.Generator, folder: Path) -> Work:
    """A case or a stream, drawn at random; what it reads is put into the folder where it is to run."""
    if rng.random() < 0.7:
        cases = _MANY_BLOCKS if rng.random() < 0.6 else _smoke_cases()
        return _case_work(cases[int(rng.integers(len(cases)))])
    _rows(folder)
    return _stream_work(str(rng.choice(["reservoir", "store"])))


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
    with read_result(folder / "results" / "case.nc") as tree:
        return lasting_arrays(tree)


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
    return [sys.executable, "-m", "auxmc.command_line", *_STREAM.split(), "--past", past]


def stream_arrays(folder: Path) -> dict[str, np.ndarray]:
    """The record of a stream, without times."""
    record = pd.read_parquet(folder / "results" / "record.parquet")
    return {name: record[name].to_numpy() for name in record if not measures_time(name)}


@functools.cache
def _stream_work(past: str) -> Work:
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
    environment = {**os.environ, "PYTHONPATH": python_path(), "JAX_PLATFORMS": "cpu"}
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


def finish(process: "subprocess.Popen[str]") -> Ended:
    """Waits for a command; one that takes too long is killed, and its exit status is -999."""
    try:
        said = process.communicate(timeout=200.0)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return Ended(-999, process.communicate()[1])
    return Ended(process.returncode, said)
