"""Measures the claims about cost and ESS per cost, figure 3.11a: PM-P06, PM-P07, PM-P09, PM-P17 and PM-P18."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc.plots.style import METHOD_LABELS
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import find
from experiments.gp_probit.claim_statistics import (
    Measure,
    Measured,
    bootstrapped,
    mean_over_chains,
    missing,
    only_of_long_chains,
    ratio_of_means,
    short_chains,
    time_ratio,
)
from experiments.gp_probit.lookup import MAIN_METHODS, chain_values, efficiencies, main_case


def efficiency(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P06."""
    found = efficiencies(summary, *MAIN_METHODS)
    out = {}
    for method in MAIN_METHODS:
        averages = found[method].mean(axis=1) if method in found else None
        out[f"average {METHOD_LABELS[method]}"] = mean_over_chains(averages, short_chains(summary))
    settings = ("average APM MI+MH / PM MH", "ordering of averages", "coordinates in this order")
    if len(found) < len(MAIN_METHODS):
        return out | dict.fromkeys(settings, missing())
    ratio = ratio_of_means(found["apm_mi_mh"].mean(axis=1), found["pm_mh"].mean(axis=1))
    ordering = bootstrapped(found, _statements_of_averages)
    return out | dict(
        zip(settings, (ratio, ordering, bootstrapped(found, _coordinates_in_order)), strict=True)
    )


def time_per_operation(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P07."""
    times = _times(summary, "run_time_per_cubic_operation")
    ratio = missing() if times is None else Measurement(max(times) / min(times), math.nan)
    return {"largest / smallest of methods": ratio}


def slice_cost(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P09."""
    operations, seconds = missing(), missing()
    found = [chain_values(summary, main_case(m), "cubic_operations_per_iteration") for m in MAIN_METHODS]
    counts = [count for count in found if count is not None]
    if len(counts) == len(MAIN_METHODS):
        *others, of_slice = counts
        operations = ratio_of_means(of_slice, np.concatenate(others))
    times = _times(summary, "run_time_per_iteration")
    if times is not None:
        *other_times, slice_time = times
        seconds = Measurement(slice_time / float(np.mean(other_times)), math.nan)
    return {"cubic operations": operations, "run time": seconds}


def auxiliary_time(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P17."""
    return {"SS+MH / MI+MH": time_ratio(summary, main_case("apm_ss_mh"), main_case("apm_mi_mh"))}


def similar(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P18."""
    found = efficiencies(summary, "apm_ss_mh", "apm_mi_mh")
    if len(found) < 2:
        return {"SS+MH / MI+MH": missing()}

    def mean_ratio(values: Mapping[str, FloatArray]) -> float:
        return float(np.mean(values["apm_ss_mh"].mean(axis=0) / values["apm_mi_mh"].mean(axis=0)))

    return {"SS+MH / MI+MH": bootstrapped(found, mean_ratio)._replace(note=short_chains(summary))}


MEASURE: dict[str, Measure] = only_of_long_chains(
    {
        "PM-P06": efficiency,
        "PM-P07": time_per_operation,
        "PM-P09": slice_cost,
        "PM-P17": auxiliary_time,
        "PM-P18": similar,
    }
)


def _statements_of_averages(values: Mapping[str, FloatArray]) -> float:
    """How many of the three statements hold for averages over coordinates."""
    return float(np.sum(_held({m: v.mean(axis=1, keepdims=True).mean(axis=0) for m, v in values.items()})))


def _coordinates_in_order(values: Mapping[str, FloatArray]) -> float:
    """For how many coordinates all three statements hold."""
    return float(np.sum(_held({m: v.mean(axis=0) for m, v in values.items()}).all(axis=0)))


def _held(means: Mapping[str, FloatArray]) -> BooleanArray:
    """Whether MI+MH and SS+MH lie above PM MH, and SS+SS below all [statement, coordinate]."""
    pm, mi, ss, slice_ = (means[m] for m in MAIN_METHODS)
    return np.stack([mi > pm, ss > pm, slice_ < np.minimum(pm, np.minimum(mi, ss))])


def _times(summary: pd.DataFrame, quantity: str) -> list[float] | None:
    """A run time of each of the main methods, None where one of them was not run."""
    found = [find(summary, main_case(m), quantity) for m in MAIN_METHODS]
    times = [float(time) for time in found if time is not None]
    return times if len(times) == len(MAIN_METHODS) else None
