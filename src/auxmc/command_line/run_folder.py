"""The folder of a run: one run at a time, settings that identify it, and what may be deleted."""

import datetime
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

import auxmc
from auxmc.driver.files import file_lock, write_atomically
from auxmc.driver.provenance import describe_environment
from auxmc.driver.results import write_table
from auxmc.errors import CommandError

_SETTINGS, _LOCK = "settings.json", ".lock"
_STATE = ("chain[0-9]*", "stream", "rows.bin")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Locks the folder that `--output` names; FolderInUse if another run holds it, before anything is changed."""
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--output {folder}: expected a folder, got a file")
    with file_lock(folder / _LOCK):
        yield


class RunFolder:
    """Folder that keeps a run, created if absent; other files in it are not touched.

    `numbers` are what the results depend on, as plain containers. With `restart`, `begin` deletes the run that is
    there. CommandError if the folder holds another run, or results that are not known to be a run's.
    """

    results: ClassVar[Sequence[str]] = ()
    """Names of the files that a run leaves in its folder."""

    def __init__(self, path: Path, numbers: Mapping[str, Any], *, restart: bool = False) -> None:
        self.path, self.state, self._restart = path, path / "state", restart
        # As they are read back: tuples become lists.
        self.numbers: dict[str, Any] = json.loads(json.dumps(numbers))
        found = self._read_numbers()
        present = [name for name in self.results if (path / name).exists()]
        if found is None and present:
            raise CommandError(f"--output {path}: has {present[0]} but no {_SETTINGS}; choose another folder")
        if found is None or restart or not self._is_begun():
            return
        differing = [
            f"{name}: {_short(found.get(name))} there, {_short(self.numbers.get(name))} now"
            for name in sorted({*found, *self.numbers})
            if found.get(name) != self.numbers.get(name)
        ]
        if differing:
            raise CommandError(
                f"--output {path}: holds a run with other settings ({'; '.join(differing)}); choose another folder, or "
                "delete that run with --restart"
            )

    def begin(self, about: Mapping[str, Any] | None = None) -> None:
        """Deletes the run that is there, where asked to, and writes settings, versions, machine and further entries."""
        if self._restart:
            self._discard()
        content = {
            "numbers": self.numbers,
            **(about or {}),
            "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "environment": describe_environment(Path(auxmc.__file__).parents[2]),
        }
        text = json.dumps(content, indent=2) + "\n"
        write_atomically(self.path / _SETTINGS, lambda path: path.write_text(text, encoding="utf-8"))

    def forget(self) -> None:
        """Deletes the settings where nothing was drawn with them."""
        if not self._is_begun():
            self._discard()

    def write_table(self, name: str, table: pd.DataFrame, *, parquet: bool = True) -> None:
        """Writes a table with all digits, without its index, as CSV and, if not told otherwise, Parquet."""
        if not (self.path / _SETTINGS).exists():
            advice = "run the same command again"
            raise CommandError(f"--output {self.path}: was deleted or emptied during the run; {advice}", 1)
        if parquet:
            write_table(self.path / f"{name}.parquet", table)
        write_atomically(self.path / f"{name}.csv", lambda path: table.to_csv(path, index=False))

    def _is_begun(self) -> bool:
        kept = (*self.state.glob("*/block*.npz"), *map(self.path.joinpath, self.results))
        return any(path.exists() for path in kept)

    def _discard(self) -> None:
        """Deletes what runs leave, the settings last: without those, nothing there is known to be a run's."""
        if self._read_numbers() is None:
            return
        for path in [path for pattern in _STATE for path in self.state.glob(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in (*self.results, _SETTINGS):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # the user's own files are left in it, or it does not exist
            self.state.rmdir()

    def _read_numbers(self) -> dict[str, Any] | None:
        """Returns the numbers of the run that is there; None where there is no run."""
        path = self.path / _SETTINGS
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text(encoding="utf-8"))["numbers"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            expected = f"expected settings of a run ({type(error).__name__}: {error})"
            raise CommandError(f"{path}: {expected}; choose another folder") from error


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
