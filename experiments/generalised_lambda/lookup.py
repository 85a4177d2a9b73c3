"""Names of the study's cases and parameters, and values of its summary."""

import math

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import jackknife
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.generalised_lambda.settings import ROWS

PARAMETERS = ("z1", "z2", "z3", "z4")
CASE_NAMES = {
    "modified_abc": "modified ABC",
    "constrained_hmc": "constrained HMC",
    "abc_hmc_005": "ABC HMC 0.05",
    "abc_hmc_025": "ABC HMC 0.25",
}
"""What claims call the cases with chains of a method."""

GENERATING = {"z1": 5.0, "z2": 1.0, "z3": 0.4, "z4": -0.1}
"""Parameters that generated the data."""

TARGETS = {row.case: row.target for row in ROWS}
"""Name of the reference posterior of these cases."""

_REFERENCE_MOMENTS = {
    "mean": ("reference_mean", "reference_mcse_mean"),
    "sd": ("reference_sd", "reference_mcse_sd"),
}


def array_of(tables: Tables, quantity: str, *dims: str, **wanted: Wanted) -> xr.DataArray:
    """A quantity of the summary as a labelled array with the given dims; parameters in their order.

    Raises:
        MissingData: the table does not have it.
    """
    found = tables.summary.array(quantity, *dims, **wanted)
    return found.sel(parameter=list(PARAMETERS)) if "parameter" in dims else found


def values_of(
    tables: Tables, case: str, quantity: str, *dims: str, prior: str | None = "strong"
) -> FloatArray:
    """A quantity of a case as an array with the given dims, under one prior; None where priors are not told apart.

    Raises:
        MissingData: the table does not have it, or values are not finite.
    """
    under = {} if prior is None else {"prior": prior}
    values: FloatArray = array_of(tables, quantity, *dims, case=case, **under).values
    if not np.isfinite(values).all():
        raise MissingData(f"{quantity} is not known: chains did not move, or there is one chain only")
    return values


def chain_moment(tables: Tables, case: str, moment: str) -> tuple[FloatArray, FloatArray]:
    """Posterior "mean" or "sd" by all chains of a case, with its standard error from leaving chains out [parameter].

    A chain that never left its start counts with all others, so that it shows in the error.

    Raises:
        MissingData: the case was not run, or no chain moved.
    """
    means, sds = (values_of(tables, case, name, "parameter", "chain") for name in ("chain_mean", "chain_sd"))
    n_draws = tables.summary.setting("n_draws", case=case)
    found = [_pooled(moment, *of_chains, n_draws) for of_chains in zip(means, sds, strict=True)]
    return np.array([one.value for one in found]), np.array([one.error for one in found])


def _pooled(moment: str, means: FloatArray, sds: FloatArray, n_draws: int) -> Measurement:
    """The "mean" or "sd" of the draws of all chains from the moments of each [chain]."""

    def of(kept: IntegerArray) -> float:
        if moment == "mean":
            return float(means[kept].mean())
        between = n_draws * np.sum((means[kept] - means[kept].mean()) ** 2)
        squares = (n_draws - 1) * np.sum(sds[kept] ** 2) + between
        return math.sqrt(float(squares) / (n_draws * kept.size - 1))

    return jackknife(of, means.size)


def reference_moment(
    tables: Tables, moment: str, target: str, prior: str = "strong"
) -> tuple[FloatArray, FloatArray]:
    """The "mean" or "sd" of a reference posterior, with its Monte Carlo standard error [parameter].

    Raises:
        MissingData: there is no reference posterior for this target and prior.
    """
    values, errors = (
        array_of(tables, name, "parameter", case="reference", prior=prior, target=target).values
        for name in _REFERENCE_MOMENTS[moment]
    )
    return values, errors
