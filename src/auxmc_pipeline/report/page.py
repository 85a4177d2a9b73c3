"""Puts the page together: reads everything that it says."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from auxmc_pipeline.catalogue import ROOT, Study, load_study
from auxmc_pipeline.judging.counts import Counts, counts_by_document, counts_of
from auxmc_pipeline.judging.documents import Document, read_documents
from auxmc_pipeline.report.claim_lines import ClaimGroup, claim_groups, unexplained
from auxmc_pipeline.report.code_places import algorithms
from auxmc_pipeline.report.figures import PageFigure, page_figures
from auxmc_pipeline.report.findings import Finding, Section, read_findings
from auxmc_pipeline.report.findings_text import LookUp, fill
from auxmc_pipeline.report.notes import Notes, notes_of
from auxmc_pipeline.report.open_claims import OpenClaim, open_claims
from auxmc_pipeline.report.provenance import CaseRecord
from auxmc_pipeline.report.settings_table import SettingsTable, settings_table
from auxmc_pipeline.report.sources import StudyResults
from auxmc_pipeline.settings import PRESETS

FIGURES = "figures"

_FINDINGS = ROOT / "docs" / "findings.md"

# Values of claims that a run computes itself: their mean over claims says nothing.
_OF_CLAIMS = ("measured", "measured_error", "measured_exact")

_FAILURES = {
    "n_failures": "proposals with a numerical failure",
    "n_collapsed": "slice updates that found no point",
    "n_not_finite": "iterations without a finite estimate",
}


class StudyPage(NamedTuple):
    """Everything that the page says about a study.

    Attributes:
        name: name of the study.
        preset: preset of its results.
        folder: where its tables are, relative to the root of the project.
        title: a few words for headings.
        short: how the title begins, for the menu.
        question: what it asks, one paragraph.
        answer: answer to the question, with numbers and verdicts of these results.
        source: documents that it comes from; empty if its README does not name them.
        notes: the rest of its README, HTML.
        algorithms: kernels, models and approximations that its run imports, as `file::function`.
        groups: its claims.
        counts: its published claims by verdict.
        n_own: number of its checks of our own.
        figures: its figures.
        settings: settings of its cases.
        records: provenance of its cases.
        failures: failures counted in its chains.
        tables: quantities of each case.
    """

    name: str
    preset: str
    folder: str
    title: str
    short: str
    question: str
    answer: str
    source: str
    notes: Markup
    algorithms: list[str]
    groups: list[ClaimGroup]
    counts: Counts
    n_own: int
    figures: list[PageFigure]
    settings: SettingsTable
    records: list[CaseRecord]
    failures: list[dict[str, Any]]
    tables: list[dict[str, Any]]


class Page(NamedTuple):
    """Everything that the page says.

    Attributes:
        preset: largest preset of the results.
        run: which results these are, in words.
        is_published: whether they are those that the repository keeps, not those of a run.
        studies: the studies.
        counts: published claims of all studies.
        own: checks of our own.
        documents: documents with at least one claim, and their counts.
        verdicts: verdict of each claim id, of its published lines where it has any.
        highlights: findings that matter most, each with its figure or None.
        sections: all findings, by study.
        open_claims: lines of the documents' claims that are open, and what decides them.
        unexplained: claims that failed or are undecided without an explanation, as `study: claim: setting`.
    """

    preset: str
    run: str
    is_published: bool
    studies: list[StudyPage]
    counts: Counts
    own: Counts
    documents: list[tuple[Document, Counts]]
    verdicts: dict[str, str]
    highlights: list[tuple[Finding, PageFigure | None]]
    sections: list[Section]
    open_claims: list[OpenClaim]
    unexplained: list[str]


def read_page(results: Mapping[str, StudyResults], run: str, *, is_published: bool = False) -> Page:
    """What the page says of results.

    Args:
        results: results of each study, of `auxmc_pipeline.report.sources`.
        run: which results these are, in words.
        is_published: whether they are those that the repository keeps. Their figures are then beside the page, in
            `FIGURES`/study, not inside it.

    Raises:
        ValueError: If a README or `docs/findings.md` names a number that does not exist.
    """
    declared = [load_study(name) for name in results]
    tables = {name: found.judged for name, found in results.items()}
    judges = judges_of(tables)
    presets = {name: found.preset for name, found in results.items()}
    look_up = LookUp(tables, {name: found.numbers for name, found in results.items()}, presets)
    notes = {study.name: read_notes(study, look_up, run) for study in declared}
    sections = read_sections(notes, declared, judges)
    findings = [finding for section in sections for finding in section.findings]
    pages = [
        _study_page(
            study,
            results[study.name],
            notes[study.name],
            findings,
            f"{FIGURES}/{study.name}" * is_published,
        )
        for study in declared
    ]
    judged = pd.concat(tables.values(), ignore_index=True)
    by_document = counts_by_document(judged)
    return Page(
        preset=max(presets.values(), key=PRESETS.index),
        run=run,
        is_published=is_published,
        studies=pages,
        counts=counts_of(judged[judged["origin"] == "published"]),
        own=by_document[""],
        documents=[
            (document, by_document[document.key])
            for document in read_documents()
            if document.key in by_document
        ],
        verdicts={claim: look_up.verdict(claim) for claim in judges},
        highlights=_highlights(look_up, declared, judges, pages, run),
        sections=sections,
        open_claims=[
            line for study in declared for line in open_claims(study, presets[study.name], tables[study.name])
        ],
        unexplained=[
            f"{page.name}: {claim}" for page in pages for claim in unexplained(page.groups, page.preset)
        ],
    )


def read_notes(study: Study, look_up: LookUp, run: str) -> Notes:
    """The parts of a study's README with its numbers filled in.

    Args:
        study: the study.
        look_up: source of the numbers.
        run: which results these are, in words.
    """
    path = ROOT / "experiments" / study.name / "README.md"
    return notes_of(fill(path.read_text(encoding="utf-8"), look_up, path, run))


def read_sections(
    notes: Mapping[str, Notes], declared: Sequence[Study], judges: Mapping[str, Sequence[str]]
) -> list[Section]:
    """The findings of each study.

    Args:
        notes: parts of the README of each study.
        declared: the studies.
        judges: studies that judge a claim, by its id.
    """
    figures = {study.name: list(study.figures) for study in declared}
    return [
        read_findings(notes[study.name].findings, study.name, study.title, judges, figures)
        for study in declared
    ]


def judges_of(tables: Mapping[str, pd.DataFrame]) -> dict[str, list[str]]:
    """Studies that judge a claim, by its id, from the claims of each study."""
    found: dict[str, list[str]] = {}
    for name, table in tables.items():
        for claim in table["claim_id"].unique():
            found.setdefault(claim, []).append(name)
    return found


def failures(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Failures counted in the chains of each case; cases without any are left out."""
    rows = summary[summary["quantity"].isin(list(_FAILURES)) & (summary["value"] != 0.0)]
    counts = rows.groupby(["case", "quantity"], sort=True)["value"].sum().reset_index()
    return [
        {"case": row["case"], "what": _FAILURES[row["quantity"]], "count": row["value"]}
        for row in counts.to_dict("records")
    ]


