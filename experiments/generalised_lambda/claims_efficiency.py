"""Measures the claims about time and effective samples per second: IM-GL-09 to IM-GL-11, IM-GL-17."""

import math

import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, mean_over_replicates, measure_settings
from experiments.generalised_lambda.lookup import CASE_NAMES, PARAMETERS, Measure, values_of


def _rate(case: str, parameter: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = _rates(summary, case)[:, PARAMETERS.index(parameter)]
        return mean_over_replicates(rates, "chains ran one after the other")

    return measure


def _rate_ratio(top: str, bottom: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        ratios = _rates(summary, top).mean(axis=0) / _rates(summary, bottom).mean(axis=0)
        note = ", ".join(f"{name} {ratio:.2g}" for name, ratio in zip(PARAMETERS, ratios, strict=True))
        return Measurement(float(ratios.mean()), math.nan, note)

    return measure


def _rates(summary: pd.DataFrame, case: str) -> FloatArray:
    """Effective samples per second [chain, parameter]."""
    return values_of(summary, case, "ess_per_second", "chain", "parameter")


def _longest_chain(summary: pd.DataFrame) -> Measurement:
    seconds = {case: values_of(summary, case, "chain_seconds", "chain").mean() for case in CASE_NAMES}
    slowest = max(seconds, key=lambda case: seconds[case])
    return Measurement(float(seconds[slowest]) / 60.0, math.nan, CASE_NAMES[slowest])


MEASURE = {
    "IM-GL-09": measure_settings(
        {f"{name} {p}": _rate(case, p) for case, name in CASE_NAMES.items() for p in PARAMETERS}
    ),
    "IM-GL-10": measure_settings({"mean ratio": _rate_ratio("constrained_hmc", "modified_abc")}),
    "IM-GL-11": measure_settings(
        {
            "over ABC HMC 0.25": _rate_ratio("constrained_hmc", "abc_hmc_025"),
            "over ABC HMC 0.05": _rate_ratio("constrained_hmc", "abc_hmc_005"),
        }
    ),
    "IM-GL-17": measure_settings({"longest chain": _longest_chain}),
}
