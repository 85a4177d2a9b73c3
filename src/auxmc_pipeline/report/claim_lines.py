"""Claims side by side: what was published, what we measured, the verdict and why."""

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.judging.documents import Document
from auxmc_pipeline.report.code_places import measured_by
from auxmc_pipeline.report.figure_names import is_named
from auxmc_pipeline.report.figures import PageFigure
from auxmc_pipeline.report.findings import Finding
from auxmc_pipeline.report.numbers import band, number, with_error

_NEEDS_EXPLANATION = ("not reproduced", "inconclusive", "not measured")
_SMOKE = (
    "Preset smoke tries every step with runs far shorter than the claim speaks of: its verdicts say that the "
    "pipeline works, not whether the claim holds. Preset quick judges it."
)


class Strip(NamedTuple):
    """A claim's numbers on a line from 0 to 100.

    Attributes:
        low: lower end of the band.
        high: upper end of the band.
        value: measured value.
        error_low: two standard errors below it.
        error_high: two standard errors above it.
        published: published value; None where it is not a number.
    """

    low: float
    high: float
    value: float
    error_low: float
    error_high: float
    published: float | None


class ClaimLine(NamedTuple):
    """One setting of a claim, ready to be shown.

    Attributes:
        setting: what it is measured for.
        place: where it stands in the document.
        document: the document; None for a check of our own that stands on none.
        nature: one of `auxmc_pipeline.claims.NATURES`, or "ours" for a check of our own.
        published: published value, as text.
        band: values that count as agreement, in words.
        band_from: where the band comes from; empty where there is none.
        needs: what a run must have had for it to be judged; empty for nothing.
        measured: our value with its standard error.
        verdict: one of `auxmc_pipeline.judging.verdicts.VERDICTS`.
        note: how it was computed, or why it is missing.
        why: why it failed or is undecided; empty otherwise.
        findings: findings that speak of it.
        code: function that measured it, as `file::function`.
        strip: its numbers on a line; None where nothing was measured or nothing bounds them.
    """

    setting: str
    place: str
    document: Document | None
    nature: str
    published: str
    band: str
    band_from: str
    needs: str
    measured: str
    verdict: str
    note: str
    why: tuple[str, ...]
    findings: tuple[Finding, ...]
    code: str
    strip: Strip | None


class ClaimGroup(NamedTuple):
    """The lines of one statement, in the order of the study's table, and the figures of the study that show it."""

    claim_id: str
    anchor: str
    statement: str
    lines: tuple[ClaimLine, ...]
    figures: tuple[PageFigure, ...]


def claim_anchor(study: str, claim_id: str) -> str:
    """Address of a claim in the page; several studies may judge claims of one id."""
    return f"{study}-{claim_id}"


def claim_groups(
    study: Study,
    preset: str,
    table: pd.DataFrame,
    documents: tuple[Document, ...],
    findings: Sequence[Finding],
    figures: Sequence[PageFigure] = (),
) -> list[ClaimGroup]:
    """The claims of a study, lines of one claim and statement together.

    Args:
        study: the study.
        preset: its preset.
        table: of `auxmc_pipeline.judging.study_tables.read_verdicts`.
        documents: where claims come from.
        findings: all findings.
        figures: figures of the study that are there.
    """
    by_key = {document.key: document for document in documents}
    groups: dict[tuple[str, str], list[ClaimLine]] = {}
    for row in table.to_dict("records"):
        about = _about(findings, study.name, row["claim_id"])
        line = ClaimLine(
            setting=row["setting"],
            place=row["place"],
            document=by_key.get(row["document"]),
            nature=row["nature"] if row["origin"] == "published" else "ours",
            published=row["published"] or "–",
            band=band(row["low"], row["high"]),
            band_from=row["band_from"],
            needs=row["needs"],
            measured=with_error(row["measured"], row["monte_carlo_error"]),
            verdict=row["verdict"],
            # The note of a value that is missing says why, and stands there.
            note=row["note"] if math.isfinite(row["measured"]) else "",
            why=explanation(row, preset),
            findings=about,
            code=measured_by(study, row["claim_id"], row["setting"]),
            strip=strip(row["published"], row["low"], row["high"], row["measured"], row["monte_carlo_error"]),
        )
        groups.setdefault((row["claim_id"], row["statement"]), []).append(line)
    out: list[ClaimGroup] = []
    for (claim_id, statement), lines in groups.items():
        earlier = sum(group.claim_id == claim_id for group in out)
        anchor = claim_anchor(study.name, claim_id) + (f"-{earlier + 1}" if earlier else "")
        places = [line.place for line in lines if line.document and line.document.name == study.document]
        shown = tuple(f for f in figures if claim_id in f.claims or is_named(f.name, places))
        out.append(ClaimGroup(claim_id, anchor, statement, tuple(lines), shown))
    return out


