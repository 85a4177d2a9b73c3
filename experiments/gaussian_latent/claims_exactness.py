"""Measures the claims about the log estimate, exact moments and theory: PM-G01, G02 and G21, PM-T01 and T04 to T06."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr
from scipy import stats

from auxmc.diagnostics.errors_of_means import score_between_chains
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement, Measures, exact, recorded
from auxmc_pipeline.error_rules import jackknife, largest
from auxmc_pipeline.tables import MissingData, Tables, Wanted
from experiments.gaussian_latent.comparisons import by_size
from experiments.gaussian_latent.sweeps import long_chains, shared_value

_LONG: dict[str, Wanted] = {
    "design": "long",
    "method": "apm_mi_mh",
    "dataset": "calibrated",
    "case": "long_apm_mi_mh",
}


def _noise(size: int, tables: Tables, dataset: str = "calibrated") -> Measurement:
    noise = recorded("sd_log_estimate", "sd_log_estimate_error", dataset=dataset, n_importance=size)
    return noise(tables)


def _optimum(quantity: str) -> Callable[[Tables], Measurement]:
    """Measures a constant of the theory as it was found, without chance."""
    return recorded(quantity, exact=True, note="numerical optimum", design="checks")


def _optimal_noise(tables: Tables) -> Measurement:
    found = _optimum("theory_pseudo_marginal_variance")(tables)
    return found._replace(value=math.sqrt(found.value))


def _exact_sd(tables: Tables) -> Measurement:
    return exact(shared_value(tables, "exact_sd", design="long"), "closed form")


def _sd_ratio(size: int, tables: Tables) -> Measurement:
    """Posterior standard deviation in chains over the exact one, mean over coordinates."""
    exact_sd = shared_value(tables, "exact_sd", **_LONG)
    found = tables.summary.array("posterior_sd", "coordinate", n_importance=size, **_LONG) / exact_sd
    # All coordinates come from the same chains: their errors are taken to go together.
    errors = tables.summary.array("mcse_sd", "coordinate", n_importance=size, **_LONG) / exact_sd
    return Measurement(float(found.mean()), float(errors.mean()), f"mean over {found.size} coordinates")


def _sd_ratio_as_printed(tables: Tables) -> Measurement:
    """The same with the printed denominator, which has the number of importance samples in place of that of data."""
    found = _sd_ratio(1, tables)
    variance = tables.summary.setting("sd_latent", **_LONG) ** 2
    variance += tables.summary.setting("sd_observation", **_LONG) ** 2
    factor = shared_value(tables, "exact_sd", **_LONG) / math.sqrt(variance / (1.0 + variance))
    return found._replace(value=factor * found.value, error=factor * found.error)


def _mean_error(tables: Tables) -> Measurement:
    exact_mean = tables.summary.array("exact_mean", "n_importance", "coordinate", **_LONG)
    by_chain = tables.summary.array("chain_mean", "n_importance", "coordinate", "chain", **_LONG)
    scores = np.abs(_scores(by_chain, exact_mean))
    names = [
        f"largest of {scores.size}, at N = {size:g}, {coordinate}; errors between chains"
        for size, coordinate in itertools.product(
            by_chain["n_importance"].values, by_chain["coordinate"].values
        )
    ]
    return largest(scores.ravel(), np.ones(scores.size), names)


def _scores(by_chain: xr.DataArray, exact_values: xr.DataArray | float) -> FloatArray:
    """Scores [...] of means over the chains of estimates (..., chain).

    Raises:
        MissingData: there is one chain alone, whose error cannot be known: it may hold one u for most of its length.
    """
    if by_chain.sizes["chain"] < 2:
        raise MissingData("an error between chains needs two of them: not run at this preset")
    return score_between_chains(by_chain, exact_values)


def _auxiliary_sd(tables: Tables) -> Measurement:
    where: dict[str, Wanted] = {"case": "auxiliary", "method": "apm_ss_mh", "dataset": "calibrated"}
    mean = tables.summary.array("auxiliary_mean", "chain", **where).values
    second = tables.summary.array("auxiliary_second_moment", "chain", **where).values
    return jackknife(
        lambda kept: math.sqrt(second[kept].mean() - mean[kept].mean() ** 2),
        mean.size,
        f"all {mean.size} chains together",
    )


def _drawn_auxiliary_sd(tables: Tables) -> Measurement:
    return exact(shared_value(tables, "exact_auxiliary_sd", case="auxiliary"), "closed form of the marginal")


def _auxiliary_moments(size: int, tables: Tables) -> Measurement:
    where = long_chains("apm_mi_mh", size)
    mean = shared_value(tables, "exact_auxiliary_mean", **where)
    second = shared_value(tables, "exact_auxiliary_sd", **where) ** 2 + mean**2
    moments = {"auxiliary_mean": mean, "auxiliary_second_moment": second}
    scores = [
        abs(float(_scores(tables.summary.array(name, "chain", **where), known)))
        for name, known in moments.items()
    ]
    note = f"mean {scores[0]:.2f}, second moment {scores[1]:.2f}; errors between chains"
    return largest(scores, [1.0, 1.0], [note, note])


def _reflective_score(tables: Tables) -> Measurement:
    p_value = tables.summary.value("reflective_p_value", design="checks")
    # A p value is uniform where nothing is wrong: as a normal score it has the error of one.
    return Measurement(float(stats.norm.isf(p_value)), 1.0, f"p value {p_value:.2g}")


MEASURE: Measures = {
    "PM-G01": {**by_size(_noise), **by_size(partial(_noise, dataset="as_stated"), " data as stated")},
    "PM-G02": {
        "exact sd": _exact_sd,
        "as printed": _sd_ratio_as_printed,
        **by_size(_sd_ratio, " corrected"),
        "mean of long APM chains": _mean_error,
    },
    "PM-G21": {"as drawn": _drawn_auxiliary_sd, "samples": _auxiliary_sd},
    "PM-T01": {
        "random-walk accept rate": _optimum("theory_random_walk_acceptance"),
        "pseudo-marginal accept rate": _optimum("theory_pseudo_marginal_acceptance"),
        "pseudo-marginal noise sd": _optimal_noise,
        "pseudo-marginal noise variance": _optimum("theory_pseudo_marginal_variance"),
        "recommended noise sd": _optimum("theory_compromise_sd"),
    },
    "PM-T04": by_size(_auxiliary_moments),
    "PM-T05": {"unit square": _reflective_score},
    "PM-T06": {"N = 1": recorded("identity_largest_difference", exact=True, design="checks")},
}
