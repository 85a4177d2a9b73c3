"""Checksums of published results: a file `SHA256SUMS` in each study's folder, as `sha256sum -c` reads it."""

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from auxmc.driver.files import write_atomically
from auxmc.errors import DamagedFile

SUMS = "SHA256SUMS"


def sums_of(folder: Path, names: Iterable[str]) -> str:
    """Text of `SHA256SUMS` for files of a folder."""
    return "".join(f"{_sha256(folder / name)}  {name}\n" for name in sorted(names))


def rewrite_kept(path: Path, content: bytes) -> None:
    """Writes a published file and its line in the list of checksums next to it."""
    write_atomically(path, partial(Path.write_bytes, data=content))
    listing = path.parent / SUMS
    names = [line.split("  ", 1)[1] for line in listing.read_text(encoding="utf-8").splitlines()]
    listing.write_text(sums_of(path.parent, names), encoding="utf-8")


def check_kept(path: Path) -> Path:
    """The path of a published file; raises DamagedFile if its checksum, listed there or one folder up, is another."""
    for folder in (path.parent, path.parent.parent):
        listing = folder / SUMS
        if listing.is_file():
            lines = listing.read_text(errors="replace", encoding="utf-8").splitlines()
            if not all("  " in line for line in lines):
                raise DamagedFile(f"{listing} is damaged: restore it with `git checkout -- {listing}`")
            sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
            if sums.get(path.relative_to(folder).as_posix(), found := _sha256(path)) != found:
                raise DamagedFile(
                    f"{path} is damaged: it differs from {listing}; restore it with `git checkout -- {folder}`"
                )
            break
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
