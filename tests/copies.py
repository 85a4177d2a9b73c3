"""Copies of the project, or of parts of it, and the modules that a process next to them uses."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copied(folder: Path, parts: Iterable[str]) -> None:
    """Copies files and folders of the project, without compiled modules, into a folder, which is made."""
    folder.mkdir(parents=True)
    for part in parts:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, folder / part)


def python_path(folder: Path = ROOT) -> str:
    """`PYTHONPATH` for the modules of a project in a folder."""
    return os.pathsep.join([str(folder / "src"), str(folder)])
