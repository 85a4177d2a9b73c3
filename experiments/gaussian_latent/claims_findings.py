"""Measures the numbers that the findings state beside the claims: how long u is held, and the data as stated."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, exact
from auxmc_pipeline.error_rules import bootstrap
from auxmc_pipeline.tables import Tables
from experiments.gaussian_latent.exact import (
    conditional_precision,
    exact_posterior,
    holding_fraction,
    mean_independence_acceptance,
    mean_marginal_weight,
)
from experiments.gaussian_latent.model import (
    Dataset,
    GaussianLatentModel,
    gaussian_latent_model,
    simulate_data,
)
from experiments.gaussian_latent.sweeps import grid_of, shared_value


def _of_model(
    function: Callable[[GaussianLatentModel], float], tables: Tables, *, dataset: Dataset = "calibrated"
) -> Measurement:
    """An exact number of the study's model and data for one importance sample."""

    def setting(name: str) -> float:
        return float(tables.summary.setting(name, case="long_apm_mi_mh"))

    sd_latent, sd_observation = setting("sd_latent"), setting("sd_observation")
    sizes = int(setting("n_observations")), int(setting("dim"))
    data = simulate_data(int(setting("seed")), dataset, *sizes, sd_latent, sd_observation)
    return exact(function(gaussian_latent_model(data.observations, sd_latent, sd_observation)))


def _sd_between(model: GaussianLatentModel) -> float:
    """Standard deviation of the mean of x given u."""
    return math.sqrt(exact_posterior(model).sd ** 2 - 1.0 / conditional_precision(model))


def _fraction_above(weight: float) -> Callable[[GaussianLatentModel], float]:
    return lambda model: holding_fraction(model, weight)


def _stuck_fraction(tables: Tables) -> Measurement:
    """Share of a chain of PM MH that its longest run lasts, median over chains and step sizes."""
    runs = grid_of(tables, "longest_run_position", "pm_mh", 1, dataset="as_stated").values.T
    n_iterations = shared_value(
        tables, "n_iterations", design="sweep", dataset="as_stated", method="pm_mh", n_importance=1
    )
    return bootstrap(np.median, runs / n_iterations)


NUMBERS: dict[str, Callable[[Tables], Measurement]] = {
    "accept rate of u": partial(_of_model, mean_independence_acceptance),
    "iterations by the accept rate": partial(
        _of_model, lambda model: 1.0 / mean_independence_acceptance(model)
    ),
    "mean weight of u": partial(_of_model, mean_marginal_weight),
    "share of weights above 10^4": partial(_of_model, _fraction_above(1e4)),
    "share of weights above 10^5": partial(_of_model, _fraction_above(1e5)),
    "share of weights above a long chain, data as stated": partial(
        _of_model, _fraction_above(1.6e6), dataset="as_stated"
    ),
    "sd of the mean of x given u": partial(_of_model, _sd_between),
    "longest run of PM MH over its chain, data as stated": _stuck_fraction,
}
