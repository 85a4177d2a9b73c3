"""From claims and tables to verdicts."""

import math
from collections.abc import Collection

import pandas as pd

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.needs import parse_needs
from auxmc_pipeline.tables import MissingData, Tables

__all__ = ["VERDICTS", "judge", "verdict"]

VERDICTS = ("reproduced", "not reproduced", "inconclusive", "not measured", "timing")


def verdict(measurement: Measurement, low: float, high: float, kind: str) -> str:
    """Compares a measured value with the band that counts as agreement.

    A value within the band is "reproduced" and one outside is "not reproduced" only if the edge of the band is more
    than two Monte Carlo standard errors away; nearer than that, more draws could change the verdict, and it is
    "inconclusive". So it is where the error is unknown, whatever the value: only a value declared exact has none.
    What has no value is "not measured". Claims about time are "timing": they describe a machine.

    Args:
        measurement: measured value and error.
        low: lower end of the band; NaN for none.
        high: upper end of the band; NaN for none.
        kind: one of `auxmc_pipeline.claims.KINDS`.
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


def judge(
    claims: pd.DataFrame, measures: Measures, tables: Tables, settings: Collection[str]
) -> pd.DataFrame:
    """Measures every claim and gives its verdict.

    Args:
        claims: table of `auxmc_pipeline.claims.read_claims`.
        measures: for each claim id and each setting of the claim, a function of the tables. Where it raises
            MissingData, or the rows that it read were made with less than the claim needs, the line has no value,
            and its note says what is missing.
        tables: of the study.
        settings: names of the study's settings.

    Returns:
        The claims with columns measured, monte_carlo_error, exact, verdict, note.

    Raises:
        ValueError: a line of a claim has no function, a claim's function no line, or a line has needs that cannot be
            checked because its function read no rows.
    """
    unmatched = set(claims["claim_id"]) ^ set(measures)
    if unmatched:
        raise ValueError(f"claims without a function, or functions without a claim: {sorted(unmatched)}")
    rows = []
    for line in claims.to_dict("records"):
        claim_id, setting = line["claim_id"], line["setting"]
        if setting not in measures[claim_id]:
            raise ValueError(f"{claim_id}: nothing measures the setting {setting!r}")
        needs = parse_needs(line["needs"], settings)
        recorded, read = tables.recording()
        try:
            found = measures[claim_id][setting](recorded)
            unmet = [text for need in needs if (text := need.unmet([rows.frame for rows in read]))]
            if unmet:
                raise MissingData("; ".join(unmet))
        except MissingData as missing:
            found = Measurement(math.nan, math.nan, str(missing))
        except ValueError as error:
            raise ValueError(f"{claim_id}, {setting}: {error}") from error
        rows.append(
            {
                **line,
                "measured": found.value,
                "monte_carlo_error": found.error,
                "exact": found.exact,
                "verdict": verdict(found, float(line["low"]), float(line["high"]), str(line["kind"])),
                "note": found.note,
            }
        )
    return pd.DataFrame(rows)
