"""Data files of users through every reader: right numbers, or a refusal; nothing in a file is ever run."""

import dataclasses
import functools
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auxmc.command_line.errors import CommandError
from auxmc.command_line.own_models.model_file import read_model
from auxmc.command_line.stream_reading import open_source
from auxmc.data.autoencoder_weights import read_autoencoder
from auxmc.data.grouped import GroupedColumns, read_grouped
from auxmc.data.joint_observations import read_joint_observations
from auxmc.data.reading import read_labelled, read_matrix
from auxmc.data.skeleton import JOINT_NAMES
from auxmc.data.tables import DataError, read_blocks
from auxmc.models.boltzmann.data import read_parameters
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from tests.copies import ROOT
from tests.faults.damage import damaged_bytes
from tests.faults.faulty_files import CANARY, Content, runs_when_read, written
from tests.faults.trials import RIGHT, Outcome, refusal, watched, with_example


class Reader(NamedTuple):
    """A way in for a file.

    Attributes:
        content: makes a table that it reads, unless a cell is bad.
        enter: what a user's command does with the file; raises what it would say.
        read: the numbers read [row, column], once `enter` has let them in.
        endings: of the files.
    """

    content: Callable[[np.random.Generator], Content]
    enter: Callable[[Path], Any]
    read: Callable[[Path, Any], np.ndarray]
    endings: tuple[str, ...]


def _numbers(rng: np.random.Generator, n_columns: int | None = None) -> Content:
    n_rows, n = int(rng.integers(4, 12)), n_columns or int(rng.integers(2, 5))
    values = rng.normal(size=(n_rows, n)) * 10.0 ** rng.integers(-3, 4)
    return Content([f"c{i}" for i in range(n)], [[repr(float(v)) for v in row] for row in values], values)


def _labelled(rng: np.random.Generator) -> Content:
    table = _numbers(rng)
    labels = ["a" if i % 2 else "b" for i in range(len(table.cells))]
    return Content(
        [*table.names, "kind"],
        [[*row, label] for row, label in zip(table.cells, labels, strict=True)],
        table.numbers,
    )


def _grouped(rng: np.random.Generator) -> Content:
    table = _numbers(rng, 2)
    groups = [f"g{i % 2}" for i in range(len(table.cells))]
    return Content(
        ["y", "x", "g"], [[*row, g] for row, g in zip(table.cells, groups, strict=True)], table.numbers
    )


def _joints(rng: np.random.Generator) -> Content:
    values = rng.normal(size=(2 * len(JOINT_NAMES), 2))
    cells = [
        [joint, str(view + 1), *(repr(float(v)) for v in values[view * len(JOINT_NAMES) + place])]
        for view in range(2)
        for place, joint in enumerate(JOINT_NAMES)
    ]
    return Content(["joint", "view", "x", "y"], cells, values)


def _symmetric(rng: np.random.Generator) -> Content:
    n = int(rng.integers(2, 5))
    half = rng.normal(size=(n, n))
    values = half + half.T
    np.fill_diagonal(values, 0.0)
    biases = rng.normal(size=n)
    values = np.vstack([values, biases])
    return Content([f"c{i}" for i in range(n)], [[repr(float(v)) for v in row] for row in values], values)


@functools.cache
def _settings(study: str) -> Any:
    return load_study(study).settings(["preset=smoke"])


def _enter_study(study: str, setting: str, **others: Any) -> Callable[[Path], Any]:
    def enter(path: Path) -> Any:
        # As a study's settings are checked once they are composed: composing anew would take ten times as long.
        load_study(study)._check(dataclasses.replace(_settings(study), **{setting: str(path)}, **others))

    return enter


_OWN = ROOT / "tests" / "faults" / "model_that_takes_data.py"


def _enter_rows(path: Path) -> Any:
    source = open_source(path, "", "")
    return np.concatenate([np.zeros((0, len(source.columns))), *read_blocks(source, 3)])


def _enter_own(path: Path) -> Any:
    return read_model(_OWN, path).parts["start"]


def _own_numbers(path: Path, found: Any) -> np.ndarray:
    return np.column_stack(list(found.values())) if isinstance(found, dict) else np.asarray(found)


def _joint_numbers(path: Path, found: Any) -> np.ndarray:
    read = read_joint_observations(path, "binocular").reshape(2, 2, len(JOINT_NAMES))
    return np.moveaxis(read, 1, 2).reshape(-1, 2)


def _labelled_numbers(path: Path, found: Any) -> np.ndarray:
    return read_labelled(path, "kind").features


def _grouped_numbers(path: Path, found: Any) -> np.ndarray:
    read = read_grouped(path, GroupedColumns("y", "g", ("x",), ()))
    return np.column_stack([read.outcome, read.regressors])


