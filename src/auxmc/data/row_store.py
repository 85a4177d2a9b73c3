"""Rows in a binary file that grows, mapped into memory for random draws."""

import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_ROWS_AT_A_TIME = 65_536


class RowStore:
    """Rows of `n_columns` numbers one after the other in a file, without a header; its length says how many there are.

    Only the pages that are drawn from are in memory, and they belong to the operating system's cache: it takes them
    back when memory runs short. A draw from a file that is larger than the memory waits for the disk. The file is
    made, with its folder, where there is none.
    """

    def __init__(self, path: str | os.PathLike[str], n_columns: int, dtype: DTypeLike = np.float32) -> None:
        if n_columns < 1:
            raise ValueError(f"n_columns must be at least 1, got {n_columns}")
        self.path, self.n_columns, self.dtype = Path(path), n_columns, np.dtype(dtype)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("r+b" if self.path.exists() else "w+b")
        self._rows = self._mapped()
        self._checksum: int | None = 0 if self.n_rows == 0 else None

    @property
    def n_rows(self) -> int:
        """Whole rows in the file."""
        return len(self._rows)

    def append(self, rows: NDArray[Any]) -> None:
        """Writes rows [row, n_columns] behind the last one."""
        if rows.ndim != 2 or rows.shape[1] != self.n_columns:
            raise ValueError(f"rows must be [row, {self.n_columns}], got {list(rows.shape)}")
        # Not at the end of the file, which an earlier interruption may have left in the middle of a row.
        self._file.seek(self.n_rows * self._row_bytes)
        written = np.ascontiguousarray(rows, self.dtype)
        self._file.write(written.data)
        self._file.flush()
        self._rows = self._mapped()
        if self._checksum is not None:
            self._checksum = zlib.crc32(written.data, self._checksum)

    def checksum(self) -> int:
        """CRC-32 of all rows; those that were there when the file was opened are read once."""
        if self._checksum is None:
            self._checksum = 0
            for begin in range(0, self.n_rows, _ROWS_AT_A_TIME):
                self._checksum = zlib.crc32(self._rows[begin : begin + _ROWS_AT_A_TIME].data, self._checksum)
        return self._checksum

    def truncate(self, n_rows: int) -> None:
        """Forgets all rows but the first; ValueError if there are fewer."""
        if not 0 <= n_rows <= self.n_rows:
            raise ValueError(f"{self.path} holds {self.n_rows} rows, fewer than the {n_rows} that are needed")
        # The map must not reach beyond the end of its file.
        self._rows = self._empty()
        if n_rows < self._file.seek(0, os.SEEK_END) // self._row_bytes:
            self._checksum = None if n_rows else 0
        self._file.truncate(n_rows * self._row_bytes)
        self._rows = self._mapped()

    def restore(self, n_rows: int, checksum: int) -> bool:
        """Forgets all rows but the first, and returns whether these are there and have the checksum."""
        if n_rows > self.n_rows:
            return False
        self.truncate(n_rows)
        return self.checksum() == checksum

    def draw(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Copies of rows [..., column], in the type of the file, by their numbers from 0 [...] (IndexError)."""
        return np.take(self._rows, indices, axis=0)

    def save(self) -> None:
        """Waits until all rows are on disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Lets go of the file, which stays."""
        self._rows = self._empty()
        self._file.close()

    @property
    def _row_bytes(self) -> int:
        return self.n_columns * self.dtype.itemsize

    def _empty(self) -> NDArray[Any]:
        return np.zeros((0, self.n_columns), self.dtype)

    def _mapped(self) -> NDArray[Any]:
        n_rows = os.fstat(self._file.fileno()).st_size // self._row_bytes
        if n_rows == 0:
            return self._empty()
        mapped = mmap.mmap(self._file.fileno(), n_rows * self._row_bytes, access=mmap.ACCESS_READ)
        if hasattr(mapped, "madvise"):
            # Neighbours of a row that is drawn are not needed.
            mapped.madvise(mmap.MADV_RANDOM)
        return np.frombuffer(mapped, self.dtype).reshape(n_rows, self.n_columns)
