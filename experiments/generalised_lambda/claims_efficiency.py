"""Measures the claims about time and effective samples per second: IM-GL-09 to IM-GL-11, IM-GL-17."""

import math
from functools import partial

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import mean_over_replicates
from auxmc_pipeline.tables import Tables
from experiments.generalised_lambda.lookup import CASE_NAMES, PARAMETERS, values_of


def _rate(case: str, parameter: str, tables: Tables) -> Measurement:
    rates = _rates(case, tables)[:, PARAMETERS.index(parameter)]
    return mean_over_replicates(rates, "chains ran one after the other")


def _rate_ratio(top: str, bottom: str, tables: Tables) -> Measurement:
    ratios = _rates(top, tables).mean(axis=0) / _rates(bottom, tables).mean(axis=0)
    note = ", ".join(f"{name} {ratio:.2g}" for name, ratio in zip(PARAMETERS, ratios, strict=True))
    return Measurement(float(ratios.mean()), math.nan, note)


def _rates(case: str, tables: Tables) -> FloatArray:
    """Effective samples per second [chain, parameter]."""
    return values_of(tables, case, "ess_per_second", "chain", "parameter")


def _longest_chain(tables: Tables) -> Measurement:
    seconds = {case: values_of(tables, case, "chain_seconds", "chain").mean() for case in CASE_NAMES}
    slowest = max(seconds, key=lambda case: seconds[case])
    return Measurement(float(seconds[slowest]) / 60.0, math.nan, CASE_NAMES[slowest])


MEASURE: Measures = {
    "IM-GL-09": {
        f"{name} {p}": partial(_rate, case, p) for case, name in CASE_NAMES.items() for p in PARAMETERS
    },
    "IM-GL-10": {"mean ratio": partial(_rate_ratio, "constrained_hmc", "modified_abc")},
    "IM-GL-11": {
        "over ABC HMC 0.25": partial(_rate_ratio, "constrained_hmc", "abc_hmc_025"),
        "over ABC HMC 0.05": partial(_rate_ratio, "constrained_hmc", "abc_hmc_005"),
    },
    "IM-GL-17": {"longest chain": _longest_chain},
}
