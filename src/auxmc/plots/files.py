"""Files of figures, complete or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Calls `write` with a temporary name next to the final one, then renames.

    Args:
        path: final name; missing folders are created.
        write: writes the file to the name that it is given, whose suffix is another. If it fails, nothing is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
