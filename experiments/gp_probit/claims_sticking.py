"""Measures the claims about stuck chains and what figure 3.12 shows: PM-P10, PM-P12, PM-P13, PM-P16, PM-P19."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from auxmc.diagnostics.distributions import histogram_roughness
from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import METHOD_LABELS
from auxmc_pipeline.claims import Measurement, standard_error
from auxmc_pipeline.lookup import find
from experiments.gp_probit.claim_statistics import (
    PUBLISHED_DRAWS,
    Measure,
    Measured,
    bootstrapped,
    missing,
    only_of_long_chains,
    ratio_of_means,
    short_chains,
    time_ratio,
)
from experiments.gp_probit.lookup import APM_METHODS, MAIN_METHODS, chain_values, main_case

_ENOUGH_FOR_STUCK_RUNS = 500


def sticking(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P10."""
    found = _longest_runs(summary, "pm_mh")
    if found is None:
        return {"share of chains stuck over 100": missing(), "longest run": missing()}
    runs, draws = found
    share = float(np.mean(runs > 100))
    stuck = Measurement(share, math.sqrt(max(share * (1 - share), 1e-12) / len(runs)))
    longest = _longest(runs, draws)
    if draws < PUBLISHED_DRAWS:
        note = f"about chains of {PUBLISHED_DRAWS} iterations; here {draws:.0f}, longest run {runs.max():.0f}"
        # Shorter chains can show more than the claim says, but cannot contradict it.
        stuck = stuck._replace(note=note) if share >= 0.5 else missing(note)
        longest = longest if runs.max() >= 200 else missing(note)
    return {"share of chains stuck over 100": stuck, "longest run": longest}


