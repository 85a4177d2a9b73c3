"""Files that are complete or absent, never half-written."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["write_atomically"]


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Calls `write` with a temporary name in the folder of `path`, then renames.

    Args:
        path: final name; its folder is created.
        write: writes the whole file to the name that it is given. If it fails, nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        write(temporary)
        if temporary.is_file():
            _wait_for_disk(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _wait_for_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
