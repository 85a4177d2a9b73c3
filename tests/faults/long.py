"""Long runs that are killed again and again, beside the same runs left alone: `python -m tests.faults.long --help`."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tests.faults.long_runs import LongRun, Memory, flat, in_words, with_row
from tests.faults.processes import NO_TIME, start, stream_arrays

_CHUNK_ROWS = 500
_BLOCK = 100_000
_ROWS_AT_A_TIME = 1 << 20
# Numbers of a row, and of an iteration with its copies in blocks and in the results of both runs, take about as much.
_BYTES_OF_A_ROW, _BYTES_OF_AN_ITERATION = 12, 120
_LOOK_EVERY_S, _SAY_EVERY_S = 1.0, 60.0


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


class Watched(NamedTuple):
    """A run that has come to its end: how often it was killed, its minutes, and its memory second by second."""

    n_kills: int
    minutes: float
    memory: list[Memory]


class LongRunError(RuntimeError):
    """A run ended in an error, or does not get on between kills."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one kind; returns 0 if all arrays agree and memory is flat, 130 after Ctrl-C, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.long",
        description="Makes a long run twice, left alone and killed again and again, and compares all arrays and the "
        "memory in the first and in the last quarter. Nothing is left behind but the line of the page.",
    )
    parser.add_argument(
        "what", choices=sorted(_WORKS), help="stream: rows through auxmc stream; chain: a case of a study"
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
    try:
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="long") as name:
            row, well = _both(options.what, size, options.every, options.seed, Path(name))
    except KeyboardInterrupt:
        print("interrupted: nothing is left of it", file=sys.stderr)
        return 130
    except LongRunError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for title, cell in zip(LongRun._fields, row, strict=True):
        print(f"{title:12} {cell}")
    if options.write:
        options.write.write_text(with_row(options.write.read_text(), row))
    return 0 if well else 1


def _both(what: str, size: int, every_s: float, seed: int, folder: Path) -> tuple[LongRun, bool]:
    """Both runs in a folder; the line of the page, and whether it says what it should."""
    work = _WORKS[what](size, seed, folder)
    rng = np.random.default_rng([seed, size])
    alone, killed = folder / "alone", folder / "killed"
    loads = [os.getloadavg()[0]]
    runs = []
    for place, kill_every_s in ((alone, None), (killed, every_s)):
        place.mkdir()
        runs.append(run_to_the_end(work, place, kill_every_s, rng))
        loads.append(os.getloadavg()[0])
    n_arrays, n_numbers, differ = differences(work.arrays(alone), work.arrays(killed))
    print(*(f"{name} differs" for name in differ), sep="\n")
    row = LongRun(
        work.what,
        f"{size:,}",
        f"{runs[1].n_kills} times, every {every_s:g} s",
        f"{len(differ)} of {n_arrays}, with {n_numbers:,} numbers",
        f"{runs[0].minutes:.1f}",
        f"{runs[1].minutes:.1f}",
        in_words(runs[0].memory),
        in_words(runs[1].memory),
        f"{datetime.now(UTC):%Y-%m-%d}, load {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores",
    )
    return row, not differ and all(flat(run.memory) for run in runs)


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
        names = {"/".join(map(str, key)): str(i) for i, key in enumerate(keys)}
        self._places = {name: place for name, place in names.items() if not NO_TIME.search(name)}

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


def _resident_mib(process: int) -> float:
    """Memory of a process now, 0 if it is no more."""
    pages = 0
    with contextlib.suppress(OSError):
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _count(text: str) -> int:
    number = float(text)
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"a whole number above 0 is wanted, such as 1e8, got {text}")
    return int(number)


_WORKS: dict[str, Callable[[int, int, Path], Any]] = {"stream": _stream, "chain": _chain}

if __name__ == "__main__":
    sys.exit(main())
