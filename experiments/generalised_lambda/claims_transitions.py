"""Measures the claims about accept rates, step sizes, and chains and solves that fail.

IM-GL-14 to IM-GL-16, IM-GL-18, IM-GL-20, IM-ALG-02, IM-ALG-03, IM-ALG-06, IM-ALG-07.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, mean_over_replicates, measure_settings, standard_error
from auxmc_pipeline.lookup import MissingData
from experiments.generalised_lambda.lookup import Measure, array_of, setting_of, values_of

_TOLERANCES = {"abc_hmc_025": 0.25, "abc_hmc_005": 0.05}
_ACCEPT = 0.9
_PUBLISHED_RELATIVE_STEP = 0.01


def _acceptance(case: str, over_chains: Callable[[FloatArray], Any] = np.mean) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = values_of(summary, case, "acceptance", "chain")
        note = "by chain: " + ", ".join(f"{rate:.3g}" for rate in rates)
        return Measurement(float(over_chains(rates)), standard_error(rates), note)

    return measure


def _bisections(summary: pd.DataFrame) -> Measurement:
    found = array_of(summary, "bisections", "acceptance", "n_bisections", "chain")
    rates = found.sortby("n_bisections").transpose("n_bisections", "chain")
    means = rates.mean("chain").values
    note = ", ".join(f"m = {m:g}: {r:.3f}" for m, r in zip(rates["n_bisections"].values, means, strict=True))
    error = math.hypot(standard_error(rates.values[0]), standard_error(rates.values[-1]))
    return Measurement(float(means[-1] - means[0]), error, note)


def _twice_the_step(summary: pd.DataFrame) -> Measurement:
    rates = _step_rates(summary)
    factor = 2.0 * _PUBLISHED_RELATIVE_STEP
    place = np.flatnonzero(np.isclose(rates["step_size"], factor))
    if place.size == 0:
        raise MissingData("no chains at twice the published step at this preset")
    by_chain = rates.isel(step_size=int(place[0]))
    near = rates.isel(
        step_size=int(np.argmin(np.abs(rates["step_size"].values - 1.5 * _PUBLISHED_RELATIVE_STEP)))
    )
    means = f"mean {float(by_chain.mean()):.3g}, at 1.5 times the step {float(near.mean()):.3g}"
    return Measurement(float(by_chain.min()), 0.0, f"chains from posterior draws; {means}")


def _step_ratio(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        steps = [setting_of(summary, name, "step_size") for name in ("constrained_hmc", case)]
        rates = [values_of(summary, name, "acceptance", "chain").mean() for name in ("constrained_hmc", case)]
        note = f"accept rates {rates[0]:.3g} and {rates[1]:.3g}; step sizes are settings"
        return Measurement(steps[0] / steps[1], 0.0, note)

    return measure


def _step_exponent(summary: pd.DataFrame) -> Measurement:
    rates = _step_rates(summary)
    tolerances = rates["tolerance"].values.astype(float)
    relative = rates["step_size"].values.astype(float)
    largest = []
    for tolerance in rates["tolerance"].values:
        curve = rates.sel({"tolerance": tolerance}).mean("chain").values
        below = np.flatnonzero(curve < _ACCEPT)
        if below.size == 0 or below[0] == 0:
            raise MissingData(
                f"the accept rate does not cross {_ACCEPT} within the steps tried at this preset"
            )
        right = int(below[0])
        share = (curve[right - 1] - _ACCEPT) / (curve[right - 1] - curve[right])
        largest.append(tolerance * (relative[right - 1] + share * (relative[right] - relative[right - 1])))
    fit = stats.linregress(np.log(tolerances), np.log(largest))
    note = ", ".join(f"{step:.2g} at {eps:g}" for eps, step in zip(tolerances, largest, strict=True))
    return Measurement(float(fit.slope), float(fit.stderr), f"largest steps {note}")


def _step_rates(summary: pd.DataFrame) -> xr.DataArray:
    """Accept rates by tolerance and step size relative to it, both ascending, and chain."""
    found = array_of(summary, "step_sizes", "acceptance_probability", "tolerance", "step_size", "chain")
    return found.sortby("tolerance").sortby("step_size")


def _stuck_share(summary: pd.DataFrame) -> Measurement:
    moved = values_of(summary, "weak_starts", "moved", "chain", prior=None)
    share = float(1.0 - moved.mean())
    error = math.sqrt(share * (1.0 - share) / moved.size)
    draws = setting_of(summary, "weak_starts", "n_draws")
    return Measurement(
        share, error, f"{moved.size} chains of {draws:.0f} iterations without one accepted proposal"
    )


def _not_finite(summary: pd.DataFrame) -> Measurement:
    share, immense = (
        float(values_of(summary, "reference", name, prior="weak"))
        for name in ("prior_not_finite_share", "prior_over_1e10_share")
    )
    return Measurement(share, 0.0, f"share with a value above 1e10: {immense:.3g}")


def _early_failures(summary: pd.DataFrame) -> Measurement:
    counts = [values_of(summary, case, "failed_early", "chain") for case in ("no_warm_up", "constrained_hmc")]
    error = math.hypot(*(standard_error(count) for count in counts))
    note = " and ".join(f"mean {count.mean():.2f} over {count.size} chains" for count in counts)
    return Measurement(float(counts[0].mean() - counts[1].mean()), error, note)


def _failed_share(summary: pd.DataFrame) -> Measurement:
    shares = values_of(summary, "constrained_hmc", "failed_share", "chain")
    per_solve = values_of(summary, "constrained_hmc", "iterations_per_projection", "chain").mean()
    return mean_over_replicates(shares, f"{per_solve:.2f} iterations in a projection")


def _residual(summary: pd.DataFrame) -> Measurement:
    return Measurement(float(values_of(summary, "constrained_hmc", "largest_residual", "chain").max()), 0.0)


MEASURE = {
    "IM-GL-14": measure_settings(
        {
            "accept rate": _acceptance("modified_abc"),
            "12 to 24 bisections": _bisections,
        }
    ),
    "IM-GL-15": measure_settings({"accept rate": _acceptance("constrained_hmc")}),
    "IM-GL-16": measure_settings(
        {
            **{f"tolerance {eps:g}": _acceptance(case, np.median) for case, eps in _TOLERANCES.items()},
            "smallest at twice the step": _twice_the_step,
        }
    ),
    "IM-GL-18": measure_settings(
        {"share of chains that stick": _stuck_share, "share of prior data not finite": _not_finite}
    ),
    "IM-GL-20": measure_settings({"main settings - warm-up settings": _early_failures}),
    "IM-ALG-02": measure_settings({"GL": _failed_share}),
    "IM-ALG-03": measure_settings({"GL": _residual}),
    "IM-ALG-06": measure_settings(
        {f"GL tolerance {eps:g}": _step_ratio(case) for case, eps in _TOLERANCES.items()}
    ),
    "IM-ALG-07": measure_settings({"GL exponent": _step_exponent}),
}
