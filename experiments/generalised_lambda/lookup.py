"""Names of the study's cases and parameters, and values of its summary."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, find, scalar
from experiments.generalised_lambda.settings import ROWS

Measure = Callable[[pd.DataFrame], Measurement]

PARAMETERS = ("z1", "z2", "z3", "z4")
CASE_NAMES = {
    "modified_abc": "modified ABC",
    "constrained_hmc": "constrained HMC",
    "abc_hmc_005": "ABC HMC 0.05",
    "abc_hmc_025": "ABC HMC 0.25",
}
"""What claims call the cases with chains of a method."""

TARGETS = {row.case: row.target for row in ROWS}
"""Name of the reference posterior of these cases."""

# Shorter chains say how they came from their start, not how they mix.
_ENOUGH_ITERATIONS = {
    "modified_abc": 5000,
    "constrained_hmc": 200,
    "abc_hmc_005": 10_000,
    "abc_hmc_025": 10_000,
}
_NOT_RUN = "not run at this preset"


def array_of(
    summary: pd.DataFrame, case: str, quantity: str, *dims: str, **where: str | float
) -> xr.DataArray:
    """A quantity of a case as a labelled array with the given dims; parameters in their order.

    Raises:
        MissingData: the table does not have it.
    """
    found = find(summary, case, quantity, *dims, **where)
    if found is None:
        raise MissingData(_NOT_RUN)
    return found.sel(parameter=list(PARAMETERS)) if "parameter" in dims else found


def values_of(
    summary: pd.DataFrame, case: str, quantity: str, *dims: str, prior: str | None = "strong"
) -> FloatArray:
    """A quantity of a case as an array with the given dims, under one prior; None where priors are not told apart.

    Raises:
        MissingData: the table does not have it, or values are not finite.
    """
    found = array_of(summary, case, quantity, *dims, **({} if prior is None else {"prior": prior}))
    values: FloatArray = found.values
    if not np.isfinite(values).all():
        raise MissingData(f"{quantity} is not known: chains did not move, or there is one chain only")
    return values


def chain_moment(summary: pd.DataFrame, case: str, moment: str) -> tuple[FloatArray, FloatArray]:
    """Posterior "mean" or "sd" by the chains of a case, with its Monte Carlo standard error [parameter].

    Raises:
        MissingData: the case was not run, or its chains do not tell.
    """
    values, errors = (
        values_of(summary, case, name, "parameter") for name in (f"posterior_{moment}", f"mcse_{moment}")
    )
    return values, errors


def reference_moment(
    summary: pd.DataFrame, moment: str, target: str, prior: str = "strong"
) -> tuple[FloatArray, FloatArray]:
    """The "mean" or "sd" of a reference posterior, with its Monte Carlo standard error [parameter].

    Raises:
        MissingData: there is no reference posterior for this target and prior.
    """
    values, errors = (
        array_of(summary, "reference", name, "parameter", prior=prior, target=target).values
        for name in (f"reference_{moment}", f"reference_mcse_{moment}")
    )
    return values, errors


def setting_of(summary: pd.DataFrame, case: str, name: str) -> float:
    """A number among the settings of a case.

    Raises:
        MissingData: the case was not run.
    """
    value = scalar(summary, case, name)
    if value is None:
        raise MissingData(_NOT_RUN)
    return float(str(value))


def require_length(summary: pd.DataFrame, case: str) -> None:
    """Refuses chains that are too short for claims about their law.

    Raises:
        MissingData: they are, or the case was not run.
    """
    n_iterations = setting_of(summary, case, "n_draws")
    if n_iterations < _ENOUGH_ITERATIONS[case]:
        raise MissingData(f"chains of {n_iterations:.0f} iterations are too short to tell")
