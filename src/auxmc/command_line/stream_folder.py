"""The folder of a streaming run: state, and the record as tables."""

from pathlib import Path

import pandas as pd

from auxmc.command_line.run_folder import RunFolder
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.files.writing import write_atomically
from auxmc.driver.provenance import fingerprint
from auxmc.driver.results import write_table
from auxmc.errors import CommandError

__all__ = ["StreamFolder"]

_RECORD, _PARTICLES = "record.parquet", "particles.parquet"


class StreamFolder(RunFolder):
    """Where the record of a stream is kept."""

    results = (_RECORD, "record.csv", _PARTICLES, "particles.csv")

    @property
    def row_store(self) -> Path:
        """File for all rows absorbed."""
        return self.state / "rows.bin"

    def checkpoint(self) -> Checkpoint:
        """Where the driver keeps its state."""
        return Checkpoint(self.state, fingerprint(self.numbers))

    def write_tables(self, record: pd.DataFrame, particles: pd.DataFrame | None) -> None:
        """Writes the record, and the particles where there are any, as Parquet and CSV.

        Raises:
            CommandError: somebody has removed the run while it was going on.
        """
        if not self.has_settings:
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
