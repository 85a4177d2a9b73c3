"""Measures the claims about the log estimate, exact moments and theory: PM-G01, G02 and G21, PM-T01 and T04 to T06."""

import math

import numpy as np
import pandas as pd

from auxmc_pipeline.claims import Measurement, Measures, mean_over_replicates, recorded
from auxmc_pipeline.tables import Tables
from experiments.gaussian_latent.comparisons import by_size
from experiments.gaussian_latent.sweeps import long_chains, shared_value

_OPTIMUM = {"design": "checks", "note": "numerical optimum"}


def _noise(size: int, tables: Tables) -> Measurement:
    noise = recorded("sd_log_estimate", "sd_log_estimate_error", dataset="calibrated", n_importance=size)
    return noise(tables)


def _long_moments(tables: Tables) -> pd.DataFrame:
    where = {
        "design": "long",
        "method": "apm_mi_mh",
        "dataset": "calibrated",
        "case": "long_apm_mi_mh",
    }
    names = ("posterior_mean", "mcse_mean", "posterior_sd", "mcse_sd", "exact_mean")
    rows = pd.concat([tables.summary.rows(name, **where) for name in names])
    return rows.pivot_table(index=["n_importance", "coordinate"], columns="quantity", values="value")


def _exact_sd(tables: Tables) -> Measurement:
    return Measurement(shared_value(tables, "exact_sd", design="long"), 0.0, "closed form")


def _sd_error(tables: Tables) -> Measurement:
    moments = _long_moments(tables)
    exact = shared_value(tables, "exact_sd", design="long")
    deviations = (moments["posterior_sd"] / exact - 1.0).abs()
    worst = int(np.argmax(deviations.to_numpy()))
    size, coordinate = moments.index.to_list()[worst]
    note = f"largest of {len(deviations)}, at N = {size:g}, {coordinate}"
    return Measurement(float(deviations.iloc[worst]), float(moments["mcse_sd"].iloc[worst]) / exact, note)


def _mean_error(tables: Tables) -> Measurement:
    moments = _long_moments(tables)
    scores = ((moments["posterior_mean"] - moments["exact_mean"]) / moments["mcse_mean"]).abs()
    return Measurement(float(scores.max()), 0.0, f"largest of {len(scores)}")


def _auxiliary_sd(tables: Tables) -> Measurement:
    where = {"case": "auxiliary", "method": "apm_ss_mh", "dataset": "calibrated"}
    mean = tables.summary.array("auxiliary_mean", "chain", **where)
    second = tables.summary.array("auxiliary_second_moment", "chain", **where)
    exact = shared_value(tables, "exact_auxiliary_sd", **where)
    note = f"mean over {mean.size} chains; exact {exact:.4f}"
    return mean_over_replicates(np.sqrt(second - mean**2), note)


def _auxiliary_moments(size: int, tables: Tables) -> Measurement:
    where = long_chains("apm_mi_mh", size)
    mean = shared_value(tables, "exact_auxiliary_mean", **where)
    second = shared_value(tables, "exact_auxiliary_sd", **where) ** 2 + mean**2
    scores = []
    for exact, name, error in (
        (mean, "auxiliary_mean", "auxiliary_mean_error"),
        (second, "auxiliary_second_moment", "auxiliary_second_moment_error"),
    ):
        found, errors = (tables.summary.rows(of, **where)["value"].to_numpy() for of in (name, error))
        scores.append(abs(found.mean() - exact) / (math.sqrt(np.square(errors).sum()) / found.size))
    note = f"mean {scores[0]:.2f}, second moment {scores[1]:.2f}; chains pooled"
    return Measurement(float(max(scores)), 0.0, note)


MEASURE: Measures = {
    "PM-G01": by_size(_noise),
    "PM-G02": {
        "exact sd": _exact_sd,
        "sd of long APM chains": _sd_error,
        "mean of long APM chains": _mean_error,
    },
    "PM-G21": {"N = 1": _auxiliary_sd},
    "PM-T01": {
        "random-walk accept rate": recorded("theory_random_walk_acceptance", **_OPTIMUM),
        "pseudo-marginal accept rate": recorded("theory_pseudo_marginal_acceptance", **_OPTIMUM),
        "pseudo-marginal noise variance": recorded("theory_pseudo_marginal_variance", **_OPTIMUM),
        "recommended noise sd": recorded("theory_compromise_sd", **_OPTIMUM),
    },
    "PM-T04": by_size(_auxiliary_moments),
    "PM-T05": {"unit square": recorded("reflective_p_value", design="checks")},
    "PM-T06": {"N = 1": recorded("identity_largest_difference", design="checks")},
}
