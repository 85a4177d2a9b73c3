"""Langevin dynamics in discrete time, with the accept step that makes it exact and without it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions, select
from auxmc.kernels.hamiltonian.hmc import HMCState
from auxmc.kernels.metropolis.metropolis import MoveNoise, metropolis_accept, move_noise
from auxmc.numerics.random import standard_normal


class LangevinInfo(NamedTuple):
    """What one step did."""

    is_accepted: Array  # whether the proposal was accepted (bool); always without an accept step
    acceptance_rate: Array  # min(1, exp(log_ratio)), 0 where that is not finite
    log_ratio: Array  # log of the Metropolis-Hastings ratio, in nats
    n_gradients: Array  # evaluations of the log density and its gradient, always 1 (int32)
    # Proposals whose log density or gradient is not finite, 0 or 1 (int32). Without an accept step nothing brings such
    # a chain back.
    n_not_finite: Array


@pytree_positions("log_density")
def mala(log_density: Callable[[Any], Array], step_size: Array | float, dim: int = FROM_POSITION) -> Kernel:
    """Metropolis-adjusted Langevin algorithm.

    Proposes x + (step_size^2 / 2) gradient + step_size n and accepts by the Hastings ratio of that asymmetric proposal.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        step_size: epsilon, positive scalar; may be traced.
        dim: length of the position; taken from it unless given.

    Returns:
        Kernel on HMCState with LangevinInfo. A proposal that is not finite is a counted rejection.

    Raises:
        ValueError: dim is not positive.

    Source: lecture slides, Langevin Monte Carlo; MSc thesis, Eq. 2.47.
    Must hold: proposals and acceptance are those of Hamiltonian Monte Carlo with one leapfrog step.

    >>> kernel = mala(lambda x: -0.5 * jnp.sum(x**2), 0.5, dim=2)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
    >>> bool(info.acceptance_rate > 0.9)
    True
    """
    return _langevin(log_density, step_size, dim, adjusted=True)


@pytree_positions("log_density")
def unadjusted_langevin(
    log_density: Callable[[Any], Array], step_size: Array | float, dim: int = FROM_POSITION
) -> Kernel:
    """Langevin dynamics whose proposals are always accepted: the target is met up to O(step_size^2).

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        step_size: epsilon, positive scalar; may be traced.
        dim: length of the position; taken from it unless given.

    Returns:
        Kernel on HMCState with LangevinInfo; `acceptance_rate` is what `mala` would have.

    Raises:
        ValueError: dim is not positive.

    Source: lecture slides, Langevin sampling.
    Must hold: on N(0, 1) the stationary distribution is N(0, 1 / (1 - step_size^2 / 4)).
    """
    return _langevin(log_density, step_size, dim, adjusted=False)


def _langevin(
    log_density: Callable[[Array], Array], step_size: Array | float, dim: int, *, adjusted: bool
) -> Kernel:
    draw = move_noise(lambda key: standard_normal(key, (dim,)))
    evaluate = jax.value_and_grad(log_density)

    def apply(noise: MoveNoise, state: HMCState) -> tuple[HMCState, LangevinInfo]:
        position = _drifted(state) + step_size * noise.move
        proposed = HMCState(position, *evaluate(position))
        backward = jnp.sum(jnp.square(state.position - _drifted(proposed)))
        forward = jnp.sum(jnp.square(position - _drifted(state)))
        log_forward = state.log_density - 0.5 * forward / jnp.square(step_size)
        log_backward = proposed.log_density - 0.5 * backward / jnp.square(step_size)
        finite = jnp.isfinite(log_backward)
        log_ratio = jnp.where(finite, log_backward - log_forward, -jnp.inf)
        accepted = metropolis_accept(noise.log_uniform, log_backward, log_forward)
        if not adjusted:
            accepted = jnp.ones((), bool)
        info = LangevinInfo(
            is_accepted=accepted,
            acceptance_rate=jnp.exp(jnp.minimum(log_ratio, 0.0)),
            log_ratio=log_ratio,
            n_gradients=jnp.ones((), jnp.int32),
            n_not_finite=(~finite).astype(jnp.int32),
        )
        return select(accepted, proposed, state), info

    def _drifted(state: HMCState) -> Array:
        return state.position + 0.5 * jnp.square(step_size) * state.gradient

    return Kernel(lambda position, key=None: HMCState(position, *evaluate(position)), draw, apply)
