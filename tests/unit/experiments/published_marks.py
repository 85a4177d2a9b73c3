"""What figures draw as published is what the study's tables of claims and of published values hold."""

import csv

import pytest

from auxmc.plots.published import PublishedLine
from auxmc_pipeline.catalogue import STUDIES
from auxmc_pipeline.published_values import EXTRA


def published_numbers(study):
    """What stands in the columns of published values of a study, by claim and setting."""
    found = {}
    for name, column in (("claims.csv", "published"), (EXTRA, "value")):
        path = STUDIES / study / name
        if path.is_file():
            with path.open(newline="") as file:
                found |= {(row["claim_id"], row["setting"]): row[column] for row in csv.DictReader(file)}
    return found


def check_published_marks(figure, study):
    """Compares each published mark and level of a figure with the value in the study's tables."""
    numbers = published_numbers(study)
    lines = [line for line in figure.findobj(PublishedLine) if line.kind != "curve"]
    for line in lines:
        drawn = [
            (line.across, line.get_xdata(orig=True), 1.0),
            (line.up, line.get_ydata(orig=True), line.unit),
        ]
        if line.up is None:
            # A level across has its unit there.
            drawn[0] = (line.across, line.get_xdata(orig=True), line.unit)
        stated = [(value, places, unit) for value, places, unit in drawn if value is not None]
        assert stated, "a mark that stands for no published value"
        for value, places, unit in stated:
            assert list(places) == pytest.approx([float(numbers[value.key]) / unit] * len(places), rel=1e-12)
