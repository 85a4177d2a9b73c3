"""Measures the claims about stuck chains and what figure 3.12 shows: PM-P10, PM-P12, PM-P13, PM-P16, PM-P19."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.diagnostics.distributions import histogram_roughness
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import (
    bootstrap,
    bootstrap_groups,
    fraction_of_trials,
    jackknife,
    mean_over_replicates,
    ratio_of_means,
)
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gp_probit.main_runs import MAIN_METHODS, chain_values, main_case, time_ratio

_FIVE_HUNDRED_SAMPLES = "side_pm__n_importance-500"


def _longest_runs(statistic: Callable[[FloatArray], np.floating], method: str, tables: Tables) -> Measurement:
    """A statistic over chains of the longest runs of identical states in the main run of a method."""
    runs = chain_values(tables, main_case(method), "longest_run")
    said = ", ".join(f"{run:g}" for run in np.sort(runs))
    return bootstrap(statistic, runs, f"longest runs of the chains: {said}")


def _fraction_kept(tables: Tables) -> Measurement:
    """Fraction of updates of x in SS+SS that leave it as it is."""
    case = main_case("apm_ss_ss")
    rates = chain_values(tables, case, "acceptance_position")
    n_updates = rates.size * tables.summary.value("main_draws", case=case)
    return fraction_of_trials(1.0 - float(rates.mean()), n_updates, f"of {n_updates:.0f} updates")


def _moments_of_chains(tables: Tables, quantity: str) -> list[FloatArray]:
    """A moment of the log output scale in the chains of each method [chain]."""
    wanted = {"coordinate": "log_output_scale"}
    return [tables.summary.array(quantity, "chain", case=main_case(m), **wanted).values for m in MAIN_METHODS]


def _mean(tables: Tables) -> Measurement:
    means = np.concatenate(_moments_of_chains(tables, "chain_mean"))
    return mean_over_replicates(means, f"{means.size} chains of all methods")


def _standard_deviation(tables: Tables) -> Measurement:
    means, sds = (np.concatenate(_moments_of_chains(tables, name)) for name in ("chain_mean", "chain_sd"))
    return jackknife(
        lambda kept: math.sqrt(np.mean(sds[kept] ** 2) + np.var(means[kept])),
        means.size,
        f"{means.size} chains of all methods together",
    )


def _ess_per_iteration(tables: Tables, case: str) -> FloatArray:
    """ESS per iteration, mean over coordinates [chain]."""
    ess = tables.summary.array("ess", "chain", "coordinate", case=case).mean("coordinate").values
    per_iteration: FloatArray = ess / tables.summary.value("main_draws", case=case)
    return per_iteration


def _ratio_of_ess(tables: Tables) -> Measurement:
    many, fifty = (_ess_per_iteration(tables, case) for case in (_FIVE_HUNDRED_SAMPLES, main_case("pm_mh")))
    return ratio_of_means(many, fifty)


def _increase_of_time(tables: Tables) -> Measurement:
    found = time_ratio(_FIVE_HUNDRED_SAMPLES, main_case("pm_mh"), tables)
    return found._replace(value=found.value - 1.0)


def _log_ratio_of_longest_runs(bottom: str, tables: Tables) -> Measurement:
    """Log of the ratio of mean longest runs of identical states, both within as many iterations as 500 samples have."""
    draws = tables.summary.value("main_draws", case=_FIVE_HUNDRED_SAMPLES)
    paths = [
        tables.curves.array("longest_run_so_far", "chain", "end", case=case)
        for case in (_FIVE_HUNDRED_SAMPLES, bottom)
    ]
    above, below = (
        np.array([np.interp(draws, path["end"].values, chain) for chain in path.values]) for path in paths
    )
    # Runs are positive and skew: on the scale of logarithms their error decides.
    return bootstrap_groups(
        lambda a, b: math.log(a.mean() / b.mean()),
        above,
        below,
        note=f"means {above.mean():.3g} and {below.mean():.3g} within {draws:.0f} iterations",
    )


def _histograms(tables: Tables) -> list[FloatArray]:
    """Counts of the log output scale [chain, bin] by method."""
    found = [tables.curves.array("histogram", "chain", "bin", case=main_case(m)).values for m in MAIN_METHODS]
    if not all(counts.sum() > 0 for counts in found):
        raise MissingData("no draws in the range of the histogram")
    return found


def _roughness(counts: FloatArray) -> float:
    """Roughness of the histogram of all chains from counts [chain, bin], NaN where it is empty."""
    pooled = counts.sum(axis=0)
    return histogram_roughness(pooled) if pooled.sum() > 0 else math.nan


def _log_ratio_of_roughness(*counts: FloatArray) -> float:
    """Of PM MH over the roughest of the others."""
    pm, *others = map(_roughness, counts)
    return math.log(pm / max(others))


def _log_ratio_of_smoothness(*counts: FloatArray) -> float:
    """Of SS+SS over the smoothest of the others."""
    *others, of_slice = map(_roughness, counts)
    return math.log(of_slice / min(others))


def _of_histograms(log_ratio: Callable[..., float], tables: Tables) -> Measurement:
    return bootstrap_groups(log_ratio, *_histograms(tables), note="100 bins, all chains")


MEASURE: Measures = {
    "PM-P10": {
        "shortest of longest runs": partial(_longest_runs, np.min, "pm_mh"),
        "longest run": partial(_longest_runs, np.max, "pm_mh"),
    },
    "PM-P12": {
        "mean": _mean,
        "standard deviation": _standard_deviation,
    },
    "PM-P13": {
        "ESS per iteration N=500 / N=50": _ratio_of_ess,
        "increase of run time": _increase_of_time,
        "longest run N=500 / N=50": partial(_log_ratio_of_longest_runs, main_case("pm_mh")),
        "longest run N=500 / APM MI+MH": partial(_log_ratio_of_longest_runs, main_case("apm_mi_mh")),
    },
    "PM-P16": {
        "PM MH / roughest of APM": partial(_of_histograms, _log_ratio_of_roughness),
        "APM SS+SS / smoothest of others": partial(_of_histograms, _log_ratio_of_smoothness),
    },
    "PM-P19": {
        "APM MI+MH": partial(_longest_runs, np.max, "apm_mi_mh"),
        "APM SS+MH": partial(_longest_runs, np.max, "apm_ss_mh"),
        "APM SS+SS": _fraction_kept,
    },
}
