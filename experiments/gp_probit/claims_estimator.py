"""Measures the claims about the data, the density estimate and acceptance rates: PM-P01 to PM-P05 and PM-P08."""

from collections.abc import Callable
from functools import partial

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import mean_over_replicates, paired_ratio
from auxmc_pipeline.tables import Tables
from experiments.gp_probit.main_runs import chain_values, main_case, time_ratio

_ONE_SAMPLE, _FIFTY_SAMPLES = "side_pm__n_importance-1", main_case("pm_mh")
_INCOMPLETE = "the public file has 16 incomplete rows, not 17"
_COMPLETE = "all complete rows; drop_first_complete_row=true gives 682"


def _mean(case: str, quantity: str, note: str, tables: Tables) -> Measurement:
    return mean_over_replicates(chain_values(tables, case, quantity), note)


def _newton_steps(tables: Tables) -> Measurement:
    steps = tables.summary.array("newton_steps", "chain", "reference", case="estimator")
    return mean_over_replicates(steps.mean("reference"))


def _acceptance_rate_of_steps(step_size: float, tables: Tables) -> Measurement:
    rates = tables.summary.array("acceptance_fixed_step", "chain", case="estimator", step_size=step_size)
    return mean_over_replicates(rates)


def _expected_rate(tables: Tables, quantity: str, n_importance: int) -> FloatArray:
    """Acceptance rate that the noise of the estimate allows, mean over the posterior draws of a chain [chain]."""
    rates = tables.summary.array(quantity, "chain", "reference", case="estimator", n_importance=n_importance)
    expected: FloatArray = rates.mean("reference").values
    return expected


def _fifty_over_one(tables: Tables) -> Measurement:
    few, many = (_expected_rate(tables, "acceptance_pm_mh", n) for n in (1, 50))
    # Adaptation hides the difference in the adapted runs, by smaller steps with one sample.
    adapted = [
        f"{chain_values(tables, case, 'acceptance_position').mean():.2g}"
        for case in (_ONE_SAMPLE, _FIFTY_SAMPLES)
        if tables.summary.holds("acceptance_position", case=case)
    ]
    note = "expected rates at the same posterior draws and step size"
    return paired_ratio(many, few, note + (f"; adapted runs: {' and '.join(adapted)}" if adapted else ""))


def _independence_acceptance(tables: Tables) -> Measurement:
    return mean_over_replicates(_expected_rate(tables, "acceptance_mi", 50))


def _of_data(quantity: str, note: str = "") -> Callable[[Tables], Measurement]:
    return recorded(quantity, exact=True, note=note, case=_FIFTY_SAMPLES)


MEASURE: Measures = {
    "PM-P01": {
        "rows read": _of_data("rows_read"),
        "incomplete rows": _of_data("rows_incomplete", _INCOMPLETE),
        "rows used": _of_data("rows_used", _COMPLETE),
        "features": _of_data("features"),
    },
    "PM-P02": {"posterior draws": _newton_steps},
    "PM-P03": {
        f"step size {step_size}": partial(_acceptance_rate_of_steps, step_size)
        for step_size in (0.001, 0.01, 0.1)
    },
    "PM-P04": {
        "acceptance rate N=50 / N=1": _fifty_over_one,
        "time per iteration N=50 / N=1": partial(time_ratio, _FIFTY_SAMPLES, _ONE_SAMPLE),
    },
    "PM-P05": {
        "acceptance rate of last batches": partial(
            _mean, "side_mi", "acceptance_last_batches", "last quarter of the batches"
        ),
    },
    "PM-P08": {"main runs N=50": partial(_mean, main_case("apm_mi_mh"), "acceptance_auxiliary", "")},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "distinct inputs": _of_data("distinct_inputs"),
    "acceptance rate of u from importance weights": _independence_acceptance,
    "adapted step size of APM MI+MH, one sample": partial(_mean, "side_mi", "adapted_step_size", ""),
}
