"""Files of the project's own that are damaged or half-written: noticed, named, and made again or refused."""

import contextlib
import functools
import io
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr

from auxmc.command_line import main
from auxmc.driver.blocks import Program, Sampler, Samples, run_program, trace_sampler
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.files.arrays import DamagedFile
from auxmc.driver.results import read_result, read_table, write_csv, write_result, write_table
from auxmc.driver.stream_files import StreamFiles
from auxmc.driver.units import PieceError, Share, Units, read_pieces, write_piece
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc_pipeline.judging.study_tables import read_numbers, read_verdicts
from auxmc_pipeline.judging.sums import SUMS, sums_of
from auxmc_pipeline.publishing.cases import packed, unpack
from auxmc_pipeline.publishing.jobs import COLUMNS, read_jobs
from auxmc_pipeline.tidy import tidy_table
from tests.faults.damage import damaged_bytes
from tests.faults.trials import REFUSED, REMADE, RIGHT, Outcome, refusal

_BLOCK, _N_BLOCKS = 10, 5
_KEYS = 3


def try_damaged_file(rng: np.random.Generator, folder: Path) -> Outcome:
    """One file of one kind, damaged."""
    return _KINDS[int(rng.integers(len(_KINDS)))](rng, folder)


def _damage_one(rng: np.random.Generator, files: list[Path]) -> Path:
    """Damages one of some files, takes it away, or puts another in its place."""
    path = files[int(rng.integers(len(files)))]
    kind = rng.random()
    if kind < 0.05:
        path.unlink()
    elif kind < 0.1 and len(files) > 1:
        path.write_bytes(files[int(rng.integers(len(files)))].read_bytes())
    else:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    return path


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


# Checkpoints of a chain.


@functools.cache
def _program() -> Program:
    def kernel(scale: Any) -> Any:
        return random_walk_metropolis(lambda x: -0.5 * jnp.sum(x**2), scale, 3)

    sampler = Sampler(
        build=lambda p: kernel(p["scale"]),
        initial=lambda key, p: kernel(p["scale"]).init(jax.random.key(0), jax.random.normal(key, (3,))),
        record=lambda state, info: {"position": state.position, "accepted": info.accepted},
    )
    return trace_sampler(
        sampler, _scales(), _lanes(), n_draws=_BLOCK * _N_BLOCKS, block_size=_BLOCK
    ).compile()


def _scales() -> Any:
    return {"scale": jnp.linspace(0.5, 1.0, _KEYS)}


def _lanes() -> Any:
    return jax.random.split(jax.random.key(1), _KEYS)


def _chain(checkpoint: Checkpoint | None) -> Samples:
    return run_program(_program(), _scales(), _lanes(), checkpoint=checkpoint)


