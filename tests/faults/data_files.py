"""Data files of users through every reader: right numbers, or a refusal; nothing in a file is ever run."""

import dataclasses
import functools
import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from auxmc.command_line.errors import CommandError
from auxmc.command_line.own_models.model_file import read_model
from auxmc.command_line.stream_reading import open_source
from auxmc.data.autoencoder_weights import read_autoencoder
from auxmc.data.grouped import GroupedColumns, read_grouped
from auxmc.data.joint_observations import read_joint_observations
from auxmc.data.reading import read_labelled, read_matrix
from auxmc.data.row_files import read_blocks
from auxmc.data.skeleton import JOINT_NAMES
from auxmc.data.tables import DataError
from auxmc.models.boltzmann.data import read_parameters
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from tests.faults.damage import damaged_bytes
from tests.faults.trials import RIGHT, ROOT, Outcome, refusal, watched

ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "latin-1",
    "cp1252",
    "utf-7",
    "cp037",
    "shift_jis",
)
SEPARATORS = (",", ";", "\t", "|", " ", ", ", ":")
LINE_ENDS = ("\n", "\r\n", "\r", "\n\n", "\x0b", "\u2028")
# What a cell may hold instead of its number, and whether any reader may take it for another number.
BAD_CELLS = (
    "",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "NA",
    "?",
    "null",
    "1,5",
    "1_000",
    "0x1p3",
    "1e400",
    "one",
    "\x00",
    "1\x001",
    '"',
    "'1'",
    "=1+1",
    "\u0661\u0662",
    "--1",
    "1e",
    "++",
    "\u22121",
)
_CANARY = "ran.txt"


class Content(NamedTuple):
    """What is written.

    Attributes:
        names: of the columns.
        cells: texts [row][column].
        numbers: what they say, where every cell is a number; None where one is not.
    """

    names: list[str]
    cells: list[list[str]]
    numbers: np.ndarray | None


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


