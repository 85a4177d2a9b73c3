"""Measures the claims about the data, the prior, and rejection and pseudo-marginal chains on all data.

IM-LV-01 to IM-LV-07, IM-LV-22.
"""

import math
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures, exact
from auxmc_pipeline.error_rules import bootstrap, fraction_of_trials, ratio
from auxmc_pipeline.tables import Tables
from experiments.lotka_volterra.lookup import known, known_value

_READINGS = {"distance": "l2", "squared distance": "l2_squared"}


def _data(tables: Tables) -> Measurement:
    n_values = known_value(tables.summary, "data_compared")
    note = f"largest of {n_values:.0f} differences from the published files"
    return exact(known_value(tables.summary, "data_difference"), note)


def _rejected_all(reading: str, tables: Tables) -> Measurement:
    """Accepted prior draws on all data, of the published 1e6."""
    count = known_value(
        tables.summary, "rejection_accepted_all", rejection_tolerance_all=1000.0, reading=reading
    )
    return _of_published_draws(count, known_value(tables.summary, "rejection_draws_all"), 1e6)


def _rejected_summaries(tolerance: float, reading: str, tables: Tables) -> Measurement:
    """Accepted prior draws on normalised summaries, of the published 5e7."""
    count = known_value(
        tables.summary,
        "rejection_accepted_summaries",
        rejection_tolerance_summaries=tolerance,
        reading=reading,
    )
    return _of_published_draws(count, known_value(tables.summary, "rejection_draws_summaries"), 5e7)


def _of_published_draws(count: float, n_draws: float, published_draws: float) -> Measurement:
    """A count of accepted draws, scaled to the published number of draws."""
    fraction = fraction_of_trials(count / n_draws, n_draws)
    note = f"{count:.0f} of {n_draws:.3g} draws"
    return Measurement(fraction.value * published_draws, fraction.error * published_draws, note)


def _accepted(method: str, tolerance: float, tables: Tables) -> Measurement:
    """Accepted updates per 1e5 at the proposal scale that accepts most, chains together."""
    found = known(tables.summary, "n_accepted", design="failures", method=method, tolerance=tolerance)
    n_draws = known_value(tables.summary, "n_iterations", design="failures", method=method)
    by_scale = found.groupby("step_size")["value"]
    counts, n_updates = by_scale.sum(), n_draws * by_scale.size().max()
    fraction = fraction_of_trials(float(counts.max()) / n_updates, n_updates)
    each = ", ".join(f"{count:.0f} at scale {scale:g}" for scale, count in counts.items())
    return Measurement(
        1e5 * fraction.value, 1e5 * fraction.error, f"{n_updates:.0f} updates at each scale: {each}"
    )


def _longest_run(method: str, tolerance: float, tables: Tables) -> Measurement:
    """Longest run of a state over chains, at the proposal scale where it is shortest."""
    found = known(tables.summary, "longest_run", design="failures", method=method, tolerance=tolerance)
    n_draws = known_value(tables.summary, "n_iterations", design="failures", method=method)
    runs = found.pivot_table(index="chain", columns="step_size", values="value")
    each = ", ".join(f"{run:.4g} at scale {scale:g}" for scale, run in runs.max().items())
    # Nobody has seen the end of the run of a chain that never moves.
    ended = np.where(runs < n_draws, runs, math.inf)
    return bootstrap(
        lambda chains: chains.max(axis=0).min(), ended, f"{n_draws:.0f} iterations: longest {each}"
    )


def _finite(tables: Tables) -> Measurement:
    n_draws = known_value(tables.summary, "rejection_draws_all")
    value = known_value(tables.summary, "finite_prior_fraction")
    return fraction_of_trials(value, n_draws, "prior paths finite after all steps, scheme code")


def _finite_under(prior_mean: float, tables: Tables) -> Measurement:
    """Fraction of finite paths under a prior with larger rates over that under the published one."""
    n_draws = known_value(tables.summary, "rejection_draws_all")
    count = known_value(tables.summary, "finite_prior_paths_by_mean", larger_prior_mean=prior_mean)
    return ratio(
        fraction_of_trials(count / n_draws, n_draws), _finite(tables), f"{count:.0f} of {n_draws:.3g} draws"
    )


MEASURE: Measures = {
    "IM-LV-01": {"largest difference": _data},
    "IM-LV-02": {name: partial(_rejected_all, reading) for name, reading in _READINGS.items()},
    "IM-LV-03": {"ball 100": partial(_accepted, "pm_ball", 100.0)},
    "IM-LV-04": {
        "ball 1000": partial(_longest_run, "pm_ball", 1000.0),
        # A bound of 1000 on the square is a radius of 31.6: inside the ball of radius 100, for which chains were run.
        "ball 1000, squared distance": partial(_longest_run, "pm_ball", 100.0),
    },
    "IM-LV-05": {
        "Gaussian 10": partial(_longest_run, "pm_gaussian", 10.0),
        "Gaussian 100": partial(_longest_run, "pm_gaussian", 100.0),
    },
    "IM-LV-06": {name: partial(_rejected_summaries, 2.0, reading) for name, reading in _READINGS.items()},
    "IM-LV-07": {name: partial(_rejected_summaries, 1.0, reading) for name, reading in _READINGS.items()},
    "IM-LV-22": {"prior mean -1": partial(_finite_under, -1.0), "finite paths": _finite},
}