@functools.cache
def _whole_chain() -> tuple[dict[str, np.ndarray], dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        found = _chain(Checkpoint(Path(folder) / "c", "these"))
        return found.draws, {path.name: path.read_bytes() for path in (Path(folder) / "c").iterdir()}


def _checkpoint(rng: np.random.Generator, folder: Path) -> Outcome:
    fault = "a checkpoint of a chain"
    draws, good = _whole_chain()
    n_there = int(rng.integers(1, _N_BLOCKS))
    for name in sorted(good)[:n_there]:
        (folder / name).write_bytes(good[name])
    damaged = _damage_one(rng, sorted(folder.iterdir()))
    # A last block that is gone has never been, and one that is as it was is not damaged.
    unseen = not damaged.exists() or damaged.read_bytes() == good[damaged.name]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        found = _chain(Checkpoint(folder, "these"))
    if not _same(found.draws, draws):
        return Outcome(fault, "wrong", "", errors.getvalue())
    n_kept = found.n_resumed // _BLOCK
    place = int(re.findall(r"\d+", damaged.name)[0])
    if n_kept < min(place, n_there):
        return Outcome(fault, "wrong", "", f"{place} good blocks before the damage, {n_kept} kept")
    if n_kept == n_there:
        return Outcome(fault, RIGHT)
    said = errors.getvalue()
    if not unseen and "is damaged (" not in said:
        return Outcome(fault, "not one line", "", said)
    return Outcome(fault, REMADE, "the damaged block and those after it", said)


# Pieces of a case.


def _piece(rng: np.random.Generator, folder: Path) -> Outcome:
    fault = "a piece of a case"
    made = {}
    paths = [folder / f"{k + 1}-of-2.npz" for k in range(2)]
    for k, path in enumerate(paths):
        units = Units(Share(k, 2))
        made["stage", k] = units.made["stage", k] = {"draws": np.arange(20.0) + k, "n": np.asarray(k)}
        write_piece(path, units, "these", {"piece": k})
    damaged = _damage_one(rng, paths)
    try:
        read, about = read_pieces(paths, "these")
    except PieceError as error:
        return refusal(fault, str(error), str(damaged.parent))
    same = read.keys() == made.keys() and all(_same(read[key], made[key]) for key in made)
    return Outcome(fault, RIGHT if same and about == [{"piece": 0}, {"piece": 1}] else "wrong")


# The state of a stream.


def _stream_state(rng: np.random.Generator, folder: Path) -> Outcome:
    fault = "the state of a stream"
    leaves = [rng.normal(size=50), np.arange(4)]
    record = {"n_rows": np.arange(30), "log_evidence": rng.normal(size=30)}
    files = StreamFiles(Checkpoint(folder / "s", "these"))
    files.save([record, record], leaves, 1.0)
    _damage_one(rng, sorted((folder / "s").iterdir()))
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        saved = StreamFiles(Checkpoint(folder / "s", "these")).load(leaves)
    if saved is not None:
        same = all(np.array_equal(a, b) for a, b in zip(saved.leaves, leaves, strict=True))
        return Outcome(fault, RIGHT if same and all(_same(one, record) for one in saved.records) else "wrong")
    said = errors.getvalue()
    gone = not said and not list((folder / "s").iterdir())
    if not gone and said.count("\n") != 1:
        return Outcome(fault, "not one line", "", said)
    return Outcome(fault, REMADE, "the stream, which is absorbed again", said)


# Results, tables, claims.


@functools.cache
def _result_bytes() -> bytes:
    rng = np.random.default_rng(1)
    posterior = xr.Dataset({"z": (("chain", "draw"), rng.normal(size=(4, 50)))})
    statistics = xr.Dataset({"mean": ("chain", rng.normal(size=4), {"units": "nats"}), "n": ((), 3)})
    about = {
        "study": "radon",
        "case": "nuts",
        "settings": {"preset": "quick", "seed": 1, "batch": {}},
        "numbers": "n",
        "code": "c",
        "seed": 1,
        "cpu_s": 1.0,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nuts.nc"
        write_result(path, {"posterior": posterior, "statistics": statistics}, about)
        return path.read_bytes()


def _result(rng: np.random.Generator, folder: Path) -> Outcome:
    good = folder / "good.nc"
    path = folder / "results" / "quick" / "radon" / "nuts.nc"
    path.parent.mkdir(parents=True)
    for one in (good, path):
        one.write_bytes(_result_bytes())
    path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    way = int(rng.integers(3))
    if way == 0:
        fault = "a result, in tables"
        wanted = tidy_table([good], "statistics")
        try:
            found = tidy_table([path], "statistics")
        except DamagedFile as error:
            return _named(fault, path, str(error))
        return Outcome(
            fault, RIGHT if found.drop(columns="case").equals(wanted.drop(columns="case")) else "wrong"
        )
    fault, words = [
        ("a result, auxmc show", ["show", str(path)]),
        ("a result, auxmc compare", ["compare", str(good), str(path)]),
    ][way - 1]
    said, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        code = main(words)
    if code:
        return _named(fault, path, errors.getvalue())
    tree, other = read_result(good), read_result(path)
    same = tree.load().identical(other.load())
    tree.close()
    other.close()
    return Outcome(fault, RIGHT if same else "wrong", "", said.getvalue())


def _named(fault: str, path: Path, message: str) -> Outcome:
    found = refusal(fault, message, str(path))
    if found.outcome == REFUSED and f"snakemake --force {path}" not in message:
        return Outcome(fault, "not one line", "", f"no command that makes it again: {message}")
    return found


def _table(rng: np.random.Generator, folder: Path) -> Outcome:
    path = folder / "results" / "quick" / "radon" / "summary.parquet"
    frame = pd.DataFrame({"case": list("aabb"), "value": rng.normal(size=4), "unit": [None, "s", "", "nats"]})
    write_table(path, frame)
    path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    fault = "a table, .parquet"
    try:
        found = read_table(path)
    except DamagedFile as error:
        return _named(fault, path, str(error))
    return Outcome(fault, RIGHT if found.equals(frame) else "wrong", "", f"{found}")


def _claims(rng: np.random.Generator, folder: Path) -> Outcome:
    fault = "claims and numbers, .csv"
    frame = pd.DataFrame({"name": ["a", "b"], "value": rng.normal(size=2), "note": ["x", "y"]})
    path = folder / "results" / "quick" / "radon" / str(rng.choice(["claims.csv", "numbers.csv"]))
    write_csv(path, frame)
    path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    try:
        found = (read_verdicts if path.name == "claims.csv" else read_numbers)(path)
    except DamagedFile as error:
        return _named(fault, path, str(error))
    return Outcome(fault, RIGHT if found[frame.columns].equals(frame) else "wrong", "", f"{found}")


def _published(rng: np.random.Generator, folder: Path) -> Outcome:
    """A kept case, the record of jobs, or the sums themselves."""
    source = folder / "nuts.nc"
    source.write_bytes(_result_bytes())
    names = ["cases/nuts.nc.gz", "pieces.csv"]
    (folder / "cases").mkdir()
    (folder / names[0]).write_bytes(packed(source, "digest"))
    jobs = pd.DataFrame([{name: kind(1) for name, kind in COLUMNS.items()}])
    jobs.to_csv(folder / names[1], index=False)
    wanted = read_jobs(folder / names[1])
    (folder / SUMS).write_text(sums_of(folder, names))
    path = folder / str(rng.choice([*names, SUMS]))
    path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    fault = f"published: {path.suffix or path.name}"
    try:
        unpack(folder / names[0], folder / "again.nc")
        found = read_jobs(folder / names[1])
    except DamagedFile as error:
        return refusal(fault, str(error), "git checkout")
    one, other = tidy_table([source], "statistics"), tidy_table([folder / "again.nc"], "statistics")
    same = found.equals(wanted) and one.drop(columns="case").equals(other.drop(columns="case"))
    return Outcome(fault, RIGHT if same else "wrong")


# Compiled programs.


def _stored_program(rng: np.random.Generator, folder: Path) -> Outcome:
    fault = "a stored compiled program"
    options = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = [getattr(jax.config, name) for name in options]
    size = int(rng.integers(2, 9))

    def result() -> np.ndarray:
        jax.clear_caches()
        jax._src.compilation_cache.reset_cache()
        return np.asarray(jax.jit(lambda x: jnp.cumsum(jnp.sin(x) * size))(jnp.arange(float(size))))

    try:
        jax.config.update(options[0], str(folder))
        jax.config.update(options[1], 0.0)
        wanted = result()
        files = sorted(folder.glob("*-cache"))
        changed = [damaged_bytes(rng, path.read_bytes()) for path in files]
        for path, content in zip(files, changed, strict=True):
            path.write_bytes(content)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = result()
    finally:
        for name, value in zip(options, before, strict=True):
            jax.config.update(name, value)
        jax._src.compilation_cache.reset_cache()
    if not files:
        return Outcome(fault, "wrong", "", "nothing was stored")
    if not np.array_equal(found, wanted):
        return Outcome(fault, "wrong")
    told = any("persistent compilation cache" in str(one.message) for one in caught)
    return Outcome(fault, REMADE, "a compilation") if told else Outcome(fault, RIGHT)


_KINDS: list[Callable[[np.random.Generator, Path], Outcome]] = [
    _checkpoint,
    _piece,
    _stream_state,
    _result,
    _table,
    _claims,
    _published,
    _stored_program,
]
