"""Files of a study that are published: gathered from its results, and written within a size limit."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc.driver.results import checked_csv, read_attributes, read_table, write_cells
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.checksums import SUMS, sums_of
from auxmc_pipeline.jobs import Identities, differences, job_table, jobs_of_result, read_jobs
from auxmc_pipeline.judging.published import MEASURED
from auxmc_pipeline.judging.study_tables import read_verdicts
from auxmc_pipeline.publishing.cases import pack_case
from auxmc_pipeline.settings import SettingsError

__all__ = ["CASES", "LIMIT_MB", "Gathered", "gather", "write_gathered"]

CASES = "cases"
LIMIT_MB = 60.0
# Presets published with cases, curves and figures. The others run in minutes: their tables are enough.
_WHOLE = ("paper",)
_TABLES = ("claims.csv", "numbers.csv", "*.parquet", "tables/*.parquet", "figures/*.svg")


class Gathered(NamedTuple):
    """What is to be published of a study.

    Attributes:
        contents: content of each new file, by its path in the study's folder.
        kept: paths of published files that stay; all others are removed.
        jobs: rows of `pieces.csv`.
        missing: why a case, or the tables of the study, cannot be published. An earlier version of them stays.
    """

    contents: Mapping[str, bytes]
    kept: Sequence[str]
    jobs: pd.DataFrame
    missing: Sequence[str]


def gather(study: Study, preset: str, now: Identities, root: Path, published: Path) -> Gathered:
    """Gathers the results of a study that are of the present settings, code and data.

    Args:
        study: the study.
        preset: preset of its results.
        now: what its cases depend on, of `auxmc_pipeline.jobs.identities`.
        root: folder that holds `results/` and `paper_figures/`.
        published: folder of the study in `published/`; may be absent.
    """
    is_whole = preset in _WHOLE
    before = read_jobs(published / "pieces.csv")
    contents: dict[str, bytes] = {}
    kept: list[str] = []
    rows: list[Mapping[Any, Any]] = []
    missing: list[str] = []
    for case in now:
        path, small = root / "results" / preset / study.name / f"{case}.nc", f"{CASES}/{case}.nc.gz"
        about = read_attributes(path) if path.is_file() else {}
        is_present = bool(about) and not differences(about, case, now)
        earlier = (
            before[before["case"] == case] if not is_whole or (published / small).is_file() else before[:0]
        )
        if len(earlier) and (not is_present or about["created"] == earlier["created"].iloc[-1]):
            about = {str(k): v for k, v in earlier.iloc[-1].items()}
            rows += earlier.to_dict("records")
            kept += [small] if is_whole else []
        elif is_present:
            rows += jobs_of_result(path)
            if is_whole:
                contents[small] = pack_case(path, rows[-1]["sha256"])
        if not about or differences(about, case, now):
            what = f"made with other {differences(about, case, now)}" if about else "not there"
            missing.append(f"{study.name}: {case} is {what}")
    tables = [path for pattern in _TABLES for path in published.glob(pattern)]
    problem = "" if missing else _out_of_date(study, preset, root, list(now))
    if not missing and not problem:
        contents |= _tables(study, preset, root)
    else:
        kept += [str(path.relative_to(published)) for path in tables]
        # Tables that another machine made from the published cases are up to date.
        if problem and (contents or not tables):
            missing.append(f"{study.name}: {problem}")
    jobs = job_table(rows)
    if rows:
        contents["pieces.csv"] = jobs.to_csv(index=False).encode()
    return Gathered(contents, kept, jobs, missing)


def write_gathered(place: Path, found: Mapping[str, Gathered], limit_mb: float = LIMIT_MB) -> str:
    """Writes the files of all studies and removes others from their folders.

    Args:
        place: folder of the preset.
        found: what to publish, by study.
        limit_mb: most megabytes of all files together.

    Returns:
        How much was written, for readers.

    Raises:
        SettingsError: If the limit is exceeded; nothing is written.
    """
    sizes = {
        name: sum(map(len, files.contents.values()))
        + sum((place / name / path).stat().st_size for path in files.kept)
        for name, files in found.items()
    }
    total = sum(sizes.values()) / 1e6
    if total > limit_mb:
        largest = ", ".join(
            f"{name} {sizes[name] / 1e6:.1f}" for name in sorted(sizes, key=lambda n: -sizes[n])
        )
        raise SettingsError(f"{place}: expected at most {limit_mb:g} MB, got {total:.1f} ({largest})")
    n_written = 0
    for name, files in found.items():
        folder = place / name
        for path, content in files.contents.items():
            n_written += _write_changed(folder / path, content)
        there = [*files.contents, *files.kept]
        if there:
            _write_changed(folder / SUMS, sums_of(folder, there).encode())
        for other in set(folder.rglob("*")) - {folder / path for path in (*there, SUMS)}:
            if other.is_file():
                other.unlink()
    return f"{total:.1f} MB, {n_written} files changed"


def _tables(study: Study, preset: str, root: Path) -> dict[str, bytes]:
    """Contents of tables, claims and figures, by their paths in the study's folder."""
    results = root / "results" / preset / study.name
    tables = _table_files(study, results)
    if preset not in _WHOLE and not study.has_named_tables:
        tables = tables[:1]
    return {
        **{path.relative_to(results).as_posix(): _parquet(path) for path in tables},
        "claims.csv": read_verdicts(results / "claims.csv")[MEASURED].to_csv(index=False).encode(),
        "numbers.csv": checked_csv(results / "numbers.csv").read_bytes(),
        **{f"figures/{path.name}": path.read_bytes() for path in _drawings(study, preset, root)},
    }


def _table_files(study: Study, results: Path) -> list[Path]:
    if study.has_named_tables:
        return sorted((results / "tables").glob("*.parquet")) or [results / "tables" / "point.parquet"]
    return [results / "summary.parquet", results / "curves.parquet"]


def _drawings(study: Study, preset: str, root: Path) -> list[Path]:
    folder = root / "paper_figures" / preset / study.name
    return [folder / f"{name}.svg" for name in study.figures] if preset in _WHOLE else []


def _out_of_date(study: Study, preset: str, root: Path, cases: Sequence[str]) -> str:
    """Which file is missing, or older than the files it is made from; empty if none is."""
    folder, newest = root / "results" / preset / study.name, 0.0
    judged = [folder / "claims.csv", folder / "numbers.csv", *_drawings(study, preset, root)]
    stages = [
        [folder / f"{case}.nc" for case in cases],
        _table_files(study, folder),
    ]
    for stage in (*stages, judged):
        for path in stage:
            if not path.is_file():
                return f"{path.relative_to(root)} is missing"
            if path.stat().st_mtime < newest:
                return f"{path.relative_to(root)} is older than the files it is made from"
        newest = max(newest, *(path.stat().st_mtime for path in stage))
    return ""


def _parquet(path: Path) -> bytes:
    buffer = BytesIO()
    write_cells(buffer, read_table(path), compression="zstd", compression_level=12)
    return buffer.getvalue()


def _write_changed(path: Path, content: bytes) -> bool:
    """Writes a file if its content changes, so that a commit shows new results alone; returns whether it did."""
    if path.is_file() and path.read_bytes() == content:
        return False
    write_atomically(path, lambda temporary: temporary.write_bytes(content))
    return True
