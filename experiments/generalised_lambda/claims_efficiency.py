"""Measures the claims about run time and effective samples, per second and per evaluation: IM-GL-09 to 11, 17."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap_groups, mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.generalised_lambda.lookup import CASE_NAMES, PARAMETERS, values_of

_RIVALS = {case: name for case, name in CASE_NAMES.items() if case != "constrained_hmc"}


def _rate(case: str, parameter: str, tables: Tables) -> Measurement:
    rates = _rates("ess_per_second", case, tables)[:, PARAMETERS.index(parameter)]
    return mean_over_replicates(rates, "chains ran one after the other")


def _rate_ratio(rival: str, parameter: str, tables: Tables) -> Measurement:
    """Effective samples per second of constrained HMC over those of another method."""
    place = PARAMETERS.index(parameter)
    above, below = (_rates("ess_per_second", case, tables)[:, place] for case in ("constrained_hmc", rival))
    return ratio_of_means(above, below)


def _mean_ratio(rival: str, tables: Tables) -> Measurement:
    """Mean over parameters of effective samples per second of constrained HMC over those of another method."""
    above, below = (_rates("ess_per_second", case, tables) for case in ("constrained_hmc", rival))
    return _mean_of_ratios(above, below)


def _per_evaluation(rival: str, tables: Tables) -> Measurement:
    """The same the other way round, by evaluations of the generator: the noisier method stands above."""
    cases = (rival, "constrained_hmc")
    return _mean_of_ratios(*(_rates("ess_per_1000_evaluations", case, tables) for case in cases))


def _per_iteration(rival: str, tables: Tables) -> Measurement:
    """The same by iterations after the warm-up."""
    cases = (rival, "constrained_hmc")
    lengths = [tables.summary.setting("n_draws", case=case) for case in cases]
    above, below = (_rates("ess", case, tables) / n for case, n in zip(cases, lengths, strict=True))
    return _mean_of_ratios(above, below)


def _mean_of_ratios(above: FloatArray, below: FloatArray) -> Measurement:
    """Mean over parameters of the ratio of two methods' means over chains, from rates [chain, parameter]."""
    ratios = above.mean(axis=0) / below.mean(axis=0)
    note = ", ".join(f"{name} {ratio:.2g}" for name, ratio in zip(PARAMETERS, ratios, strict=True))
    # Resamples may hold none but chains that never moved, which have no effective samples.
    with np.errstate(divide="ignore"):
        return bootstrap_groups(
            lambda one, other: np.mean(one.mean(axis=0) / other.mean(axis=0)), above, below, note=note
        )


def _rates(quantity: str, case: str, tables: Tables) -> FloatArray:
    """Effective samples, by what the quantity says [chain, parameter]."""
    return values_of(tables, case, quantity, "chain", "parameter")


def _longest_chain(tables: Tables) -> Measurement:
    seconds = {case: values_of(tables, case, "chain_seconds", "chain").mean() for case in CASE_NAMES}
    slowest = max(seconds, key=lambda case: seconds[case])
    return Measurement(float(seconds[slowest]) / 60.0, math.nan, CASE_NAMES[slowest])


MEASURE: Measures = {
    "IM-GL-09": {
        **{f"{name} {p}": partial(_rate, case, p) for case, name in CASE_NAMES.items() for p in PARAMETERS},
        **{
            f"constrained HMC / {name} {p}": partial(_rate_ratio, case, p)
            for case, name in _RIVALS.items()
            for p in PARAMETERS
        },
    },
    "IM-GL-10": {
        "mean ratio": partial(_mean_ratio, "modified_abc"),
        "modified ABC / constrained HMC per iteration": partial(_per_iteration, "modified_abc"),
    },
    "IM-GL-11": {
        "over ABC HMC 0.25": partial(_mean_ratio, "abc_hmc_025"),
        "over ABC HMC 0.05": partial(_mean_ratio, "abc_hmc_005"),
        "ABC HMC 0.25 / constrained HMC per iteration": partial(_per_iteration, "abc_hmc_025"),
        "ABC HMC 0.05 / constrained HMC per iteration": partial(_per_iteration, "abc_hmc_005"),
        "ABC HMC 0.25 / constrained HMC per evaluation": partial(_per_evaluation, "abc_hmc_025"),
        "ABC HMC 0.05 / constrained HMC per evaluation": partial(_per_evaluation, "abc_hmc_005"),
    },
    "IM-GL-17": {"longest chain": _longest_chain},
}
