"""Finished blocks of a run on disk, so that a killed run continues where it stopped, bit for bit."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from auxmc.driver.files import checked_arrays, write_arrays
from auxmc.errors import DamagedFile

_ABOUT, _DRAWS, _LEAF = "about", "draws.", "leaf."


class Resumed(NamedTuple):
    """State of an interrupted run: finished blocks, leaves of the state tree, seconds spent running."""

    n_blocks: int
    leaves: list[np.ndarray]
    run_s: float


class Checkpoint:
    """Folder with a file for every finished block: its draws, and the state after it.

    The files are zip archives, which carry a checksum of each array: a damaged one is noticed, named and made again,
    with all that follow it. Blocks made with other settings, code or data are discarded: `identity` is a digest of
    everything that the draws depend on. The folder is created when the first block is saved.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder, self.identity = folder, identity

    def load(self, like: list[np.ndarray], block: int | None = None) -> Resumed | None:
        """Returns the state after the last good block of this run, or None (and the folder is emptied) if none fits.

        The saved leaves must have the shapes and dtypes of `like`, each block so many iterations (None for any).
        """
        found = sorted(self.folder.glob("block*.npz"))
        resumed = None
        for index in range(len(found)):
            try:
                about, leaves = self._read(index)
            except DamagedFile as damage:
                fate = "this block and those after it are made again"
                print(f"{self.path(index)} is damaged ({damage}): {fate}", file=sys.stderr, flush=True)
                break
            fits = about["identity"] == self.identity and block in (None, about["block"])
            if not fits or [(a.shape, a.dtype) for a in leaves] != [(a.shape, a.dtype) for a in like]:
                resumed = None
                break
            resumed = Resumed(index + 1, leaves, about["run_s"])
        if resumed is None:
            self.discard()
        else:
            for path in found:
                if path.name > self.path(resumed.n_blocks - 1).name:
                    path.unlink(missing_ok=True)
        return resumed

    def save(
        self, index: int, block: int, draws: dict[str, np.ndarray], leaves: list[np.ndarray], run_s: float
    ) -> None:
        """Keeps block `index`, its draws [lane, block, ...] and the state after it; earlier ones survive an OSError."""
        about = {
            "identity": self.identity,
            "index": index,
            "block": block,
            "n_leaves": len(leaves),
            "run_s": run_s,
        }
        arrays: dict[str, Any] = {f"{_DRAWS}{name}": array for name, array in draws.items()}
        arrays |= {f"{_LEAF}{i}": leaf for i, leaf in enumerate(leaves)}
        arrays[_ABOUT] = np.asarray(json.dumps(about))
        write_arrays(self.path(index), arrays)

    def parts(self, n_blocks: int) -> Iterator[dict[str, np.ndarray]]:
        """Draws of the first `n_blocks` blocks, one block after the other."""
        for index in range(n_blocks):
            with np.load(self.path(index)) as file:
                yield {name.removeprefix(_DRAWS): file[name] for name in file if name.startswith(_DRAWS)}

    def discard(self) -> None:
        """Removes everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, index: int) -> Path:
        """Returns the file of a block."""
        return self.folder / f"block{index:06d}.npz"

    def _read(self, index: int) -> tuple[dict[str, Any], list[np.ndarray]]:
        """What is said about a block, and the state after it; its draws are checked and not kept."""
        with checked_arrays(self.path(index)) as file:
            about = json.loads(str(file[_ABOUT]))
            leaves = [file[f"{_LEAF}{i}"] for i in range(about["n_leaves"])]
            if about.get("index", index) != index:
                raise DamagedFile(f"it is block {about['index']}")
            return about, leaves
