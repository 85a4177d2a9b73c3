"""Measures the claims about the log estimate, exact moments and theory: PM-G01, G02 and G21, PM-T01 and T04 to T06."""

import math

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement, mean_over_replicates, measure_settings
from auxmc_pipeline.lookup import rows_of
from experiments.gaussian_latent.comparisons import Measure, by_size
from experiments.gaussian_latent.selection import Where, long_chains, scalar_of


def _noise(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        where: Where = {"design": "checks", "dataset": "calibrated", "n_importance": size}
        return Measurement(
            scalar_of(summary, "sd_log_estimate", **where),
            scalar_of(summary, "sd_log_estimate_error", **where),
        )

    return measure


def _long_moments(summary: pd.DataFrame) -> pd.DataFrame:
    names = ["posterior_mean", "mcse_mean", "posterior_sd", "mcse_sd", "exact_mean"]
    where: Where = {
        "design": "long",
        "method": "apm_mi_mh",
        "dataset": "calibrated",
        "case": "long_apm_mi_mh",
    }
    rows = pd.concat([rows_of(summary, name, **where) for name in names])
    return rows.pivot_table(index=["n_importance", "coordinate"], columns="quantity", values="value")


def _exact_sd(summary: pd.DataFrame) -> Measurement:
    return Measurement(scalar_of(summary, "exact_sd", design="long"), 0.0, "closed form")


def _sd_error(summary: pd.DataFrame) -> Measurement:
    moments = _long_moments(summary)
    exact = scalar_of(summary, "exact_sd", design="long")
    deviations = (moments["posterior_sd"] / exact - 1.0).abs()
    worst = int(np.argmax(deviations.to_numpy()))
    size, coordinate = moments.index.to_list()[worst]
    note = f"largest of {len(deviations)}, at N = {size:g}, {coordinate}"
    return Measurement(float(deviations.iloc[worst]), float(moments["mcse_sd"].iloc[worst]) / exact, note)


def _mean_error(summary: pd.DataFrame) -> Measurement:
    moments = _long_moments(summary)
    scores = ((moments["posterior_mean"] - moments["exact_mean"]) / moments["mcse_mean"]).abs()
    return Measurement(float(scores.max()), 0.0, f"largest of {len(scores)}")


def _auxiliary_sd(summary: pd.DataFrame) -> Measurement:
    where: Where = {"case": "auxiliary", "method": "apm_ss_mh", "dataset": "calibrated"}
    mean = rows_of(summary, "auxiliary_mean", **where).sort_values("chain")["value"].to_numpy()
    second = rows_of(summary, "auxiliary_second_moment", **where).sort_values("chain")["value"].to_numpy()
    exact = scalar_of(summary, "exact_auxiliary_sd", **where)
    return mean_over_replicates(np.sqrt(second - mean**2), f"mean over {mean.size} chains; exact {exact:.4f}")


def _auxiliary_moments(size: int) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        where = long_chains("apm_mi_mh", size)
        mean = scalar_of(summary, "exact_auxiliary_mean", **where)
        exact = {
            "auxiliary_mean": mean,
            "auxiliary_second_moment": scalar_of(summary, "exact_auxiliary_sd", **where) ** 2 + mean**2,
        }
        scores = []
        for name, value in exact.items():
            found = rows_of(summary, name, **where)["value"].to_numpy()
            errors = rows_of(summary, f"{name}_error", **where)["value"].to_numpy()
            scores.append(abs(found.mean() - value) / (math.sqrt(np.square(errors).sum()) / found.size))
        note = f"mean {scores[0]:.2f}, second moment {scores[1]:.2f}; chains pooled"
        return Measurement(float(max(scores)), 0.0, note)

    return measure


def _check(name: str, note: str = "") -> Measure:
    return lambda summary: Measurement(scalar_of(summary, name, design="checks"), 0.0, note)


def _optimum(name: str) -> Measure:
    return _check(f"theory_{name}", "numerical optimum")


MEASURE = {
    "PM-G01": measure_settings(by_size(_noise)),
    "PM-G02": measure_settings(
        {"exact sd": _exact_sd, "sd of long APM chains": _sd_error, "mean of long APM chains": _mean_error}
    ),
    "PM-G21": measure_settings({"N = 1": _auxiliary_sd}),
    "PM-T01": measure_settings(
        {
            "random-walk accept rate": _optimum("random_walk_acceptance"),
            "pseudo-marginal accept rate": _optimum("pseudo_marginal_acceptance"),
            "pseudo-marginal noise variance": _optimum("pseudo_marginal_variance"),
            "recommended noise sd": _optimum("compromise_sd"),
        }
    ),
    "PM-T04": measure_settings(by_size(_auxiliary_moments)),
    "PM-T05": measure_settings({"unit square": _check("reflective_p_value")}),
    "PM-T06": measure_settings({"N = 1": _check("identity_largest_difference")}),
}