def quantities(summary: pd.DataFrame) -> list[dict[str, Any]]:
    """Mean and range of every quantity of each case; what is measured for claims, each of its own kind, is left out."""
    out = []
    for case, rows in summary[~summary["quantity"].isin(_OF_CLAIMS)].groupby("case", sort=True):
        grouped = rows.groupby(["quantity", "unit"], sort=True)["value"]
        table = grouped.agg(["mean", "min", "max", "count"]).reset_index()
        out.append({"case": case, "rows": table.to_dict("records")})
    return out


def _study_page(
    study: Study,
    results: StudyResults,
    notes: Notes,
    findings: Sequence[Finding],
    beside: str,
) -> StudyPage:
    published = results.judged["origin"] == "published"
    figures = page_figures(study, results.figures, results.drawings, beside)
    return StudyPage(
        name=study.name,
        preset=results.preset,
        folder=results.folder,
        title=study.title,
        short=re.split(r":|,| by | of the ", study.title)[0],
        question=notes.question,
        answer=notes.answer,
        source=notes.source,
        notes=notes.rest,
        algorithms=algorithms(study),
        groups=claim_groups(study, results.preset, results.judged, read_documents(), findings, figures),
        counts=counts_of(results.judged[published]),
        n_own=counts_of(results.judged[results.judged["origin"] == "own"]).n_claims,
        figures=figures,
        settings=settings_table(study, results.preset),
        records=list(results.records),
        failures=failures(results.summary),
        tables=quantities(results.summary),
    )


def _highlights(
    look_up: LookUp,
    declared: Sequence[Study],
    judges: Mapping[str, Sequence[str]],
    pages: Sequence[StudyPage],
    run: str,
) -> list[tuple[Finding, PageFigure | None]]:
    """Findings of `docs/findings.md` about the declared studies, each with its figure or None."""
    titles = {study.name: study.title for study in declared}
    figures = {page.name: {figure.name: figure for figure in page.figures} for page in pages}
    found = []
    for text in main_findings():
        study, figure = place_of(text)
        if study in titles:
            filled = fill(text, look_up, _FINDINGS, run)
            section = read_findings(
                filled, study, titles[study], judges, {k: list(v) for k, v in figures.items()}
            )
            first = section.findings[0]
            found.append((first._replace(anchor=f"first-{first.anchor}"), figures[study].get(figure)))
    return found


def main_findings() -> list[str]:
    """The findings that matter most: paragraphs of `docs/findings.md` that begin with bold words, not filled in."""
    return re.split(r"(?m)^(?=\*\*)", _FINDINGS.read_text(encoding="utf-8"))[1:]


def place_of(finding: str) -> tuple[str, str]:
    """Study and figure that a finding of `docs/findings.md` names; the figure is empty if there is none."""
    found = re.search(r"Study:\s+`(\w+)`(?:,\s+figure\s+`(\w+)`)?", finding)
    if found is None:
        raise ValueError(f"{_FINDINGS}: expected 'Study: `name`' at the end of: {finding[:40]}")
    return found[1], found[2] or ""
