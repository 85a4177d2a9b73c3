"""Metropolis kernels that are wrapped to be wrong."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.metropolis import (
    MetropolisInfo,
    MetropolisState,
    metropolis_independence,
    random_walk_metropolis,
)
from tests.mutants.layers import LogDensity, line

__all__ = ["METROPOLIS"]


def drifted_proposal(log_density: LogDensity) -> Kernel:
    """Proposal with a drift towards the origin and no Hastings ratio."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        return kernel.apply(noise._replace(normal=noise.normal - 0.2 * state.position), state)

    return kernel._replace(apply=apply)


def scaled_log_ratio(log_density: LogDensity) -> Kernel:
    """Log ratio divided by 1.1."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)
    return kernel._replace(
        apply=lambda noise, state: kernel.apply(noise._replace(log_uniform=1.1 * noise.log_uniform), state)
    )


def until_accepted(log_density: LogDensity) -> Kernel:
    """Proposes up to five times until one is accepted."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        def attempt(carry: Any, tried: Any) -> Any:
            state, info = kernel.apply(tried, carry[0])
            return jax.tree.map(
                lambda new, old: jnp.where(carry[1].accepted, old, new), (state, info), carry
            ), None

        refused = MetropolisInfo(jnp.zeros((), bool), jnp.zeros(()), jnp.ones((), jnp.int32))
        return jax.lax.scan(attempt, (state, refused), noise)[0]

    return kernel._replace(draw=lambda key: jax.vmap(kernel.draw)(jax.random.split(key, 5)), apply=apply)


def stale_log_density(log_density: LogDensity) -> Kernel:
    """Moves without storing the log density of the new point."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        new, info = kernel.apply(noise, state)
        return MetropolisState(new.position, state.log_density), info

    return kernel._replace(apply=apply)


def state_dependent_scale(log_density: LogDensity) -> Kernel:
    """Step size that depends on where the chain is, with no correction."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        scale = jnp.where(state.position < 0.0, 0.3, 1.2)
        return kernel.apply(noise._replace(normal=noise.normal * scale), state)

    return kernel._replace(apply=apply)


def independence_without_weight(log_density: LogDensity) -> Kernel:
    """Independence proposals whose density is left out of the ratio."""
    return metropolis_independence(log_density, lambda key: 1.5 * jax.random.logistic(key, (1,)))


_line = partial(line, "metropolis")

METROPOLIS = {
    "drifted_proposal": _line("a drift of the proposal, without Hastings ratio", drifted_proposal),
    "scaled_log_ratio": _line("log of the accept ratio divided by 1.1", scaled_log_ratio),
    "until_accepted": _line("proposes until one is accepted", until_accepted),
    "stale_log_density": _line("moves without storing the new log density", stale_log_density),
    "state_dependent_scale": _line(
        "step size depends on the point, without correction", state_dependent_scale
    ),
    "independence_without_weight": _line(
        "density of independence proposals left out of the ratio", independence_without_weight
    ),
}
