"""Everything that the page says, read from the results of a run or from published results."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auxmc.driver.results import read_attributes
from auxmc_pipeline.catalogue import ROOT, Study, load_study, studies
from auxmc_pipeline.checksums import check_kept
from auxmc_pipeline.jobs import PUBLISHED, by_case, job_table, jobs_of_attributes, read_jobs
from auxmc_pipeline.judging.band_history import read_band_history
from auxmc_pipeline.judging.counts import counts_by_document, counts_of
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.published import Published
from auxmc_pipeline.judging.study_tables import read_numbers, read_verdicts
from auxmc_pipeline.judging.verdicts import DOES_NOT_APPLY, VERDICTS
from auxmc_pipeline.report.claim_lines import claim_groups, unexplained
from auxmc_pipeline.report.code_places import algorithms
from auxmc_pipeline.report.figures import LARGEST_VECTOR_BYTES, page_figures
from auxmc_pipeline.report.findings import Readme, main_findings, read_findings, read_readme
from auxmc_pipeline.report.findings_text import LookUp, fill
from auxmc_pipeline.report.provenance import machines, rule_costs, settings_table
from auxmc_pipeline.settings import PRESETS
from auxmc_pipeline.tables import load_tables, long_rows

FIGURES = "figures"

# Values of claims that a run computes itself: their mean over claims says nothing.
_OF_CLAIMS = ("measured", "measured_error", "measured_exact")
_FAILURES = {
    "n_failures": "proposals with a numerical failure",
    "n_collapsed": "slice updates that found no point",
    "n_not_finite": "iterations without a finite estimate",
}


class StudyResults(NamedTuple):
    """Results of a study.

    Attributes:
        preset: their preset.
        folder: where their tables are, relative to the root of the project.
        judged: the claims with verdicts.
        numbers: numbers of its findings.
        summary: statistics of all cases, a row a value.
        figures: the file to show for each figure, by its name.
        drawings: path of the figures as files to keep, relative to the root, with `{name}` for the figure.
        jobs: provenance, a row for each case, with the columns of `pieces.csv`.
    """

    preset: str
    folder: Path
    judged: pd.DataFrame
    numbers: pd.DataFrame
    summary: pd.DataFrame
    figures: Mapping[str, Path]
    drawings: str
    jobs: pd.DataFrame


def results_of_run(preset: str, names: Sequence[str] = ()) -> dict[str, StudyResults]:
    """Results of a preset in the working directory, by study.

    Args:
        preset: the preset.
        names: the studies; all by default.

    Raises:
        FileNotFoundError: If a table, a figure or a file of claims is missing.
    """
    found = {}
    for study in map(load_study, names or studies()):
        folder = Path("results") / preset / study.name
        drawings = Path("paper_figures") / preset / study.name
        cases = [folder / f"{case.name}.nc" for case in study.cases(preset)]
        rows = [
            row
            for path in cases
            if path.is_file()
            for row in jobs_of_attributes(read_attributes(path), path.stem)
        ]
        found[study.name] = StudyResults(
            preset=preset,
            folder=folder,
            judged=read_verdicts(folder / "claims.csv").query(f"verdict != {DOES_NOT_APPLY!r}"),
            numbers=read_numbers(folder / "numbers.csv"),
            summary=long_rows(load_tables(folder / "tables")),
            figures={name: _drawing(drawings / name) for name in study.figures},
            drawings=f"{drawings}/{{name}}.pdf",
            jobs=by_case(job_table(rows)),
        )
    return found


def published_results(kept: Published) -> dict[str, StudyResults]:
    """Published results, by study, each at its largest preset; figures are published at preset `paper` alone.

    Raises:
        DamagedFile: If a file is not what was published.
    """
    found = {}
    for name, preset in kept.presets.items():
        folder = PUBLISHED / preset / name
        drawings = {figure: folder / FIGURES / f"{figure}.svg" for figure in load_study(name).figures}
        found[name] = StudyResults(
            preset=preset,
            folder=folder.relative_to(ROOT),
            judged=kept.judged[name],
            numbers=kept.numbers[name],
            summary=long_rows(load_tables(folder / "tables")),
            figures={figure: check_kept(path) for figure, path in drawings.items() if path.is_file()},
            drawings=f"{folder.relative_to(ROOT)}/{FIGURES}/{{name}}.svg",
            jobs=by_case(read_jobs(folder / "pieces.csv")),
        )
    return found


def read_page(results: Mapping[str, StudyResults], run: str, *, is_published: bool = False) -> dict[str, Any]:
    """Variables of the template `report.html.j2`.

    Args:
        results: results of each study.
        run: which results these are, in words.
        is_published: whether they are published ones, whose figures are next to the page in `FIGURES`/study.

    Raises:
        ValueError: If a README or `docs/findings.md` names a number that does not exist.
    """
    declared = [load_study(name) for name in results]
    presets = {name: found.preset for name, found in results.items()}
    look_up = LookUp(
        {name: found.judged for name, found in results.items()},
        {name: found.numbers for name, found in results.items()},
        presets,
    )
    readmes = read_readmes(declared, look_up, run)
    findings = [finding for readme in readmes.values() for finding in readme.findings]
    pages = []
    for study in declared:
        found, next_to_page = results[study.name], f"{FIGURES}/{study.name}" if is_published else ""
        figures = page_figures(study, found.figures, found.drawings, next_to_page)
        groups = claim_groups(study, found.preset, found.judged, findings, figures)
        pages.append(_study_page(study, found, readmes[study.name]) | {"figures": figures, "groups": groups})
    judged = pd.concat([found.judged for found in results.values()], ignore_index=True)
    by_document = counts_by_document(judged)
    jobs = pd.concat([found.jobs for found in results.values()])
    return {
        "preset": max(presets.values(), key=PRESETS.index),
        "run": run,
        "is_published": is_published,
        "verdicts": VERDICTS,
        "studies": pages,
        "counts": counts_of(judged[judged["origin"] == "published"]),
        "documents": [(d, by_document[d.key]) for d in read_documents() if d.key in by_document],
        "verdict_of": {claim: look_up.verdict(claim) for claim in judged["claim_id"].unique()},
        "highlights": _highlights(look_up, pages, run),
        "unexplained": [
            f"{page['name']}: {claim}"
            for page in pages
            for claim in unexplained(page["groups"], page["preset"])
        ],
        "changes": [
            {"is_moved": change["old_verdict"] != change["new_verdict"]}
            for study in declared
            for change in read_band_history(study).to_dict("records")
        ],
        "created": jobs["created"].max()[:10] if len(jobs) else "unknown date",
        "machines": machines(jobs),
        "rules": [cost for name in results for cost in rule_costs(name, presets[name], results[name].jobs)],
        "vector_limit_kb": LARGEST_VECTOR_BYTES // 1000,
    }


def read_readmes(declared: Sequence[Study], look_up: LookUp, run: str) -> dict[str, Readme]:
    """The README of each study, linked to claims and figures of the study first, then to those of others."""
    return {
        study.name: read_readme(study, look_up, run, _links(study, declared, look_up)) for study in declared
    }


def _links(study: Study, declared: Sequence[Study], look_up: LookUp) -> dict[str, str]:
    ordered = [other for other in declared if other.name != study.name] + [study]
    links = {claim: f"#{judge}-{claim}" for other in ordered for judge, claim in look_up.claims(other.name)}
    for other in ordered:
        links |= {other.name: f"#{other.name}"}
        links |= {f"{other.name}/{figure}": f"#{other.name}-{figure}" for figure in other.figures}
    return links | {figure: f"#{study.name}-{figure}" for figure in study.figures}


def _highlights(look_up: LookUp, pages: Sequence[dict[str, Any]], run: str) -> list[tuple[Any, Any]]:
    """Main findings about the studies of the page, each with its figure or None."""
    by_name = {page["name"]: page for page in pages}
    declared = [page["study"] for page in pages]
    out = []
    for text, name, figure in main_findings():
        if name in by_name:
            filled = fill(text, look_up, "docs/findings.md", run)
            links = _links(by_name[name]["study"], declared, look_up)
            (finding,) = read_findings([filled], name, links, "main")
            shown = next((f for f in by_name[name]["figures"] if f.name == figure), None)
            out.append((finding, shown))
    return out


def _study_page(study: Study, results: StudyResults, readme: Readme) -> dict[str, Any]:
    published = results.judged["origin"] == "published"
    variant = f" variant={study.file.variant}" if study.file.variant else ""
    return {
        "study": study,
        "name": study.name,
        "command": f"snakemake {study.folder} --config preset={results.preset}{variant}",
        "preset": results.preset,
        "folder": results.folder.as_posix(),
        "title": study.title,
        "short": re.split(r":|,| by | of the ", study.title)[0],
        "readme": readme,
        "algorithms": algorithms(study),
        "counts": counts_of(results.judged[published]),
        "settings": settings_table(study, results.preset),
        "jobs": results.jobs.to_dict("records"),
        "failures": failures(results.summary),
        "tables_at": "tables/",
        "tables": quantities(results.summary),
    }


def failures(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Failures counted in the chains of each case, as case, what and count; cases without any are left out."""
    rows = summary[summary["quantity"].isin(list(_FAILURES)) & (summary["value"] != 0.0)]
    counts = rows.groupby(["case", "quantity"], sort=True)["value"].sum()
    found = counts.reset_index().itertuples(index=False)
    return [{"case": case, "what": _FAILURES[what], "count": count} for case, what, count in found]


def quantities(summary: pd.DataFrame) -> list[tuple[str, list[dict[str, Any]]]]:
    """Name, unit, mean, smallest and largest value and number of values of every quantity, by case."""
    rows = summary[~summary["quantity"].isin(_OF_CLAIMS)]
    table = (
        rows.groupby(["case", "quantity", "unit"])["value"].agg(["mean", "min", "max", "count"]).reset_index()
    )
    return [(str(case), found.to_dict("records")) for case, found in table.groupby("case")]  # type: ignore[misc]


def _drawing(name: Path) -> Path:
    """The vector graphic of a figure if it is small enough for a page, else its bitmap."""
    vector, bitmap = (name.with_name(f"{name.name}.{suffix}") for suffix in ("svg", "png"))
    path = vector if vector.is_file() and vector.stat().st_size <= LARGEST_VECTOR_BYTES else bitmap
    if not path.is_file():
        raise FileNotFoundError(f"no figure {path}: draw it with `snakemake {name}.png`")
    return path
