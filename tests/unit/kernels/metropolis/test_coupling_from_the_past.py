"""Coupling from the past: horizons, coalescence, monotone runs, searches without an end."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.metropolis.coupling_from_the_past import coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import spin_blocks

CUMULATIVE = np.cumsum([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]], axis=1)
KEYS = jax.random.split(jax.random.key(3), 400)


def jump(uniform, state):
    """Next state of a chain of three states by the inverse of its distribution function."""
    return jnp.sum(uniform >= jnp.asarray(CUMULATIVE)[state, :2], dtype=jnp.int32)


def test_a_longer_horizon_changes_no_draw():
    states = jnp.arange(3, dtype=jnp.int32)
    draws = [
        jax.jit(jax.vmap(coupling_from_the_past(jax.random.uniform, jump, states, first_horizon=first)))(KEYS)
        for first in (1, 16)
    ]
    np.testing.assert_array_equal(draws[0].position, draws[1].position)
    horizons = np.asarray(draws[0].horizon)
    assert np.all(np.asarray(draws[0].coalesced))
    assert set(np.unique(horizons)) <= {1, 2, 4, 8, 16, 32, 64}
    # Horizons 1, 2, ..., h of three chains each.
    np.testing.assert_array_equal(draws[0].n_updates, 3 * (2 * horizons - 1))


def test_the_top_and_the_bottom_state_are_enough_where_the_update_keeps_order():
    couplings = jnp.asarray(0.4 * (1.0 - np.eye(3)))
    update = spin_blocks(lambda s: 2.0 * (couplings @ s + 0.1), 3)

    def sweep(uniforms, spins):
        for unit in range(3):
            spins = update.redraw(uniforms, jnp.int32(unit), spins)
        return spins

    every = jnp.asarray(list(product([-1.0, 1.0], repeat=3)))
    draw = lambda key: jax.random.uniform(key, (3,))
    some, all_states = (
        jax.jit(jax.vmap(coupling_from_the_past(draw, sweep, starts)))(KEYS)
        for starts in (every[jnp.array([0, 7])], every)
    )
    np.testing.assert_array_equal(some.position, all_states.position)
    np.testing.assert_array_equal(some.horizon, all_states.horizon)


def test_a_search_without_an_end_is_cut_off_and_says_so():
    swap = lambda uniform, state: 1 - state
    result = coupling_from_the_past(jax.random.uniform, swap, jnp.arange(2), max_horizon=40)(
        jax.random.key(0)
    )
    assert not bool(result.coalesced)
    assert int(result.horizon) == 32
