"""Malformed data files: every reader gives the right numbers or rejects the file in one line, and runs nothing."""

import dataclasses
import functools
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auxmc.command_line.own_models.model_file import read_model
from auxmc.command_line.stream_reading import open_source
from auxmc.data.reading import read_labelled, read_matrix
from auxmc.data.tables import read_blocks
from auxmc.errors import CommandError, DataError
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from experiments.boltzmann.model.data import read_parameters
from experiments.image_models.model.autoencoder_weights import read_autoencoder
from experiments.radon.grouped import GroupedColumns, read_grouped
from tests.audit import nothing_runs

BAD_CELLS = [
    *[
        "nan",
        "inf",
        "-Infinity",
        "NA",
        "?",
        "null",
        "1_000",
        "0x1p3",
        "1e400",
        "one",
        "'1'",
        "=1+1",
        "--1",
        "1e",
        "++",
    ],
    "\x00",
    '"',
    "\u22121",
]
MODEL = "def start(data):\n    return data\ndef log_density(v):\n    return 0.0\n"
DRAWS = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Reader(NamedTuple):
    """What a command does with a file, and what a good file has around its numbers [row, column]."""

    read: Callable[[Path], Any]
    endings: tuple[str, ...] = (".csv",)
    n_columns: int = 3
    labels: Callable[[int], dict[str, list[str]]] = lambda n: {}


@functools.cache
def composed(study: str) -> Any:
    return load_study(study).settings(["preset=smoke"])


def checked(study: str, name: str, read: Callable[[Path], Any], **others: Any) -> Callable[[Path], Any]:
    """Checks a file as a setting of a study, and reads it."""

    def enter(path: Path) -> Any:
        load_study(study)._check(dataclasses.replace(composed(study), **{name: str(path)}, **others))
        return read(path)

    return enter


def stream_rows(path: Path) -> np.ndarray:
    source = open_source(path, "", "")
    return np.concatenate([np.zeros((0, len(source.columns))), *read_blocks(source, 3)])


def own_data(path: Path) -> Any:
    (path.parent / "model.py").write_text(MODEL, encoding="utf-8")
    found = read_model(path.parent / "model.py", path).parts["start"]
    return np.column_stack(list(found.values())) if isinstance(found, dict) else np.asarray(found)


def grouped(path: Path) -> np.ndarray:
    read = read_grouped(path, GroupedColumns("c0", "g", ("c1", "c2"), ()))
    return np.column_stack([read.outcome, read.regressors])


READERS = {
    "rows of auxmc stream": Reader(stream_rows, (".csv", ".parquet", ".npy")),
    "data of auxmc sample": Reader(own_data, (".csv", ".parquet", ".npy")),
    "labelled rows": Reader(
        checked("gp_probit", "data", lambda path: read_labelled(path, "kind").features, label="kind"),
        labels=lambda n: {"kind": ["ab"[i % 2] for i in range(n)]},
    ),
    "observations": Reader(checked("gaussian_latent", "data", read_matrix), n_columns=1),
    "grouped rows": Reader(
        checked("radon", "data", grouped, outcome="c0", group="g", row_regressors=["c1", "c2"]),
        labels=lambda n: {"g": [f"g{i % 2}" for i in range(n)]},
    ),
}


def damaged(draw: Callable[[Any], Any], content: bytes) -> bytes:
    place = draw(st.integers(0, len(content) - 1))
    return draw(
        st.sampled_from(
            [
                content[:place],
                content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :],
                content[:place] + bytes(len(content) - place),
                content + b"\xff\x00\x13",
            ]
        )
    )


