"""The folder of a run: one at a time, settings that say whose files these are, and what may be thrown away."""

import datetime
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import auxmc
from auxmc.driver.files.locks import held
from auxmc.driver.files.writing import write_atomically
from auxmc.driver.provenance import describe_environment
from auxmc.errors import CommandError, FolderInUse

__all__ = ["RunFolder", "alone_in"]

_SETTINGS, _STATE, _LOCK = "settings.json", "state", ".lock"
# What runs leave in the folder of their state.
_STATES = ("chain[0-9]*", "state.npz", "record[0-9]*.bin", "rows.bin")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Holds the folder that `--output` names, so that no two runs write over each other's files.

    Raises:
        CommandError: another run is at work in it, or it is no folder; nothing in it has been changed.
    """
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--output {folder}: is not a folder")
    try:
        with held(folder / _LOCK):
            yield
    except FolderInUse as error:
        raise CommandError(f"--output {error}; wait for it, or choose another folder") from error


class RunFolder:
    """Where a run is kept. Files of others in the folder are not touched.

    Args:
        path: the folder, where there is one.
        numbers: what the results depend on, as plain containers.
        restart: whether a run that is there is thrown away when this one begins.

    Raises:
        CommandError: the folder holds another run, or results that are not known to be a run's.
    """

    results: ClassVar[Sequence[str]] = ()
    """Names of the files that a run leaves in its folder."""

    def __init__(self, path: Path, numbers: Mapping[str, Any], *, restart: bool = False) -> None:
        self.path, self._restart = path, restart
        # As they are read back: tuples become lists.
        self.numbers: dict[str, Any] = json.loads(json.dumps(numbers))
        found, there = self._found(), [name for name in self.results if (path / name).exists()]
        if found is None and there:
            raise CommandError(
                f"--output {path}: has a {there[0]} but no {_SETTINGS}, so it is not known what that is; choose "
                "another folder"
            )
        if found is not None and self._is_begun() and not restart:
            self._refuse_others(found)

    @property
    def state(self) -> Path:
        """Folder for the checkpoints."""
        return self.path / _STATE

    @property
    def has_settings(self) -> bool:
        """Whether the settings are there: they are taken away with the run alone."""
        return (self.path / _SETTINGS).exists()

    def begin(self, about: Mapping[str, Any] | None = None) -> None:
        """Throws away a run that was there, where that is wanted, and writes settings, versions and machine.

        Args:
            about: what else to say of the run, as plain containers.
        """
        if self._restart:
            self._discard()
        content = {
            "numbers": self.numbers,
            **(about or {}),
            "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "environment": describe_environment(Path(auxmc.__file__).parents[2]),
        }
        text = json.dumps(content, indent=2) + "\n"
        write_atomically(
            self.path / _SETTINGS, lambda temporary: temporary.write_text(text, encoding="utf-8")
        )

    def forget(self) -> None:
        """Takes the settings away again where nothing was drawn by them: a mended call finds the folder as it was."""
        if not self._is_begun():
            self._discard()

    def _is_begun(self) -> bool:
        kept = [*self.state.glob("chain*/block*.npz"), *self.state.glob("state.npz")]
        return bool(kept) or any((self.path / name).exists() for name in self.results)

    def _discard(self) -> None:
        """Removes what runs leave, the settings last: without those, nothing there is known to be a run's."""
        if self._found() is None:
            return
        for path in [path for name in _STATES for path in self.state.glob(name)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in (*self.results, _SETTINGS):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):
            # Something of the user's is left in it, or it is not there.
            self.state.rmdir()

    def _found(self) -> dict[str, Any] | None:
        """Numbers of the run that is there; None where there is no run."""
        path = self.path / _SETTINGS
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text(encoding="utf-8"))["numbers"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise CommandError(
                f"{path}: is not the settings of a run ({type(error).__name__}: {error}); choose another folder, or "
                "delete that file"
            ) from error

    def _refuse_others(self, found: dict[str, Any]) -> None:
        given = self.numbers
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


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
