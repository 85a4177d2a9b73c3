"""What is to be kept of a preset: files of every study, by their names, from what its results folder holds."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auxmc.driver.results import check_beside, read_table, write_cells
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.judging.published import MEASURED
from auxmc_pipeline.judging.study_tables import read_verdicts
from auxmc_pipeline.publishing.cases import packed
from auxmc_pipeline.publishing.jobs import as_table, attributes_at, jobs_of_result, read_jobs
from auxmc_pipeline.publishing.state import Identities, changed
from auxmc_pipeline.publishing.unfinished import PIECES, pieces_in

__all__ = ["CASES", "Gathered", "gather"]

CASES = "cases"
# Whose results are kept whole: the documents' own sizes, which take hours. What others hold is made in minutes.
_WHOLE = ("paper",)
_TABLES = ("claims.csv", "numbers.csv", "*.parquet", "figures/*.svg")


class Gathered(NamedTuple):
    """What is to be kept of a study.

    Attributes:
        files: what makes the content of each file, by its path in the study's folder.
        kept: paths of files that stay as they are; no others stay.
        jobs: rows of `pieces.csv`.
        missing: cases of which there is no result of the present settings, code and data, and why. Of those that an
            earlier run left in `published/`, that is kept.
        unfinished: why tables, claims and figures are not there although no case is missing; empty if they are.
    """

    files: Mapping[str, Callable[[], bytes]]
    kept: Sequence[str]
    jobs: pd.DataFrame
    missing: Mapping[str, str]
    unfinished: str

    @property
    def pieces(self) -> list[str]:
        """Paths of pieces of cases that are not finished."""
        return [path for path in self.files if path.startswith(f"{PIECES}/")]


def gather(study: Study, preset: str, now: Identities, root: Path, kept_in: Path) -> Gathered:
    """Finds what there is of a study.

    Args:
        study: the study.
        preset: the preset.
        now: what its cases depend on at present.
        root: folder that holds `results/` and `paper_figures/`.
        kept_in: folder of the study in `published/`, as it was left; may be absent.
    """
    whole = preset in _WHOLE
    before = read_jobs(kept_in / "pieces.csv")
    files: dict[str, Callable[[], bytes]] = {}
    kept: list[str] = []
    rows: list[dict[Any, Any]] = []
    missing: dict[str, str] = {}
    for case in now:
        path, small = root / "results" / preset / study.name / f"{case}.nc", f"{CASES}/{case}.nc.gz"
        of_case = before[before["case"] == case]
        there = not of_case.empty and (not whole or (kept_in / small).is_file())
        about = attributes_at(path)
        is_present = bool(about) and not changed(about, case, now)
        is_kept = there and (not is_present or about["created"] == of_case["created"].iloc[-1])
        if is_kept:
            rows += of_case.to_dict("records")
            kept += [small] if whole else []
        elif is_present:
            made = jobs_of_result(path)
            rows += made
            if whole:
                files[small] = partial(packed, path, str(made[-1]["sha256"]))
        differs = changed(dict(of_case.iloc[-1]), case, now) if is_kept else changed(about, case, now)
        if not is_present and (differs or not is_kept):
            missing[case] = f"made with other {' and '.join(differs)}" if about or is_kept else "not there"
            pieces = {**pieces_in(kept_in, case, now), **pieces_in(path.parent, case, now)} if whole else {}
            files |= {name: piece.read_bytes for name, piece in pieces.items()}
    jobs = as_table(rows)
    if rows:
        files["pieces.csv"] = partial(_csv, jobs)
    stages = _stages(study, preset, root, list(now))
    unfinished = _out_of_date(stages, root) if not missing else ""
    tables = {} if missing or unfinished else _contents(stages, whole)
    if not tables:
        left = [path for pattern in _TABLES for path in kept_in.glob(pattern)]
        kept += [str(path.relative_to(kept_in)) for path in left]
        # Another machine made them, from the cases that are kept.
        unfinished = (
            "" if (kept_in / "claims.csv").is_file() and not files.keys() - {"pieces.csv"} else unfinished
        )
    return Gathered({**files, **tables}, kept, jobs, missing, unfinished)


class _Stages(NamedTuple):
    """Files of a study, each stage made of the ones before."""

    cases: Sequence[Path]
    tables: Sequence[Path]
    claims: Path
    numbers: Path
    drawings: Sequence[Path]


def _stages(study: Study, preset: str, root: Path, cases: Sequence[str]) -> _Stages:
    results, figures = root / "results" / preset / study.name, root / "paper_figures" / preset / study.name
    return _Stages(
        cases=[results / f"{case}.nc" for case in cases],
        tables=[results / f"{name}.parquet" for name in ("summary", "curves")],
        claims=results / "claims.csv",
        numbers=results / "numbers.csv",
        drawings=[figures / f"{name}.svg" for name in study.figures] if preset in _WHOLE else [],
    )


def _out_of_date(stages: _Stages, root: Path) -> str:
    """Which file is missing, or older than what it is made of; empty for none."""
    newest = 0.0
    for stage in (stages.cases, stages.tables, [stages.claims, stages.numbers, *stages.drawings]):
        for path in stage:
            if not path.is_file():
                return f"{path.relative_to(root)} is missing"
            if path.stat().st_mtime < newest:
                return f"{path.relative_to(root)} is older than what it is made of"
        newest = max([newest, *(path.stat().st_mtime for path in stage)])
    return ""


def _contents(stages: _Stages, whole: bool) -> dict[str, Callable[[], bytes]]:
    """What makes the content of tables, claims and figures, by their paths in the study's folder."""
    return {
        **{path.name: partial(_parquet, path) for path in (stages.tables if whole else stages.tables[:1])},
        stages.claims.name: lambda: _csv(read_verdicts(stages.claims)[MEASURED]),
        stages.numbers.name: lambda: check_beside(stages.numbers).read_bytes(),
        **{f"figures/{path.name}": path.read_bytes for path in stages.drawings},
    }


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def _parquet(path: Path) -> bytes:
    buffer = BytesIO()
    write_cells(buffer, read_table(path), compression="zstd", compression_level=12)
    return buffer.getvalue()