def csv_file(draw: Callable[[Any], Any], table: pd.DataFrame, numbers: np.ndarray) -> tuple[bytes, Any]:
    """A CSV file, and its numbers, "bad" where it must be rejected, or None where nobody can know."""
    cells = [[str(cell) for cell in row] for row in table.to_numpy(object)]
    names, expected = list(table.columns), numbers
    fault = draw(st.sampled_from(["none", "cell", "short row", "long row", "name", "no rows"]))
    row = draw(st.integers(0, len(cells) - 1))
    if fault == "cell":
        cells[row][0], expected = draw(st.sampled_from(BAD_CELLS)), "bad"
    elif fault == "short row":
        cells[row], expected = cells[row][:-1], "bad" if len(names) > 1 else None
    elif fault == "long row":
        cells[row], expected = [*cells[row], "1.0"], "bad" if len(names) > 1 else None
    elif fault == "name":
        names[0], expected = draw(st.sampled_from(["", names[-1], "1.5", "a\x00b", "\u540d\u524d"])), None
    elif fault == "no rows":
        cells, expected = [], "bad"
    is_plain = draw(st.booleans())
    separator = "," if is_plain else draw(st.sampled_from([",", ";", "\t", "|", " ", ", ", ":"]))
    end = "\n" if is_plain else draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028"]))
    encoding = "utf-8" if is_plain else draw(st.sampled_from(["utf-8-sig", "utf-16", "utf-32", "cp037"]))
    content = end.join(separator.join(one) for one in [names, *cells]).encode(encoding, errors="replace")
    return content, None if isinstance(expected, str) and not is_plain else expected


def array_of(draw: Callable[[Any], Any], values: np.ndarray, canary: Path) -> tuple[np.ndarray, Any]:
    odd: list[tuple[np.ndarray, Any]] = [
        (values, values),
        (np.array([Opens(canary)], dtype=object), "bad"),
        (values.astype(complex), "bad"),
        (np.where(values == values[1, 0], np.nan, values), "bad"),
        (values.astype("S8"), "bad"),
        (values[:0], "bad"),
        (np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]), "bad"),
        (np.asfortranarray(values), values),
        (values.astype(">f4"), values),
    ]
    return odd[draw(st.integers(0, len(odd) - 1))]


def parquet_file(draw: Callable[[Any], Any], table: pd.DataFrame, numbers: np.ndarray) -> tuple[bytes, Any]:
    fault = draw(st.sampled_from(["none", "missing", "text", "lists", "single precision", "no rows"]))
    if fault == "missing":
        table.iloc[1, 0] = np.nan
    elif fault == "text":
        table["c0"] = ["x"] * len(table)
    elif fault == "lists":
        table["c0"] = [[1.0]] * len(table)
    elif fault == "single precision":
        table = table.astype("float32")
    elif fault == "no rows":
        table = table.iloc[:0]
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue(), numbers if fault in ("none", "single precision") else "bad"


class Opens:
    """An object whose unpickling writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def check(path: Path, read: Callable[[Path], Any], expected: Any) -> None:
    message, found = "", None
    with nothing_runs():
        try:
            found = np.asarray(read(path), float)
        except (CommandError, DataError, SettingsError) as error:
            message = str(error)
            assert path.name in message
        except OSError as error:
            message = str(error)
    assert not (path.parent / "ran").exists()
    assert "\n" not in message.strip()
    if found is not None:
        assert np.isfinite(found).all()
        assert not isinstance(expected, str), "a malformed file was read"
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", READERS)
@DRAWS
@given(data=st.data())
def test_malformed_table_is_read_right_or_rejected(name: str, data: st.DataObject, tmp_path: Path) -> None:
    reader = READERS[name]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    numbers = rng.normal(size=(data.draw(st.integers(4, 9)), reader.n_columns)) * 10.0 ** rng.integers(-3, 4)
    table = pd.DataFrame(numbers, columns=[f"c{i}" for i in range(reader.n_columns)])
    table = table.assign(**reader.labels(len(numbers)))
    path = tmp_path / f"d{data.draw(st.sampled_from(reader.endings))}"
    if path.suffix == ".npy":
        array, expected = array_of(data.draw, numbers, tmp_path / "ran")
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        content = buffer.getvalue()
    else:
        content, expected = (csv_file if path.suffix == ".csv" else parquet_file)(data.draw, table, numbers)
    if data.draw(st.integers(0, 3)) == 0:
        content, expected = damaged(data.draw, content), None
    path.write_bytes(content)
    check(path, reader.read, expected)


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (checked("image_models", "weights", lambda path: read_autoencoder("own_digits", str(path))), "W0"),
        (checked("boltzmann", "data", read_parameters), "weights"),
    ],
)
def test_pickled_arrays_are_rejected(read: Callable[[Path], Any], name: str, tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    np.savez(path, allow_pickle=True, **{name: np.array([Opens(tmp_path / "ran")], dtype=object)})
    check(path, read, "bad")


def test_unpickling_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError), nothing_runs():
        pickle.loads(pickle.dumps(Opens(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()
