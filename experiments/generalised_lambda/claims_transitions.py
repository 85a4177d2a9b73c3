"""Measures the claims about accept rates, step sizes, and chains and solves that fail.

IM-GL-14 to IM-GL-16, IM-GL-18, IM-GL-20, IM-ALG-02, IM-ALG-03, IM-ALG-06, IM-ALG-07.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import mean_over_replicates, share_of_trials, standard_error
from auxmc_pipeline.tables import MissingData, Tables
from experiments.generalised_lambda.lookup import array_of, values_of

_TOLERANCES = {"abc_hmc_025": 0.25, "abc_hmc_005": 0.05}
_ACCEPT = 0.9
_PUBLISHED_RELATIVE_STEP = 0.01


def _acceptance(case: str, tables: Tables, over_chains: Callable[[FloatArray], Any] = np.mean) -> Measurement:
    rates = values_of(tables, case, "acceptance", "chain")
    note = "by chain: " + ", ".join(f"{rate:.3g}" for rate in rates)
    return Measurement(float(over_chains(rates)), standard_error(rates), note)


def _bisections(tables: Tables) -> Measurement:
    rates = array_of(tables, "acceptance", "n_bisections", "chain", case="bisections").sortby("n_bisections")
    means = rates.mean("chain").values
    note = ", ".join(f"m = {m:g}: {r:.3f}" for m, r in zip(rates["n_bisections"].values, means, strict=True))
    error = math.hypot(standard_error(rates[0]), standard_error(rates[-1]))
    return Measurement(float(means[-1] - means[0]), error, note)


def _twice_the_step(tables: Tables) -> Measurement:
    rates = _step_rates(tables)
    steps = rates["step_size"].values
    place = np.flatnonzero(np.isclose(steps, 2.0 * _PUBLISHED_RELATIVE_STEP))
    if place.size == 0:
        raise MissingData("no chains at twice the published step at this preset")
    by_chain = rates.isel(step_size=int(place[0]))
    near = rates.sel(step_size=1.5 * _PUBLISHED_RELATIVE_STEP, method="nearest")
    means = f"mean {float(by_chain.mean()):.3g}, at 1.5 times the step {float(near.mean()):.3g}"
    return Measurement(float(by_chain.min()), 0.0, f"chains from posterior draws; {means}")


def _step_ratio(case: str, tables: Tables) -> Measurement:
    cases = ("constrained_hmc", case)
    steps = [tables.summary.setting("step_size", case=name) for name in cases]
    rates = [values_of(tables, name, "acceptance", "chain").mean() for name in cases]
    note = f"accept rates {rates[0]:.3g} and {rates[1]:.3g}; step sizes are settings"
    return Measurement(steps[0] / steps[1], 0.0, note)


def _step_exponent(tables: Tables) -> Measurement:
    rates = _step_rates(tables)
    tolerances = rates["tolerance"].values.astype(float)
    relative = rates["step_size"].values.astype(float)
    steps = []
    for tolerance, curve in zip(tolerances, rates.mean("chain").values, strict=True):
        below = np.flatnonzero(curve < _ACCEPT)
        if below.size == 0 or below[0] == 0:
            raise MissingData(
                f"the accept rate does not cross {_ACCEPT} within the steps tried at this preset"
            )
        right = int(below[0])
        share = (curve[right - 1] - _ACCEPT) / (curve[right - 1] - curve[right])
        steps.append(tolerance * (relative[right - 1] + share * (relative[right] - relative[right - 1])))
    fit = stats.linregress(np.log(tolerances), np.log(steps))
    note = ", ".join(f"{step:.2g} at {eps:g}" for eps, step in zip(tolerances, steps, strict=True))
    return Measurement(float(fit.slope), float(fit.stderr), f"largest steps {note}")


def _step_rates(tables: Tables) -> xr.DataArray:
    """Accept rates by tolerance and step size relative to it, both ascending, and chain."""
    dims = ("tolerance", "step_size", "chain")
    return array_of(tables, "acceptance_probability", *dims, case="step_sizes").sortby(list(dims[:2]))


def _stuck_share(tables: Tables) -> Measurement:
    moved = values_of(tables, "weak_starts", "moved", "chain", prior=None)
    draws = tables.summary.setting("n_draws", case="weak_starts")
    note = f"{moved.size} chains of {draws:.0f} iterations without one accepted proposal"
    return share_of_trials(float(1.0 - moved.mean()), moved.size, note)


def _not_finite(tables: Tables) -> Measurement:
    share, immense = (
        float(values_of(tables, "reference", name, prior="weak"))
        for name in ("prior_not_finite_share", "prior_over_1e10_share")
    )
    return Measurement(share, 0.0, f"share with a value above 1e10: {immense:.3g}")


def _early_failures(tables: Tables) -> Measurement:
    counts = [values_of(tables, case, "failed_early", "chain") for case in ("no_warm_up", "constrained_hmc")]
    error = math.hypot(*(standard_error(count) for count in counts))
    note = " and ".join(f"mean {count.mean():.2f} over {count.size} chains" for count in counts)
    return Measurement(float(counts[0].mean() - counts[1].mean()), error, note)


def _failed_share(tables: Tables) -> Measurement:
    shares = values_of(tables, "constrained_hmc", "failed_share", "chain")
    per_solve = values_of(tables, "constrained_hmc", "iterations_per_projection", "chain").mean()
    return mean_over_replicates(shares, f"{per_solve:.2f} iterations in a projection")


def _residual(tables: Tables) -> Measurement:
    return Measurement(float(values_of(tables, "constrained_hmc", "largest_residual", "chain").max()), 0.0)


MEASURE: Measures = {
    "IM-GL-14": {"accept rate": partial(_acceptance, "modified_abc"), "12 to 24 bisections": _bisections},
    "IM-GL-15": {"accept rate": partial(_acceptance, "constrained_hmc")},
    "IM-GL-16": {
        **{
            f"tolerance {eps:g}": partial(_acceptance, case, over_chains=np.median)
            for case, eps in _TOLERANCES.items()
        },
        "smallest at twice the step": _twice_the_step,
    },
    "IM-GL-18": {"share of chains that stick": _stuck_share, "share of prior data not finite": _not_finite},
    "IM-GL-20": {"main settings - warm-up settings": _early_failures},
    "IM-ALG-02": {"GL": _failed_share},
    "IM-ALG-03": {"GL": _residual},
    "IM-ALG-06": {f"GL tolerance {eps:g}": partial(_step_ratio, case) for case, eps in _TOLERANCES.items()},
    "IM-ALG-07": {"GL exponent": _step_exponent},
}
