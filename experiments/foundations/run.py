# Question: do the algorithms, worked examples and illustrations of the background chapters do what is said of them?
# Source: PhD thesis, chapters 1 to 5 and appendices; chapter draft; lecture slides; MSc thesis, chapters 2 and 3.
# One case: python -m auxmc_pipeline.steps.run study=foundations design=chains out=x.nc
"""Computes all claims and curves of one group of topics."""

import math
from collections.abc import Callable, Mapping
from types import ModuleType

import xarray as xr

from auxmc.driver.progress import Progress
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.measuring import Measurement
from experiments.foundations.chains import dynamics, markov, slices
from experiments.foundations.evidence import gaussian, nested, sequential
from experiments.foundations.models import differentiation, generators, machines, variational
from experiments.foundations.numbers import averages, sampling
from experiments.foundations.settings import Settings
from experiments.foundations.topic import Arrays, Lines, Work, measurements

TOPICS: Mapping[str, tuple[ModuleType, ...]] = {
    "numbers": (sampling, averages),
    "chains": (markov, slices, dynamics),
    "evidence": (gaussian, nested, sequential),
    "models": (machines, variational, differentiation, generators),
}
"""Modules by design, each with a `TOPIC`."""


def claims_of(design: str) -> dict[str, Callable[[Work], Lines]]:
    """Functions of the claims of a design, by id; those with the same letters in the order of their numbers."""
    found = {claim: function for topic in TOPICS[design] for claim, function in topic.TOPIC.claims.items()}
    letters = list(dict.fromkeys(claim[:-3] for claim in found))
    return dict(sorted(found.items(), key=lambda item: (letters.index(item[0][:-3]), item[0])))


def curves_of(design: str) -> dict[str, Callable[[Work], Arrays]]:
    """Functions of the curves of a design, by figure."""
    return {figure: function for topic in TOPICS[design] for figure, function in topic.TOPIC.curves.items()}


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; `measured_exact` is 1 where no random number enters a measured value."""
    work = Work(context.seed, context.study, settings.effort)
    claims, figures = claims_of(settings.design), curves_of(settings.design)
    found: dict[str, Measurement] = {}
    curves: dict[str, xr.DataArray] = {}
    progress = Progress(context.label)
    progress.start(len(claims) + len(figures), 0, 0.0, "claims and figures")
    for n_done, (claim, measure) in enumerate(claims.items(), 1):
        found |= {f"{claim} {setting}": m for setting, m in measurements(measure(work)).items()}
        progress.advance(n_done, 0.0)
    for n_done, (figure, compute) in enumerate(figures.items(), len(claims) + 1):
        for name, array in compute(work).items():
            # Of all figures in one file, so that names and dimensions must differ.
            curves[f"{figure}_{name}"] = array.rename({dim: f"{figure}_{dim}" for dim in array.dims})
        progress.advance(n_done, 0.0)
    statistics = xr.Dataset(
        {
            "measured": ("line", [m.value for m in found.values()]),
            "measured_error": ("line", [m.error for m in found.values()]),
            "measured_exact": ("line", [float(m.exact) for m in found.values()]),
            "n_not_finite": ((), sum(math.isnan(m.value) for m in found.values())),
        },
        coords={"line": list(found)},
    )
    return {"statistics": statistics, "curves": xr.Dataset(curves)}
