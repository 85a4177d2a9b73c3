"""Checksums of kept results: a file `SHA256SUMS` in each study's folder of `published/`, as `sha256sum -c` reads it."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from auxmc.errors import DamagedFile

__all__ = ["SUMS", "check_kept", "sums_of"]

SUMS = "SHA256SUMS"


def sums_of(folder: Path, names: Iterable[str]) -> str:
    """Text of `SHA256SUMS` for some files of a folder."""
    return "".join(f"{_sha256(folder / name)}  {name}\n" for name in sorted(names))


def check_kept(path: Path) -> Path:
    """A kept file, compared with the sums in its folder or the one above; where there are none, as it is.

    Raises:
        DamagedFile: it is not the file that was kept; says how to have it back.
    """
    for folder in (path.parent, path.parent.parent):
        if (folder / SUMS).is_file():
            name = path.relative_to(folder).as_posix()
            sums = (line.split("  ", 1) for line in _lines(folder / SUMS))
            wanted = next((digest for digest, listed in sums if listed == name), None)
            if wanted is not None and wanted != _sha256(path):
                raise DamagedFile(
                    f"{path} is damaged: it is not what {folder / SUMS} lists; have it back with "
                    f"`git checkout -- {folder}`, or keep the results anew with `make publish`"
                )
            break
    return path


def _lines(path: Path) -> list[str]:
    lines = path.read_text(errors="replace", encoding="utf-8").splitlines()
    if not all("  " in line for line in lines):
        raise DamagedFile(f"{path} is damaged: have it back with `git checkout -- {path}`")
    return lines


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
