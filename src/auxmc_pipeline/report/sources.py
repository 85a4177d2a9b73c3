"""What a report is made of: results of a run, or those that the repository keeps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auxmc.driver.results import read_table
from auxmc_pipeline.catalogue import ROOT, Study, load_study, studies
from auxmc_pipeline.checksums import check_kept
from auxmc_pipeline.jobs import PUBLISHED, by_case, read_jobs
from auxmc_pipeline.judging.published import Published
from auxmc_pipeline.judging.study_tables import read_numbers, read_verdicts
from auxmc_pipeline.report.figures import LARGEST_VECTOR_BYTES
from auxmc_pipeline.report.provenance import CaseRecord, case_record

__all__ = ["StudyResults", "published_results", "results_of_run"]


class StudyResults(NamedTuple):
    """Results of a study.

    Attributes:
        preset: their preset.
        folder: where their tables are, relative to the root of the project.
        judged: the claims with verdicts, of `auxmc_pipeline.judging.study_tables.read_verdicts`.
        numbers: numbers of its findings, of `auxmc_pipeline.judging.study_tables.read_numbers`.
        summary: statistics of all cases, a row a value.
        figures: the file to show for each figure that is there, by its name.
        drawings: where the figures are as files to keep: a path relative to the root, with `{name}` for the figure.
        records: provenance of its cases.
    """

    preset: str
    folder: str
    judged: pd.DataFrame
    numbers: pd.DataFrame
    summary: pd.DataFrame
    figures: Mapping[str, Path]
    drawings: str
    records: Sequence[CaseRecord]


def results_of_run(preset: str) -> dict[str, StudyResults]:
    """Results of a preset in the working directory, by study.

    Args:
        preset: preset whose tables, claims and figures exist.

    Raises:
        FileNotFoundError: a table, a figure or a table of claims is missing; says which command makes it.
    """
    found = {}
    for study in map(load_study, studies()):
        folder = Path("results") / preset / study.name
        drawings = Path("paper_figures") / preset / study.name
        found[study.name] = StudyResults(
            preset=preset,
            folder=str(folder),
            judged=read_verdicts(folder / "claims.csv"),
            numbers=read_numbers(folder / "numbers.csv"),
            summary=read_table(folder / "summary.parquet"),
            figures={name: _drawn(drawings / name) for name in study.figures},
            drawings=str(drawings / "{name}.pdf"),
            records=[case_record(study.name, case.name, preset) for case in study.cases(preset)],
        )
    return found


def published_results(kept: Published) -> dict[str, StudyResults]:
    """Results that the repository keeps, by study, each at its largest preset.

    Figures are kept at preset `paper` alone, and the cases of other presets as their records of jobs: neither seeds nor
    run times are known of these.

    Args:
        kept: what is kept, of `read_published`.

    Raises:
        DamagedFile: a file is not what was kept.
    """
    found = {}
    for name, preset in kept.presets.items():
        study, folder = load_study(name), Path(PUBLISHED.name) / preset / name
        found[name] = StudyResults(
            preset=preset,
            folder=str(folder),
            judged=kept.judged[name],
            numbers=kept.numbers[name],
            summary=read_table(check_kept(ROOT / folder / "summary.parquet")),
            figures={
                figure: check_kept(path)
                for figure in study.figures
                if (path := ROOT / folder / "figures" / f"{figure}.svg").is_file()
            },
            drawings=str(folder / "figures" / "{name}.svg"),
            records=_kept_records(study, preset, folder),
        )
    return found


def _drawn(name: Path) -> Path:
    """The vector graphic of a figure where it is small enough for a page, its bitmap otherwise."""
    vector, bitmap = (name.with_name(f"{name.name}.{suffix}") for suffix in ("svg", "png"))
    path = vector if vector.is_file() and vector.stat().st_size <= LARGEST_VECTOR_BYTES else bitmap
    if not path.is_file():
        raise FileNotFoundError(f"no figure {path}: draw it with `snakemake {name}.png`")
    return path


def _kept_records(study: Study, preset: str, folder: Path) -> list[CaseRecord]:
    path = folder / "pieces.csv"
    jobs = {row["case"]: row for row in by_case(read_jobs(ROOT / path)).to_dict("records")}
    cases = [case.name for case in study.cases(preset)]
    return [
        CaseRecord(study.name, case, str(path), _attributes(jobs[case]) if case in jobs else {})
        for case in cases
    ]


def _attributes(job: dict[Any, Any]) -> dict[str, Any]:
    commit, _, changes = str(job["commit"]).partition(" ")
    return {**job, "git_commit": commit, "git_dirty": str(bool(changes))}
