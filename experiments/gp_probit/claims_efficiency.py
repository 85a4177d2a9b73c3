"""Measures the claims about cost and ESS per cost, figure 3.11a: PM-P06, PM-P07, PM-P09, PM-P17 and PM-P18."""

from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import METHOD_LABELS
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap_groups, mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.gp_probit.main_runs import (
    MAIN_METHODS,
    chain_values,
    cubic_ratio,
    efficiencies,
    main_case,
    time_ratio,
    timed,
)

# PM-P06: of ten coordinates, how many may fall short of what "consistently" says.
_EXCEPTIONS = 2


def _average(method: str, tables: Tables) -> Measurement:
    return mean_over_replicates(efficiencies(tables, method)[method].mean(axis=1))


def _ratio_of_averages(above: str, below: str, tables: Tables) -> Measurement:
    found = efficiencies(tables, above, below)
    return ratio_of_means(found[above].mean(axis=1), found[below].mean(axis=1))


def _margin_of_averages(tables: Tables) -> Measurement:
    def margin(*chains: FloatArray) -> float:
        return float(_margins(*(values.mean(axis=1, keepdims=True) for values in chains))[0])

    return bootstrap_groups(margin, *efficiencies(tables, *MAIN_METHODS).values())


def _margin_of_coordinates(tables: Tables) -> Measurement:
    """The margin that all coordinates but the allowed exceptions have."""

    def margin(*chains: FloatArray) -> float:
        return float(np.sort(_margins(*chains))[min(_EXCEPTIONS, chains[0].shape[1] - 1)])

    return bootstrap_groups(margin, *efficiencies(tables, *MAIN_METHODS).values())


def _margins(*chains: FloatArray) -> FloatArray:
    """Smallest of the ratios MI+MH and SS+MH over PM MH, and of all others over SS+SS [coordinate].

    Above 1 the first two lie above PM MH, and SS+SS lies below all.

    Args:
        chains: efficiencies [chain, coordinate] of MAIN_METHODS.
    """
    pm, mi, ss, of_slice = (values.mean(axis=0) for values in chains)
    return np.min([mi / pm, ss / pm, pm / of_slice, mi / of_slice, ss / of_slice], axis=0)


def _times(tables: Tables, quantity: str) -> list[float]:
    """A run time of each of the main methods."""
    return [tables.summary.value(quantity, case=main_case(method)) for method in MAIN_METHODS]


def _time_per_operation(tables: Tables) -> Measurement:
    times = _times(tables, "run_time_per_cubic_operation")
    return timed(max(times) / min(times))


def _operations_of_slices(tables: Tables) -> Measurement:
    quantity = "cubic_operations_per_iteration"
    *others, of_slice = (chain_values(tables, main_case(m), quantity) for m in MAIN_METHODS)
    return ratio_of_means(of_slice, np.concatenate(others))


def _time_of_slices(tables: Tables) -> Measurement:
    *others, of_slice = _times(tables, "run_time_per_iteration")
    return timed(of_slice / float(np.mean(others)))


def _similar(tables: Tables) -> Measurement:
    def mean_ratio(above: FloatArray, below: FloatArray) -> float:
        return float(np.mean(above.mean(axis=0) / below.mean(axis=0)))

    return bootstrap_groups(mean_ratio, *efficiencies(tables, "apm_ss_mh", "apm_mi_mh").values())


_SS_AND_MI = (main_case("apm_ss_mh"), main_case("apm_mi_mh"))

MEASURE: Measures = {
    "PM-P06": {
        **{f"average {METHOD_LABELS[method]}": partial(_average, method) for method in MAIN_METHODS},
        "average APM MI+MH / PM MH": partial(_ratio_of_averages, "apm_mi_mh", "pm_mh"),
        "ordering of averages": _margin_of_averages,
        "ordering of coordinates": _margin_of_coordinates,
    },
    "PM-P07": {"largest / smallest of methods": _time_per_operation},
    "PM-P09": {"cubic operations": _operations_of_slices, "run time": _time_of_slices},
    "PM-P17": {
        "SS+MH / MI+MH": partial(time_ratio, *_SS_AND_MI),
        "cubic operations SS+MH / MI+MH": partial(cubic_ratio, *_SS_AND_MI),
    },
    "PM-P18": {"SS+MH / MI+MH": _similar},
}
