"""Pieces of cases that are not finished: kept as they are until their case is, so that no finished job is lost."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auxmc.driver.files.arrays import checked_arrays
from auxmc.errors import DamagedFile
from auxmc_pipeline.publishing.state import Identities, changed

__all__ = ["PIECES", "about_piece", "pieces_in"]

PIECES = "pieces"


def about_piece(path: Path) -> dict[str, Any]:
    """Settings, code, data and machine that a piece was made with.

    Raises:
        DamagedFile: it is not what was written.
    """
    with checked_arrays(path) as file:
        provenance: dict[str, Any] = json.loads(str(file["about"]))["provenance"]
    return provenance


def pieces_in(folder: Path, case: str, now: Identities) -> Mapping[str, Path]:
    """Pieces of a case in a study's folder that the present settings, code and data would make, by relative path.

    Args:
        folder: of the study, in `results/` or `published/`. Damaged pieces in it are not looked at.
        case: the case.
        now: what the study's cases depend on at present.
    """
    return {
        str(path.relative_to(folder)): path
        for path in sorted((folder / PIECES / case).glob("*.npz"))
        if _is_present(path, case, now)
    }


def _is_present(path: Path, case: str, now: Identities) -> bool:
    try:
        return not changed(about_piece(path), case, now)
    except DamagedFile:
        return False
