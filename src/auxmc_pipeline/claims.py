"""Published claims beside measured values: the comparison that every study shares."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.diagnostics.errors_of_means import error_between_chains, few_replicates
from auxmc_pipeline.tables import MissingData, Tables, Wanted

VERDICTS = ("reproduced", "not reproduced", "inconclusive", "not measured", "timing")

NATURES = ("conclusion", "printed", "reading")
"""What a claim is: something that its document concludes or reports; a formula, number or drawing as it stands there,
which a misprint can spoil; or one of several readings of an unclear statement."""

_RESAMPLES = 400


class Measurement(NamedTuple):
    """What we measured for one line of a claim.

    Attributes:
        value: measured value in the unit of the claim; NaN when the preset does not run what it needs.
        error: Monte Carlo standard error of the value; 0 for an exact value, NaN when it is unknown.
        note: one sentence where the reader needs it: how it was computed, or why it is missing.
    """

    value: float
    error: float
    note: str = ""


Measures = Mapping[str, Mapping[str, Callable[[Tables], Measurement]]]
"""Functions that measure, by claim id and setting."""


def standard_error(values: ArrayLike) -> float:
    """Standard error of a mean over independent replicates [replicate], widened for few; NaN for one replicate."""
    return float(error_between_chains(np.ravel(np.asarray(values))))


def mean_over_replicates(values: ArrayLike, note: str = "") -> Measurement:
    """Mean over chains or repetitions [replicate] with its `standard_error`."""
    return Measurement(float(np.mean(np.asarray(values))), standard_error(values), note)


def recorded(
    quantity: str, error: str | None = None, *, note: str = "", **wanted: Wanted
) -> Callable[[Tables], Measurement]:
    """Makes a function that measures what a study's run recorded as it stands in the summary.

    Args:
        quantity: its name.
        error: name of its recorded Monte Carlo standard error; an exact value has none.
        note: as in Measurement.
        wanted: columns and the values that they must have, so that one value is left.
    """

    def measure(tables: Tables) -> Measurement:
        found = tables.summary.value(quantity, **wanted)
        return Measurement(found, tables.summary.value(error, **wanted) if error else 0.0, note)

    return measure


def rank_correlation(replicates: Mapping[float, ArrayLike], note: str = "") -> Measurement:
    """Spearman's rank correlation of what is varied with the median of what is measured.

    Args:
        replicates: independent values [replicate] for each value of what is varied.
        note: as in Measurement.

    Returns:
        0 where all medians are equal. The error is the spread of bootstrap resamples of the replicates, widened for
        few; NaN where a value has one replicate alone.

    Raises:
        ValueError: nothing is varied, or a value has no replicate.

    >>> rank_correlation({1: [3.0, 3.1], 2: [2.0, 2.1], 3: [1.0, 1.1]})[:2]
    (-1.0, 0.0)
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in replicates.values()]
    least = min((array.size for array in arrays), default=0)
    if least == 0:
        raise ValueError("each value of what is varied needs at least one replicate")
    rng = np.random.default_rng(0)
    resampled = [
        _correlation(list(replicates), [float(np.median(rng.choice(array, array.size))) for array in arrays])
        for _ in range(_RESAMPLES)
    ]
    error = float(np.std(resampled)) * few_replicates(least) if least > 1 else math.nan
    return Measurement(_correlation(list(replicates), [float(np.median(a)) for a in arrays]), error, note)


def _correlation(numbers: list[float], medians: list[float]) -> float:
    return float(stats.spearmanr(numbers, medians).statistic) if len(set(medians)) > 1 else 0.0


def read_claims(path: Path) -> pd.DataFrame:
    """Reads the published claims of a study.

    Args:
        path: CSV with columns claim_id, setting, statement, source, published, low, high, kind; low and high
            bound the values that count as agreement (empty: unbounded); kind is I (independent of the
            implementation), W (wall-clock) or Q (qualitative, random event). A column nature, one of NATURES, may be
            left out or empty: the claim is a conclusion.

    Raises:
        ValueError: a column is missing, a kind or a nature is unknown, or a line appears twice.
    """
    table = pd.read_csv(path, dtype={"claim_id": str, "setting": str, "published": str}, keep_default_na=True)
    missing = {"claim_id", "setting", "statement", "source", "published", "low", "high", "kind"} - set(table)
    if missing:
        raise ValueError(f"{path}: column {sorted(missing)[0]!r} is missing")
    if not set(table["kind"]) <= {"I", "W", "Q"}:
        raise ValueError(
            f"{path}: kind must be I, W or Q, got {sorted(set(table['kind']) - {'I', 'W', 'Q'})}"
        )
    table["nature"] = table.get("nature", pd.Series(index=table.index, dtype=str)).fillna("conclusion")
    if not set(table["nature"]) <= set(NATURES):
        unknown = sorted(set(table["nature"]) - set(NATURES))
        raise ValueError(f"{path}: nature must be one of {', '.join(NATURES)}, got {unknown}")
    if table.duplicated(["claim_id", "setting"]).any():
        raise ValueError(f"{path}: a claim and setting appears twice")
    return table


def verdict(measurement: Measurement, low: float, high: float, kind: str) -> str:
    """Compares a measured value with the band that counts as agreement.

    A value within the band is "reproduced" and one outside is "not reproduced" only if the edge of the band is
    more than two Monte Carlo standard errors away; nearer than that, more draws could change the verdict, and it
    is "inconclusive". An unknown error counts as zero. What has no value is "not measured": the preset does not run
    what it needs, or data or draws are missing. Claims about time are "timing": they describe a machine.

    Args:
        measurement: measured value and error.
        low: lower end of the band; NaN for none.
        high: upper end of the band; NaN for none.
        kind: "I", "W" or "Q".
    """
    if math.isnan(measurement.value):
        return "not measured"
    if kind == "W":
        return "timing"
    low = -math.inf if math.isnan(low) else low
    high = math.inf if math.isnan(high) else high
    margin = 2 * (measurement.error if math.isfinite(measurement.error) else 0.0)
    inside = low <= measurement.value <= high
    nearest_edge = min(abs(measurement.value - low), abs(measurement.value - high))
    if margin and nearest_edge < margin:
        return "inconclusive"
    return "reproduced" if inside else "not reproduced"


def judge(
    claims: pd.DataFrame,
    measures: Measures,
    tables: Tables,
) -> pd.DataFrame:
    """Measures every claim and gives its verdict.

    Args:
        claims: table of `read_claims`.
        measures: for each claim id and each setting of the claim, a function of the tables. Where it raises
            MissingData the measurement is NaN, with what is missing as its note.
        tables: of the study.

    Returns:
        The claims with columns measured, monte_carlo_error, verdict, note.

    Raises:
        ValueError: a line of a claim has no function, or a claim's function no line.
    """
    unmatched = set(claims["claim_id"]) ^ set(measures)
    if unmatched:
        raise ValueError(f"claims without a function, or functions without a claim: {sorted(unmatched)}")
    rows = []
    for line in claims.to_dict("records"):
        by_setting = measures[line["claim_id"]]
        if line["setting"] not in by_setting:
            raise ValueError(f"{line['claim_id']}: nothing measures the setting {line['setting']!r}")
        try:
            m = by_setting[line["setting"]](tables)
        except MissingData as missing:
            m = Measurement(math.nan, math.nan, str(missing))
        rows.append(
            {
                **line,
                "measured": m.value,
                "monte_carlo_error": m.error,
                "verdict": verdict(m, float(line["low"]), float(line["high"]), line["kind"]),
                "note": m.note,
            }
        )
    return pd.DataFrame(rows)
