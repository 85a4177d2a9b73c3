"""Names of the study's main runs, and values of their chains from its tables."""

import math

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import ratio_of_means
from auxmc_pipeline.tables import MissingData, Tables

MAIN_METHODS = ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_ss_ss")
"""Methods of the main runs, in the order of the published figures."""

APM_METHODS = MAIN_METHODS[1:]
"""Those of them that update the auxiliary variables on their own."""


def main_case(method: str) -> str:
    """Name of the case that holds the main run of a method."""
    return f"main__method-{method}"


def chain_values(tables: Tables, case: str, quantity: str) -> FloatArray:
    """A quantity of the summary [chain].

    Raises:
        MissingData: it was not run, or is not finite in every chain.
    """
    found: FloatArray = tables.summary.array(quantity, "chain", case=case).values
    if not np.isfinite(found).all():
        raise MissingData(f"{quantity} of {case}: not finite in every chain")
    return found


def efficiencies(tables: Tables, *methods: str) -> dict[str, FloatArray]:
    """ESS per 1000 cubic operations of main runs [chain, coordinate], by method."""
    quantity, dims = "ess_per_1000_cubic_operations", ("chain", "coordinate")
    return {m: tables.summary.array(quantity, *dims, case=main_case(m)).values for m in methods}


def cubic_ratio(top: str, bottom: str, tables: Tables) -> Measurement:
    """Ratio of the cubic operations of an iteration of two cases."""
    above, below = (chain_values(tables, case, "cubic_operations_per_iteration") for case in (top, bottom))
    return ratio_of_means(above, below)


def time_ratio(top: str, bottom: str, tables: Tables) -> Measurement:
    """Ratio of the run times of an iteration of two cases."""
    above, below = (tables.summary.value("run_time_per_iteration", case=case) for case in (top, bottom))
    return timed(above / below)


def timed(value: float) -> Measurement:
    """A value that a clock enters: all chains of a case ran in one program, so that its error is unknown."""
    return Measurement(value, math.nan)
