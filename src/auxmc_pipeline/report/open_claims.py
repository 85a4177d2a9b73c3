"""What would change a verdict: for each claim of the documents that is open, the run that decides it and its cost."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from auxmc.command_line.columns import duration
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.jobs import recorded_jobs
from auxmc_pipeline.report.claim_lines import claim_anchor
from auxmc_pipeline.report.numbers import with_error

__all__ = ["OpenClaim", "open_claims", "what_decides"]

_LARGEST = "paper"
# Runs longer than this by so much decide nothing in practice: the value lies on the edge of its band.
_MOST_TIMES = 1e4


class OpenClaim(NamedTuple):
    """A line that is inconclusive or not measured.

    Attributes:
        study: name of the study.
        claim_id: id of the claim.
        anchor: its address in the page.
        setting: of the line.
        verdict: inconclusive or not measured.
        measured: our value with its error; empty where there is none.
        decides: the run that decides it, in words.
        cost: its processor time, in words; empty where it is not known.
    """

    study: str
    claim_id: str
    anchor: str
    setting: str
    verdict: str
    measured: str
    decides: str
    cost: str


def open_claims(study: Study, preset: str, judged: pd.DataFrame) -> list[OpenClaim]:
    """Open lines of the documents' claims, in the order of the study's table; those about time are left out.

    Args:
        study: the study.
        preset: of the results.
        judged: of `auxmc_pipeline.judging.study_tables.read_verdicts`.
    """
    rows = judged[
        judged["verdict"].isin(["inconclusive", "not measured"]) & (judged["origin"] == "published")
    ]
    costs = {name: recorded_jobs(study.name, name)["cpu_s"].sum(min_count=1) for name in {preset, _LARGEST}}
    found = []
    for row in rows.to_dict("records"):
        decides, at, times = what_decides({str(name): value for name, value in row.items()}, preset)
        cost = times * costs[at] if at else math.nan
        found.append(
            OpenClaim(
                study=study.name,
                claim_id=row["claim_id"],
                anchor=claim_anchor(study.name, row["claim_id"]),
                setting=row["setting"],
                verdict=row["verdict"],
                measured=with_error(row["measured"], row["monte_carlo_error"])
                if math.isfinite(row["measured"])
                else "",
                decides=decides,
                cost=duration(cost) if math.isfinite(cost) else "",
            )
        )
    return found


def what_decides(row: Mapping[str, Any], preset: str) -> tuple[str, str, float]:
    """The run that decides an open line.

    Args:
        row: the line, with its verdict.
        preset: that it was measured at.

    Returns:
        The run in words; the preset whose cost is its unit, empty where there is no such run; and how many times that.
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
    shown = f"{times:.1f}" if times < 10.0 else f"{times:.0f}"
    return f"{shown} times as many draws or repeats, if the value stays", preset, times
