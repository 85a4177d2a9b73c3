"""How often each verdict was reached, by claim id, and how many verdicts Monte Carlo error may have spoilt."""

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import pandas as pd
from scipy.special import ndtr

from auxmc_pipeline.claims import documents_of
from auxmc_pipeline.judging.verdicts import DOES_NOT_APPLY, FIGURE_ONLY, VERDICTS

# A claim of several lines has the verdict of the first of these that one of its lines has.
_WORST_FIRST = ("not reproduced", "inconclusive", "not measured", "reproduced", "timing")


class Counts(NamedTuple):
    """Claims by verdict. A claim is an id: its lines together have one verdict, that of `verdict_of_claim`.

    Attributes:
        verdicts: number of claims with each verdict, in the order of `auxmc_pipeline.judging.verdicts.VERDICTS`.
        n_misprints: how many of those that are not reproduced fail only as printed.
        n_lines: number of lines.
        expected_wrong: number of claims, reproduced or not, whose verdict Monte Carlo error is expected to have spoilt.
    """

    verdicts: dict[str, int]
    n_misprints: int
    n_lines: int
    expected_wrong: float

    @property
    def n_claims(self) -> int:
        """Number of claims."""
        return sum(self.verdicts.values())


def verdict_of_claim(lines: pd.DataFrame) -> str:
    """Returns the verdict of a claim: the worst of its lines, where of several readings the best counts.

    Times count only where there is nothing else. Where words fail that a figure of the document contradicts, and all
    other lines are reproduced, it is `FIGURE_ONLY`; while the other lines are open, it is inconclusive.

    Args:
        lines: of one claim, with columns `verdict` and `nature`.
    """
    return _verdict(_counted(lines))


def _verdict(counted: pd.DataFrame) -> str:
    is_words = counted["nature"] == "words"
    words_fail = (counted["verdict"][is_words] == "not reproduced").any()
    # Whether the figure is reproduced decides between two verdicts: while it is open, so is the claim.
    of_figure = {"reproduced": FIGURE_ONLY, "inconclusive": "inconclusive"}
    return (words_fail and of_figure.get(_worst(counted[~is_words]))) or _worst(counted)


def _counted(lines: pd.DataFrame) -> pd.DataFrame:
    """Lines that decide: those of the best reading, and all that are no reading of an unclear statement."""
    is_reading = lines["nature"].str.startswith("reading")
    readings = [reading for _, reading in lines[is_reading].groupby("nature", sort=False)]
    best = max(readings, key=lambda reading: _WORST_FIRST.index(_worst(reading)), default=lines[:0])
    return pd.concat([lines[~is_reading], best])


def _worst(lines: pd.DataFrame) -> str:
    return next((word for word in _WORST_FIRST if (lines["verdict"] == word).any()), "")


def counts_of(judged: pd.DataFrame) -> Counts:
    """Counts the claims of some lines.

    The expected number of wrong verdicts takes each decided line's error as normal: the line is wrong with the
    probability that the true value lies on the other side of an edge of its band. A reproduced claim is wrong if one of
    its lines is, taken as independent; one that is not reproduced is as sure as its surest failing line; of
    `FIGURE_ONLY` both hold.

    Args:
        judged: lines of `auxmc_pipeline.judging.verdicts.judge`, of one study or of several; an id that several
            studies judge is one claim.
    """
    verdicts = dict.fromkeys(VERDICTS, 0)
    n_misprints, expected = 0, 0.0
    judged = judged[judged["verdict"] != DOES_NOT_APPLY]
    for _, lines in judged.groupby("claim_id", sort=False):
        counted = _counted(lines)
        found = _verdict(counted)
        verdicts[found] += 1
        fails = counted["verdict"] == "not reproduced"
        surest = min(map(_chance_of_error, counted[fails].to_dict("records")), default=0.0)
        if found == "not reproduced":
            n_misprints += bool((counted["nature"][fails] == "printed").all())
            expected += surest
        elif found in ("reproduced", FIGURE_ONLY):
            holding = counted[counted["verdict"] == "reproduced"].to_dict("records")
            expected += 1.0 - (1.0 - surest) * math.prod(1.0 - _chance_of_error(line) for line in holding)
    return Counts(verdicts, n_misprints, len(judged), expected)


def counts_by_document(judged: pd.DataFrame) -> dict[str, Counts]:
    """Counts the published claims of each document.

    Args:
        judged: as for `counts_of`. A claim counts in every document in which lines of it stand, with these lines.
    """
    published = judged[judged["origin"] == "published"]
    keys = [documents_of(*pair) for pair in zip(published["document"], published["also"], strict=True)]
    by_line = published.assign(document=pd.Series(keys, index=published.index)).explode("document")
    return {str(key): counts_of(lines) for key, lines in by_line.groupby("document", sort=False)}


def _chance_of_error(line: Mapping[Hashable, Any]) -> float:
    error = float(line["monte_carlo_error"])
    if line["exact"] or not error > 0.0:
        return 0.0
    edges = [float(line["low"]), float(line["high"])]
    distances = [abs(float(line["measured"]) - edge) / error for edge in edges if not math.isnan(edge)]
    if line["verdict"] == "not reproduced":
        distances = [min(distances)]
    return float(sum(ndtr(-distance) for distance in distances))
