"""Statistics that the study's claims share: means, ratios and functions of chains, with Monte Carlo errors."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, few_replicates, mean_over_replicates, standard_error
from auxmc_pipeline.lookup import find
from experiments.gp_probit.lookup import draws_per_chain

Measured = dict[str, Measurement]
"""What was measured for each setting of a claim."""

Measure = Callable[[pd.DataFrame, pd.DataFrame], Measured]
"""Measures a claim from the summary and the curves."""

PUBLISHED_DRAWS = 10_000
"""Iterations of the published main chains."""

_ENOUGH_DRAWS = 200
_N_BOOTSTRAP = 400
_NOT_RUN = "not run at this preset"


def missing(note: str = "") -> Measurement:
    """A measurement without a value; without a note the preset does not run what it needs."""
    return Measurement(math.nan, math.nan, note or _NOT_RUN)


def mean_over_chains(values: FloatArray | None, note: str = "") -> Measurement:
    """Mean of values [chain], missing where there are none."""
    return missing() if values is None else mean_over_replicates(values, note)


def ratio_of_means(top: FloatArray, bottom: FloatArray, note: str = "") -> Measurement:
    """Ratio of means over chains, its error by linearisation."""
    if not np.mean(bottom) > 0:
        return missing("the denominator is zero")
    value = float(np.mean(top) / np.mean(bottom))
    relative = [standard_error(v) / float(np.mean(v)) if np.mean(v) else 0.0 for v in (top, bottom)]
    return Measurement(value, abs(value) * math.hypot(*relative), note)


def time_ratio(summary: pd.DataFrame, top: str, bottom: str) -> Measurement:
    """Ratio of the run times of an iteration of two cases."""
    times = [find(summary, case, "run_time_per_iteration") for case in (top, bottom)]
    if times[0] is None or times[1] is None:
        return missing()
    return Measurement(float(times[0]) / float(times[1]), math.nan)


def bootstrapped(
    chains: Mapping[str, FloatArray], function: Callable[[Mapping[str, FloatArray]], float]
) -> Measurement:
    """Value of a function of arrays [chain, ...], with its error from drawing chains with replacement."""
    value = function(chains)
    n_chains = min(len(v) for v in chains.values())
    if n_chains < 2:
        return Measurement(value, math.nan)
    rng = np.random.default_rng(0)
    resampled = []
    for _ in range(_N_BOOTSTRAP):
        drawn = {m: v[rng.integers(0, len(v), len(v))] for m, v in chains.items()}
        resampled.append(function(drawn))
    # The bootstrap of n values has a variance too small by (n - 1) / n.
    error = float(np.std(resampled)) * math.sqrt(n_chains / (n_chains - 1)) * few_replicates(n_chains)
    return Measurement(value, error)


def short_chains(summary: pd.DataFrame) -> str:
    """Note that warns where chains are shorter than the published ones, empty where they are not."""
    draws = draws_per_chain(summary)
    if draws is None or draws >= PUBLISHED_DRAWS:
        return ""
    return f"chains of {draws} iterations in place of {PUBLISHED_DRAWS}: ESS is uncertain and biased"


def only_of_long_chains(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """The measures of claims, all missing where chains are so short that they show their start, not the posterior."""
    return {claim: _only_of_long_chains(measure) for claim, measure in measures.items()}


def _only_of_long_chains(measure: Measure) -> Measure:
    def measured(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
        found = measure(summary, curves)
        shortest = float(summary["n_draws"].min()) if len(summary) else math.inf
        if shortest >= _ENOUGH_DRAWS:
            return found
        return dict.fromkeys(found, missing(f"chains of {shortest:.0f} iterations are too short to tell"))

    return measured
