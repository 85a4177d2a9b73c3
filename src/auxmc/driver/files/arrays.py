"""Files of named NumPy arrays that are right or refused: zip archives, which carry a checksum of every array."""

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auxmc.errors import DamagedFile

__all__ = ["checked_arrays", "write_arrays"]


@contextmanager
def checked_arrays(path: Path) -> Iterator[Any]:
    """Opens an archive whose checksums are all right; its arrays are read when they are asked for.

    Yields:
        Arrays by name, as `numpy.load` gives them; nothing in them is unpickled.

    Raises:
        DamagedFile: the file is missing, cut short, changed or no such archive, or what is asked for is not in it. Also
            for what fails in the block that uses the arrays: bytes that are not what was written fail in any way.
        PermissionError: it may not be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
        if bad is not None:
            raise DamagedFile(f"{bad} has a wrong checksum")
        with np.load(path, allow_pickle=False) as file:
            yield file
    except (DamagedFile, MemoryError, PermissionError):
        raise
    except FileNotFoundError:
        raise DamagedFile("it is missing") from None
    except Exception as error:
        raise DamagedFile(f"{type(error).__name__}: {error}") from error


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes an archive that is complete, and on disk, before it has its name.

    Raises:
        OSError: it cannot be written; what stood at `path` stands there still.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.partial.npz")
    try:
        with open(temporary, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
