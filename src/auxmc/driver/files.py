"""Files that are complete or absent, archives of arrays that are intact or rejected, and locks."""

import fcntl
import os
import platform
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auxmc.errors import DamagedFile, FolderInUse


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Calls `write` with a temporary name in the folder of `path`, waits for the disk, then renames.

    Args:
        path: final name; its folder is created.
        write: writes the whole file to the name that it is given. If it fails, nothing is left behind.

    Raises:
        OSError: If the file cannot be written; what was at `path` is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        write(temporary)
        if temporary.is_file():
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes a zip archive (`.npz`) of named arrays, which carries a checksum of each, atomically.

    Raises:
        OSError: If it cannot be written; what was at `path` is still there.
    """
    write_atomically(path, lambda temporary: np.savez(temporary, **arrays))


@contextmanager
def checked_arrays(path: Path) -> Iterator[Any]:
    """Opens an archive whose checksums are all right; its arrays are read when they are asked for.

    Yields:
        Arrays by name, as `numpy.load` gives them; nothing in them is unpickled.

    Raises:
        DamagedFile: If the file is missing, cut short, changed or no such archive, or what is asked for is not in it.
            Also for what fails in the block that uses the arrays: damaged bytes fail in any way.
        PermissionError: If it may not be read.
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


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Holds a lock file, which the operating system releases when the process ends, however it ends.

    On file systems without `flock` nothing is locked. The file is removed in the end.

    Raises:
        FolderInUse: If another process holds it.
        OSError: If the file cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = path.open("a+", encoding="utf-8", errors="replace")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read() or "an unknown process"
            file.close()
            raise FolderInUse(
                f"{path}: another run ({holder}) is at work here; wait, or write elsewhere"
            ) from None
        except OSError:
            break
        # Not the file of a holder that has just removed it.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            break
        file.close()
    with file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}")
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
