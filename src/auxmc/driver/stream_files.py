"""Record and state of a stream on disk, in a number of files that does not grow with the stream."""

import json
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.files import checked_arrays, write_arrays
from auxmc.errors import DamagedFile
from auxmc.numerics.array_types import NamedArrays

__all__ = ["SavedStream", "StreamFiles"]

_STATE = "state.npz"


class SavedStream(NamedTuple):
    """What was saved last.

    Attributes:
        records: of each stream, all chunks.
        leaves: of the state tree after them.
        run_s: seconds spent running.
        past: checksum of the file of rows, where there is one.
    """

    records: list[NamedArrays]
    leaves: list[NDArray[Any]]
    run_s: float
    past: int | None = None


class StreamFiles:
    """A file for the record of each stream, which grows, and one for the state, which is replaced.

    The state counts: chunks of a record beyond those that it knows of are cut off when it is read. It has a checksum of
    each record, and is an archive that has its own: what is damaged is named, and the run begins again.

    Args:
        checkpoint: the folder, and what the run depends on.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._n_chunks = 0
        self._checksums: list[int] = []

    def load(self, like: Sequence[NDArray[Any]]) -> SavedStream | None:
        """Reads what was saved.

        Args:
            like: leaves whose shapes and types the saved ones must have.

        Returns:
            None, and record and state are removed, if there is nothing, it is damaged, which is said, or it belongs to
            a run with other settings.
        """
        try:
            saved = self._read(like) if (self._checkpoint.folder / _STATE).exists() else None
        except DamagedFile as damage:
            self.discard(f"{self._checkpoint.folder} is damaged ({damage})")
            return None
        if saved is None:
            self.discard()
        return saved

    def discard(self, why: str = "") -> None:
        """Forgets what was saved; a reason is told to the user."""
        if why:
            print(f"{why}: the stream is absorbed again from its beginning", file=sys.stderr, flush=True)
        # Not the folder: a file of rows may lie in it, and be open.
        for path in (self._checkpoint.folder / _STATE, *self._checkpoint.folder.glob("record*.bin")):
            path.unlink(missing_ok=True)
        self._n_chunks, self._checksums = 0, []

    def save(
        self,
        records: Sequence[NamedArrays],
        leaves: Sequence[NDArray[Any]],
        run_s: float,
        past: int | None = None,
    ) -> None:
        """Appends the new part of the records and replaces the state.

        Args:
            records: of each stream, the chunks since the last call; as many for each, and the same names each time.
            leaves: of the state tree after them.
            run_s: seconds spent running.
            past: checksum of the file of rows, where there is one.

        Raises:
            OSError: they cannot be written; what was saved before is there still.
        """
        folder = self._checkpoint.folder
        folder.mkdir(parents=True, exist_ok=True)
        types, checksums = [], []
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
            checksums.append(zlib.crc32(rows.tobytes(), self._checksums[number] if self._n_chunks else 0))
        about: dict[str, Any] = {
            "identity": self._checkpoint.identity,
            "n_chunks": self._n_chunks + len(rows),
            "types": types,
            "n_leaves": len(leaves),
            "run_s": run_s,
            "checksums": checksums,
            "past": past,
        }
        arrays: dict[str, Any] = {f"leaf{i}": leaf for i, leaf in enumerate(leaves)}
        write_arrays(folder / _STATE, {"about": np.asarray(json.dumps(about)), **arrays})
        self._n_chunks, self._checksums = about["n_chunks"], checksums

    def _read(self, like: Sequence[NDArray[Any]]) -> SavedStream | None:
        records = []
        with checked_arrays(self._checkpoint.folder / _STATE) as file:
            about = json.loads(str(file["about"]))
            leaves = [file[f"leaf{i}"] for i in range(about["n_leaves"])]
            fits = about["identity"] == self._checkpoint.identity and len(leaves) == len(like)
            fits = fits and all(
                a.shape == b.shape and a.dtype == b.dtype for a, b in zip(leaves, like, strict=True)
            )
            if not fits:
                return None
            for number, (names, checksum) in enumerate(zip(about["types"], about["checksums"], strict=True)):
                kind = np.dtype([(name, text) for name, text in names])
                rows = np.fromfile(self._record(number), kind, about["n_chunks"])
                if len(rows) < about["n_chunks"] or zlib.crc32(rows.tobytes()) != checksum:
                    raise DamagedFile(f"{self._record(number).name} has changed since it was written")
                records.append({name: rows[name].copy() for name in kind.names or ()})
            self._n_chunks, self._checksums = about["n_chunks"], about["checksums"]
            return SavedStream(records, leaves, about["run_s"], about["past"])

    def _record(self, number: int) -> Path:
        return self._checkpoint.folder / f"record{number}.bin"
