"""Measures the claims about what chains and annealed runs do, their time, temperatures and weights.

CT-B19, CT-B20, CT-B23, CT-T06, CT-T17, CT-T23, CT-T24.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.lookup import MissingData, rows_of
from experiments.boltzmann.lookup import (
    METHOD_LABELS,
    SummaryMeasure,
    cost_per_repeat,
    measure_summary,
    of_grid,
)


def _over_systems(grid: str, quantity: str, note: str, **where: str | float) -> SummaryMeasure:
    """Mean over systems and its standard error."""

    def measure(summary: pd.DataFrame) -> Measurement:
        table = of_grid(summary, grid)
        values = rows_of(table, quantity, **where)["value"].dropna().to_numpy(dtype=np.float64)
        error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan
        return Measurement(float(values.mean()), error, note)

    return measure


def _seconds_ratio(method: str) -> SummaryMeasure:
    def measure(summary: pd.DataFrame) -> Measurement:
        seconds = [
            cost_per_repeat(summary, "chains", name, "seconds_per_repeat") for name in (method, "gibbs_ct")
        ]
        return Measurement(seconds[0] / seconds[1], math.nan, "time per sample over that of Gibbs CT")

    return measure


def _ladder(summary: pd.DataFrame) -> Measurement:
    table = of_grid(summary, "ladder")
    found = rows_of(table, "error_by_target_weights").dropna(subset=["value"])
    # The error of the log normaliser is that of all chains together, one number a system: too noisy to compare.
    means = (
        found[found["coordinate"] != "log_z"]
        .groupby(["n_temperatures", "coordinate"])["value"]
        .mean()
        .unstack()
    )
    if 1000 not in means.index:
        raise MissingData("K = 1000: not run at this preset")
    ratios = means[means.index == 1000].iloc[0] / means.min()
    each = "; ".join(f"K = {k:.0f}: {row.mean():.2f}" for k, row in means.iterrows())
    return Measurement(float(ratios.max()), math.nan, f"largest ratio to the best K; mean error by K: {each}")


def _base_moments(summary: pd.DataFrame) -> Measurement:
    table = of_grid(summary, "chains")
    found = rows_of(table, "base_mean_z").dropna(subset=["value"])
    values = found["value"].to_numpy(dtype=np.float64)
    worst = int(np.argmax(values))
    n = int(values.size * rows_of(table, "dimension")["value"].mean())
    where = f"{METHOD_LABELS[str(found['method'].iloc[worst])]}, system {found['system'].iloc[worst]:.0f}"
    return Measurement(float(values[worst]), 0.0, f"largest of about {n} coordinates: {where}")


def _monotone_weights(summary: pd.DataFrame) -> Measurement:
    table = of_grid(summary, "annealed")
    found = rows_of(table, "log_weight_sd").dropna(subset=["value"])
    spread = found.groupby(["method", "n_temperatures"])["value"].mean().unstack()
    if spread.shape[1] < 2:
        raise MissingData("two numbers of temperatures or more: not run at this preset")
    ratios = spread.to_numpy()[:, 1:] / spread.to_numpy()[:, :-1]
    each = "; ".join(
        f"{METHOD_LABELS[str(method)]} {', '.join(f'{value:.2f}' for value in row)}"
        for method, row in zip(spread.index, spread.to_numpy(), strict=True)
    )
    return Measurement(float(ratios.max()), math.nan, f"largest ratio to the next smaller K; {each}")


def _weights_compared(other: str, errors: Sequence[str] = ("mean", "covariance")) -> SummaryMeasure:
    """Share of systems in which weights integrated over the index have the smaller error than others."""

    def measure(summary: pd.DataFrame) -> Measurement:
        table = of_grid(summary, "chains")
        shares = []
        for error in errors:
            by_weight = {
                weight: rows_of(table, f"error_by_{weight}_weights", method="st", coordinate=error)
                .sort_values("system")["value"]
                .to_numpy(dtype=np.float64)
                for weight in ("target", other)
            }
            # No visit at all in a group is no estimate: the other weights lose.
            worse = ~np.isfinite(by_weight[other]) | (by_weight["target"] < by_weight[other])
            shares.append(float(worse.mean()))
        n = len(by_weight["target"])
        note = ", ".join(f"{e} {round(s * n)} of {n}" for e, s in zip(errors, shares, strict=True))
        spread = math.sqrt(max(min(shares) * (1.0 - min(shares)), 0.0) / n)
        return Measurement(min(shares), spread, f"systems: {note}")

    return measure


MEASURE = {
    "CT-B19": measure_summary(
        {
            "AIS runs": _over_systems(
                "annealed",
                "settled_share",
                "AIS as drawn, smallest K: share of runs that end with the signs they had halfway",
                method="h_ais",
            ),
            "CT chains": _over_systems(
                "chains",
                "pattern_change_rate",
                "Gibbs CT: share of pairs of samples, both with b > 1/2, whose signs differ",
                method="gibbs_ct",
            ),
        }
    ),
    "CT-B20": measure_summary({"ST": _seconds_ratio("st"), "CT-HMC": _seconds_ratio("ct_hmc")}),
    "CT-B23": measure_summary({"K = 1000": _ladder}),
    "CT-T06": measure_summary({"chains": _base_moments}),
    "CT-T17": measure_summary({"log weights": _monotone_weights}),
    "CT-T23": measure_summary({"visits": _weights_compared("visits")}),
    "CT-T24": measure_summary({"naive weights": _weights_compared("naive")}),
}
