"""The folder of a streaming run: settings, state, and the record as tables."""

import datetime
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import auxmc
from auxmc.command_line.errors import CommandError
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.files.writing import write_atomically
from auxmc.driver.provenance import describe_environment, fingerprint
from auxmc.driver.results import write_table

__all__ = ["RunFolder"]

_SETTINGS, _RECORD, _PARTICLES, _STATE = "settings.json", "record.parquet", "particles.parquet", "state"


class RunFolder:
    """Where a run is kept. Nothing else in the folder is touched.

    Args:
        path: the folder; made where there is none.
        numbers: settings that the record depends on, as plain containers.

    Raises:
        CommandError: the folder holds a run with other settings, or tables that are not known to be a run's.
    """

    def __init__(self, path: Path, numbers: Mapping[str, Any], restart: bool = False) -> None:
        self.path = path
        self._numbers = dict(numbers)
        if path.exists() and not path.is_dir():
            raise CommandError(f"--output {path}: is not a folder")
        if restart:
            self._remove()
        found = self._saved_numbers()
        if found is not None and (path / _STATE / "state.npz").exists():
            self._refuse_others(found)
        elif found is None and (path / _RECORD).exists():
            raise CommandError(
                f"--output {path}: has a {_RECORD} but no {_SETTINGS}, so it is not known what that is; choose another "
                "folder"
            )

    @property
    def row_store(self) -> Path:
        """File for all rows absorbed."""
        return self.path / _STATE / "rows.bin"

    def checkpoint(self) -> Checkpoint:
        """Where the engine keeps its state."""
        return Checkpoint(self.path / _STATE, fingerprint(self._numbers))

    def write_settings(self, about: Mapping[str, Any]) -> None:
        """Writes settings, versions and machine.

        Args:
            about: what else to say of the run, as plain containers.
        """
        content = {
            "numbers": self._numbers,
            **about,
            "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "environment": describe_environment(Path(auxmc.__file__).parents[2]),
        }
        text = json.dumps(content, indent=2) + "\n"
        write_atomically(self.path / _SETTINGS, lambda temporary: temporary.write_text(text))

    def write_tables(self, record: pd.DataFrame, particles: pd.DataFrame | None) -> None:
        """Writes the record, and the particles where there are any, as Parquet and CSV.

        Raises:
            CommandError: somebody has removed the run while it was going on.
        """
        if not (self.path / _SETTINGS).exists():
            raise CommandError(
                f"--output {self.path}: was removed or emptied while the run was going on; its tables are not written, "
                "and the same command makes them again",
                1,
            )
        self._write_table(_RECORD, record)
        if particles is not None:
            self._write_table(_PARTICLES, particles)

    def _write_table(self, name: str, table: pd.DataFrame) -> None:
        write_table(self.path / name, table)
        csv = (self.path / name).with_suffix(".csv")
        # All digits: a log evidence of a million rows has seven before the point.
        write_atomically(csv, lambda temporary: table.to_csv(temporary, index=False))

    def _saved_numbers(self) -> dict[str, Any] | None:
        path = self.path / _SETTINGS
        if not path.exists():
            return None
        try:
            numbers = json.loads(path.read_text())["numbers"]
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CommandError(
                f"{path}: cannot be read ({type(error).__name__}: {error}); choose another folder, or throw the run "
                "away with --restart"
            ) from error
        return dict(numbers)

    def _refuse_others(self, found: dict[str, Any]) -> None:
        # As they would be read back: tuples become lists.
        given = json.loads(json.dumps(self._numbers))
        differing = [name for name in sorted({*found, *given}) if found.get(name) != given.get(name)]
        if differing:
            shown = "; ".join(
                f"{name}: {_short(found.get(name))} there, {_short(given.get(name))} now"
                for name in differing
            )
            raise CommandError(
                f"--output {self.path}: holds a run with other settings ({shown}). Go on with the same settings, "
                "choose another folder, or throw that run away with --restart"
            )

    def _remove(self) -> None:
        if (self.path / _SETTINGS).exists():
            shutil.rmtree(self.path / _STATE, ignore_errors=True)
            for name in (_SETTINGS, _RECORD, _PARTICLES):
                (self.path / name).unlink(missing_ok=True)
                if name != _SETTINGS:
                    (self.path / name).with_suffix(".csv").unlink(missing_ok=True)


def _short(value: Any) -> str:
    text = json.dumps(value, default=lambda other: np.asarray(other).tolist())
    return text if len(text) <= 60 else f"{text[:57]}..."
