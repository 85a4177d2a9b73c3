# Question: how accurate, and how fast, are estimates of the evidence that see the rows of a stream once, by
# stochastic gradients? Source: MSc thesis, chapters 4 and 5, figures 5.1 to 5.14.
# One case: python -m auxmc_pipeline.steps.run study=streaming_evidence stream=mixture learning_rate=0.3 out=x.nc
# Cost per preset: README.md.
"""Dispatches a case to its design."""

import xarray as xr

from auxmc.driver.chains import RunContext
from experiments.streaming_evidence.full_data import run_full_data
from experiments.streaming_evidence.nested_pair import run_nested_pair
from experiments.streaming_evidence.series import run_series
from experiments.streaming_evidence.settings import Settings
from experiments.streaming_evidence.starts import run_starts
from experiments.streaming_evidence.stopping import run_stopping

_DESIGNS = {
    "stream": run_series,
    "full_data": run_full_data,
    "stopping": run_stopping,
    "starts": run_starts,
    "nested_pair": run_nested_pair,
}


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case.

    Returns:
        Group `statistics`, and `curves` for streams.
    """
    return _DESIGNS[settings.design](settings, context)
