"""Measures the claims about cost and ESS per cost, figure 3.11a: PM-P06, PM-P07, PM-P09, PM-P17 and PM-P18."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc.plots.style import METHOD_LABELS
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.gp_probit.claim_statistics import (
    bootstrapped,
    only_of_long_chains,
    short_chains,
    time_ratio,
)
from experiments.gp_probit.main_runs import MAIN_METHODS, chain_values, efficiencies, main_case


def _average(method: str, tables: Tables) -> Measurement:
    efficiency = efficiencies(tables, method)[method].mean(axis=1)
    return mean_over_replicates(efficiency, short_chains(tables))


def _ratio_of_averages(tables: Tables) -> Measurement:
    found = efficiencies(tables, "apm_mi_mh", "pm_mh")
    return ratio_of_means(found["apm_mi_mh"].mean(axis=1), found["pm_mh"].mean(axis=1))


def _ordering(function: Callable[[Mapping[str, FloatArray]], float], tables: Tables) -> Measurement:
    return bootstrapped(efficiencies(tables, *MAIN_METHODS), function)


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


def _times(tables: Tables, quantity: str) -> list[float]:
    """A run time of each of the main methods."""
    return [tables.summary.value(quantity, case=main_case(method)) for method in MAIN_METHODS]


def _time_per_operation(tables: Tables) -> Measurement:
    times = _times(tables, "run_time_per_cubic_operation")
    return Measurement(max(times) / min(times), math.nan)


def _operations_of_slices(tables: Tables) -> Measurement:
    quantity = "cubic_operations_per_iteration"
    *others, of_slice = (chain_values(tables, main_case(m), quantity) for m in MAIN_METHODS)
    return ratio_of_means(of_slice, np.concatenate(others))


def _time_of_slices(tables: Tables) -> Measurement:
    *others, of_slice = _times(tables, "run_time_per_iteration")
    return Measurement(of_slice / float(np.mean(others)), math.nan)


def _similar(tables: Tables) -> Measurement:
    def mean_ratio(values: Mapping[str, FloatArray]) -> float:
        return float(np.mean(values["apm_ss_mh"].mean(axis=0) / values["apm_mi_mh"].mean(axis=0)))

    return bootstrapped(efficiencies(tables, "apm_ss_mh", "apm_mi_mh"), mean_ratio, short_chains(tables))


MEASURE: Measures = only_of_long_chains(
    {
        "PM-P06": {
            **{f"average {METHOD_LABELS[method]}": partial(_average, method) for method in MAIN_METHODS},
            "average APM MI+MH / PM MH": _ratio_of_averages,
            "ordering of averages": partial(_ordering, _statements_of_averages),
            "coordinates in this order": partial(_ordering, _coordinates_in_order),
        },
        "PM-P07": {"largest / smallest of methods": _time_per_operation},
        "PM-P09": {"cubic operations": _operations_of_slices, "run time": _time_of_slices},
        "PM-P17": {"SS+MH / MI+MH": partial(time_ratio, main_case("apm_ss_mh"), main_case("apm_mi_mh"))},
        "PM-P18": {"SS+MH / MI+MH": _similar},
    }
)
