"""Simulated annealing: Metropolis moves at a rising inverse temperature, to find a state of high density."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from auxmc.kernels.base import Kernel, select
from auxmc.kernels.metropolis.metropolis import MoveNoise, metropolis_accept, move_noise


class AnnealingState(NamedTuple):
    """State of a search: current point [dim] and the best that was met, log densities there in nats, steps made."""

    position: Array
    log_density: Array
    best_position: Array
    best_log_density: Array
    n_made: Array


class AnnealingInfo(NamedTuple):
    """What one step did."""

    is_accepted: Array  # whether the proposal was accepted (bool)
    inverse_temperature: Array  # at which it was judged
    n_evaluations: Array  # calls of the log density, always 1 (int32)


def simulated_annealing(
    log_density: Callable[[Array], Array],
    draw_move: Callable[[Array], Any],
    move: Callable[[Any, Array], Array],
    inverse_temperatures: ArrayLike,
) -> Kernel:
    """Search for the maximum of a density.

    Args:
        log_density: maps position [dim] to a scalar, in nats.
        draw_move: maps a key to the random numbers of a proposal.
        move: maps (these numbers, position) to the proposed position; a move and its opposite must be equally likely.
        inverse_temperatures: one a step, positive and not falling [step]; steps beyond them use the last one.

    Returns:
        Kernel on AnnealingState with AnnealingInfo. A proposal whose log density is not finite is rejected.

    Raises:
        ValueError: inverse temperatures are empty, not finite, not positive, or fall.

    Source: lecture slides, annealing; PhD thesis, section 2.3.3.
    Must hold: the best density never falls; at a constant inverse temperature b the distribution proportional to
    density^b is invariant.

    >>> from jax import random
    >>> kernel = simulated_annealing(lambda x: -jnp.sum(x**2), lambda key: random.normal(key, (1,)),
    ...                              lambda noise, x: x + noise, [1.0, 2.0, 4.0])
    >>> state, info = kernel.step(random.key(0), kernel.init(jnp.array([3.0])))
    >>> bool(state.best_log_density >= -9.0), float(info.inverse_temperature)
    (True, 1.0)
    """
    schedule = np.asarray(inverse_temperatures, float)
    if schedule.ndim != 1 or not schedule.size:
        raise ValueError(f"inverse_temperatures must be one a step, got shape {schedule.shape}")
    if not np.all(np.isfinite(schedule)) or schedule[0] <= 0.0 or np.any(np.diff(schedule) < 0.0):
        raise ValueError(
            f"inverse_temperatures must be positive, finite and not fall, got {schedule.tolist()[:10]}"
        )
    ladder = jnp.asarray(schedule)

    def init(position: Array, key: Array | None = None) -> AnnealingState:
        start = log_density(position)
        return AnnealingState(position, start, position, start, jnp.zeros((), jnp.int32))

    def apply(noise: MoveNoise, state: AnnealingState) -> tuple[AnnealingState, AnnealingInfo]:
        inverse_temperature = ladder[jnp.minimum(state.n_made, len(schedule) - 1)]
        proposal = move(noise.move, state.position)
        proposed = log_density(proposal)
        accepted = metropolis_accept(
            noise.log_uniform, inverse_temperature * proposed, inverse_temperature * state.log_density
        )
        position = select(accepted, proposal, state.position)
        reached = jnp.where(accepted, proposed, state.log_density)
        better = reached > state.best_log_density
        new = AnnealingState(
            position=position,
            log_density=reached,
            best_position=select(better, position, state.best_position),
            best_log_density=jnp.where(better, reached, state.best_log_density),
            n_made=state.n_made + 1,
        )
        return new, AnnealingInfo(accepted, inverse_temperature, jnp.ones((), jnp.int32))

    return Kernel(init, move_noise(draw_move), apply)
