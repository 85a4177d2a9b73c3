"""Measures the claims about acceptance rates, step sizes, and chains and solves that fail.

IM-GL-14 to IM-GL-16, IM-GL-18, IM-GL-20, IM-ALG-02, IM-ALG-03, IM-ALG-06, IM-ALG-07.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import (
    bootstrap,
    difference,
    fraction_of_replicates,
    fraction_of_trials,
    jackknife,
    mean_fraction,
    mean_over_replicates,
    median_over_replicates,
    ratio,
    smallest_fraction,
)
from auxmc_pipeline.tables import MissingData, Tables
from auxmc_pipeline.usable_steps import step_at_acceptance_rate, usable_step
from experiments.generalised_lambda.lookup import array_of, values_of

_TOLERANCES = {"abc_hmc_025": 0.25, "abc_hmc_005": 0.05}
_PUBLISHED_RELATIVE_STEP = 0.01
# Acceptance rates that the document aims at, section 4.10.1.
_AIMED_AT = (0.6, 0.9)


def _mean_acceptance(case: str, tables: Tables) -> Measurement:
    rates = values_of(tables, case, "acceptance", "chain")
    return mean_over_replicates(rates, _by_chain(rates))


def _median_acceptance(case: str, tables: Tables) -> Measurement:
    rates = values_of(tables, case, "acceptance", "chain")
    return median_over_replicates(rates, _by_chain(rates))


def _by_chain(rates: FloatArray) -> str:
    return "by chain: " + ", ".join(f"{rate:.3g}" for rate in rates)


def _acceptance_by_bisections(n_bisections: int, tables: Tables) -> Measurement:
    """Of modified ABC chains that begin at draws from the posterior."""
    rates = array_of(tables, "acceptance", "chain", case="bisections", n_bisections=n_bisections).values
    return mean_over_replicates(rates, _by_chain(rates))


def _smallest_beside_reasonable(tables: Tables) -> Measurement:
    """Smallest acceptance rate of a chain at a step where another accepts as aimed at, both tolerances."""
    found, where = [], []
    for tolerance in _TOLERANCES.values():
        at_tolerance = _step_rates(tables).sel({"tolerance": tolerance})
        reasonable = ((at_tolerance >= _AIMED_AT[0]) & (at_tolerance <= _AIMED_AT[1])).any("chain")
        kept = at_tolerance.isel(step_size=np.flatnonzero(reasonable.values))
        found += list(kept.values)
        where += [
            f"{step / _PUBLISHED_RELATIVE_STEP:g} times at {tolerance:g}" for step in kept["step_size"].values
        ]
    if not found:
        raise MissingData("no chain accepts in the range aimed at, at the steps tried at this preset")
    place = int(np.argmin([rates.min() for rates in found]))
    n_draws = tables.summary.setting("n_draws", case="step_sizes")
    return smallest_fraction(
        found[place], n_draws, f"at {where[place]} the published step: {_by_chain(found[place])}"
    )


def _step_ratio(case: str, tables: Tables) -> Measurement:
    """Steps of constrained HMC and of HMC at which either accepts nine of ten proposals."""
    rates = array_of(tables, "acceptance_probability", "step_size", "chain", case="constrained_steps")
    tolerance = _TOLERANCES[case]
    ours, theirs = usable_step(rates), usable_step(_step_rates(tables).sel({"tolerance": tolerance}))
    # Steps of HMC are recorded in multiples of the tolerance.
    found = ratio(ours, theirs._replace(value=tolerance * theirs.value, error=tolerance * theirs.error))
    return found._replace(note=f"steps {ours.value:.3g} and {tolerance * theirs.value:.3g}")


def _step_exponent(tables: Tables) -> Measurement:
    rates = _step_rates(tables)
    tolerances, relative = (rates[name].values.astype(float) for name in ("tolerance", "step_size"))

    def steps(kept: IntegerArray) -> FloatArray:
        means = rates.isel(chain=kept).mean("chain").values
        return tolerances * [step_at_acceptance_rate(relative, curve) for curve in means]

    listed = steps(np.arange(rates.sizes["chain"]))
    note = ", ".join(f"{step:.2g} at {eps:g}" for eps, step in zip(tolerances, listed, strict=True))
    return jackknife(
        lambda kept: float(np.polyfit(np.log(tolerances), np.log(steps(kept)), 1)[0]),
        rates.sizes["chain"],
        f"largest steps {note}",
    )


def _step_rates(tables: Tables) -> xr.DataArray:
    """Acceptance rates by tolerance and step size relative to it, both ascending, and chain."""
    dims = ("tolerance", "step_size", "chain")
    return array_of(tables, "acceptance_probability", *dims, case="step_sizes").sortby(list(dims[:2]))


def _stuck_fraction(tables: Tables) -> Measurement:
    moved = values_of(tables, "weak_starts", "moved", "chain", prior=None)
    draws = tables.summary.setting("n_draws", case="weak_starts")
    return fraction_of_replicates(moved == 0.0, f"of {draws:.0f} iterations without one accepted proposal")


def _prior_data_fraction(quantity: str, tables: Tables) -> Measurement:
    fraction = float(values_of(tables, "reference", quantity, prior="weak"))
    return fraction_of_trials(fraction, tables.summary.setting("n_prior_draws", case="reference"))


def _early_failures(tables: Tables) -> Measurement:
    main, warm_up = (
        mean_over_replicates(values_of(tables, case, "failed_early", "chain"))
        for case in ("no_warm_up", "constrained_hmc")
    )
    return difference(main, warm_up, f"means {main.value:.2f} and {warm_up.value:.2f}")


def _failed_share(tables: Tables) -> Measurement:
    fractions = values_of(tables, "constrained_hmc", "failed_share", "chain")
    per_solve = values_of(tables, "constrained_hmc", "iterations_per_projection", "chain").mean()
    n_draws = tables.summary.setting("n_draws", case="constrained_hmc")
    return mean_fraction(fractions, n_draws, f"{per_solve:.2f} iterations in a projection")


def _residual(tables: Tables) -> Measurement:
    residuals = values_of(tables, "constrained_hmc", "largest_residual", "chain", "prior", prior=None)
    return bootstrap(np.max, residuals)


MEASURE: Measures = {
    "IM-GL-14": {
        "acceptance rate": partial(_mean_acceptance, "modified_abc"),
        "acceptance rate from posterior draws": partial(_acceptance_by_bisections, 16),
    },
    "IM-GL-15": {"acceptance rate": partial(_mean_acceptance, "constrained_hmc")},
    "IM-GL-16": {
        **{f"tolerance {eps:g}": partial(_median_acceptance, case) for case, eps in _TOLERANCES.items()},
        "smallest where another has 0.6 to 0.9": _smallest_beside_reasonable,
    },
    "IM-GL-18": {
        "fraction of chains that stick": _stuck_fraction,
        "fraction of prior data not finite": partial(_prior_data_fraction, "prior_not_finite_share"),
    },
    "IM-GL-20": {"main settings - warm-up settings": _early_failures},
    "IM-ALG-02": {"GL": _failed_share},
    "IM-ALG-03": {"GL": _residual},
    "IM-ALG-06": {f"GL tolerance {eps:g}": partial(_step_ratio, case) for case, eps in _TOLERANCES.items()},
    "IM-ALG-07": {"GL exponent": _step_exponent},
}

NUMBERS: dict[str, Callable[[Tables], Measurement]] = {}
