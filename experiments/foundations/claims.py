"""Measures the claims of the foundations: the run has put each into the table, under its id and setting."""

import csv
from collections.abc import Callable
from pathlib import Path

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.tables import Tables
from experiments.foundations.run import TOPICS, claims_of
from experiments.foundations.topic import Lines, Work


def _recorded(line: str, computed_by: Callable[[Work], Lines]) -> Callable[[Tables], Measurement]:
    """A measure that reads what `computed_by` has put into the table."""

    def measure(tables: Tables) -> Measurement:
        rows = tables.summary.where(line=line)
        is_exact = bool(rows.value("measured_exact"))
        return Measurement(rows.value("measured"), rows.value("measured_error"), exact=is_exact)

    measure.computed_by = computed_by  # type: ignore[attr-defined]
    return measure


with Path(__file__).with_name("claims.csv").open(newline="", encoding="utf-8") as _file:
    _LINES = [(row["claim_id"], row["setting"]) for row in csv.DictReader(_file)]

MEASURE: Measures = {
    claim: {
        setting: _recorded(f"{claim} {setting}", computed_by) for listed, setting in _LINES if listed == claim
    }
    for design in TOPICS
    for claim, computed_by in claims_of(design).items()
}