def explanation(row: Mapping[Hashable, Any], preset: str) -> tuple[str, ...]:
    """Sentences that say why a claim failed or is undecided; none for the other verdicts.

    Args:
        row: line of a table of `auxmc_pipeline.judging.study_tables.read_verdicts`.
        preset: preset that it was measured at.
    """
    if row["verdict"] not in _NEEDS_EXPLANATION:
        return ()
    value, error = float(row["measured"]), float(row["monte_carlo_error"])
    sentences = []
    if not math.isfinite(value):
        sentences.append(f"Not measured at preset {preset}: {row['note']}." if row["note"] else "")
    else:
        sentences.append(_arithmetic(value, error, float(row["low"]), float(row["high"]), row["verdict"]))
        if row["verdict"] == "inconclusive" and not error > 0.0:
            sentences.append("Its Monte Carlo error is unknown, so that nothing is decided.")
    if preset == "smoke":
        sentences.append(_SMOKE)
    return tuple(sentence for sentence in sentences if sentence)


def unexplained(groups: Sequence[ClaimGroup], preset: str) -> list[str]:
    """Claims that failed or are undecided and about which the page has nothing to say, as `claim: setting`.

    Numbers alone explain an undecided claim, which lacks precision; they do not explain one that failed.
    """
    out = []
    for group in groups:
        for line in group.lines:
            # A range that claims are named in says too little about one that failed.
            said = preset == "smoke" or any(group.claim_id in finding.named for finding in line.findings)
            undecided = line.verdict in ("inconclusive", "not measured")
            if (undecided and not (said or line.why)) or (line.verdict == "not reproduced" and not said):
                out.append(f"{group.claim_id}: {line.setting}")
    return out


def strip(published: str, low: float, high: float, value: float, error: float) -> Strip | None:
    """Places of a claim's numbers on a line from 0 to 100.

    Args:
        published: published value, as text.
        low: lower end of the band; NaN for none.
        high: upper end of the band; NaN for none.
        value: measured value.
        error: its standard error; NaN when unknown.
    """
    edges = [edge for edge in (low, high) if math.isfinite(edge)]
    if not edges or not math.isfinite(value):
        return None
    half = 2.0 * error if math.isfinite(error) else 0.0
    stated = float(published) if re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", published) else None
    points = [*edges, value - half, value + half, *([] if stated is None else [stated])]
    first, last = min(points), max(points)
    if last == first:
        first, last = first - 1.0, last + 1.0
    # Room at both ends, so that a band without an edge is seen to go on.
    margin = 0.12

    def place(x: float) -> float:
        # Divided first: a diverged value can be near the largest number there is.
        return round(100.0 * ((x - first) / (last - first) + margin) / (1.0 + 2.0 * margin), 1)

    return Strip(
        low=place(low) if math.isfinite(low) else 0.0,
        high=place(high) if math.isfinite(high) else 100.0,
        value=place(value),
        error_low=place(value - half),
        error_high=place(value + half),
        published=None if stated is None else place(stated),
    )


def _about(findings: Sequence[Finding], study: str, claim_id: str) -> tuple[Finding, ...]:
    """Findings that name a claim: those about its study if there are any."""
    naming = [finding for finding in findings if claim_id in finding.about]
    own = [finding for finding in naming if finding.study == study]
    return tuple(own or naming)


def _arithmetic(value: float, error: float, low: float, high: float, verdict: str) -> str:
    edges = [edge for edge in (low, high) if math.isfinite(edge)]
    if not edges:
        return ""
    edge = min(edges, key=lambda e: abs(value - e))
    inside = (math.isnan(low) or value >= low) and (math.isnan(high) or value <= high)
    side = "inside" if inside else "outside"
    if verdict == "inconclusive" and error > 0:
        return (
            f"Measured {with_error(value, error)}: {abs(value - edge) / error:.1f} standard errors {side} the edge "
            f"{number(edge)} of the band, nearer than the two that a verdict needs. Longer runs decide."
        )
    away = f", {abs(value - edge) / error:.1f} standard errors away" if error > 0 else ""
    return f"Measured {with_error(value, error)}, {side} the band ({band(low, high)}){away}."
