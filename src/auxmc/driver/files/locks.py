"""One run in a folder at a time: a lock that the operating system lets go of when its holder ends, however it ends."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from auxmc.errors import FolderInUse

__all__ = ["held"]


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Holds a lock file, which is made, and removed in the end.

    On systems without `flock`, and on file systems that refuse it, nothing is held and nothing is refused.

    Args:
        path: the lock file; its folder is made.

    Raises:
        FolderInUse: another process holds it.
        OSError: the file cannot be made.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = _opened(path)
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FolderInUse(f"{path}: another run ({_holder(path)}) is at work here") from None
            except OSError:
                break  # a file system without locks
            if _is_same(file, path):
                break
            # Whoever held it before has just removed it: the name is another file's by now.
            os.close(file)
            file = _opened(path)
        _name_holder(file)
        try:
            yield
        finally:
            if _is_same(file, path):
                path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def _is_same(file: int, path: Path) -> bool:
    try:
        there, ours = path.stat(), os.fstat(file)
    except OSError:
        return False
    return (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)


def _name_holder(file: int) -> None:
    # Only for whoever is refused; a full disk need not stop anything here.
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {platform.node()}".encode(), 0)


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") or "of an unknown process"
    except (OSError, ValueError):
        return "of an unknown process"
