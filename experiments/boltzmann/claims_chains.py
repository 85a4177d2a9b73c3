"""Measures the claims about what chains and annealed runs do, their time, temperatures and weights.

CT-B19, CT-B20, CT-B23, CT-T06, CT-T17, CT-T23, CT-T24.
"""

import math
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, Measures
from auxmc_pipeline.error_rules import share_of_trials
from auxmc_pipeline.tables import MissingData, Tables
from experiments.boltzmann.relative_errors import (
    METHOD_LABELS,
    about_published_units,
    cost_per_repeat,
    of_grid,
)


@about_published_units
def mean_over_systems(tables: Tables, grid: str, quantity: str, method: str, note: str) -> Measurement:
    """Mean over systems and its standard error."""
    rows = of_grid(tables.summary, grid).rows(quantity, method=method)
    values = rows["value"].dropna().to_numpy(dtype=np.float64)
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
    return Measurement(float(values.mean()), error, note)


@about_published_units
def seconds_ratio(tables: Tables, method: str) -> Measurement:
    """CT-B20: time of a method over that of Gibbs continuous tempering."""
    seconds, unit = (cost_per_repeat(tables, name, "seconds_per_repeat") for name in (method, "gibbs_ct"))
    return Measurement(seconds / unit, math.nan, "time per sample over that of Gibbs CT")


@about_published_units
def longest_ladder(tables: Tables) -> Measurement:
    """CT-B23: errors with 1000 temperatures over those with the best number of them."""
    found = of_grid(tables.summary, "ladder").rows("error_by_target_weights").dropna(subset=["value"])
    # The error of the log normaliser is that of all chains together, one number a system: too noisy to compare.
    moments = found[found["coordinate"] != "log_z"]
    means = moments.groupby(["n_temperatures", "coordinate"])["value"].mean().unstack()
    if 1000 not in means.index:
        raise MissingData("K = 1000: not run at this preset")
    ratios = means[means.index == 1000].iloc[0] / means.min()
    each = "; ".join(f"K = {k:.0f}: {row.mean():.2f}" for k, row in means.iterrows())
    return Measurement(float(ratios.max()), math.nan, f"largest ratio to the best K; mean error by K: {each}")


@about_published_units
def base_moments(tables: Tables) -> Measurement:
    """CT-T06: largest distance of a base mean from its known value in standard errors."""
    chains = of_grid(tables.summary, "chains")
    found = chains.rows("base_mean_z").dropna(subset=["value"])
    worst = found.iloc[int(np.argmax(found["value"]))]
    n = int(len(found) * chains.rows("dimension")["value"].mean())
    where = f"{METHOD_LABELS[str(worst['method'])]}, system {worst['system']:.0f}"
    return Measurement(float(worst["value"]), 0.0, f"largest of about {n} coordinates: {where}")


@about_published_units
def monotone_weights(tables: Tables) -> Measurement:
    """CT-T17: largest ratio of the spread of log weights to that with the next smaller number of temperatures."""
    found = of_grid(tables.summary, "annealed").rows("log_weight_sd").dropna(subset=["value"])
    spread = found.groupby(["method", "n_temperatures"])["value"].mean().unstack()
    if spread.shape[1] < 2:
        raise MissingData("two numbers of temperatures or more: not run at this preset")
    ratios = spread.to_numpy()[:, 1:] / spread.to_numpy()[:, :-1]
    each = "; ".join(
        f"{METHOD_LABELS[str(method)]} {', '.join(f'{value:.2f}' for value in row)}"
        for method, row in zip(spread.index, spread.to_numpy(), strict=True)
    )
    return Measurement(float(ratios.max()), math.nan, f"largest ratio to the next smaller K; {each}")


@about_published_units
def integrated_weights(tables: Tables, other: str) -> Measurement:
    """CT-T23 and CT-T24: share of systems in which weights integrated over the index have a smaller error than others.

    Args:
        tables: of the study.
        other: quantity that holds the errors by the other weights.
    """
    chains = of_grid(tables.summary, "chains")
    holds = {}
    for error in ("mean", "covariance"):
        integrated, others = (
            chains.rows(quantity, method="st", coordinate=error)
            .sort_values("system")["value"]
            .to_numpy(dtype=np.float64)
            for quantity in ("error_by_target_weights", other)
        )
        # No visit at all in a group is no estimate: the other weights lose.
        holds[error] = ~np.isfinite(others) | (integrated < others)
    n = len(integrated)
    note = ", ".join(f"{error} {smaller.sum()} of {n}" for error, smaller in holds.items())
    return share_of_trials(min(float(smaller.mean()) for smaller in holds.values()), n, f"systems: {note}")


MEASURE: Measures = {
    "CT-B19": {
        "AIS runs": partial(
            mean_over_systems,
            grid="annealed",
            quantity="settled_share",
            method="h_ais",
            note="AIS as drawn, smallest K: share of runs that end with the signs they had halfway",
        ),
        "CT chains": partial(
            mean_over_systems,
            grid="chains",
            quantity="pattern_change_rate",
            method="gibbs_ct",
            note="Gibbs CT: share of pairs of samples, both with b > 1/2, whose signs differ",
        ),
    },
    "CT-B20": {"ST": partial(seconds_ratio, method="st"), "CT-HMC": partial(seconds_ratio, method="ct_hmc")},
    "CT-B23": {"K = 1000": longest_ladder},
    "CT-T06": {"chains": base_moments},
    "CT-T17": {"log weights": monotone_weights},
    "CT-T23": {"visits": partial(integrated_weights, other="error_by_visits_weights")},
    "CT-T24": {"naive weights": partial(integrated_weights, other="error_by_naive_weights")},
}
