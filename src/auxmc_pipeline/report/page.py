"""Everything that the page says, read from the results of a run or from published results."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
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
from auxmc_pipeline.published_values import DISTANCE
from auxmc_pipeline.report.claim_lines import CONSISTENT, DIFFERENT, KEPT_ONLY, claim_groups, unexplained
from auxmc_pipeline.report.code_places import algorithms
from auxmc_pipeline.report.figures import page_figures
from auxmc_pipeline.report.findings import Readme, main_findings, read_findings, read_readme
from auxmc_pipeline.report.findings_text import LookUp, fill
from auxmc_pipeline.settings import PRESETS, numbers_of
from auxmc_pipeline.tables import load_tables, long_rows

FIGURES = "figures"

# Values of claims that a run computes itself: their mean over claims says nothing.
_OF_CLAIMS = ("measured", "measured_error", "measured_exact")
_FAILURES = {
    "n_failures": "proposals with a numerical failure",
    "n_collapsed": "slice updates that found no point",
    "n_not_finite": "iterations without a finite estimate",
}

# Rules next to the one that runs cases, by the name of their benchmark file.
_RULES = {"summarise": "summarise", "figures": "draw", "claims": "judge_claims"}


class StudyResults(NamedTuple):
    """Results of a study."""

    preset: str  # their preset
    folder: Path  # where their tables are, relative to the root of the project
    judged: pd.DataFrame  # the claims with verdicts
    numbers: pd.DataFrame  # numbers of its findings
    summary: pd.DataFrame  # statistics of all cases, a row a value
    figures: Mapping[str, Path]  # the file to show for each figure, by its name
    jobs: pd.DataFrame  # provenance, a row for each case, with the columns of `pieces.csv`


def results_of_run(preset: str, names: Sequence[str] = ()) -> dict[str, StudyResults]:
    """Results of a preset in the working directory, by study; raises FileNotFoundError if a file is missing."""
    found = {}
    for study in map(load_study, names or studies()):
        folder = Path("results") / preset / study.name
        drawings = Path("paper_figures") / preset / study.name
        cases = [folder / f"{case.name}.nc" for case in study.cases(preset)]
        made = filter(Path.is_file, cases)
        rows = [row for path in made for row in jobs_of_attributes(read_attributes(path), path.stem)]
        found[study.name] = StudyResults(
            preset=preset,
            folder=folder,
            judged=read_verdicts(folder / "claims.csv").query(f"verdict != {DOES_NOT_APPLY!r}"),
            numbers=read_numbers(folder / "numbers.csv"),
            summary=long_rows(load_tables(folder / "tables")),
            figures={name: _drawing(drawings / f"{name}.svg") for name in study.figures},
            jobs=by_case(job_table(rows)),
        )
    return found


def published_results(kept: Published) -> dict[str, StudyResults]:
    """Published results, by study, each at its largest preset; figures are published at preset `paper` alone."""
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
            jobs=by_case(read_jobs(folder / "pieces.csv")),
        )
    return found


def read_page(
    results: Mapping[str, StudyResults],
    run: str,
    *,
    is_published: bool = False,
    kept: Mapping[str, pd.DataFrame] = MappingProxyType({}),
) -> dict[str, Any]:
    """Variables of the template `report.html.j2`, from the results of each study; `run` says in words which they are.

    Figures of published results are next to the page in `FIGURES`/study. Claims are compared with those `kept`.
    """
    declared = [load_study(name) for name in results]
    presets = {name: found.preset for name, found in results.items()}
    lines = {name: found.judged for name, found in results.items()}
    look_up = LookUp(lines, {name: found.numbers for name, found in results.items()}, presets)
    readmes = read_readmes(declared, look_up, run)
    findings = [finding for readme in readmes.values() for finding in readme.findings]
    pages = []
    for study in declared:
        found, next_to_page = results[study.name], f"{FIGURES}/{study.name}" if is_published else ""
        figures = page_figures(study, found.figures, next_to_page)
        groups = claim_groups(study, found.preset, found.judged, findings, figures, kept.get(study.folder))
        pages.append(_study_page(study, found, readmes[study.name]) | {"figures": figures, "groups": groups})
    judged = pd.concat(lines.values(), ignore_index=True)
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
        "agreements": _agreements(pages) if kept else {},
        "unexplained": [
            f"{p['name']}: {claim}" for p in pages for claim in unexplained(p["groups"], p["preset"])
        ],
        "changes": [
            {"is_moved": change["old_verdict"] != change["new_verdict"]}
            for study in declared
            for change in read_band_history(study).to_dict("records")
        ],
        "created": jobs["created"].max()[:10] if len(jobs) else "unknown date",
        "machines": machines(jobs),
        "rules": [cost for name in results for cost in rule_costs(name, presets[name], results[name].jobs)],
    }


def _agreements(pages: Sequence[dict[str, Any]]) -> dict[str, list[tuple[Any, Any]]]:
    """Groups and lines of claims by how they compare with the published run."""
    lines = [(group, line) for page in pages for group in page["groups"] for line in group["lines"]]
    words = (CONSISTENT, DIFFERENT, KEPT_ONLY)
    return {word: [pair for pair in lines if pair[1]["agreement"] == word] for word in words}


def read_readmes(declared: Sequence[Study], look_up: LookUp, run: str) -> dict[str, Readme]:
    """The README of each study, linked to claims and figures of the study first, then to those of others."""
    return {s.name: read_readme(s, look_up, run, _links(s, declared, look_up)) for s in declared}


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
        "distances": [
            [str(row["name"]).removeprefix(f"{DISTANCE} "), f"{row['value']:.2g}"]
            for row in results.numbers.to_dict("records")
            if str(row["name"]).startswith(DISTANCE) and row["value"] == row["value"]
        ],
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
    rows = summary[~summary["quantity"].isin(_OF_CLAIMS)].groupby(["case", "quantity", "unit"])
    table = rows["value"].agg(["mean", "min", "max", "count"]).reset_index()
    return [(str(case), found.to_dict("records")) for case, found in table.groupby("case")]  # type: ignore[misc]


def machines(jobs: pd.DataFrame) -> list[dict[str, Any]]:
    """The different environments of jobs: processor, n_cores, versions, n_cases; the one with the most cases first."""
    names = ["processor", "n_cores", "versions"]
    found = jobs.groupby(names, sort=False)["case"].count().rename("n_cases").reset_index()
    return found.sort_values("n_cases", ascending=False, kind="stable").to_dict("records")  # type: ignore[return-value]


def rule_costs(study: str, preset: str, jobs: pd.DataFrame, root: Path = Path()) -> list[dict[str, Any]]:
    """Time and memory of the jobs of every rule in a study, from Snakemake's benchmark files in `root`/logs.

    CPU time and memory are those of `jobs`, and zero for other rules: Snakemake samples a long job every half minute,
    and does not see what a job does in a fork of another process.

    Returns:
        Dicts with study, rule, n_jobs, wall_s (seconds), cpu_s (seconds) and peak_mib.
    """
    stated = jobs.set_index("case")[["cpu_s", "peak_memory_mib"]].T.to_dict()
    rows = []
    for path in sorted((root / "logs" / preset / study).glob("*.benchmark.tsv")):
        name = path.name.removesuffix(".benchmark.tsv")
        found = pd.read_csv(path, sep="\t", na_values="-").iloc[:1].to_dict("records")
        own = stated.get(name, {"cpu_s": 0.0, "peak_memory_mib": 0.0})
        row = {
            "study": study,
            "rule": _RULES.get(name, "run_case"),
            "wall_s": found[0].get("s", 0.0) if found else 0.0,
        }
        rows.append({**row, "cpu_s": own["cpu_s"], "peak_mib": own["peak_memory_mib"]})
    if not rows:
        return []
    costs = {"n_jobs": ("wall_s", "size"), "wall_s": ("wall_s", "sum"), "cpu_s": ("cpu_s", "sum")}
    by_rule = pd.DataFrame(rows).fillna(0.0).groupby(["study", "rule"])
    return by_rule.agg(**costs, peak_mib=("peak_mib", "max")).reset_index().to_dict("records")  # type: ignore[return-value]


def settings_table(study: Study, preset: str) -> dict[str, Any]:
    """Settings of the cases of a study.

    Returns:
        `shared`: name, value, unit and meaning of settings that are the same in all cases; `varied`: names of the
        others; `cases`: name of each case and its values of the varied settings.
    """
    cases = study.cases(preset)
    fields = {field.name: field.metadata for field in dataclasses.fields(study.schema)}
    added = {f.name: f.default for f in dataclasses.fields(study.schema) if f.metadata.get("added")}
    values = []
    for case in cases:
        numbers = numbers_of(case.settings)
        numbers |= added | numbers  # which leave out an added setting at its default
        batch: dict[str, Any] = numbers.pop("batch", {})  # type: ignore[assignment]
        # Values that run inside one program replace the single value.
        values.append({**numbers, **{name: batch[name] for name in batch if name in numbers}})
    varied = [name for name in values[0] if any(v[name] != values[0][name] for v in values)]
    shared = [
        (name, _text(value), fields[name]["unit"], fields[name]["help"])
        for name, value in values[0].items()
        if name not in varied
    ]
    rows = [(case.name, [_text(v[name]) for name in varied]) for case, v in zip(cases, values, strict=True)]
    return {"shared": shared, "varied": varied, "cases": rows}


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        shown = [_text(v) for v in value]
        few = len(shown) <= 8
        return ", ".join(shown) if few else f"{shown[0]}, {shown[1]}, …, {shown[-1]} ({len(shown)} values)"
    return f"{value:g}" if isinstance(value, float) else str(value) if value not in ("", None, []) else "–"


def _drawing(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"no figure {path}: draw it with `snakemake {path}`")
    return path
