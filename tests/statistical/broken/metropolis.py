"""Metropolis and Hamiltonian kernels made wrong, by the check that must notice each."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.metropolis.metropolis import (
    MetropolisInfo,
    metropolis_independence,
    random_walk_metropolis,
)
from tests.statistical.broken import keeping, with_noise

LogDensity = Callable[[Array], Array]


def drifted_proposal(log_density: LogDensity) -> Kernel:
    """Proposal with a drift towards the origin and no Hastings ratio."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)
    return with_noise(kernel, lambda n, state: n._replace(normal=n.normal - 0.2 * state.position))


def scaled_log_ratio(log_density: LogDensity) -> Kernel:
    """Log ratio divided by 1.1."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)
    return with_noise(kernel, lambda n, _: n._replace(log_uniform=1.1 * n.log_uniform))


def until_accepted(log_density: LogDensity) -> Kernel:
    """Proposes up to five times until one is accepted."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        def attempt(carry: Any, tried: Any) -> Any:
            state, info = kernel.apply(tried, carry[0])
            return jax.tree.map(
                lambda new, old: jnp.where(carry[1].accepted, old, new), (state, info), carry
            ), None

        rejected = MetropolisInfo(jnp.zeros((), bool), jnp.zeros(()), jnp.ones((), jnp.int32))
        return jax.lax.scan(attempt, (state, rejected), noise)[0]

    return kernel._replace(draw=lambda key: jax.vmap(kernel.draw)(jax.random.split(key, 5)), apply=apply)


def stale_log_density(log_density: LogDensity) -> Kernel:
    """Moves without storing the log density of the new point."""
    return keeping(random_walk_metropolis(log_density, 1.0, 1), "log_density")


def state_dependent_scale(log_density: LogDensity) -> Kernel:
    """Step size that depends on where the chain is, with no correction."""
    scale = lambda state: jnp.where(state.position < 0.0, 0.3, 1.2)
    kernel = random_walk_metropolis(log_density, 1.0, 1)
    return with_noise(kernel, lambda n, state: n._replace(normal=n.normal * scale(state)))


def independence_without_weight(log_density: LogDensity) -> Kernel:
    """Independence proposals whose density is left out of the ratio."""
    return metropolis_independence(log_density, lambda key: 1.5 * jax.random.logistic(key, (1,)))


def _hmc(log_density: LogDensity) -> Kernel:
    return hamiltonian_monte_carlo(log_density, 0.12, (2, 6), 1)


def hmc_without_accept_test(log_density: LogDensity) -> Kernel:
    """Hamiltonian Monte Carlo that takes every end of a trajectory."""
    return with_noise(_hmc(log_density), lambda n, _: n._replace(log_uniform=jnp.full((), -jnp.inf)))


def hmc_without_first_kick(log_density: LogDensity) -> Kernel:
    """Trajectories that start from a gradient of zero, and so cannot be reversed."""
    kernel = _hmc(log_density)
    without = lambda state: state._replace(gradient=jnp.zeros_like(state.gradient))
    return kernel._replace(apply=lambda noise, state: kernel.apply(noise, without(state)))


ON_LINE = {
    "hmc_without_accept_test": hmc_without_accept_test,
    "hmc_without_first_kick": hmc_without_first_kick,
    "drifted_proposal": drifted_proposal,
    "scaled_log_ratio": scaled_log_ratio,
    "until_accepted": until_accepted,
    "stale_log_density": stale_log_density,
    "state_dependent_scale": state_dependent_scale,
    "independence_without_weight": independence_without_weight,
}
