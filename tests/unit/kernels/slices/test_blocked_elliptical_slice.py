"""Elliptical slice sampling in blocks: order, conditioning, failures, and agreement with the plain kernel."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice

DIM = 5
BLOCKS = [(2, 5), (0, 2)]


def _runs(log_density, n, max_passes=1000):
    kernel = blocked_elliptical_slice(log_density, BLOCKS, max_passes=max_passes)
    start = kernel.init(jnp.full(DIM, 0.5))
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(
        jax.random.split(jax.random.key(1), n)
    )
    return start, states, infos


def test_blocks_are_updated_in_their_order_given_the_new_values_of_those_before():
    seen = []

    def recorded(position):
        jax.debug.callback(lambda p: seen.append(tuple(p.tolist())), position, ordered=True)
        return jnp.zeros(())

    kernel = blocked_elliptical_slice(recorded, BLOCKS)
    start = jnp.full(DIM, 0.5)
    state, _ = jax.jit(kernel.step)(jax.random.key(3), kernel.init(start))
    jax.effects_barrier()
    first, second = (np.array(point) for point in seen[-2:])
    np.testing.assert_array_equal(first[:2], start[:2])
    assert np.all(first[2:] != 0.5)
    np.testing.assert_array_equal(second[2:], first[2:])
    np.testing.assert_array_equal(second, state.position)


def test_update_without_a_point_on_the_slice_keeps_its_block_and_is_counted():
    def only_here(position):
        return jnp.where(jnp.all(position == 0.5), 0.0, jnp.nan)

    _, states, infos = _runs(only_here, 10, max_passes=5)
    np.testing.assert_array_equal(states.position, 0.5)
    assert np.all(infos.n_collapsed == 1)
    assert np.all(infos.n_evaluations == 5)
