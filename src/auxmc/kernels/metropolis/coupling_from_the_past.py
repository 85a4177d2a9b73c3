"""Coupling from the past: exact draws from the stationary distribution of a chain whose runs can be coupled."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax


class PerfectDraw(NamedTuple):
    """Result of a draw."""

    position: Array  # the state at time 0 of the first start. An exact draw only where `coalesced` is true
    coalesced: Array  # whether all starts had met by time 0 (bool)
    horizon: Array  # how far back the starts were put, in steps (int32)
    n_updates: Array  # steps of single chains that were made, for all horizons together (int32)


def coupling_from_the_past(
    draw: Callable[[Array], Any],
    update: Callable[[Any, Array], Array],
    starts: Array,
    max_horizon: int = 2**16,
    first_horizon: int = 1,
) -> Callable[[Array], PerfectDraw]:
    """Builds a sampler of the stationary distribution of a chain.

    Chains are started from all of `starts` at time -1, then -2, -4, ..., with the same random numbers at the same
    time, until they have met by time 0. New numbers after an extension, or the state in which a run
    forward in time first meets, would not have the stationary distribution.

    Args:
        draw: maps a key to the random numbers of one step.
        update: maps (random numbers, state) to the next state; one step of the chain as a map of all states.
        starts: all states of the chain [start, ...], or, where the update keeps an order of the states, the
            lowest and the highest one alone.
        max_horizon: where the search ends; a draw that has not coalesced says so.
        first_horizon: how far back the first attempt starts.

    Returns:
        Function of a key that makes one PerfectDraw.

    Raises:
        ValueError: there are fewer than two starts, or horizons are not positive or out of order.

    Source: lecture slides, other ideas in MCMC (exact sampling); Propp and Wilson 1996.
    Must hold: draws have the stationary distribution; a longer first horizon changes no coalesced draw.

    >>> sampler = coupling_from_the_past(lambda key: jax.random.bernoulli(key), lambda up, state: jnp.where(up, 1, 0),
    ...                                  jnp.array([0, 1]))
    >>> result = sampler(jax.random.key(0))
    >>> bool(result.coalesced), int(result.horizon)
    (True, 1)
    """
    if starts.ndim < 1 or len(starts) < 2:
        raise ValueError(f"starts must be at least two states [start, ...], got shape {starts.shape}")
    if not 1 <= first_horizon <= max_horizon:
        raise ValueError(
            f"horizons must be positive and in order, got first {first_horizon} and largest {max_horizon}"
        )
    advance = jax.vmap(update, (None, 0))

    def run(key: Array, horizon: Array) -> Array:
        def step(index: Array, states: Array) -> Array:
            # The numbers of a time belong to the distance from 0, whatever the horizon.
            return advance(draw(jax.random.fold_in(key, horizon - index)), states)

        return lax.fori_loop(jnp.zeros((), jnp.int32), horizon, step, starts)

    def sample(key: Array) -> PerfectDraw:
        def going(search: tuple[PerfectDraw, Array]) -> Array:
            found, horizon = search
            return ~found.coalesced & (horizon <= max_horizon)

        def look_further_back(search: tuple[PerfectDraw, Array]) -> tuple[PerfectDraw, Array]:
            before, horizon = search
            ends = run(key, horizon)
            n_updates = before.n_updates + horizon * len(starts)
            return PerfectDraw(ends[0], jnp.all(ends == ends[:1]), horizon, n_updates), 2 * horizon

        zero = jnp.zeros((), jnp.int32)
        nothing = PerfectDraw(starts[0], jnp.zeros((), bool), zero, zero)
        return lax.while_loop(going, look_further_back, (nothing, zero + first_horizon))[0]

    return sample
