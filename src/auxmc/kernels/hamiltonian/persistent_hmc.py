"""Hamiltonian Monte Carlo whose momentum persists: it is refreshed in part, and turned round by a rejection."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import FROM_POSITION, Kernel, check_integer, pytree_positions, require_key, select
from auxmc.kernels.hamiltonian.hmc import HMCInfo, HMCState, leapfrog, metropolis_end
from auxmc.kernels.metropolis.metropolis import MoveNoise, move_noise
from auxmc.numerics.random import standard_normal


class PersistentState(NamedTuple):
    """State of a chain: current point and momentum [dim], N(0, I) at stationarity; log density and its gradient."""

    position: Array
    momentum: Array
    log_density: Array
    gradient: Array


@pytree_positions("log_density")
def persistent_hmc(
    log_density: Callable[[Any], Array],
    step_size: Array | float,
    n_steps: int,
    persistence: float,
    dim: int = FROM_POSITION,
) -> Kernel:
    """Hamiltonian Monte Carlo with partial refreshment of the momentum.

    A step makes the momentum a p + sqrt(1 - a^2) n, follows a trajectory, and accepts its end or keeps the point it
    came from with the momentum reversed. Without that reversal the distribution of the momentum is not kept: the
    lecture slides leave it out.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats; minus infinity where the
            density is zero.
        step_size: of the leapfrog integrator, positive scalar; may be traced.
        n_steps: leapfrog steps of a trajectory.
        persistence: a, in [0, 1); 0 draws a fresh momentum.
        dim: length of the position; taken from it unless given.

    Returns:
        Kernel on PersistentState with HMCInfo; `init(position, key=key)` draws the momentum. An end whose energy is not
        finite is a counted rejection.

    Raises:
        ValueError: dim or n_steps is not positive, or persistence is not in [0, 1).

    Source: lecture slides, Hamiltonian Monte Carlo; PhD thesis, section 2.3.2.
    Must hold: the joint distribution of position and momentum is invariant; a trajectory with its accept step, the
    refreshment left out, is reversible up to the sign of the momentum.

    >>> kernel = persistent_hmc(lambda x: -0.5 * jnp.sum(x**2), 0.3, 4, 0.9, dim=2)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2), key=jax.random.key(1)))
    >>> state.momentum.shape, int(info.n_gradients)
    ((2,), 4)
    """
    check_integer("n_steps", n_steps, 1)
    if not 0.0 <= persistence < 1.0:
        raise ValueError(f"persistence must be at least 0 and below 1, got {persistence}")
    evaluate = jax.value_and_grad(log_density)
    fresh = math.sqrt(1.0 - persistence**2)

    def init(position: Array, key: Array | None = None) -> PersistentState:
        return PersistentState(position, standard_normal(require_key(key), (dim,)), *evaluate(position))

    def apply(noise: MoveNoise, state: PersistentState) -> tuple[PersistentState, HMCInfo]:
        momentum = persistence * state.momentum + fresh * noise.move
        point = HMCState(state.position, state.log_density, state.gradient)
        asked = jnp.full((), n_steps, jnp.int32)
        end, end_momentum, n_made = leapfrog(evaluate, point, momentum, step_size, asked)
        info = metropolis_end((point, momentum), (end, end_momentum), n_made, asked, noise.log_uniform)
        proposed = PersistentState(end.position, end_momentum, end.log_density, end.gradient)
        return select(info.is_accepted, proposed, state._replace(momentum=-momentum)), info

    return Kernel(init, move_noise(lambda key: standard_normal(key, (dim,))), apply)
