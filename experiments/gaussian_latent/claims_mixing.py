"""Measures the claims about chains that stick and histograms of long chains: PM-G09, G10, G18, G20 and G29."""

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, mean_over_replicates, measure_settings
from auxmc_pipeline.lookup import rows_of
from experiments.gaussian_latent.comparisons import Measure, by_size, ratio
from experiments.gaussian_latent.selection import grid_of, long_chains

_N_RESAMPLES = 400


def _longest(runs: pd.Series | FloatArray, note: str = "") -> Measurement:
    return Measurement(float(runs.max()), 0.0, f"largest of {runs.size} chains{note}")


def _longest_in_window(method: str, size: int, note: str = "") -> Measure:
    """Longest run of one state at the end of the long chains."""
    return lambda summary: _longest(
        rows_of(summary, "longest_run_window", **long_chains(method, size))["value"], note
    )


def _median_run(summary: pd.DataFrame, size: int) -> Measurement:
    """Median over the chains of the PM MH sweep of their longest runs."""
    runs = grid_of(summary, "longest_run_position", "pm_mh", size).values.ravel()
    resampled = np.random.default_rng(7).choice(runs, (_N_RESAMPLES, runs.size))
    return Measurement(float(np.median(runs)), float(np.median(resampled, axis=1).std(ddof=1)))


def _median_run_ratio(first: int, second: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = (_median_run(summary, size) for size in (first, second))
        return ratio(above, below, f"medians {above.value:g} and {below.value:g} iterations")

    return measure


def _distance(summary: pd.DataFrame, method: str, size: int) -> Measurement:
    """Total variation distance of histograms from the exact posterior, mean over coordinates and chains."""
    rows = rows_of(summary, "total_variation", **long_chains(method, size))
    return mean_over_replicates(rows.groupby("chain")["value"].mean().to_numpy())


def _distance_ratio(first: tuple[str, int], second: tuple[str, int]) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        above, below = (_distance(summary, *one) for one in (first, second))
        note = f"means over coordinates and chains: {above.value:.3g} and {below.value:.3g}"
        return ratio(above, below, note)

    return measure


def _auxiliary_mean(summary: pd.DataFrame, quantity: str, method: str) -> Measurement:
    """Mean over the chains of figure 3.8 of a quantity of u_1."""
    rows = rows_of(
        summary,
        quantity,
        case="auxiliary",
        design="long",
        dataset="calibrated",
        method=method,
        n_importance=1,
    )
    return mean_over_replicates(rows["value"].to_numpy(dtype=np.float64))


def _auxiliary_efficiency_ratio(summary: pd.DataFrame) -> Measurement:
    methods = ("apm_ss_mh", "apm_mi_mh")
    above, below = (_auxiliary_mean(summary, "auxiliary_ess_per_iteration", method) for method in methods)
    costed = [_auxiliary_mean(summary, "auxiliary_ess_per_evaluation", method).value for method in methods]
    note = f"per density evaluation {costed[0] / costed[1]:.2g}" if costed[1] > 0.0 else ""
    return ratio(above, below, note)


def _auxiliary_distance_ratio(summary: pd.DataFrame) -> Measurement:
    methods = ("apm_mi_mh", "apm_ss_mh")
    above, below = (_auxiliary_mean(summary, "total_variation_auxiliary", method) for method in methods)
    return ratio(above, below)


def _auxiliary_run(summary: pd.DataFrame) -> Measurement:
    rows = rows_of(summary, "longest_run_auxiliary", design="long", dataset="calibrated", method="apm_ss_mh")
    return _longest(rows["value"])


def _always_moves(quantity: str, methods: tuple[str, ...]) -> Measure:
    return lambda summary: _longest(
        np.concatenate([grid_of(summary, quantity, method, 1).values.ravel() for method in methods])
    )


MEASURE = {
    "PM-G09": measure_settings(
        {
            "N = 1 longest": _longest_in_window("pm_mh", 1, "; a random event"),
            "N = 1 over N = 8": _median_run_ratio(1, 8),
            "N = 8 over N = 32": _median_run_ratio(8, 32),
        }
    ),
    "PM-G10": measure_settings({"N = 1": _distance_ratio(("pm_mh", 1), ("apm_mi_mh", 1))}),
    "PM-G18": measure_settings(
        {
            **by_size(lambda size: _longest_in_window("apm_mi_mh", size)),
            "N = 8 over N = 1": _distance_ratio(("apm_mi_mh", 8), ("apm_mi_mh", 1)),
            "N = 32 over N = 8": _distance_ratio(("apm_mi_mh", 32), ("apm_mi_mh", 8)),
        }
    ),
    "PM-G20": measure_settings(
        {
            "ESS per iteration": _auxiliary_efficiency_ratio,
            "longest run of u": _auxiliary_run,
            "histogram of u": _auxiliary_distance_ratio,
        }
    ),
    "PM-G29": measure_settings(
        {
            "x in slice updates": _always_moves("longest_run_position", ("apm_mi_ss", "apm_ss_ss")),
            "u in elliptical updates": _always_moves("longest_run_auxiliary", ("apm_ss_mh", "apm_ss_ss")),
        }
    ),
}
