"""Claims side by side: the published value, ours, the verdict and its reason, and what would decide an open one."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from auxmc.command_line.columns import duration
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.claims import documents_of
from auxmc_pipeline.jobs import recorded_jobs
from auxmc_pipeline.judging.band_history import describe_change, read_band_history
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.report.code_places import measured_by
from auxmc_pipeline.report.figures import PageFigure, is_named
from auxmc_pipeline.report.findings import Finding, about
from auxmc_pipeline.report.numbers import band, number, with_error

Line = dict[str, Any]

CONSISTENT, DIFFERENT, KEPT_ONLY = "consistent with the kept run", "differs from the kept run", "kept only"
"""How a line compares with the published run: within three standard errors, or not; or measured there alone."""

_OPEN = ("inconclusive", "not measured")
_SMOKE = (
    "Preset smoke runs far shorter than the claim requires: its verdicts test the pipeline, not the claim. Preset "
    "quick judges it."
)
_LARGEST = "paper"
# Of several hundred lines, a few are further apart than two standard errors by chance.
_MOST_ERRORS = 3.0
# A value that would need so many times the run lies on the edge of its band.
_MOST_TIMES = 1e4


def claim_groups(
    study: Study,
    preset: str,
    judged: pd.DataFrame,
    findings: Sequence[Finding],
    figures: Sequence[PageFigure] = (),
    kept: pd.DataFrame | None = None,
) -> list[Line]:
    """The judged claims of a study, lines of one claim and statement together, next to those that are kept.

    Returns:
        Dicts with claim_id, anchor, statement, figures, and lines: rows of `judged` with what `claim_line` adds.
    """
    groups: dict[tuple[str, str], list[Line]] = {}
    cpu_s = {name: recorded_jobs(study.name, name)["cpu_s"].sum() for name in {preset, _LARGEST}}
    changes = _changes(study, judged)
    line_names = ["claim_id", "setting"]
    lines_kept: dict[Any, Any] = {} if kept is None else kept.set_index(line_names).to_dict("index")
    for row in judged.to_dict("records"):
        line = claim_line({str(name): value for name, value in row.items()}, study, preset, findings, cpu_s)
        line |= compared(line, lines_kept.get((line["claim_id"], line["setting"])))
        keys = (line["claim_id"], line["setting"]), line["claim_id"]
        line["changes"] = [said for key in keys for said in changes.pop(key, [])]
        groups.setdefault((line["claim_id"], line["statement"]), []).append(line)
    out: list[Line] = []
    for (claim_id, statement), lines in groups.items():
        earlier = sum(group["claim_id"] == claim_id for group in out)
        anchor = f"{study.name}-{claim_id}" + (f"-{earlier + 1}" if earlier else "")
        places = [line["place"] for line in lines if line["document_name"] == study.document]
        shown = [figure for figure in figures if is_named(figure.name, places)]
        group = {"claim_id": claim_id, "anchor": anchor, "statement": statement}
        out.append({**group, "lines": lines, "figures": shown})
    return out


def _changes(study: Study, judged: pd.DataFrame) -> dict[Any, list[str]]:
    """What was changed after a result had been seen, by line; by claim id for lines that are no longer there."""
    lines = set(zip(judged["claim_id"], judged["setting"], strict=True))
    found: dict[Any, list[str]] = {}
    for change in read_band_history(study).to_dict("records"):
        line, said = (change["claim_id"], change["setting"]), describe_change(change)
        if line not in lines and line[1]:
            said = f"{line[1]}, {said}"
        found.setdefault(line if line in lines else line[0], []).append(said)
    return found


def claim_line(
    row: Line, study: Study, preset: str, findings: Sequence[Finding], cpu_s: Mapping[str, float]
) -> Line:
    """A judged line with what the page says about it.

    Adds document_name, documents (keys), also with names, nature "ours" for own checks, band in words, ours (value
    with error), why, findings that name the claim, code (what measured it), strip, and for open lines decides and cost,
    from the CPU time of each preset.
    """
    value, error = float(row["measured"]), float(row["monte_carlo_error"])
    decides, at, times = what_decides(row, preset) if row["verdict"] in _OPEN else ("", "", math.nan)
    cost = times * cpu_s[at] if at else 0.0
    nature, _, reading = row["nature"].partition(": ")
    names, also = {d.key: d.name for d in read_documents()}, row["also"]
    for key, name in names.items():
        also = also.replace(f"{key}:", f"{name},")
    return {
        **row,
        "document_name": names.get(row["document"], ""),
        "documents": " ".join(documents_of(row["document"], row["also"])),
        "also": also,
        "nature": nature if row["origin"] == "published" else "ours",
        "reading": reading,
        "published": row["published"] or "–",
        "band": band(row["low"], row["high"]),
        "ours": with_error(value, error),
        "note": row["note"] if math.isfinite(value) else "",  # of a missing value it is the reason
        "why": explanation(row, preset),
        "findings": about(findings, study.name, row["claim_id"]),
        "code": measured_by(study, row["claim_id"]),
        "strip": strip(row["published"], row["low"], row["high"], value, error),
        "decides": decides,
        "cost": duration(cost) if cost > 0.0 else "–",
    }


def compared(row: Mapping[str, Any], kept: Mapping[str, Any] | None) -> dict[str, str]:
    """A line next to that of the published run: `kept`, its value and verdict, and `agreement`; both empty for none."""
    if kept is None or not math.isfinite(kept["measured"]):
        return {"kept": "", "agreement": ""}
    said = f"{with_error(kept['measured'], kept['monte_carlo_error'])}, {kept['verdict']}"
    if math.isnan(row["measured"]):
        return {"kept": said, "agreement": KEPT_ONLY}
    # Exact values are rounding errors, or counts that depend on the size of the run.
    if row["exact"] and kept["exact"]:
        return {"kept": said, "agreement": CONSISTENT if row["verdict"] == kept["verdict"] else DIFFERENT}
    error = math.hypot(*(0.0 if line["exact"] else float(line["monte_carlo_error"]) for line in (row, kept)))
    if row["kind"] == "W" or not error > 0.0:
        return {"kept": said, "agreement": ""}
    is_near = abs(row["measured"] - kept["measured"]) <= _MOST_ERRORS * error
    return {"kept": said, "agreement": CONSISTENT if is_near else DIFFERENT}


def explanation(row: Mapping[str, Any], preset: str) -> str:
    """Why a line, measured at a preset, failed or is open; empty for the other verdicts."""
    if row["verdict"] not in (*_OPEN, "not reproduced"):
        return ""
    value, error = float(row["measured"]), float(row["monte_carlo_error"])
    if not math.isfinite(value):
        said = f"Not measured at preset {preset}: {row['note']}." if row["note"] else ""
    else:
        edges = [edge for edge in (row["low"], row["high"]) if math.isfinite(edge)]
        edge = min(edges, key=lambda e: abs(value - e), default=math.nan)
        side = "outside" if value < row["low"] or value > row["high"] else "inside"
        said = f"Measured {with_error(value, error)}, {side} the band ({band(row['low'], row['high'])})"
        if error > 0:
            said += f", {abs(value - edge) / error:.1f} standard errors from its edge {number(edge)}"
        said += "."
        if row["verdict"] == "inconclusive":
            said += " A verdict needs two." if error > 0 else " Its Monte Carlo error is unknown."
    return f"{said} {_SMOKE * (preset == 'smoke')}".strip()


def unexplained(groups: Sequence[Line], preset: str) -> list[str]:
    """Failed or open lines without an explanation, as `claim: setting`; a failed line needs a finding that names it."""
    if preset == "smoke":
        return []
    return [
        f"{line['claim_id']}: {line['setting']}"
        for group in groups
        for line in group["lines"]
        if not line["findings"]
        and (line["verdict"] == "not reproduced" or (line["verdict"] in _OPEN and not line["why"]))
    ]


def what_decides(row: Mapping[str, Any], preset: str) -> tuple[str, str, float]:
    """The run that decides an open line, measured at a preset.

    Returns:
        The run in words; the preset whose cost is its unit, empty if no run decides it; and how many times that cost.
    """
    value, error = float(row["measured"]), float(row["monte_carlo_error"])
    if not math.isfinite(value):
        if preset != _LARGEST and not str(row["note"]).startswith("needs data"):
            return f"preset {_LARGEST}: {row['note']}", _LARGEST, 1.0
        return str(row["note"]), "", math.nan
    if not error > 0.0:
        return "independent repeats, which give it an error", "", math.nan
    if row["band_from"] == "theory" and error == 1.0:
        # A distance in standard errors: its own error is one, however long the run is.
        return "another seed: the value is a distance in standard errors", preset, 1.0
    distance = min(abs(value - edge) for edge in (row["low"], row["high"]) if math.isfinite(edge))
    times = (2.0 * error / distance) ** 2 if distance > 0.0 else math.inf
    if times > _MOST_TIMES:
        return "none: the value lies on the edge of the band", "", math.nan
    digits = 1 if times < 10.0 else 0
    return f"{times:.{digits}f} times as many draws or repeats, if the value stays", preset, times


def strip(published: str, low: float, high: float, value: float, error: float) -> dict[str, float] | None:
    """Places of a claim's numbers on a line from 0 to 100; None if nothing was measured or nothing bounds it.

    Ends of the band and the error are NaN where there is none.
    """
    edges = {name: edge for name, edge in (("low", low), ("high", high)) if math.isfinite(edge)}
    if not edges or not math.isfinite(value):
        return None
    half = 2.0 * error if math.isfinite(error) else 0.0
    points = {**edges, "value": value, "error_low": value - half, "error_high": value + half}
    if re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", published):
        points["published"] = float(published)
    first, last = min(points.values()), max(points.values())
    first, last = (first, last) if last > first else (first - 1.0, last + 1.0)
    # Room at both ends, to show on which side a band is open; divided first, since a diverged value may be huge.
    parts = {name: (x - first) / (last - first) for name, x in points.items()}
    return {"low": 0.0, "high": 100.0} | {n: round(100.0 * (x + 0.12) / 1.24, 1) for n, x in parts.items()}
