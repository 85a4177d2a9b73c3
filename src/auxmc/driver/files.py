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
    """Calls `write` with a temporary name in the folder of `path`, which is created, waits for the disk, then renames.

    If that fails (OSError), nothing is left behind, and what was at `path` is still there.
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
    """Writes named arrays as `.npz`, which carries a checksum of each, atomically."""
    write_atomically(path, lambda temporary: np.savez(temporary, **arrays))


@contextmanager
def checked_arrays(path: Path) -> Iterator[Any]:
    """Opens an archive whose checksums are all right, as `numpy.load` does without unpickling anything.

    Raises:
        DamagedFile: If it is missing, cut short, changed or no such archive, or what is asked for is not in it.
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
    """Holds a lock file, which the operating system releases when the process ends, and removes it in the end.

    On file systems without `flock` nothing is locked. FolderInUse is raised if another process holds it.
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
