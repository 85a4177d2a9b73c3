"""What the tests of the foundations share: claims, curves and tables of a design at a small effort."""

import csv
import math
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.tables import Tables
from auxmc_pipeline.tidy import _melt
from experiments.foundations import run
from experiments.foundations.topic import Work, measurements

EMPTY = Tables.of(pd.DataFrame(), pd.DataFrame())


class Computed:
    """Claims and curves of a design, each computed once.

    Args:
        design: whose topics.
        seed: root seed.
        effort: share of the published numbers of replicates.
        without: figures whose curves are too many to compute.
    """

    def __init__(self, design: str, seed: int, effort: float, without: str = "") -> None:
        self.design, self.work, self._without = design, Work(seed, "foundations", effort), without
        self.claims = run.claims_of(design)
        self.figures = run.curves_of(design)
        self._measured: dict[str, dict[str, Measurement]] = {}

    def measured(self, claim: str) -> dict[str, Measurement]:
        """What the settings of a claim have."""
        if claim not in self._measured:
            self._measured[claim] = measurements(self.claims[claim](self.work))
        return self._measured[claim]

    def value(self, claim: str, setting: str) -> float:
        """What one setting of a claim has."""
        return self.measured(claim)[setting].value

    @cached_property
    def curves(self) -> dict[str, dict[str, xr.DataArray]]:
        """Arrays of every figure."""
        return {name: dict(f(self.work)) for name, f in self.figures.items() if name != self._without}

    @cached_property
    def tables(self) -> Tables:
        """Tables of the curves."""
        arrays = {name: array for group in self.curves.values() for name, array in group.items()}
        about = {"case": self.design, "preset": "smoke"}
        frames = [_melt(array, name, about) for name, array in arrays.items()]
        return Tables.of(pd.DataFrame(), pd.concat(frames, ignore_index=True))


def seeds_differ(one: Computed, other: Computed, claims: Iterable[str]) -> list[str]:
    """Lines of claims that are called exact but differ between two seeds by more than rounding."""
    return [
        f"{claim} {setting}"
        for claim in claims
        for setting, found in one.measured(claim).items()
        if found.exact
        and not math.isclose(found.value, other.value(claim, setting), rel_tol=1e-9, abs_tol=1e-12)
    ]


def listed() -> dict[str, list[str]]:
    """Settings of every claim in the table of claims, in its order."""
    found: dict[str, list[str]] = {}
    with Path(run.__file__).with_name("claims.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["claim_id"], []).append(row["setting"])
    return found


def says_not_run(figure: Figure) -> list[bool]:
    """For each text on the panels of a figure, whether it says that the preset does not run what is shown."""
    return ["not run" in text.get_text().replace("\n", " ") for axis in figure.axes for text in axis.texts]
