# Question: do the algorithms, worked examples and illustrations of the background chapters do what is said of them?
# Source: PhD thesis, chapters 1 to 5 and appendices; chapter draft; lecture slides; MSc thesis, chapters 2 and 3.
# One case: python -m auxmc_pipeline.steps.run study=foundations design=chains out=x.nc
"""Computes all claims and curves of one group of topics."""

import importlib
from collections.abc import Mapping

import numpy as np
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc.driver.progress import Progress
from experiments.foundations.settings import Settings
from experiments.foundations.topic import Measured, Topic, Work

TOPICS: Mapping[str, tuple[str, ...]] = {
    "numbers": ("random_numbers", "direct_sampling", "importance", "averages"),
    "chains": ("markov_kernels", "slices", "dynamics", "stochastic_gradients", "perfect_sampling"),
    "evidence": ("tempering", "evidence", "nested", "sequential"),
    "models": ("spins", "variational", "differentiation", "generators"),
}
"""Modules of this folder by design, each with a `TOPIC`."""


def topics(design: str) -> list[Topic]:
    """The topics of a design."""
    return [importlib.import_module(f"experiments.foundations.{name}").TOPIC for name in TOPICS[design]]


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case.

    Returns:
        Groups `statistics` (`measured` and `measured_error` of every claim's settings) and `curves`.
    """
    work = Work(context.seed, context.study, settings.effort)
    found: dict[tuple[str, str], Measured] = {}
    curves: dict[str, xr.DataArray] = {}
    chosen = topics(settings.design)
    progress = Progress(context.label)
    progress.start(
        sum(len(topic.claims) + len(topic.curves) for topic in chosen), 0, 0.0, "claims and figures"
    )
    n_done = 0
    for topic in chosen:
        for claim, measure in topic.claims.items():
            found |= {(claim, setting): measured for setting, measured in measure(work).items()}
            progress.advance(n_done := n_done + 1, 0.0)
        for draw in topic.curves.values():
            curves |= draw(work)
            progress.advance(n_done := n_done + 1, 0.0)
    values = np.array(list(found.values()), np.float64)
    statistics = xr.Dataset(
        {
            "measured": ("line", values[:, 0], {"units": ""}),
            "measured_error": ("line", values[:, 1], {"units": ""}),
            "n_not_finite": ((), np.isnan(values[:, 0]).sum(), {"units": ""}),
        },
        coords={"line": [f"{claim} {setting}" for claim, setting in found]},
    )
    for curve in curves.values():
        curve.attrs.setdefault("units", "")
    return {"statistics": statistics, "curves": xr.Dataset(curves)}