class _Runs:
    """An object whose unpickling writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.path), "w"))


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
    write = {".csv": _write_csv, ".parquet": _write_parquet, ".npy": _write_npy, ".npz": _write_npz}[ending]
    expected = write(rng, content, path)
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
    if (path.parent / _CANARY).exists():
        return Outcome(fault, "ran data", "", "an object of the file was unpickled")
    if outcome.outcome not in (RIGHT, "refused"):
        return outcome._replace(detail=f"{path.read_bytes()[:300]!r}\n{outcome.detail}")
    return outcome


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


def _with_faults(rng: np.random.Generator, content: Content) -> tuple[Content, np.ndarray | str | None]:
    """A table with a bad cell, a row that is too short, names that are no names, or nothing wrong."""
    cells = [list(row) for row in content.cells]
    names, n_columns = list(content.names), len(content.names)
    kind = rng.integers(8)
    numeric = [i for i, text in enumerate(cells[0]) if _is_number(text)]
    if kind == 0:
        row, column = int(rng.integers(len(cells))), int(rng.choice(numeric))
        cells[row][column] = str(rng.choice(BAD_CELLS))
        # A line without any cell is no row.
        harmless = _is_number(cells[row][column]) or (n_columns == 1 and cells[row][column] == "")
        return Content(names, cells, None), None if harmless else "no table of numbers"
    if kind == 1:
        row = int(rng.integers(len(cells)))
        cells[row] = cells[row][:-1] if rng.random() < 0.5 else [*cells[row], "1.0"]
        return Content(names, cells, None), "a row of another length" if n_columns > 1 else None
    if kind == 2:
        names[int(rng.integers(n_columns))] = str(
            rng.choice(["", names[0], "1.5", "na\u00efve", "a\x00b", "\u540d\u524d"])
        )
        return Content(names, cells, None), None
    if kind == 3:
        return Content(names, [], None), "a table without rows"
    return content, content.numbers


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _write_csv(rng: np.random.Generator, content: Content, path: Path) -> np.ndarray | str | None:
    content, expected = _with_faults(rng, content)
    plain = rng.random() < 0.3
    separator = "," if plain else str(rng.choice(SEPARATORS))
    end = "\n" if plain else str(rng.choice(LINE_ENDS))
    encoding = "utf-8" if plain else str(rng.choice(ENCODINGS))
    cells = content.cells
    if separator == ";" and rng.random() < 0.5 and expected is not None:
        cells = [[text.replace(".", ",") for text in row] for row in cells]
        expected = "decimal commas" if not isinstance(expected, str) else expected
    lines = [separator.join(row) for row in ([content.names] if rng.random() < 0.95 else []) + cells]
    if len(lines) == len(cells):
        expected = None  # without names, which some readers allow
    text = end.join(lines) + (end if rng.random() < 0.7 else "")
    path.write_bytes(text.encode(encoding, errors="replace"))
    return expected if plain or not isinstance(expected, str) else None


def _as_numbers(content: Content) -> np.ndarray:
    assert content.numbers is not None
    return content.numbers


def _write_parquet(rng: np.random.Generator, content: Content, path: Path) -> np.ndarray | str | None:
    values = _as_numbers(content).copy()
    frame = pd.DataFrame(values, columns=content.names)
    kind = rng.integers(8)
    expected: np.ndarray | str | None = values
    if kind == 0:
        frame.iloc[int(rng.integers(len(frame))), 0] = np.nan
        expected = "a table with a missing value"
    elif kind == 1:
        frame[content.names[0]] = ["x", *["1"] * (len(frame) - 1)]
        expected = "a table with a text"
    elif kind == 2:
        frame[content.names[0]] = pd.Timestamp("2020-01-01")
        expected = None
    elif kind == 3:
        frame[content.names[0]] = [[1.0]] * len(frame)
        expected = "a table of lists"
    elif kind == 4:
        frame = frame.astype("float32")
    elif kind == 5:
        frame = frame.iloc[:0]
        expected = "a table without rows"
    frame.to_parquet(path, index=False)
    return expected


def _array(rng: np.random.Generator, content: Content, folder: Path) -> tuple[Any, np.ndarray | str | None]:
    values = _as_numbers(content)
    kind = rng.integers(10)
    odd: dict[int, tuple[Any, np.ndarray | str | None]] = {
        0: (np.array([_Runs(folder / _CANARY)], dtype=object), "a pickled object"),
        1: (values.astype("complex128"), "complex numbers"),
        2: (
            np.where(np.arange(values.size).reshape(values.shape) == 1, np.nan, values),
            "numbers that are not finite",
        ),
        3: (values.astype("S8"), "texts"),
        4: (values[:0], "no rows"),
        5: (np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]), "a record"),
        6: (np.asfortranarray(values), values),
        7: (values.astype(">f4"), values),
    }
    return odd.get(int(kind), (values, values))


def _write_npy(rng: np.random.Generator, content: Content, path: Path) -> np.ndarray | str | None:
    array, expected = _array(rng, content, path.parent)
    np.save(path, array, allow_pickle=True)
    return expected


def _write_npz(rng: np.random.Generator, content: Content, path: Path) -> np.ndarray | str | None:
    array, expected = _array(rng, content, path.parent)
    if rng.random() < 0.1:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../../weights.npy", b"no array")
            archive.writestr("weights.pkl", pickle.dumps(_Runs(path.parent / _CANARY)))
        return None
    if (
        content.numbers is not None
        and len(content.numbers) == len(content.names) + 1
        and array is content.numbers
    ):
        np.savez(path, weights=array[:-1], biases=array[-1])
        return expected
    np.savez(path, **{"weights": array}, allow_pickle=True)
    return None


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
            arrays[name] = np.array([_Runs(folder / _CANARY)], dtype=object)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=True, **arrays)
        path.write_bytes(buffer.getvalue())
    return _entered(fault, _IMAGES, path, None)


def _image_numbers(path: Path, found: Any) -> np.ndarray:
    layers = read_autoencoder("own_digits", str(path)).decoder
    return np.concatenate([np.ravel(layer.weights) for layer in layers])


_IMAGES = Reader(_numbers, _enter_study("image_models", "weights"), _image_numbers, (".npz",))
