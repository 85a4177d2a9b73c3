"""Measures the claims about stuck chains and what figure 3.12 shows: PM-P10, PM-P12, PM-P13, PM-P16, PM-P19."""

import itertools
import math
from collections.abc import Mapping
from functools import partial

import numpy as np

from auxmc.diagnostics.distributions import histogram_roughness
from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import METHOD_LABELS
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import ratio_of_means, standard_error
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gp_probit.claim_statistics import (
    PUBLISHED_DRAWS,
    bootstrapped,
    only_of_long_chains,
    short_chains,
    time_ratio,
)
from experiments.gp_probit.main_runs import APM_METHODS, MAIN_METHODS, chain_values, main_case

_ENOUGH_FOR_STUCK_RUNS = 500
_FIVE_HUNDRED_SAMPLES = "side_pm__n_importance-500"


def _longest_runs(tables: Tables, method: str) -> tuple[FloatArray, float]:
    """Longest runs of identical states in the main run of a method [chain], and its iterations."""
    case = main_case(method)
    return chain_values(tables, case, "longest_run"), tables.summary.value("main_draws", case=case)


def _longest(runs: FloatArray, draws: float) -> Measurement:
    return Measurement(float(runs.max()), math.nan, f"{len(runs)} chains of {draws:.0f} iterations")


def _about_long_chains(runs: FloatArray, draws: float) -> str:
    return f"about chains of {PUBLISHED_DRAWS} iterations; here {draws:.0f}, longest run {runs.max():.0f}"


def _share_stuck(tables: Tables) -> Measurement:
    runs, draws = _longest_runs(tables, "pm_mh")
    share = float(np.mean(runs > 100))
    note = _about_long_chains(runs, draws) if draws < PUBLISHED_DRAWS else ""
    # Shorter chains can show more than the claim says, but cannot contradict it.
    if note and share < 0.5:
        raise MissingData(note)
    return Measurement(share, math.sqrt(max(share * (1 - share), 1e-12) / len(runs)), note)


def _longest_stuck(tables: Tables) -> Measurement:
    runs, draws = _longest_runs(tables, "pm_mh")
    if draws < PUBLISHED_DRAWS and runs.max() < 200:
        raise MissingData(_about_long_chains(runs, draws))
    return _longest(runs, draws)


def _longest_unstuck(method: str, tables: Tables) -> Measurement:
    runs, draws = _longest_runs(tables, method)
    _enough_for_stuck_runs(draws)
    return _longest(runs, draws)


def _enough_for_stuck_runs(draws: float) -> None:
    if draws < _ENOUGH_FOR_STUCK_RUNS:
        raise MissingData(f"chains of {draws:.0f} iterations say nothing of long runs")


def _moments(tables: Tables) -> tuple[FloatArray, ...]:
    """Posterior mean of the log output scale, its error, standard deviation, its error, each [method]."""
    rows = []
    for method in MAIN_METHODS:
        wanted = {"case": main_case(method), "coordinate": "log_output_scale"}
        mean, mcse, sd, sd_mcse = (
            tables.summary.value(name, **wanted)
            for name in ("posterior_mean", "mcse_mean", "posterior_sd", "mcse_sd")
        )
        # Chains that have not mixed know little of their error: the larger of the two estimates counts.
        of_chains = standard_error(tables.summary.array("chain_mean", "chain", **wanted))
        rows.append((mean, max(mcse, of_chains), sd, sd_mcse))
    return tuple(np.array(rows).T)


def _mean(tables: Tables) -> Measurement:
    means, errors, _, _ = _moments(tables)
    error = float(np.linalg.norm(errors)) / len(MAIN_METHODS)
    return Measurement(float(means.mean()), error, "main runs of all methods")


def _standard_deviation(tables: Tables) -> Measurement:
    means, _, sds, errors = _moments(tables)
    pooled = math.sqrt(float(np.mean(sds**2) + np.var(means)))
    return Measurement(pooled, float(np.linalg.norm(errors)) / len(MAIN_METHODS))


