"""Measures the claims of the foundations: the run has put each into the table, under its id and setting."""

import csv
from collections.abc import Callable
from pathlib import Path

from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.tables import Measure, Tables
from experiments.foundations.run import TOPICS, claims_of
from experiments.foundations.topic import Lines, Work


def _recorded(line: str, computed_by: Callable[[Work], Lines]) -> Measure:
    """A measure that reads what `computed_by` has put into the table."""

    def measure(tables: Tables) -> Measurement:
        row = tables.rows("line", "measured", line=line).iloc[0]
        return Measurement(row["measured"], row["measured_error"], exact=bool(row["measured_exact"]))

    measure.computed_by = computed_by  # type: ignore[attr-defined]
    return measure


with Path(__file__).with_name("claims.csv").open(newline="", encoding="utf-8") as _file:
    _LINES = [(row["claim_id"], row["setting"]) for row in csv.DictReader(_file)]

_FUNCTIONS = {claim: function for design in TOPICS for claim, function in claims_of(design).items()}

MEASURE: dict[str, dict[str, Measure]] = {
    claim: {name: _recorded(f"{claim} {name}", _FUNCTIONS[claim]) for id_, name in _LINES if id_ == claim}
    for claim in dict(_LINES)
}

NUMBERS = {
    f"{claim} {setting}": _recorded(f"{claim} {setting}", _FUNCTIONS[claim])
    for topics in TOPICS.values()
    for module in topics
    for claim, settings in module.TOPIC.numbers.items()
    for setting in settings
}
