"""Measures the claims about run time and effective samples, per second and per evaluation: IM-GL-09 to 11, 17."""

import math
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap_groups, mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.generalised_lambda.lookup import CASE_NAMES, PARAMETERS, values_of

_PER_SECOND, _PER_EVALUATION = "ess_per_second", "ess_per_1000_evaluations"
_RIVALS = {case: name for case, name in CASE_NAMES.items() if case != "constrained_hmc"}


def _rate(case: str, parameter: str, tables: Tables) -> Measurement:
    rates = _rates(_PER_SECOND, case, tables)[:, PARAMETERS.index(parameter)]
    return mean_over_replicates(rates, "chains ran one after the other")


def _rate_ratio(rival: str, parameter: str, tables: Tables) -> Measurement:
    """Effective samples per second of constrained HMC over those of another method."""
    place = PARAMETERS.index(parameter)
    above, below = (_rates(_PER_SECOND, case, tables)[:, place] for case in ("constrained_hmc", rival))
    return ratio_of_means(above, below)


def _mean_ratio(quantity: str, rival: str, tables: Tables) -> Measurement:
    """Mean over parameters of the efficiency of constrained HMC over that of another method."""
    above, below = (_rates(quantity, case, tables) for case in ("constrained_hmc", rival))
    ratios = above.mean(axis=0) / below.mean(axis=0)
    note = ", ".join(f"{name} {ratio:.2g}" for name, ratio in zip(PARAMETERS, ratios, strict=True))
    # Resamples may hold none but chains that never moved, which have no effective samples.
    with np.errstate(divide="ignore"):
        return bootstrap_groups(
            lambda ours, theirs: np.mean(ours.mean(axis=0) / theirs.mean(axis=0)), above, below, note=note
        )


def _rates(quantity: str, case: str, tables: Tables) -> FloatArray:
    """Effective samples per second or per 1000 evaluations of the generator [chain, parameter]."""
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
        "mean ratio": partial(_mean_ratio, _PER_SECOND, "modified_abc"),
        "mean ratio per evaluation": partial(_mean_ratio, _PER_EVALUATION, "modified_abc"),
    },
    "IM-GL-11": {
        "over ABC HMC 0.25": partial(_mean_ratio, _PER_SECOND, "abc_hmc_025"),
        "over ABC HMC 0.05": partial(_mean_ratio, _PER_SECOND, "abc_hmc_005"),
        "over ABC HMC 0.25 per evaluation": partial(_mean_ratio, _PER_EVALUATION, "abc_hmc_025"),
        "over ABC HMC 0.05 per evaluation": partial(_mean_ratio, _PER_EVALUATION, "abc_hmc_005"),
    },
    "IM-GL-17": {"longest chain": _longest_chain},
}
