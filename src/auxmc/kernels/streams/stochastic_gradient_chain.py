"""Stochastic-gradient dynamics on one target as a kernel, so that the driver can run chains of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions, require_key
from auxmc.kernels.streams.stochastic_gradient import sghmc_step
from auxmc.numerics.linalg import as_vector
from auxmc.numerics.random import standard_normal


class ChainState(NamedTuple):
    """Current point and velocity [dim]; the latter is in units of the step size and kept from step to step."""

    position: Array
    velocity: Array


class ChainInfo(NamedTuple):
    """Whether the new point is not finite, 0 or 1 (int32): nothing brings such a chain back."""

    n_not_finite: Array


class ChainNoise(NamedTuple):
    """Random numbers of a step: normal [dim], and those of the gradient's estimate, a pytree."""

    normal: Array
    gradient: Any


@pytree_positions("gradient")
def stochastic_gradient_chain(
    gradient: Callable[[Any, Any], Any],
    draw_gradient: Callable[[Array], Any],
    step: Array | float,
    friction: Array | float,
    dim: int = FROM_POSITION,
    gradient_noise: Array | float = 0.0,
) -> Kernel:
    """Steps of stochastic-gradient Hamiltonian Monte Carlo, none of them rejected.

    Args:
        gradient: maps position [dim] and random numbers to an estimate of the potential's gradient [dim].
        draw_gradient: maps a key to these random numbers: rows of a mini-batch, or noise to be added.
        step: eta, the square of the step size; may be traced.
        friction: alpha. 1 makes the dynamics those of Langevin, 0 leaves Hamiltonian ones, which the noise of the
            gradient heats up for ever; may be traced.
        dim: length of the position; taken from it unless given.
        gradient_noise: see `stochastic_gradient.injected_noise`; may be traced.

    Returns:
        Kernel on ChainState with ChainInfo; `init(position, key=key)` draws the velocity from N(0, eta I).

    Raises:
        ValueError: dim is not positive.

    Source: MSc thesis, Algorithms 3 and 4.

    >>> kernel = stochastic_gradient_chain(lambda x, noise: x + noise, lambda key: 0.0, 0.1, 0.2, dim=2)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2), key=jax.random.key(1)))
    >>> state.position.shape, int(info.n_not_finite)
    ((2,), 0)
    """

    def init(position: Array, key: Array | None = None) -> ChainState:
        return ChainState(position, jnp.sqrt(jnp.asarray(step)) * standard_normal(require_key(key), (dim,)))

    def draw(key: Array) -> ChainNoise:
        return ChainNoise(
            standard_normal(jax.random.fold_in(key, 0), (dim,)), draw_gradient(jax.random.fold_in(key, 1))
        )

    def apply(noise: ChainNoise, state: ChainState) -> tuple[ChainState, ChainInfo]:
        slope, _ = as_vector(gradient(state.position, noise.gradient))
        moved = ChainState(
            *sghmc_step(state.position, state.velocity, slope, noise.normal, step, friction, gradient_noise)
        )
        return moved, ChainInfo((~jnp.all(jnp.isfinite(moved.position))).astype(jnp.int32))

    return Kernel(init, draw, apply)
