"""From claims and tables to verdicts."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from auxmc_pipeline.claims import Measures
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.tables import Measure, MissingData, Tables, unmet_needs

FIGURE_ONLY = "figure only"
"""Of a claim as a whole: text and figure of the document disagree, and the figure is reproduced."""

VERDICTS = ("reproduced", FIGURE_ONLY, "not reproduced", "inconclusive", "not measured", "timing")

DOES_NOT_APPLY = "does not apply"
"""In place of a verdict on a published claim, where the run is of another model than the claim; never counted."""


def verdict(measurement: Measurement, low: float, high: float, kind: str) -> str:
    """Compares a measured value with the band that counts as agreement; an end of it that is NaN bounds nothing.

    A value within the band is "reproduced" and one outside is "not reproduced" only if the edge of the band is more
    than two Monte Carlo standard errors away; nearer than that, more draws could change the verdict, and it is
    "inconclusive". So it is where the error is unknown, whatever the value: only a value declared exact has none.
    What has no value is "not measured". Claims about time are "timing": they describe a machine.
    """
    if math.isnan(measurement.value):
        return "not measured"
    if kind == "W":
        return "timing"
    low = -math.inf if math.isnan(low) else low
    high = math.inf if math.isnan(high) else high
    inside = "reproduced" if low <= measurement.value <= high else "not reproduced"
    if measurement.exact:
        return inside
    # An infinite value is what a chain that never moves gives: no error can bring it back.
    known = measurement.error > 0.0 or math.isinf(measurement.value)
    margin = 2.0 * measurement.error if math.isfinite(measurement.value) else 0.0
    distance = min(abs(measurement.value - low), abs(measurement.value - high))
    return inside if known and distance >= margin else "inconclusive"


def verdict_of_line(line: Mapping[Any, Any]) -> str:
    """Verdict of a line from its `measured`, `monte_carlo_error`, `exact`, `low`, `high` and `kind`; see `verdict`."""
    measured, error, low, high = (float(line[n]) for n in ("measured", "monte_carlo_error", "low", "high"))
    return verdict(Measurement(measured, error, exact=bool(line["exact"])), low, high, str(line["kind"]))


def judge(claims: pd.DataFrame, measures: Measures, tables: Tables, other_model: str = "") -> pd.DataFrame:
    """Measures every claim and gives its verdict: adds measured, monte_carlo_error, exact, verdict, note.

    Args:
        claims: table of `auxmc_pipeline.claims.read_claims`.
        measures: for each claim id and each setting of the claim, a function of the tables. Where it raises
            MissingData, or the run had less than the claim needs, the line has no value,
            and its note says what is missing.
        tables: of the study.
        other_model: why the published claims are not about the model of the run; empty where they are.

    Raises:
        ValueError: a line of a claim has no function, or a claim's function no line.
    """
    if odd := unmatched(claims, measures):
        raise ValueError("; ".join(odd))
    rows = []
    for line in claims.to_dict("records"):
        claim_id, setting = line["claim_id"], line["setting"]
        is_other = other_model != "" and line["origin"] == "published"
        measure = measures[claim_id][setting]
        found = Measurement(math.nan, math.nan, other_model) if is_other else _measured(line, measure, tables)
        row = {**line, "measured": found.value, "monte_carlo_error": found.error, "exact": found.exact}
        row["verdict"] = DOES_NOT_APPLY if is_other else verdict_of_line(row)
        rows.append({**row, "note": found.note})
    return pd.DataFrame(rows)


def unmatched(claims: pd.DataFrame, measures: Measures) -> list[str]:
    """Lines of claims that no function measures, and functions that have no line; empty where all go together."""
    lines = set(zip(claims["claim_id"], claims["setting"], strict=True))
    measured = {(claim, setting) for claim, settings_of in measures.items() for setting in settings_of}
    odd = [f"{claim}, {setting}: no function measures this line" for claim, setting in lines - measured]
    odd += [f"{claim}, {setting}: no line for this function" for claim, setting in measured - lines]
    return sorted(odd)


def _measured(line: Mapping[Hashable, Any], measure: Measure, tables: Tables) -> Measurement:
    """What a line measures; NaN, with the reason, where the tables lack something or the run was too short."""
    try:
        unmet = unmet_needs(str(line["needs"]), tables["settings"])
        return Measurement(math.nan, math.nan, unmet) if unmet else measure(tables)
    except MissingData as missing:
        return Measurement(math.nan, math.nan, str(missing))
    except ValueError as error:
        raise ValueError(f"{line['claim_id']}, {line['setting']}: {error}") from error
