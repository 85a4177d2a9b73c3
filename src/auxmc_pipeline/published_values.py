"""Published values for figures, by claim and setting: from a study's claims, and from what its document draws besides.

A study's `claims.csv` has the values that claims compare with. Values that a figure of a document shows and no claim
compares with stand in the study's `published_figures.csv`, under the claim that is about the same figure.
"""

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.catalogue import STUDIES, load_study
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.needs import number
from auxmc_pipeline.plots.published import PublishedValue
from auxmc_pipeline.tables import MissingData, Tables, unmet_about

EXTRA = "published_figures.csv"  # name of the file of values that no claim compares with

COLUMNS = ("claim_id", "setting", "quantity", "document", "place", "value", "low", "high")
"""Its columns; `low` and `high` are the ends of the bar or band that the document draws, empty where it draws none."""

CURVES = "published_curves.csv"
"""Name of the file of curves that the PhD thesis draws: columns figure, series, x, y, low, high.

They are the numbers of its vector figures; of histograms `x` is the centre of a bin.
"""


class PublishedSeries(NamedTuple):
    """A curve that the PhD thesis draws."""

    x: FloatArray  # horizontal places [point]
    y: FloatArray  # heights [point]
    low: FloatArray  # lower end of the band [point]; NaN where none is drawn
    high: FloatArray  # upper end of the band [point]


def published_series(study: str, figure: str, series: str) -> PublishedSeries:
    """A curve of a figure of the PhD thesis, such as "4.7", by its name in CURVES; LookupError for none."""
    found = _curves(STUDIES / study).get((figure, series))
    if found is None:
        raise LookupError(f"figure {figure}, {series!r}: expected a curve of {STUDIES / study / CURVES}")
    return found


DISTANCE = "log distance from figure"
"""What names of numbers that are distances from published curves begin with."""


def log_distance(there: PublishedSeries, x: FloatArray, y: FloatArray) -> Measurement:
    """Median of |log(ours / published)| over the published points between ours, without an error.

    Ours has heights y [point] at places x [point], ascending.

    >>> there = PublishedSeries(*np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 1.0], [0.0] * 3, [0.0] * 3]))
    >>> round(log_distance(there, np.array([1.0, 2.0]), np.array([1.0, 2.0 * math.e])).value, 3)
    0.5
    """
    ours = np.interp(there.x, x, y, left=np.nan, right=np.nan)
    both = (ours > 0.0) & (there.y > 0.0)
    if not both.any():
        raise MissingData("no point of the published curve is between ours: not run at this preset")
    logs = np.abs(np.log(ours[both] / there.y[both]))
    return Measurement(float(np.median(logs)), math.nan, f"{both.sum()} points")


@functools.cache
def _curves(folder: Path) -> Mapping[tuple[str, str], PublishedSeries]:
    table = pd.read_csv(folder / CURVES, dtype={"figure": str})
    return {
        (str(figure), str(series)): PublishedSeries(*rows[["x", "y", "low", "high"]].to_numpy(float).T)
        for (figure, series), rows in table.groupby(["figure", "series"])
    }


def published_value(study: str, claim_id: str, setting: str) -> PublishedValue:
    """The value that a document prints or draws for a claim's setting; raises LookupError if there is none."""
    try:
        return _values(STUDIES / study)[claim_id, setting]
    except KeyError:
        raise LookupError(f"no number is published for {claim_id}, {setting} of {study}") from None


class PublishedMarks:
    """Published values of a study, which `apply` where its tables are of the model that they are about."""

    def __init__(self, study: str, tables: Tables) -> None:
        self._study = study
        self.apply = not unmet_about(load_study(study), tables)

    def __call__(self, claim_id: str, setting: str) -> PublishedValue | None:
        """As `published_value`; None where the run is about another model."""
        return published_value(self._study, claim_id, setting) if self.apply else None

    def curve(self, figure: str, series: str) -> PublishedSeries | None:
        """As `published_series`; None where the run is about another model."""
        return published_series(self._study, figure, series) if self.apply else None


def published_settings(study: str, claim_id: str) -> dict[str, PublishedValue]:
    """All published values of a claim, by setting, in the order of the lines."""
    found = _values(STUDIES / study)
    return {setting: value for (claim, setting), value in found.items() if claim == claim_id}


@functools.cache
def _values(folder: Path) -> Mapping[tuple[str, str], PublishedValue]:
    names = {document.key: document.name for document in read_documents()}
    found: dict[tuple[str, str], PublishedValue] = {}
    # Bands of claims are what agrees, not what the document draws.
    rows = [row | {"value": row["published"], "low": "", "high": ""} for row in _rows(folder / "claims.csv")]
    rows += _rows(folder / EXTRA) if (folder / EXTRA).is_file() else []
    for row in rows:
        key = row["claim_id"], row["setting"]
        value, low, high = (number(row[name]) for name in ("value", "low", "high"))
        if row["document"] and math.isfinite(value):
            if key in found:
                raise ValueError(f"{folder / EXTRA}: {', '.join(key)} has a published value already")
            found[key] = PublishedValue(value, low, high, names[row["document"]], row["place"], key)
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")  # type: ignore[return-value]
