"""Record and state of a stream on disk, in a number of files that does not grow with the stream."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxmc.driver.checkpoint import Checkpoint
from auxmc.numerics.array_types import NamedArrays

__all__ = ["SavedStream", "StreamFiles"]

_STATE = "state.npz"


class SavedStream(NamedTuple):
    """What was saved last.

    Attributes:
        records: of each stream, all chunks.
        leaves: of the state tree after them.
        run_s: seconds spent running.
    """

    records: list[NamedArrays]
    leaves: list[NDArray[Any]]
    run_s: float


class StreamFiles:
    """A file for the record of each stream, which grows, and one for the state, which is replaced.

    The state counts: chunks of a record beyond those that it knows of are cut off when it is read.

    Args:
        checkpoint: the folder, and what the run depends on.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._n_chunks = 0

    def load(self, like: Sequence[NDArray[Any]]) -> SavedStream | None:
        """Reads what was saved.

        Args:
            like: leaves whose shapes and types the saved ones must have.

        Returns:
            None, and record and state are removed, if there is nothing, or it belongs to a run with other settings.
        """
        saved = self._read(like)
        if saved is None:
            # Not the folder: a file of rows may lie in it, and be open.
            for path in (self._checkpoint.folder / _STATE, *self._checkpoint.folder.glob("record*.bin")):
                path.unlink(missing_ok=True)
            self._n_chunks = 0
        return saved

    def save(self, records: Sequence[NamedArrays], leaves: Sequence[NDArray[Any]], run_s: float) -> None:
        """Appends the new part of the records and replaces the state.

        Args:
            records: of each stream, the chunks since the last call; as many for each, and the same names each time.
            leaves: of the state tree after them.
            run_s: seconds spent running.
        """
        folder = self._checkpoint.folder
        folder.mkdir(parents=True, exist_ok=True)
        types = []
        for number, record in enumerate(records):
            kind = np.dtype([(name, values.dtype) for name, values in record.items()])
            types.append(kind.descr)
            rows = np.empty(len(next(iter(record.values()))), kind)
            for name, values in record.items():
                rows[name] = values
            with self._record(number).open("r+b" if self._n_chunks else "wb") as file:
                file.seek(self._n_chunks * kind.itemsize)
                file.write(rows.tobytes())
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
        about: dict[str, Any] = {
            "identity": self._checkpoint.identity,
            "n_chunks": self._n_chunks + len(rows),
            "types": types,
            "n_leaves": len(leaves),
            "run_s": run_s,
        }
        arrays: dict[str, Any] = {f"leaf{i}": leaf for i, leaf in enumerate(leaves)}
        temporary = folder / f".{_STATE}.partial"
        with temporary.open("wb") as file:
            np.savez(file, about=np.asarray(json.dumps(about)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, folder / _STATE)
        self._n_chunks = about["n_chunks"]

    def _read(self, like: Sequence[NDArray[Any]]) -> SavedStream | None:
        try:
            with np.load(self._checkpoint.folder / _STATE) as file:
                about = json.loads(str(file["about"]))
                leaves = [file[f"leaf{i}"] for i in range(about["n_leaves"])]
            fits = about["identity"] == self._checkpoint.identity and len(leaves) == len(like)
            fits = fits and all(
                a.shape == b.shape and a.dtype == b.dtype for a, b in zip(leaves, like, strict=True)
            )
            if not fits:
                return None
            n_chunks = int(about["n_chunks"])
            records = []
            for number, names in enumerate(about["types"]):
                kind = np.dtype([(name, text) for name, text in names])
                rows = np.fromfile(self._record(number), kind, n_chunks)
                if len(rows) < n_chunks:
                    return None
                records.append({name: rows[name].copy() for name in kind.names or ()})
        except (OSError, ValueError, KeyError, EOFError):
            return None
        self._n_chunks = n_chunks
        return SavedStream(records, leaves, about["run_s"])

    def _record(self, number: int) -> Path:
        return self._checkpoint.folder / f"record{number}.bin"
