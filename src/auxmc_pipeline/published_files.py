"""Published files that do not ship with the package: found in the user's folder, or fetched once.

They are looked for under `$AUXMC_DATA_DIR` where that variable is set, and otherwise fetched into the user's cache.
Either way a file must have the sha256 that is known for it.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from auxmc.errors import DataError

VARIABLE = "AUXMC_DATA_DIR"
"""Environment variable that names the user's folder."""


class PublishedFile(NamedTuple):
    """A file that others have published: its place below the user's folder and the cache, address and sha256."""

    path: str
    address: str
    sha256: str


def published_file(file: PublishedFile, otherwise: str) -> Path:
    """Local path of a published file, fetched if need be.

    DataError, which ends with what the user can do without it (`otherwise`), is raised if it is not there and cannot be
    fetched, or its content is not the published one.
    """
    folder = os.environ.get(VARIABLE, "")
    return _checked(Path(folder) / file.path, file, otherwise) if folder else _fetched(file, otherwise)


def local_file(file: PublishedFile) -> Path | None:
    """Path of a published file in `$AUXMC_DATA_DIR`, None where it is not there; nothing is fetched."""
    folder = os.environ.get(VARIABLE, "")
    path = Path(folder) / file.path
    return path if folder and path.is_file() else None


def _checked(path: Path, file: PublishedFile, otherwise: str) -> Path:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        advice = f"{VARIABLE} must name the folder that has {file.path}, or be unset to fetch it, {otherwise}"
        raise DataError(f"{path}: cannot be read ({error.strerror}); {advice}") from error
    if found != file.sha256:
        published = f"the published file has {file.sha256}"
        raise DataError(f"{path}: has sha256 {found}, {published}; replace it, or unset {VARIABLE}")
    return path


def _fetched(file: PublishedFile, otherwise: str) -> Path:
    # Imported late: it is needed for this alone, and the workflow imports this module often.
    import pooch

    relative = Path(file.path)
    try:
        path = pooch.retrieve(
            file.address,
            known_hash=f"sha256:{file.sha256}",
            fname=relative.name,
            path=pooch.os_cache("auxmc") / relative.parent,
        )
    except Exception as error:  # network libraries raise many kinds
        reason = (str(error) or type(error).__name__).splitlines()[0]
        advice = f"connect to the network, or set {VARIABLE} to a folder that has {file.path}, {otherwise}"
        raise DataError(f"{file.address} could not be fetched ({reason}); {advice}") from error
    return Path(path)
