"""Measures the claims about chains that stick and histograms of long chains: PM-G09, G10, G18, G20 and G29."""

from functools import partial

import numpy as np
import pandas as pd

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import ratio, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.gaussian_latent.comparisons import by_size
from experiments.gaussian_latent.sweeps import grid_of, long_chains

_N_RESAMPLES = 400


def _longest(runs: "pd.Series[float] | FloatArray", note: str = "") -> Measurement:
    return Measurement(float(runs.max()), 0.0, f"largest of {runs.size} chains{note}")


def _longest_in_window(method: str, size: int, tables: Tables, *, note: str = "") -> Measurement:
    """Longest run of one state at the end of the long chains."""
    return _longest(tables.summary.rows("longest_run_window", **long_chains(method, size))["value"], note)


def _median_run(tables: Tables, size: int) -> Measurement:
    """Median over the chains of the PM MH sweep of their longest runs."""
    runs = grid_of(tables, "longest_run_position", "pm_mh", size).values.ravel()
    resampled = np.random.default_rng(7).choice(runs, (_N_RESAMPLES, runs.size))
    return Measurement(float(np.median(runs)), float(np.median(resampled, axis=1).std(ddof=1)))


def _median_run_ratio(first: int, second: int, tables: Tables) -> Measurement:
    above, below = (_median_run(tables, size) for size in (first, second))
    return ratio(above, below, f"medians {above.value:g} and {below.value:g} iterations")


def _distance_ratio(first: tuple[str, int], second: tuple[str, int], tables: Tables) -> Measurement:
    """Of total variation distances of histograms from the exact posterior."""
    above, below = (
        tables.summary.rows("total_variation", **long_chains(*one))
        .groupby("chain")["value"]
        .mean()
        .to_numpy()
        for one in (first, second)
    )
    note = f"means over coordinates and chains: {above.mean():.3g} and {below.mean():.3g}"
    return ratio_of_means(above, below, note)


def _of_auxiliary(tables: Tables, quantity: str, *methods: str) -> list[FloatArray]:
    """A quantity of u_1 in the chains of figure 3.8 [chain], by method."""
    found = [tables.summary.rows(quantity, case="auxiliary", method=method)["value"] for method in methods]
    return [values.to_numpy(dtype=np.float64) for values in found]


def _auxiliary_efficiency_ratio(tables: Tables) -> Measurement:
    above, below = _of_auxiliary(tables, "auxiliary_ess_per_iteration", "apm_ss_mh", "apm_mi_mh")
    costed, costed_below = (
        values.mean()
        for values in _of_auxiliary(tables, "auxiliary_ess_per_evaluation", "apm_ss_mh", "apm_mi_mh")
    )
    note = f"per density evaluation {costed / costed_below:.2g}" if costed_below > 0.0 else ""
    return ratio_of_means(above, below, note)


def _auxiliary_distance_ratio(tables: Tables) -> Measurement:
    above, below = _of_auxiliary(tables, "total_variation_auxiliary", "apm_mi_mh", "apm_ss_mh")
    return ratio_of_means(above, below)


def _auxiliary_run(tables: Tables) -> Measurement:
    wanted = {"design": "long", "dataset": "calibrated", "method": "apm_ss_mh"}
    return _longest(tables.summary.rows("longest_run_auxiliary", **wanted)["value"])


def _always_moves(quantity: str, methods: tuple[str, str], tables: Tables) -> Measurement:
    return _longest(
        np.concatenate([grid_of(tables, quantity, method, 1).values.ravel() for method in methods])
    )


MEASURE: Measures = {
    "PM-G09": {
        "N = 1 longest": partial(_longest_in_window, "pm_mh", 1, note="; a random event"),
        "N = 1 over N = 8": partial(_median_run_ratio, 1, 8),
        "N = 8 over N = 32": partial(_median_run_ratio, 8, 32),
    },
    "PM-G10": {"N = 1": partial(_distance_ratio, ("pm_mh", 1), ("apm_mi_mh", 1))},
    "PM-G18": {
        **by_size(partial(_longest_in_window, "apm_mi_mh")),
        "N = 8 over N = 1": partial(_distance_ratio, ("apm_mi_mh", 8), ("apm_mi_mh", 1)),
        "N = 32 over N = 8": partial(_distance_ratio, ("apm_mi_mh", 32), ("apm_mi_mh", 8)),
    },
    "PM-G20": {
        "ESS per iteration": _auxiliary_efficiency_ratio,
        "longest run of u": _auxiliary_run,
        "histogram of u": _auxiliary_distance_ratio,
    },
    "PM-G29": {
        "x in slice updates": partial(_always_moves, "longest_run_position", ("apm_mi_ss", "apm_ss_ss")),
        "u in elliptical updates": partial(
            _always_moves, "longest_run_auxiliary", ("apm_ss_mh", "apm_ss_ss")
        ),
    },
}
