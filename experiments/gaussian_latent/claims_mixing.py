"""Measures the claims about chains that stick and histograms of long chains: PM-G09, G10, G18, G20 and G29."""

from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap, bootstrap_groups, fraction_of_trials, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.gaussian_latent.comparisons import by_size
from experiments.gaussian_latent.sweeps import grid_of, long_chains, shared_value


def _window_runs(
    statistic: Callable[[FloatArray], np.floating], method: str, size: int, tables: Tables
) -> Measurement:
    """A statistic over chains of the longest runs of one state at the end of the long chains."""
    runs = tables.summary.array("longest_run_window", "chain", **long_chains(method, size)).values
    said = ", ".join(f"{run:g}" for run in np.sort(runs))
    return bootstrap(statistic, runs, f"longest runs of the chains: {said}")


def _median_run_ratio(first: int, second: int, tables: Tables) -> Measurement:
    """Of longest runs in the chains of the PM MH sweeps."""
    above, below = (
        grid_of(tables, "longest_run_position", "pm_mh", size).values.T for size in (first, second)
    )
    note = f"medians {np.median(above):g} and {np.median(below):g} iterations"
    return bootstrap_groups(lambda a, b: np.median(a) / np.median(b), above, below, note=note)


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


def _kept_in_chains(tables: Tables) -> Measurement:
    """Share of elliptical updates that leave u as it is, in the chains of figure 3.8."""
    (rates,) = _of_auxiliary(tables, "acceptance_auxiliary", "apm_ss_mh")
    n_iterations = shared_value(tables, "n_iterations", case="auxiliary", method="apm_ss_mh")
    return _fraction_kept(rates, n_iterations)


def _kept_in_sweeps(quantity: str, methods: tuple[str, str], tables: Tables) -> Measurement:
    rates = np.concatenate([grid_of(tables, quantity, method, 1).values.ravel() for method in methods])
    n_iterations = shared_value(tables, "n_iterations", design="sweep", method=methods[1])
    return _fraction_kept(rates, n_iterations)


def _fraction_kept(rates: FloatArray, n_iterations: float) -> Measurement:
    n_updates = rates.size * n_iterations
    return fraction_of_trials(1.0 - float(rates.mean()), n_updates, f"of {n_updates:.0f} updates")


MEASURE: Measures = {
    "PM-G09": {
        "N = 1 longest": partial(_window_runs, np.max, "pm_mh", 1),
        "N = 1 median": partial(_window_runs, np.median, "pm_mh", 1),
        "N = 1 over N = 8": partial(_median_run_ratio, 1, 8),
        "N = 8 over N = 32": partial(_median_run_ratio, 8, 32),
    },
    "PM-G10": {"N = 1": partial(_distance_ratio, ("pm_mh", 1), ("apm_mi_mh", 1))},
    "PM-G18": {
        **by_size(partial(_window_runs, np.max, "apm_mi_mh")),
        "N = 8 over N = 1": partial(_distance_ratio, ("apm_mi_mh", 8), ("apm_mi_mh", 1)),
        "N = 32 over N = 1": partial(_distance_ratio, ("apm_mi_mh", 32), ("apm_mi_mh", 1)),
        "N = 32 over N = 8": partial(_distance_ratio, ("apm_mi_mh", 32), ("apm_mi_mh", 8)),
    },
    "PM-G20": {
        "ESS per iteration": _auxiliary_efficiency_ratio,
        "updates of u that keep it": _kept_in_chains,
        "histogram of u": _auxiliary_distance_ratio,
    },
    "PM-G29": {
        "x in slice updates": partial(_kept_in_sweeps, "acceptance_position", ("apm_mi_ss", "apm_ss_ss")),
        "u in elliptical updates": partial(
            _kept_in_sweeps, "acceptance_auxiliary", ("apm_ss_mh", "apm_ss_ss")
        ),
    },
}
