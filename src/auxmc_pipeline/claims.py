"""Published claims: what a document says and where, which values agree with it, and what a run needs to judge it."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path

import pandas as pd

from auxmc_pipeline.needs import number, parse_needs
from auxmc_pipeline.tables import Measure

KINDS = ("I", "W", "Q")
"""Independent of the implementation; about wall-clock time; qualitative or about a random event."""

NATURES = ("conclusion", "printed", "reading", "words", "figure")
"""What a claim is: something that its document concludes or reports; a formula, number or drawing as it stands there,
which a misprint can spoil; one of several readings of an unclear statement, followed by a colon and the reading; or
words that a figure or table of the same document contradicts, with what it shows as another line, "figure"."""

ORIGINS = ("published", "own")
"""Whether the compared value or statement stands in a document, or is an exact value or a regression check of ours."""

BAND_SOURCES = ("printed precision", "the document's words", "theory", "ours")
"""Where a band comes from; "ours" is followed by a colon and the reason."""

COLUMNS = (
    "claim_id",
    "setting",
    "statement",
    "document",
    "place",
    "published",
    "low",
    "high",
    "band_from",
    "kind",
    "nature",
    "origin",
    "needs",
)
"""Columns of a study's `claims.csv`; `also` may follow: where else a line stands, as in `documents_of`."""


Measures = Mapping[str, Mapping[str, Measure]]  # functions that measure, by claim id and setting


def documents_of(document: str, also: str) -> list[str]:
    """Keys of the documents in which a line stands: the first, and those of `also`, "KEY: PLACE" by semicolons.

    >>> documents_of("phd-thesis", "implicit-models-paper: sec. 10.2")
    ['phd-thesis', 'implicit-models-paper']
    """
    return [document, *(other.partition(":")[0] for other in also.split("; ") if other)]


def read_claims(path: Path, settings: Collection[str], documents: Collection[str]) -> pd.DataFrame:
    """Reads the claims of a study; raises ValueError with file, line and what is allowed where a line is wrong.

    Args:
        path: CSV with the columns of COLUMNS. `low` and `high` bound the values that agree (empty: unbounded).
        settings: names of the study's settings, for `needs`.
        documents: keys of the documents, for `document`.

    Returns:
        The table; texts that are missing are empty, `nature` is "conclusion" where it was empty.
    """
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["also"] = table.get("also", "")
    wrong = sorted(set(map(str, table)) ^ {*COLUMNS, "also"})
    if wrong:
        what = "unknown" if wrong[0] in table else "missing"
        raise ValueError(f"{path}: column {wrong[0]!r} is {what}. Columns: {', '.join(COLUMNS)}")
    table["nature"] = table["nature"].replace("", "conclusion")
    lines: dict[tuple[str, str], int] = {}
    for line, cells in enumerate(table.to_dict("records"), start=2):
        row = {str(column): str(text) for column, text in cells.items()}
        place = f"{path}, line {line} ({row['claim_id']}, {row['setting']})"
        _check_words(row, documents, place)
        _check_band(row, place)
        try:
            parse_needs(row["needs"], settings)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        before = lines.setdefault((row["claim_id"], row["setting"]), line)
        if before != line:
            raise ValueError(f"{place}: stands in line {before} already")
    for claim_id, natures in table.groupby("claim_id")["nature"]:
        if "words" in set(natures) and "figure" not in set(natures):
            raise ValueError(
                f"{path}: {claim_id} has words that a figure contradicts, but no line of the figure"
            )
    for bound in ("low", "high"):
        table[bound] = pd.to_numeric(table[bound])
    return table


def _check_words(row: Mapping[str, str], documents: Collection[str], place: str) -> None:
    allowed: dict[str, Collection[str]] = {
        # Our own checks need not stand on any document.
        "document": [*documents, ""] if row["origin"] == "own" else documents,
        "kind": KINDS,
        "nature": NATURES,
        "origin": ORIGINS,
    }
    for column, words in allowed.items():
        word, _, reading = row[column].partition(": ") if column == "nature" else (row[column], "", "")
        if word not in words or (word == "reading") != bool(reading):
            raise ValueError(f"{place}: {column} must be one of {', '.join(words)}, got {row[column]!r}")
    for other in filter(None, row["also"].split("; ")):
        key, _, where = other.partition(": ")
        if key not in documents or key == row["document"] or not where:
            raise ValueError(f"{place}: also must be 'DOCUMENT: PLACE' of another document, got {other!r}")
    source, _, reason = row["band_from"].partition(":")
    if not (row["low"] or row["high"]):
        if row["kind"] != "W":
            raise ValueError(
                f"{place}: low and high are empty, which only claims about time (kind W) may leave so"
            )
    elif source not in BAND_SOURCES or (source == "ours") != bool(reason.strip()):
        raise ValueError(
            f"{place}: band_from must be one of {', '.join(BAND_SOURCES[:-1])}, or 'ours: ' with the reason, "
            f"got {row['band_from']!r}"
        )


def _check_band(row: Mapping[str, str], place: str) -> None:
    low, high = float(row["low"] or -math.inf), float(row["high"] or math.inf)
    if not low <= high:
        raise ValueError(f"{place}: the band is upside down, {low:.10g} to {high:.10g}")
    published = number(row["published"])
    if not math.isnan(published) and not low <= published <= high:
        raise ValueError(
            f"{place}: the published value {row['published']} lies outside its own band, {low:.10g} to {high:.10g}"
        )
