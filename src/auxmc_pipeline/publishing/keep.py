"""Writes what was gathered to `published/`, within its limit."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.judging.sums import SUMS, sums_of
from auxmc_pipeline.publishing.gather import Gathered
from auxmc_pipeline.settings import SettingsError

__all__ = ["LIMIT_MB", "keep"]

LIMIT_MB = 60.0


def keep(place: Path, found: Mapping[str, Gathered], limit_mb: float = LIMIT_MB) -> str:
    """Writes the files of all studies, and removes others from their folders.

    Args:
        place: folder of the preset.
        found: what is to be kept, by study.
        limit_mb: megabytes that all files together may have.

    Returns:
        How much is there, for readers.

    Raises:
        SettingsError: it would be more than the limit; says how much by study. Nothing is written.
    """
    contents = {
        name: {path: make() for path, make in gathered.files.items()} for name, gathered in found.items()
    }
    sizes = {
        name: (
            sum(map(len, contents[name].values()))
            + sum((place / name / path).stat().st_size for path in gathered.kept)
        )
        / 1e6
        for name, gathered in found.items()
    }
    total = sum(sizes.values())
    if total > limit_mb:
        lines = [f"{name}: {size:.1f} MB" for name, size in sorted(sizes.items(), key=lambda item: -item[1])]
        raise SettingsError(
            "\n  ".join([f"{place} would have {total:.1f} MB, and {limit_mb:g} MB are the limit:", *lines])
        )
    n_written = 0
    for name, gathered in found.items():
        wanted = {place / name / path: content for path, content in contents[name].items()}
        for path, content in wanted.items():
            if not path.is_file() or path.read_bytes() != content:
                write_atomically(path, partial(_write, content=content))
                n_written += 1
        there = [*contents[name], *gathered.kept]
        sums = sums_of(place / name, there).encode()
        if there and (not (place / name / SUMS).is_file() or (place / name / SUMS).read_bytes() != sums):
            write_atomically(place / name / SUMS, partial(_write, content=sums))
        stay = {place / name / path for path in (*there, SUMS)}
        for other in (place / name).rglob("*"):
            if other.is_file() and other not in stay:
                other.unlink()
    return f"{total:.1f} MB, {n_written} files anew"


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
