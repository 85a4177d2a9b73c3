"""Finished blocks of a run on disk, so that a killed run goes on where it stopped, bit for bit."""

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Checkpoint", "Resumed"]


class Resumed(NamedTuple):
    """State of an interrupted run: finished blocks, leaves of the state tree, seconds spent running."""

    n_blocks: int
    leaves: list[np.ndarray]
    run_s: float


class Checkpoint:
    """Folder that holds the draws of every finished block and the state after the last one.

    Each block's draws are written once. The state file is replaced last and is what counts: blocks beyond
    it are ignored. A checkpoint made with other settings, code or data is discarded.

    Args:
        folder: where to keep the files; created when the first block is saved.
        identity: digest of everything that the draws depend on.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.identity = identity

    def load(self, block: int, like: list[np.ndarray]) -> Resumed | None:
        """Reads the saved state if it belongs to this run.

        Args:
            block: iterations per block.
            like: leaves whose shapes and dtypes the saved ones must have.

        Returns:
            The state to go on from, or None (and the folder is emptied) if there is none that fits.
        """
        try:
            with np.load(self.folder / "state.npz") as file:
                about = json.loads(str(file["about"]))
                leaves = [file[f"leaf{i}"] for i in range(about["n_leaves"])]
        except (OSError, ValueError, KeyError, EOFError):
            self.discard()
            return None
        fits = about["identity"] == self.identity and about["block"] == block and len(leaves) == len(like)
        fits = fits and all(
            a.shape == b.shape and a.dtype == b.dtype for a, b in zip(leaves, like, strict=True)
        )
        if not fits or not all(self._part(i).exists() for i in range(about["n_blocks"])):
            self.discard()
            return None
        return Resumed(about["n_blocks"], leaves, about["run_s"])

    def save(
        self, index: int, block: int, draws: dict[str, np.ndarray], leaves: list[np.ndarray], run_s: float
    ) -> None:
        """Keeps block `index`: its draws, each [lane, block, ...], then the state after it."""
        self._part(index).mkdir(parents=True, exist_ok=True)
        for name, array in draws.items():
            _replace(self._part(index) / f"{name}.npy", lambda file, a=array: np.save(file, a))
        about = {
            "identity": self.identity,
            "block": block,
            "n_blocks": index + 1,
            "n_leaves": len(leaves),
            "run_s": run_s,
        }
        arrays: dict[str, Any] = {f"leaf{i}": leaf for i, leaf in enumerate(leaves)}
        arrays["about"] = np.asarray(json.dumps(about))
        _replace(self.folder / "state.npz", lambda file: np.savez(file, **arrays))

    def parts(self, n_blocks: int) -> list[dict[str, np.ndarray]]:
        """Draws of the first `n_blocks` blocks, mapped into memory and not read until used."""
        return [
            {path.stem: np.load(path, mmap_mode="r") for path in sorted(self._part(i).glob("*.npy"))}
            for i in range(n_blocks)
        ]

    def discard(self) -> None:
        """Removes everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _part(self, index: int) -> Path:
        return self.folder / f"block{index:06d}"


def _replace(path: Path, write: object) -> None:
    temporary = path.with_name(f".{path.name}.partial")
    with open(temporary, "wb") as file:
        write(file)  # type: ignore[operator]
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
