"""One run in a folder of results at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from auxmc.command_line.errors import CommandError
from auxmc.driver.files.locks import FolderInUse, held

__all__ = ["alone_in"]

_LOCK = ".lock"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Holds the folder that `--output` names, so that no two runs write over each other's files.

    Raises:
        CommandError: another run is at work in it, or it is no folder; nothing in it has been changed.
    """
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--output {folder}: is not a folder")
    try:
        with held(folder / _LOCK):
            yield
    except FolderInUse as error:
        raise CommandError(f"--output {error}; wait for it, or choose another folder") from error
