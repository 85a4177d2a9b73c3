"""How often each verdict was reached, by claim id, and how many verdicts Monte Carlo error may have spoilt."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from scipy.special import ndtr

from auxmc_pipeline.claims import documents_of
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.verdicts import DOES_NOT_APPLY, FIGURE_ONLY, VERDICTS

_Line = Mapping[str, Any]

# A claim of several lines has the verdict of the first of these that one of its lines has.
_WORST_FIRST = ("not reproduced", "inconclusive", "not measured", "reproduced", "timing")


class Counts(NamedTuple):
    """Claims by verdict. A claim is an id: its lines together have one verdict, that of `verdict_of_claim`."""

    # Number of claims with each verdict, in the order of `auxmc_pipeline.judging.verdicts.VERDICTS`.
    verdicts: dict[str, int]
    n_misprints: int  # how many of those that are not reproduced fail only as printed
    n_lines: int  # number of lines
    # Number of claims, reproduced or not, whose verdict Monte Carlo error is expected to have spoilt.
    expected_wrong: float

    @property
    def n_claims(self) -> int:
        """Number of claims."""
        return sum(self.verdicts.values())


def verdict_of_claim(lines: pd.DataFrame) -> str:
    """The verdict of the lines of a claim: the worst of them, where of several readings the best counts.

    Times count only where there is nothing else. Where words fail that a figure of the document contradicts, and all
    other lines are reproduced, it is `FIGURE_ONLY`; while the other lines are open, it is inconclusive.
    """
    return _verdict(_counted(_records(lines[["verdict", "nature"]])))


def _records(lines: pd.DataFrame) -> list[_Line]:
    # Pandas takes a millisecond to select some of the few lines of a claim.
    return [{str(name): value for name, value in line.items()} for line in lines.to_dict("records")]


def _verdict(counted: Sequence[_Line]) -> str:
    words_fail = any(line["nature"] == "words" and line["verdict"] == "not reproduced" for line in counted)
    # Whether the figure is reproduced decides between two verdicts: while it is open, so is the claim.
    of_figure = {"reproduced": FIGURE_ONLY, "inconclusive": "inconclusive"}
    others = [line for line in counted if line["nature"] != "words"]
    return (words_fail and of_figure.get(_worst(others))) or _worst(counted)


def _counted(lines: Sequence[_Line]) -> list[_Line]:
    """Lines that decide: those of the best reading, and all that are no reading of an unclear statement."""
    readings: dict[str, list[_Line]] = {}
    counted: list[_Line] = []
    for line in lines:
        is_reading = line["nature"].startswith("reading")
        (readings.setdefault(line["nature"], []) if is_reading else counted).append(line)
    best = max(readings.values(), key=lambda reading: _WORST_FIRST.index(_worst(reading)), default=[])
    return counted + best


def _worst(lines: Sequence[_Line]) -> str:
    found = {line["verdict"] for line in lines}
    return next((word for word in _WORST_FIRST if word in found), "")


def counts_of(judged: pd.DataFrame) -> Counts:
    """Counts the claims of judged lines, of one study or of several; an id that several studies judge is one claim.

    The expected number of wrong verdicts takes each decided line's error as normal: the line is wrong with the
    probability that the true value lies on the other side of an edge of its band. A reproduced claim is wrong if one of
    its lines is, taken as independent; one that is not reproduced is as sure as its surest failing line; of
    `FIGURE_ONLY` both hold.
    """
    verdicts = dict.fromkeys(VERDICTS, 0)
    n_misprints, expected = 0, 0.0
    judged = judged[judged["verdict"] != DOES_NOT_APPLY]
    claims: dict[str, list[_Line]] = {}
    for line in _records(judged):
        claims.setdefault(line["claim_id"], []).append(line)
    for lines in claims.values():
        counted = _counted(lines)
        found = _verdict(counted)
        verdicts[found] += 1
        failing = [line for line in counted if line["verdict"] == "not reproduced"]
        surest = min(map(_chance_of_error, failing), default=0.0)
        if found == "not reproduced":
            n_misprints += all(line["nature"] == "printed" for line in failing)
            expected += surest
        elif found in ("reproduced", FIGURE_ONLY):
            holding = [line for line in counted if line["verdict"] == "reproduced"]
            expected += 1.0 - (1.0 - surest) * math.prod(1.0 - _chance_of_error(line) for line in holding)
    return Counts(verdicts, n_misprints, len(judged), expected)


def counts_by_document(judged: pd.DataFrame) -> dict[str, Counts]:
    """Counts the published claims of each document in which lines of them stand, with these lines."""
    published = judged[judged["origin"] == "published"]
    keys = [documents_of(*pair) for pair in zip(published["document"], published["also"], strict=True)]
    by_line = published.assign(document=pd.Series(keys, index=published.index)).explode("document")
    return {str(key): counts_of(lines) for key, lines in by_line.groupby("document", sort=False)}


def verdicts_table(judged: Mapping[str, pd.DataFrame], decimals: str) -> pd.DataFrame:
    """Published claims by document and verdict, from the judged claims of each study: a claim is an id.

    `decimals` formats the number that is expected wrong, for example "{:.2f}".
    """
    counted = counts_by_document(pd.concat(judged.values(), ignore_index=True))
    rows = []
    for document in read_documents():
        if (counts := counted.get(document.key)) and counts.n_claims:
            numbers = [*counts.verdicts.values(), counts.n_claims, counts.n_misprints]
            rows.append([document.name, *numbers, decimals.format(counts.expected_wrong)])
    return pd.DataFrame(rows, columns=["document", *VERDICTS, "all", "misprints", "expected wrong"])


def _chance_of_error(line: _Line) -> float:
    error = float(line["monte_carlo_error"])
    if line["exact"] or not error > 0.0:
        return 0.0
    edges = [float(line["low"]), float(line["high"])]
    distances = [abs(float(line["measured"]) - edge) / error for edge in edges if not math.isnan(edge)]
    if line["verdict"] == "not reproduced":
        distances = [min(distances)]
    return float(sum(ndtr(-distance) for distance in distances))
