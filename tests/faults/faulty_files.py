"""Tables written into files, right or with a fault: bad cells, odd encodings, other types of numbers, pickled code."""

import pickle
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

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
CANARY = "ran.txt"


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


class _Runs:
    """An object whose unpickling writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.path), "w"))


def runs_when_read(folder: Path) -> np.ndarray:
    """An array of one object; unpickling it writes the file CANARY."""
    return np.array([_Runs(folder / CANARY)], dtype=object)


def written(rng: np.random.Generator, content: Content, path: Path) -> np.ndarray | str | None:
    """Writes a table, with a fault or without one, in the form that the name of its file says.

    Returns:
        The numbers in the file; what is wrong with it where it must be refused; None where nobody can know.
    """
    return _WRITE[path.suffix](rng, content, path)


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
        0: (runs_when_read(folder), "a pickled object"),
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
            archive.writestr("weights.pkl", pickle.dumps(_Runs(path.parent / CANARY)))
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


_WRITE = {".csv": _write_csv, ".parquet": _write_parquet, ".npy": _write_npy, ".npz": _write_npz}
