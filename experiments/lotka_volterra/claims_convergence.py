"""Measures the claims about chains that agree, warm up, accept and fail.

IM-LV-08, IM-LV-11, IM-LV-20, IM-LV-23, IM-LV-24, IM-ALG-02, IM-ALG-03, IM-ALG-06.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import bootstrap, fraction_of_trials, left_out, mean_over_replicates, ratio
from auxmc_pipeline.tables import MissingData, Tables
from auxmc_pipeline.usable_steps import USABLE_ACCEPT_RATE, usable_step
from experiments.lotka_volterra.lookup import (
    FIGURE_ROWS,
    ROWS,
    by_chain,
    by_rate,
    known,
    known_value,
    of_row,
    without_chain,
)


def largest_psrf(rates: slice, row: str, tables: Tables, note: str) -> Measurement:
    """Largest potential scale reduction factor of a published row over some log rates."""
    together, without = by_rate(tables, "psrf", row), without_chain("psrf_without_chain", row, tables)
    return left_out(float(np.max(together[rates])), without[rates].max(axis=0), note)


def _psrf(row: str, tables: Tables) -> Measurement:
    each = ", ".join(f"{factor:.3f}" for factor in by_rate(tables, "psrf", row))
    note = f"largest of {each} for log z1 to z4"
    try:
        joint = float(of_row(tables.summary, "psrf_multivariate", row)["value"].iloc[0])
        note = f"{note}; multivariate factor {joint:.3f}"
    except MissingData:
        pass  # of chains that do not move there is none
    return largest_psrf(slice(None), row, tables, note)


def _acceptance(tables: Tables) -> Measurement:
    rates = by_chain(tables, "acceptance", "all")
    return mean_over_replicates(rates, "over proposals, integration errors counted as rejections")


def _warm_up(tables: Tables) -> Measurement:
    reached = by_chain(tables, "iterations_to_band", "all")
    note = f"potential within 3 sds of its stationary mean; slowest of {reached.size} chains"
    return bootstrap(np.max, reached, note)


def _failed_share(row: str, tables: Tables) -> Measurement:
    """Fraction of proposals that an integration error has rejected."""
    failed = by_chain(tables, "n_failed", row)
    n_draws = known_value(tables.summary, "n_iterations", design="chains", method=ROWS[row].method)
    n_proposals = n_draws * failed.size
    return fraction_of_trials(
        failed.sum() / n_proposals, n_proposals, f"{failed.sum():.0f} of {n_proposals:.0f}"
    )


def _residual(row: str, tables: Tables) -> Measurement:
    residuals = by_chain(tables, "largest_residual", row)
    return bootstrap(np.max, residuals, f"over all states of {residuals.size} chains")


def _step_ratio(tables: Tables) -> Measurement:
    """Largest step of constrained HMC over that of HMC at which most proposals are still accepted."""
    above, below = (
        usable_step(
            known(tables.summary, "acceptance", design="step_sizes", method=method)
            .set_index(["step_size", "chain"])["value"]
            .to_xarray()
        )
        for method in ("chmc_all", "hmc_gaussian")
    )
    note = f"steps {above.value:.3g} and {below.value:.3g} at acceptance rate {USABLE_ACCEPT_RATE:g}"
    return ratio(above, below, note)


def _longest_stand(tables: Tables) -> Measurement:
    """Iterations for which the slowest chain of HMC stands still."""
    return bootstrap(np.max, by_chain(tables, "longest_run", "hmc"))


MEASURE: Measures = {
    "IM-LV-08": {"normalised": partial(_psrf, "pm_normalised"), "raw": partial(_psrf, "pm_raw")},
    "IM-LV-11": {ROWS[row].label: partial(_psrf, row) for row in FIGURE_ROWS},
    "IM-LV-20": {"all": _acceptance},
    "IM-LV-23": {"slowest chain": _warm_up},
    "IM-LV-24": {
        "ball 10": partial(_psrf, "ball_10"),
        "ball 100": partial(_psrf, "ball_100"),
        "Gaussian 10": partial(_psrf, "gaussian"),
    },
    "IM-ALG-02": {
        "LV, all data": partial(_failed_share, "all"),
        "LV, summaries": partial(_failed_share, "summaries"),
    },
    "IM-ALG-03": {
        "LV, all data": partial(_residual, "all"),
        "LV, summaries": partial(_residual, "summaries"),
    },
    "IM-ALG-06": {"LV tolerance 10": _step_ratio},
}

NUMBERS: Mapping[str, Callable[[Tables], Measurement]] = {
    "iterations for which a chain of HMC stands still": _longest_stand,
}
