"""Measures the claims about the log estimate, exact moments and theory: PM-G01, G02 and G21, PM-T01 and T04 to T06."""

import numpy as np
import xarray as xr

from auxmc.diagnostics.errors_of_means import score_between_chains
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, recorded
from auxmc_pipeline.error_rules import mean_over_replicates
from auxmc_pipeline.tables import MissingData, Tables
from experiments.gaussian_latent.comparisons import by_size
from experiments.gaussian_latent.sweeps import long_chains, shared_value

_OPTIMUM = {"design": "checks", "note": "numerical optimum"}


def _noise(size: int, tables: Tables) -> Measurement:
    noise = recorded("sd_log_estimate", "sd_log_estimate_error", dataset="calibrated", n_importance=size)
    return noise(tables)


_LONG = {"design": "long", "method": "apm_mi_mh", "dataset": "calibrated", "case": "long_apm_mi_mh"}


def _exact_sd(tables: Tables) -> Measurement:
    return Measurement(shared_value(tables, "exact_sd", design="long"), 0.0, "closed form")


def _sd_error(tables: Tables) -> Measurement:
    dims = ("n_importance", "coordinate")
    exact = shared_value(tables, "exact_sd", design="long")
    found = tables.summary.array("posterior_sd", *dims, **_LONG)
    errors = tables.summary.array("mcse_sd", *dims, **_LONG).to_numpy() / exact
    deviations = np.abs(found.to_numpy() / exact - 1.0)
    worst = np.unravel_index(np.argmax(deviations), deviations.shape)
    size, coordinate = (found[dim].to_numpy()[place] for dim, place in zip(dims, worst, strict=True))
    note = f"largest of {deviations.size}, at N = {size:g}, {coordinate}"
    return Measurement(float(deviations[worst]), float(errors[worst]), note)


def _mean_error(tables: Tables) -> Measurement:
    dims = ("n_importance", "coordinate")
    exact = tables.summary.array("exact_mean", *dims, **_LONG)
    scores = np.abs(_scores(tables.summary.array("chain_mean", *dims, "chain", **_LONG), exact))
    return Measurement(float(scores.max()), 0.0, f"largest of {scores.size}; errors between chains")


def _scores(by_chain: xr.DataArray, exact: xr.DataArray | float) -> FloatArray:
    """Scores [...] of means over the chains of estimates (..., chain).

    Raises:
        MissingData: there is one chain alone, whose error cannot be known: it may hold one u for most of its length.
    """
    if by_chain.sizes["chain"] < 2:
        raise MissingData("an error between chains needs two of them: not run at this preset")
    return score_between_chains(by_chain, exact)


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
    scores = [
        abs(float(_scores(tables.summary.array(name, "chain", **where), exact)))
        for name, exact in (("auxiliary_mean", mean), ("auxiliary_second_moment", second))
    ]
    note = f"mean {scores[0]:.2f}, second moment {scores[1]:.2f}; errors between chains"
    return Measurement(max(scores), 0.0, note)


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
