"""Measures the claims of the foundations: each stands in the table under its id and setting."""

import csv
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.foundations.run import TOPICS, topics
from experiments.foundations.topic import Measured, Work


def from_table(
    claim: str, settings: list[str], computed_by: Callable[[Work], Mapping[str, Measured]]
) -> Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]:
    """A measure that reads what `computed_by` has put into the table."""

    def measure(summary: pd.DataFrame, curves: pd.DataFrame) -> dict[str, Measurement]:
        del curves
        return {setting: _read(summary, f"{claim} {setting}") for setting in settings}

    measure.computed_by = computed_by  # type: ignore[attr-defined]
    return measure


def _read(summary: pd.DataFrame, line: str) -> Measurement:
    try:
        value, error = (
            float(rows_of(summary, quantity, line=line)["value"].iloc[0])
            for quantity in ("measured", "measured_error")
        )
    except MissingData as missing:
        return Measurement(float("nan"), float("nan"), str(missing))
    return Measurement(value, error)


def _settings() -> dict[str, list[str]]:
    found = defaultdict(list)
    with Path(__file__).with_name("claims.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["claim_id"]].append(row["setting"])
    return found


_SETTINGS = _settings()

MEASURE = {
    claim: from_table(claim, _SETTINGS[claim], computed_by)
    for design in TOPICS
    for topic in topics(design)
    for claim, computed_by in topic.claims.items()
}
"""For each claim id, a function of the summary and the curves that returns a measurement for each setting."""