def _largest_difference(tables: Tables) -> Measurement:
    means, errors, _, _ = _moments(tables)
    pairs = itertools.combinations(range(len(MAIN_METHODS)), 2)
    differences = [abs(means[a] - means[b]) / math.hypot(errors[a], errors[b]) for a, b in pairs]
    return Measurement(max(differences), math.nan, "pairs of methods, in combined standard errors")


def _ess_per_iteration(tables: Tables, case: str) -> FloatArray:
    """ESS per iteration, mean over coordinates [chain]."""
    ess = tables.summary.array("ess", "chain", "coordinate", case=case).mean("coordinate").values
    per_iteration: FloatArray = ess / tables.summary.value("main_draws", case=case)
    return per_iteration


def _ratio_of_ess(tables: Tables) -> Measurement:
    many, fifty = (_ess_per_iteration(tables, case) for case in (_FIVE_HUNDRED_SAMPLES, main_case("pm_mh")))
    return ratio_of_means(many, fifty, short_chains(tables))


def _increase_of_time(tables: Tables) -> Measurement:
    ratio = time_ratio(_FIVE_HUNDRED_SAMPLES, main_case("pm_mh"), tables)
    return ratio._replace(value=ratio.value - 1.0)


def _ratio_of_longest_runs(bottom: str, tables: Tables) -> Measurement:
    """Ratio of mean longest runs of identical states, both within as many iterations as 500 samples have."""
    draws = tables.summary.value("main_draws", case=_FIVE_HUNDRED_SAMPLES)
    paths = [
        tables.curves.array("longest_run_so_far", "chain", "end", case=case)
        for case in (_FIVE_HUNDRED_SAMPLES, bottom)
    ]
    _enough_for_stuck_runs(draws)
    above, below = (
        np.array([np.interp(draws, path["end"].values, chain) for chain in path.values]) for path in paths
    )
    return ratio_of_means(above, below, f"within {draws:.0f} iterations, averaged over chains")


def _histograms(tables: Tables) -> dict[str, FloatArray]:
    """Counts of the log output scale [chain, bin] by method."""
    found = {
        m: tables.curves.array("histogram", "chain", "bin", case=main_case(m)).values for m in MAIN_METHODS
    }
    if not all(counts.sum() > 0 for counts in found.values()):
        raise MissingData("no draws in the range of the histogram")
    return found


def _roughness(counts: FloatArray) -> float:
    """Roughness of the histogram of all chains from counts [chain, bin], NaN where it is empty."""
    pooled = counts.sum(axis=0)
    return histogram_roughness(pooled) if pooled.sum() > 0 else math.nan


def _ratio_of_roughness(tables: Tables) -> Measurement:
    def ratio(counts: Mapping[str, FloatArray]) -> float:
        return _roughness(counts["pm_mh"]) / max(_roughness(counts[m]) for m in APM_METHODS)

    found = _histograms(tables)
    value = ratio(found)
    error = value * bootstrapped(found, lambda counts: math.log(ratio(counts))).error
    return Measurement(value, error, "100 bins, all chains")


def _rank_of_roughness(tables: Tables) -> Measurement:
    found = _histograms(tables)
    order = sorted(found, key=lambda m: _roughness(found[m]))
    note = "from smooth: " + ", ".join(METHOD_LABELS[m] for m in order)
    return Measurement(float(order.index("apm_ss_ss") + 1), math.nan, note)


MEASURE: Measures = only_of_long_chains(
    {
        "PM-P10": {"share of chains stuck over 100": _share_stuck, "longest run": _longest_stuck},
        "PM-P12": {
            "mean": _mean,
            "standard deviation": _standard_deviation,
            "largest difference of methods": _largest_difference,
        },
        "PM-P13": {
            "ESS per iteration N=500 / N=50": _ratio_of_ess,
            "increase of run time": _increase_of_time,
            "longest run N=500 / N=50": partial(_ratio_of_longest_runs, main_case("pm_mh")),
            "longest run N=500 / APM MI+MH": partial(_ratio_of_longest_runs, main_case("apm_mi_mh")),
        },
        "PM-P16": {
            "PM MH / roughest of APM": _ratio_of_roughness,
            "rank of APM SS+SS": _rank_of_roughness,
        },
        "PM-P19": {METHOD_LABELS[method]: partial(_longest_unstuck, method) for method in APM_METHODS},
    }
)
