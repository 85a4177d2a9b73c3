"""Measures the claims about the data, the density estimate and accept rates: PM-P01 to PM-P05, PM-P08 and PM-P11."""

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import METHOD_LABELS
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import find
from experiments.gp_probit.claim_statistics import (
    Measure,
    Measured,
    mean_over_chains,
    missing,
    only_of_long_chains,
    ratio_of_means,
    time_ratio,
)
from experiments.gp_probit.lookup import chain_values, main_case

_FIXED_STEPS = (0.001, 0.01, 0.1)


def data_size(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P01."""
    quantities = {
        "rows read": ("rows_read", ""),
        "incomplete rows": ("rows_incomplete", "the public file has 16 incomplete rows, not 17"),
        "rows used": ("rows_used", "all complete rows; drop_first_complete_row=true gives 682"),
        "features": ("features", ""),
    }
    out = {}
    for setting, (quantity, note) in quantities.items():
        size = find(summary, main_case("pm_mh"), quantity)
        out[setting] = missing() if size is None else Measurement(float(size), 0.0, note)
    return out


def newton_steps(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P02."""
    steps = find(summary, "estimator", "newton_steps", "chain", "reference")
    return {"posterior draws": mean_over_chains(None if steps is None else steps.mean("reference").values)}


def small_steps(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P03."""
    rates = find(summary, "estimator", "acceptance_fixed_step", "step_size", "chain")
    out = {}
    for step in _FIXED_STEPS:
        at = None if rates is None else rates.sel(step_size=np.isclose(rates["step_size"], step))
        out[f"step size {step:g}"] = mean_over_chains(
            None if at is None or at.sizes["step_size"] != 1 else at.values.ravel()
        )
    return out


def fifty_samples(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P04."""
    one, fifty = "side_pm__n_importance-1", main_case("pm_mh")
    few, many = (_expected_rate(summary, "acceptance_pm_mh", n) for n in (1, 50))
    accept = missing()
    if few is not None and many is not None:
        # Adaptation hides the difference in the adapted runs, by smaller steps with one sample.
        adapted = [chain_values(summary, case, "acceptance_position") for case in (one, fifty)]
        known = [f"{v.mean():.2g}" for v in adapted if v is not None]
        note = "expected rates at the same posterior draws and step size"
        accept = ratio_of_means(many, few, note + (f"; adapted runs: {' and '.join(known)}" if known else ""))
    return {
        "accept rate N=50 / N=1": accept,
        "time per iteration N=50 / N=1": time_ratio(summary, fifty, one),
    }


def one_sample(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P05."""
    rates = chain_values(summary, "side_mi", "acceptance_last_batches")
    return {
        "accept rate of last batches": mean_over_chains(rates, "last quarter of the batches"),
        "adapted step size": mean_over_chains(chain_values(summary, "side_mi", "adapted_step_size")),
    }


def independence_acceptance(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P08."""
    main = chain_values(summary, main_case("apm_mi_mh"), "acceptance_auxiliary")
    return {
        "main runs N=50": mean_over_chains(main),
        "estimator study N=50": mean_over_chains(_expected_rate(summary, "acceptance_mi", 50)),
    }


def adapted_acceptance(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P11."""
    return {
        METHOD_LABELS[method]: mean_over_chains(
            chain_values(summary, main_case(method), "acceptance_position")
        )
        for method in ("pm_mh", "apm_mi_mh", "apm_ss_mh")
    }


MEASURE: dict[str, Measure] = {
    # The one claim that needs no chains.
    "PM-P01": data_size,
    **only_of_long_chains(
        {
            "PM-P02": newton_steps,
            "PM-P03": small_steps,
            "PM-P04": fifty_samples,
            "PM-P05": one_sample,
            "PM-P08": independence_acceptance,
            "PM-P11": adapted_acceptance,
        }
    ),
}


def _expected_rate(summary: pd.DataFrame, quantity: str, n_importance: int) -> FloatArray | None:
    """Accept rate that the noise of the estimate allows, mean over the posterior draws of a chain [chain]."""
    rates = find(summary, "estimator", quantity, "n_importance", "chain", "reference")
    if rates is None or n_importance not in rates["n_importance"].values:
        return None
    expected: FloatArray = rates.sel(n_importance=n_importance).mean("reference").values
    return expected