def _system_numbers(path: Path, found: Any) -> np.ndarray:
    read = read_parameters(path)
    return np.vstack([read.weights, read.biases])


READERS = {
    "rows of auxmc stream": Reader(
        _numbers, _enter_rows, lambda path, found: found, (".csv", ".parquet", ".npy")
    ),
    "data of auxmc sample": Reader(_numbers, _enter_own, _own_numbers, (".csv", ".parquet", ".npy", ".npz")),
    "labelled rows": Reader(
        _labelled, _enter_study("gp_probit", "data", label="kind"), _labelled_numbers, (".csv",)
    ),
    "observations": Reader(
        lambda rng: _numbers(rng, 1),
        _enter_study("gaussian_latent", "data"),
        lambda p, _: read_matrix(p),
        (".csv",),
    ),
    "grouped rows": Reader(
        _grouped,
        _enter_study("radon", "data", outcome="y", group="g", row_regressors=["x"]),
        _grouped_numbers,
        (".csv",),
    ),
    "joints": Reader(_joints, _enter_study("human_pose", "data"), _joint_numbers, (".csv",)),
    "weights of a machine": Reader(
        _symmetric, _enter_study("boltzmann", "data"), _system_numbers, (".csv", ".npz")
    ),
}


def try_data_file(rng: np.random.Generator, folder: Path) -> Outcome:
    """A file with any of the faults above, or none, through one of the readers."""
    if rng.random() < 0.1:
        return _weights_of_images(rng, folder)
    name = str(rng.choice(list(READERS)))
    reader = READERS[name]
    content = reader.content(rng)
    ending = str(rng.choice(reader.endings))
    path = folder / f"d{ending}"
    expected = written(rng, content, path)
    if name == "data of auxmc sample" and ending == ".npz" and not isinstance(expected, str):
        expected = None  # several arrays, which are handed over as they are
    if rng.random() < 0.2:
        changed = damaged_bytes(rng, path.read_bytes())
        expected = expected if changed == path.read_bytes() else None
        path.write_bytes(changed)
    return _entered(f"{name}, {ending}", reader, path, expected)


def _entered(fault: str, reader: Reader, path: Path, expected: np.ndarray | str | None) -> Outcome:
    """Lets a file in; `expected` are its numbers, "bad" where it must be refused, None where nobody can know."""
    with watched(path.parent) as seen:
        try:
            found = reader.enter(path)
            read = np.asarray(reader.read(path, found), float)
        except (CommandError, DataError, SettingsError) as error:
            outcome = refusal(fault, str(error), path.name)
        except OSError as error:
            outcome = refusal(fault, str(error))
        else:
            outcome = _judged(fault, read, expected)
    if seen:
        return Outcome(fault, *seen[0])
    if (path.parent / CANARY).exists():
        return Outcome(fault, "ran data", "", "an object of the file was unpickled")
    return with_example(outcome, path.read_bytes()[:300])


def _judged(fault: str, read: np.ndarray, expected: np.ndarray | str | None) -> Outcome:
    if not np.isfinite(read).all():
        return Outcome(fault, "wrong", "", "numbers that are not finite were let in")
    if isinstance(expected, str):
        return Outcome(fault, "wrong", "", f"was let in although it is {expected}: {read.tolist()}")
    if expected is not None and not (
        read.shape == expected.shape and np.allclose(read, expected, rtol=1e-6, atol=0.0)
    ):
        return Outcome(fault, "wrong", "", f"read as {read.tolist()}, written as {expected.tolist()}")
    return Outcome(fault, RIGHT)


def _weights_of_images(rng: np.random.Generator, folder: Path) -> Outcome:
    """Weights of an image model: what ships with the package, damaged or with an array changed."""
    source = ROOT / "src" / "auxmc" / "data" / "digits_autoencoder.npz"
    path, fault = folder / "w.npz", "weights of an image model, .npz"
    if rng.random() < 0.4:
        path.write_bytes(damaged_bytes(rng, source.read_bytes()))
    else:
        with np.load(source) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
        name = str(rng.choice(list(arrays)))
        odd = [None, np.zeros(3), arrays[name][:-1], arrays[name] * np.nan, arrays[name].astype("S4")]
        change = odd[int(rng.integers(len(odd)))]
        if change is None:
            del arrays[name]
        else:
            arrays[name] = change
        if rng.random() < 0.1:
            arrays[name] = runs_when_read(folder)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=True, **arrays)
        path.write_bytes(buffer.getvalue())
    return _entered(fault, _IMAGES, path, None)


def _image_numbers(path: Path, found: Any) -> np.ndarray:
    layers = read_autoencoder("own_digits", str(path)).decoder
    return np.concatenate([np.ravel(layer.weights) for layer in layers])


_IMAGES = Reader(_numbers, _enter_study("image_models", "weights"), _image_numbers, (".npz",))
