"""Runs that are long: rows through a stream, iterations of a chain."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc_pipeline.publishing.digests import measures_time
from tests.faults.long.long_runs import LongRunError
from tests.faults.runs import stream_arrays

_CHUNK_ROWS = 500
_BLOCK = 100_000
_ROWS_AT_A_TIME = 1 << 20
# Numbers of a row, and of an iteration with its copies in blocks and in the results of both runs, take about as much.
_BYTES_OF_A_ROW, _BYTES_OF_AN_ITERATION = 12, 120


class LongWork(NamedTuple):
    """A run that is long.

    Attributes:
        what: for readers.
        words: the command.
        saved: share of the work that is finished and saved, in the folder where it works.
        arrays: what it has made there, without times.
    """

    what: str
    words: Sequence[str]
    saved: Callable[[Path], float]
    arrays: Callable[[Path], Mapping[str, np.ndarray]]


def write_rows(path: Path, n_rows: int, seed: int) -> None:
    """Rows of a linear regression on two columns as a NumPy file, made and written part by part."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype("<f4")), "fortran_order": False}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (n_rows, 3)})
        for part, first in enumerate(range(0, n_rows, _ROWS_AT_A_TIME)):
            rng = np.random.default_rng([seed, part])
            rows = rng.standard_normal((min(_ROWS_AT_A_TIME, n_rows - first), 3), dtype=np.float32)
            rows[:, 2] += rows[:, :2] @ np.array([0.5, -1.0], np.float32)
            file.write(rows.tobytes())


def _stream(n_rows: int, seed: int, folder: Path) -> LongWork:
    _require_room(folder, n_rows * _BYTES_OF_A_ROW)
    write_rows(folder / "rows.npy", n_rows, seed)
    words = (
        f"stream --data ../rows.npy --model linear --chunk-rows {_CHUNK_ROWS} --seed {seed} "
        "--every 60 --output results"
    )

    def saved(place: Path) -> float:
        try:
            with np.load(place / "results" / "state" / "state.npz") as file:
                return min(1.0, float(json.loads(str(file["about"]))["n_chunks"]) * _CHUNK_ROWS / n_rows)
        except OSError:
            return 0.0

    return LongWork(
        "rows through `auxmc stream`, model linear, running Gaussian",
        [sys.executable, "-m", "auxmc.command_line", *words.split()],
        saved,
        _stream_and_particles,
    )


def _stream_and_particles(place: Path) -> dict[str, np.ndarray]:
    particles = pd.read_parquet(place / "results" / "particles.parquet")
    return stream_arrays(place) | {f"particles: {name}": particles[name].to_numpy() for name in particles}


def _chain(n_draws: int, seed: int, folder: Path) -> LongWork:
    _require_room(folder, n_draws * _BYTES_OF_AN_ITERATION)
    block = min(_BLOCK, max(1, n_draws // 10))
    words = (
        f"study=gaussian_latent preset=smoke design=long method=pm_mh n_importance=64 dim=2 n_chains=1 seed={seed} "
        f"n_draws={n_draws} block_size={block} out=results/piece.npz --piece 1/1"
    )

    def saved(place: Path) -> float:
        if (place / "results" / "piece.npz").exists():
            return 1.0
        return min(1.0, len(list((place / ".checkpoints").rglob("block*.npz"))) / round(n_draws / block))

    return LongWork(
        "iterations of a chain, a piece of a case of `gaussian_latent`",
        [sys.executable, "-m", "auxmc_pipeline.steps.run", *words.split()],
        saved,
        lambda place: _Piece(place / "results" / "piece.npz"),
    )


class _Piece(Mapping[str, np.ndarray]):
    """Arrays of a piece but its times, read one at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with np.load(path) as file:
            keys = json.loads(str(file["about"]))["keys"]
        self._places = {
            "/".join(map(str, key)): str(i) for i, key in enumerate(keys) if not measures_time(key[-1])
        }

    def __getitem__(self, name: str) -> np.ndarray:
        with np.load(self._path) as file:
            array: np.ndarray = file[self._places[name]]
            return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _require_room(folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if n_bytes > free - (1 << 30):
        raise LongRunError(
            f"about {n_bytes / 2**30:.1f} GiB are needed below {folder.parent}, and 1 more to spare; "
            f"{free / 2**30:.1f} are free: give a smaller --size, or another --folder"
        )


WORKS: dict[str, Callable[[int, int, Path], LongWork]] = {"stream": _stream, "chain": _chain}
"""Makes ready a run of a kind: from its size, a seed, and the folder in which both runs have theirs."""
