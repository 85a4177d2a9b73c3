"""Runs one case: chains from the origin, and what is measured of them."""

import jax.numpy as jnp
import numpy as np
import xarray as xr

from auxmc.driver.blocks import Sampler
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc_pipeline.chain_statistics import arviz_groups, chain_moments, histogram, labelled_draws, with_units
from auxmc_pipeline.chains import RunContext, run_chains
from experiments.two_modes.model import problem
from experiments.two_modes.settings import Settings

_EDGES = np.linspace(-5.0, 5.0, 51)


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Groups `statistics`, `curves`, `posterior` and `sample_stats` of a case."""
    target = problem(settings)
    if settings.kernel == "hmc":
        kernel = hmc(target.log_density, settings.step_size, settings.n_steps, 2)
    else:
        kernel = random_walk_metropolis(target.log_density, settings.step_size, 2)
    sampler = Sampler(
        lambda parameters: kernel,
        lambda key, parameters: kernel.init(parameters["start"], key=key),
        lambda state, info: {"x": state.position},
    )
    chains = run_chains(
        context, ("chains", settings.kernel), sampler, settings, starts=jnp.zeros((settings.n_chains, 2))
    )
    draws = labelled_draws(chains, {"coordinate": ["x1", "x2"]}, {"x": ["coordinate"]})
    first = draws["x"].sel(coordinate="x1", drop=True)
    moments = chain_moments(first)
    statistics = {**moments, "ess_per_iteration": moments["ess"] / settings.n_draws}
    statistics["fraction_right"] = (first > 0.0).mean("draw")
    curves = {"histogram": histogram(first, _EDGES) / settings.n_draws / np.diff(_EDGES)}
    if target.known is not None:
        curves["exact_density"] = xr.DataArray(target.known(curves["histogram"]["bin"].values), dims="bin")
    groups = arviz_groups(draws, ["x"])
    return {**groups, "statistics": with_units(statistics, {}), "curves": xr.Dataset(curves)}