def posterior(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P12."""
    names = ("posterior_mean", "posterior_mean_mcse", "posterior_sd", "posterior_sd_mcse")
    rows = []
    for method in MAIN_METHODS:
        found = [find(summary, main_case(method), name, "coordinate") for name in names]
        chain_means = find(summary, main_case(method), "chain_mean", "chain", "coordinate")
        if chain_means is None or any(values is None for values in found):
            continue
        first = chain_means.isel(coordinate=0).values
        mean, mcse, sd, sd_mcse = (float(v[0]) for v in found if v is not None)
        # Chains that have not mixed know little of their error: the larger of the two estimates counts.
        rows.append((mean, max(mcse, standard_error(first)), sd, sd_mcse))
    settings = ("mean", "standard deviation", "largest difference of methods")
    if len(rows) < len(MAIN_METHODS):
        return dict.fromkeys(settings, missing())
    means, mean_errors, sds, sd_errors = (np.array(column) for column in zip(*rows, strict=True))
    n_methods = len(rows)
    differences = [
        abs(means[a] - means[b]) / math.hypot(mean_errors[a], mean_errors[b])
        for a, b in itertools.combinations(range(n_methods), 2)
    ]
    pooled_sd = math.sqrt(float(np.mean(sds**2) + np.var(means)))
    return {
        "mean": Measurement(
            float(means.mean()), float(np.linalg.norm(mean_errors)) / n_methods, "main runs of all methods"
        ),
        "standard deviation": Measurement(pooled_sd, float(np.linalg.norm(sd_errors)) / n_methods),
        "largest difference of methods": Measurement(
            max(differences), math.nan, "pairs of methods, in combined standard errors"
        ),
    }


def many_samples(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P13."""
    many, fifty, apm = "side_pm__n_importance-500", main_case("pm_mh"), main_case("apm_mi_mh")
    ess_many, ess_fifty = (_ess_per_iteration(summary, case) for case in (many, fifty))
    time = time_ratio(summary, many, fifty)
    return {
        "ESS per iteration N=500 / N=50": missing()
        if ess_many is None or ess_fifty is None
        else ratio_of_means(ess_many, ess_fifty, short_chains(summary)),
        "increase of run time": time._replace(value=time.value - 1.0),
        "longest run N=500 / N=50": _ratio_of_longest_runs(summary, curves, many, fifty),
        "longest run N=500 / APM MI+MH": _ratio_of_longest_runs(summary, curves, many, apm),
    }


def roughness(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P16."""
    found = {m: find(curves, main_case(m), "histogram", "chain", "bin") for m in MAIN_METHODS}
    complete = {m: values.values for m, values in found.items() if values is not None and values.sum() > 0}
    settings = ("PM MH / roughest of APM", "rank of APM SS+SS")
    if len(complete) < len(MAIN_METHODS):
        return dict.fromkeys(settings, missing())

    def ratio(counts: Mapping[str, FloatArray]) -> float:
        return _roughness(counts["pm_mh"]) / max(_roughness(counts[m]) for m in APM_METHODS)

    value = ratio(complete)
    error = value * bootstrapped(complete, lambda counts: math.log(ratio(counts))).error
    order = sorted(complete, key=lambda m: _roughness(complete[m]))
    return {
        settings[0]: Measurement(value, error, "100 bins, all chains"),
        settings[1]: Measurement(
            float(order.index("apm_ss_ss") + 1),
            math.nan,
            "from smooth: " + ", ".join(METHOD_LABELS[m] for m in order),
        ),
    }


def no_sticking(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P19."""
    out = {}
    for method in APM_METHODS:
        found = _longest_runs(summary, method)
        if found is None:
            out[METHOD_LABELS[method]] = missing()
        else:
            runs, draws = found
            out[METHOD_LABELS[method]] = _too_short(draws) or _longest(runs, draws)
    return out


MEASURE: dict[str, Measure] = only_of_long_chains(
    {
        "PM-P10": sticking,
        "PM-P12": posterior,
        "PM-P13": many_samples,
        "PM-P16": roughness,
        "PM-P19": no_sticking,
    }
)


def _longest_runs(summary: pd.DataFrame, method: str) -> tuple[FloatArray, float] | None:
    """Longest runs of identical states in the main run of a method [chain], and its iterations."""
    runs = chain_values(summary, main_case(method), "longest_run")
    draws = find(summary, main_case(method), "main_draws")
    return None if runs is None or draws is None else (runs, float(draws))


def _longest(runs: FloatArray, draws: float) -> Measurement:
    return Measurement(float(runs.max()), math.nan, f"{len(runs)} chains of {draws:.0f} iterations")


def _too_short(draws: float) -> Measurement | None:
    """A missing measurement where chains are too short to stick for long, None where they are not."""
    if draws >= _ENOUGH_FOR_STUCK_RUNS:
        return None
    return missing(f"chains of {draws:.0f} iterations say nothing of long runs")


def _ratio_of_longest_runs(summary: pd.DataFrame, curves: pd.DataFrame, top: str, bottom: str) -> Measurement:
    """Ratio of mean longest runs of identical states, both within as many iterations as `top` has."""
    found = find(summary, top, "main_draws")
    paths = [find(curves, case, "longest_run_so_far", "chain", "end") for case in (top, bottom)]
    known = [path for path in paths if path is not None]
    if found is None or len(known) < len(paths):
        return missing()
    draws = float(found)
    if (short := _too_short(draws)) is not None:
        return short
    runs = [
        np.array([np.interp(draws, path["end"].values, chain) for chain in path.values]) for path in known
    ]
    return ratio_of_means(runs[0], runs[1], f"within {draws:.0f} iterations, averaged over chains")


def _ess_per_iteration(summary: pd.DataFrame, case: str) -> FloatArray | None:
    """ESS per iteration, mean over coordinates [chain]."""
    ess = find(summary, case, "ess", "chain", "coordinate")
    draws = find(summary, case, "main_draws")
    return None if ess is None or draws is None else ess.mean("coordinate").values / float(draws)


def _roughness(counts: FloatArray) -> float:
    """Roughness of the histogram of all chains from counts [chain, bin], NaN where it is empty."""
    total = counts.sum(axis=0)
    return histogram_roughness(total) if total.sum() > 0 else math.nan
