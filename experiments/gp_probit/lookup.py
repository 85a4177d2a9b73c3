"""Names of the study's main cases, and values of their chains from its tables."""

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.lookup import find, scalar

MAIN_METHODS = ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_ss_ss")
"""Methods of the main runs, in the order of the published figures."""

APM_METHODS = MAIN_METHODS[1:]
"""Those of them that update the auxiliary variables on their own."""


def main_case(method: str) -> str:
    """Name of the case that holds the main run of a method."""
    return f"main__method-{method}"


def draws_per_chain(summary: pd.DataFrame) -> int | None:
    """Iterations that the main run of PM MH was asked for, None where it was not run."""
    draws = scalar(summary, main_case("pm_mh"), "n_draws")
    return None if draws is None else int(str(draws))


def chain_values(summary: pd.DataFrame, case: str, quantity: str) -> FloatArray | None:
    """A quantity of the summary [chain], None where it was not run or is not finite in every chain."""
    found = find(summary, case, quantity, "chain")
    return None if found is None or not np.isfinite(found.values).all() else found.values


def efficiencies(summary: pd.DataFrame, *methods: str) -> dict[str, FloatArray]:
    """ESS per 1000 cubic operations [chain, coordinate] of those of the methods that were run."""
    quantity = "ess_per_1000_cubic_operations"
    found = {m: find(summary, main_case(m), quantity, "chain", "coordinate") for m in methods}
    return {m: values.values for m, values in found.items() if values is not None}
