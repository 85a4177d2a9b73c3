"""What the study's claims share: functions of chains with their errors, and how long chains must be."""

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gp_probit.main_runs import draws_per_chain

PUBLISHED_DRAWS = 10_000
"""Iterations of the published main chains."""

_ENOUGH_DRAWS = 200
_N_BOOTSTRAP = 400


def time_ratio(top: str, bottom: str, tables: Tables) -> Measurement:
    """Ratio of the run times of an iteration of two cases."""
    above, below = (tables.summary.value("run_time_per_iteration", case=case) for case in (top, bottom))
    return Measurement(above / below, math.nan)


def bootstrapped(
    chains: Mapping[str, FloatArray],
    function: Callable[[Mapping[str, FloatArray]], float],
    note: str = "",
) -> Measurement:
    """Value of a function of arrays [chain, ...], with its error from drawing chains with replacement."""
    value = function(chains)
    n_chains = min(len(v) for v in chains.values())
    if n_chains < 2:
        return Measurement(value, math.nan, note)
    rng = np.random.default_rng(0)
    resampled = []
    for _ in range(_N_BOOTSTRAP):
        drawn = {m: v[rng.integers(0, len(v), len(v))] for m, v in chains.items()}
        resampled.append(function(drawn))
    # The bootstrap of n values has a variance too small by (n - 1) / n.
    error = float(np.std(resampled)) * math.sqrt(n_chains / (n_chains - 1)) * few_replicates(n_chains)
    return Measurement(value, error, note)


def short_chains(tables: Tables) -> str:
    """Note that warns where chains are shorter than the published ones, empty where they are not."""
    draws = draws_per_chain(tables)
    if draws >= PUBLISHED_DRAWS:
        return ""
    return f"chains of {draws} iterations in place of {PUBLISHED_DRAWS}: ESS is uncertain and biased"


def only_of_long_chains(measures: Measures) -> Measures:
    """The measures of claims, all missing where chains are so short that they show their start, not the posterior."""
    return {
        claim: {setting: partial(_of_long_chains, measure) for setting, measure in settings.items()}
        for claim, settings in measures.items()
    }


def _of_long_chains(measure: Callable[[Tables], Measurement], tables: Tables) -> Measurement:
    summary = tables.summary.frame
    shortest = float(summary["n_draws"].min()) if len(summary) else math.inf
    if shortest < _ENOUGH_DRAWS:
        raise MissingData(f"chains of {shortest:.0f} iterations are too short to tell")
    return measure(tables)
