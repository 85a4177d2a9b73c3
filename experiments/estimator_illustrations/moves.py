"""Random-walk Metropolis and Hamiltonian Monte Carlo at equal numbers of evaluations: figure 2.1."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.errors_of_means import autocorrelation_time
from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import Chains, RunContext, run_chains
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCNoise, HMCState, hamiltonian_monte_carlo
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.numerics.array_types import FloatArray
from experiments.estimator_illustrations.settings import Settings
from experiments.estimator_illustrations.trajectories import correlated, trajectories

_START = (-2.0, -2.0)
_METHODS = ("random_walk", "hmc")
# Draws of a chain that are left out of averages: its start is a choice.
_FORGOTTEN = 0.1


def run_moves(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs chains of both kernels.

    Returns:
        Groups `statistics` and `curves`.
    """
    runs = {"random_walk": _random_walks(settings, context), "hmc": _trajectories(settings, context)}
    evaluations = {"random_walk": 1, "hmc": settings.n_leapfrog}
    measured = [_measures(runs[method], evaluations[method]) for method in _METHODS]
    statistics = xr.Dataset(
        {name: (("method", "chain"), np.stack([m[name] for m in measured])) for name in measured[0]},
        coords={"method": list(_METHODS), "chain": np.arange(settings.n_chains)},
    )
    lost = runs["hmc"].draws["n_not_finite"].sum(dtype=int)
    statistics = statistics.assign_coords(part=["hmc"]).assign(n_not_finite=("part", [lost]))
    for name, units in (("squared_jump_per_evaluation", ""), ("autocorrelation_time", "evaluations")):
        statistics[name].attrs["units"] = units
    curves, error = _shown(settings, runs)
    statistics["acceptance_error"] = ((), error)
    return {"statistics": statistics, "curves": curves}


def slow_direction(positions: FloatArray) -> FloatArray:
    """Coordinate along (1, 1), in which the target is widest for a positive correlation [..., 2] to [...]."""
    return np.asarray((positions[..., 0] + positions[..., 1]) / np.sqrt(2.0), dtype=np.float64)


def lag_one_autocorrelation(series: FloatArray) -> FloatArray:
    """Autocorrelation at lag one of each chain [chain, draw] to [chain]."""
    centred = series - series.mean(axis=1, keepdims=True)
    products = np.mean(centred[:, 1:] * centred[:, :-1], axis=1)
    return np.asarray(products / np.mean(np.square(centred), axis=1), dtype=np.float64)


def _log_density(settings: Settings) -> Any:
    rho = settings.correlation

    def log_density(x: Array) -> Array:
        return -0.5 * (x[0] ** 2 - 2.0 * rho * x[0] * x[1] + x[1] ** 2) / (1.0 - rho**2)

    return log_density


def _random_walks(settings: Settings, context: RunContext) -> Chains:
    kernel = random_walk_metropolis(_log_density(settings), settings.random_walk_scale, 2)
    return run_chains(
        context,
        ("random_walk",),
        Sampler(
            lambda parameters: kernel,
            lambda key, parameters: kernel.init(key, jnp.array(_START)),
            lambda state, info: {"x": state.position, "accepted": info.accepted},
        ),
        n_draws=settings.n_draws,
        n_chains=settings.n_chains,
        sweep={"target": [0.0]},
        block_size=settings.block_size,
    )


def _trajectories(settings: Settings, context: RunContext) -> Chains:
    """Chains of as many leapfrog steps as the random walks have steps."""
    kernel = hamiltonian_monte_carlo(_log_density(settings), settings.leapfrog_step, settings.n_leapfrog, 2)

    def apply(noise: HMCNoise, state: HMCState) -> tuple[HMCState, Any]:
        new, info = kernel.apply(noise, state)
        # With the momentum the trajectory between two states can be drawn.
        return new, (info, noise.normal)

    return run_chains(
        context,
        ("hmc",),
        Sampler(
            lambda parameters: Kernel(kernel.init, kernel.draw, apply),
            lambda key, parameters: kernel.init(key, jnp.array(_START)),
            lambda state, info: {
                "x": state.position,
                "accepted": info[0].accepted,
                "acceptance_probability": info[0].acceptance_probability,
                "n_not_finite": info[0].n_not_finite,
                "momentum": info[1],
            },
        ),
        n_draws=settings.n_draws // settings.n_leapfrog,
        n_chains=settings.n_chains,
        sweep={"target": [0.0]},
        block_size=settings.block_size,
    )


def _measures(chains: Chains, evaluations: int) -> dict[str, FloatArray]:
    """Averages of each chain; a leapfrog step counts as one evaluation."""
    positions = chains.draws["x"][0]
    kept = positions[:, int(_FORGOTTEN * positions.shape[1]) :]
    slow = slow_direction(kept)
    jumps = np.sum(np.square(np.diff(kept, axis=1)), axis=-1)
    return {
        "squared_jump_per_evaluation": jumps.mean(axis=1) / evaluations,
        "autocorrelation_time": autocorrelation_time(slow) * evaluations,
        "lag_one_autocorrelation": lag_one_autocorrelation(slow),
        "acceptance": chains.draws["accepted"][0].mean(axis=1),
    }


def _shown(settings: Settings, runs: dict[str, Chains]) -> tuple[xr.Dataset, float]:
    """First chain of each method over the same number of evaluations, with the leapfrog steps in between.

    Also returns the largest error of the acceptance probabilities of its updates.
    """
    n_walk = settings.n_evaluations_shown
    n_updates = n_walk // settings.n_leapfrog
    walk = np.concatenate([[_START], runs["random_walk"].draws["x"][0, 0, :n_walk]])
    states = np.concatenate([[_START], runs["hmc"].draws["x"][0, 0, :n_updates]])
    n_steps = settings.n_leapfrog
    momenta = runs["hmc"].draws["momentum"][0, 0, :n_updates]
    starts = np.repeat(np.concatenate([states[:-1], momenta], axis=1), n_steps + 1, axis=0)
    counts = np.tile(np.arange(n_steps + 1), n_updates)
    target = correlated(settings.correlation)
    phases = trajectories(target, starts, settings.leapfrog_step, counts).reshape(n_updates, n_steps + 1, 4)
    # The kernel's acceptance, from the energies at both ends of each trajectory alone.
    change = target.energy(phases[:, -1]) - target.energy(phases[:, 0])
    accepted = runs["hmc"].draws["acceptance_probability"][0, 0, :n_updates]
    error = float(np.abs(accepted - np.exp(-np.maximum(change, 0.0))).max())
    curves = xr.Dataset(
        {
            "random_walk_path": (("step", "axis"), walk),
            "hmc_states": (("update", "axis"), states),
            "leapfrog_path": (("trajectory", "leapfrog", "axis"), phases[..., :2]),
        },
        coords={
            "axis": ["x1", "x2"],
            "step": np.arange(len(walk)),
            "update": np.arange(len(states)),
            "trajectory": np.arange(n_updates),
            "leapfrog": np.arange(settings.n_leapfrog + 1),
        },
    )
    return curves, error
