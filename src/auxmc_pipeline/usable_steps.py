"""The largest step that a sampler can use: where its acceptance rate has fallen to a given one."""

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate
from auxmc_pipeline.tables import MissingData

USABLE_ACCEPT_RATE = 0.9
"""Acceptance rate at which the steps of two samplers are compared: the upper end of what documents tune to."""


def step_at_acceptance_rate(steps: FloatArray, rates: FloatArray) -> float:
    """The first step at which the rate falls to USABLE_ACCEPT_RATE, between two of those tried on a straight line.

    Steps [step] are ascending. Raises MissingData if the rate is below it at the smallest step, or at none.

    >>> round(step_at_acceptance_rate(np.array([0.1, 0.2, 0.4]), np.array([1.0, 0.95, 0.85])), 3)
    0.3
    """
    target = USABLE_ACCEPT_RATE
    below = np.flatnonzero(rates < target)
    if below.size == 0 or below[0] == 0:
        raise MissingData(
            f"the acceptance rate does not cross {target:g} within the steps tried at this preset"
        )
    right = int(below[0])
    fraction = (rates[right - 1] - target) / (rates[right - 1] - rates[right])
    return float(steps[right - 1] + fraction * (steps[right] - steps[right - 1]))


def usable_step(rates: xr.DataArray) -> Measurement:
    """The step at which the mean of rates [step_size, chain] falls to USABLE_ACCEPT_RATE, with a jackknife error."""
    ordered = rates.transpose("step_size", "chain").sortby("step_size")
    steps = ordered["step_size"].values.astype(float)
    return estimate(
        lambda kept: step_at_acceptance_rate(steps, kept.mean(axis=0)), ordered, method="jackknife"
    )
