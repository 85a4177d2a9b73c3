"""Metropolis kernels: random walk and independence proposals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions, select


class MetropolisState(NamedTuple):
    """State of a chain: current point [dim], and log density (random walk) or log weight (independence) in nats."""

    position: Array
    log_density: Array


class MetropolisInfo(NamedTuple):
    """What one Metropolis step did."""

    is_accepted: Array  # whether the proposal was accepted (bool)
    acceptance_rate: Array  # min(1, exp(difference of log densities)), 0 for a proposal that is not finite
    n_evaluations: Array  # calls of the log density, always 1 (int32)


class MoveNoise(NamedTuple):
    """Random numbers of a step: those of its proposal, an array or a pytree, and the log of the accept uniform."""

    move: Any
    log_uniform: Array


def metropolis_accept(log_uniform: Array, log_proposed: Array, log_current: Array) -> Array:
    """Whether a proposal is accepted: log U < log_proposed - log_current, and log_proposed is finite.

    A NaN difference rejects. A proposal of log density +inf is rejected too: the chain could never leave it.
    """
    return (log_uniform < log_proposed - log_current) & jnp.isfinite(log_proposed)


def move_noise(draw_move: Callable[[Array], Any]) -> Callable[[Array], MoveNoise]:
    """Makes the function that draws the random numbers of a step; `draw_move` maps a key to those of the proposal."""
    return lambda key: MoveNoise(
        draw_move(jax.random.fold_in(key, 0)), -jax.random.exponential(jax.random.fold_in(key, 1))
    )


def random_walk_noise(dim: int) -> Callable[[Array], MoveNoise]:
    """Makes the function that draws the random numbers of a random-walk step, normal [dim] for the proposal."""
    return move_noise(lambda key: jax.random.normal(key, (dim,)))


@pytree_positions("log_density")
def random_walk_metropolis(
    log_density: Callable[[Any], Array], scale: Array | float, dim: int = FROM_POSITION
) -> Kernel:
    """Metropolis kernel with a Gaussian random-walk proposal.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        scale: standard deviation of the proposal, a scalar or one per coordinate [dim]; may be traced.
        dim: length of the position; taken from it unless given.

    Returns:
        Kernel on MetropolisState with MetropolisInfo.

    Raises:
        ValueError: dim is not positive.

    Source: PhD thesis, Algorithm 2, and MSc thesis, Algorithm 1, with a symmetric proposal.

    >>> kernel = random_walk_metropolis(lambda x: -0.5 * jnp.sum(x**2), 0.5, dim=2)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
    >>> state.position.shape
    (2,)
    """
    return _metropolis(log_density, random_walk_noise(dim), lambda move, position: position + scale * move)


def metropolis_independence(
    log_weight: Callable[[Array], Array], draw_proposal: Callable[[Array], Array]
) -> Kernel:
    """Metropolis kernel whose proposals do not depend on the current point.

    Args:
        log_weight: maps position [dim] to the log of target density over proposal density, in nats.
        draw_proposal: maps a key to a draw [dim] from the proposal distribution.

    Returns:
        Kernel on MetropolisState, whose `log_density` is the log weight, with MetropolisInfo.

    Source: PhD thesis, Algorithm 2 with q(x'|x) = q(x').
    """
    return _metropolis(log_weight, move_noise(draw_proposal), lambda move, _: move)


def _metropolis(
    log_density: Callable[[Array], Array],
    draw: Callable[[Array], MoveNoise],
    propose: Callable[[Any, Array], Array],
) -> Kernel:
    """Kernel whose proposals are made of the random numbers of a move and the current point."""

    def evaluated(position: Array, key: Array | None = None) -> MetropolisState:
        return MetropolisState(position, log_density(position))

    def apply(noise: MoveNoise, state: MetropolisState) -> tuple[MetropolisState, MetropolisInfo]:
        proposed = evaluated(propose(noise.move, state.position))
        accepted = metropolis_accept(noise.log_uniform, proposed.log_density, state.log_density)
        ratio = jnp.exp(jnp.minimum(proposed.log_density - state.log_density, 0.0))
        probability = jnp.where(jnp.isfinite(proposed.log_density), ratio, 0.0)
        info = MetropolisInfo(accepted, probability, jnp.ones((), jnp.int32))
        return select(accepted, proposed, state), info

    return Kernel(evaluated, draw, apply)
