# Question: what do the kernels and the simple estimators behind streaming evidence do where everything is known?
# Source: MSc thesis, figures 2.1, 2.2 and 3.1 to 3.3, chapters 2 and 3.
# One case: python -m auxmc_pipeline.steps.run study=estimator_illustrations design=kernels out=x.nc
"""Puts a case together from its parts."""

from collections.abc import Callable

import xarray as xr

from auxmc_pipeline.chains import RunContext
from experiments.estimator_illustrations.dynamics import run_dynamics
from experiments.estimator_illustrations.exact_moves import run_exact_moves
from experiments.estimator_illustrations.kernels import run_identities, run_moves
from experiments.estimator_illustrations.nested import run_nested
from experiments.estimator_illustrations.settings import Settings
from experiments.estimator_illustrations.simple import run_simple

_DESIGNS: dict[str, tuple[Callable[[Settings, RunContext], dict[str, xr.Dataset]], ...]] = {
    "kernels": (run_identities, run_moves, run_dynamics),
    "evidence": (run_simple, run_exact_moves, run_nested),
    "exact_moves": (run_exact_moves,),
}


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns groups `statistics` and `curves`, the parts of the design together."""
    parts = [part(settings, context) for part in _DESIGNS[settings.design]]
    # Counts of failures have one entry for each part.
    return {
        name: xr.merge([part[name] for part in parts if name in part], join="outer", compat="no_conflicts")
        for name in ("statistics", "curves")
    }
