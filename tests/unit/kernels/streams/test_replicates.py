"""Replicates of an estimator of a stream: what their common record says."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.streams.contract import Chunk, ChunkRecord, PastRows, Stream
from auxmc.kernels.streams.replicates import replicated


def _recorder():
    """An estimator whose record is made of the random number of its replicate."""

    def init(key, dtype):
        return jax.random.uniform(key, dtype=jnp.float64)

    def absorb(key, state, chunk, past):
        one, count = jnp.ones((), jnp.int64), jnp.ones((), jnp.int32)
        return state, ChunkRecord(
            one, state, count, 10.0 * state, 20.0 * state, 30.0 * state, count, 2 * count
        )

    return Stream(init, absorb)


def test_the_record_has_the_least_sizes_the_mean_work_and_all_losses():
    stream = replicated(_recorder(), 4)
    state = stream.init(jax.random.key(0), jnp.float64)
    rows = jnp.zeros((1, 1))
    chunk, past = Chunk(rows, jnp.ones((), jnp.int32)), PastRows(rows, jnp.zeros((), jnp.int32))
    _, record = stream.absorb(jax.random.key(1), state, chunk, past)
    numbers = np.asarray(state.inner)
    assert len(set(numbers)) == 4
    np.testing.assert_allclose(record.smallest_size, 10.0 * numbers.min())
    np.testing.assert_allclose(record.weight_size, 20.0 * numbers.min())
    np.testing.assert_allclose(record.first_increment, 30.0 * numbers.mean())
    assert (int(record.n_unfinished), int(record.n_not_finite)) == (4, 8)
    assert float(record.n_annealing_steps) == 1.0
    assert float(record.expected_sd) == 0.0


def test_the_expected_spread_follows_from_how_often_particles_were_halved():
    """Ten particles: two halvings so far, two in this chunk, and weights that leave five in effect at its end."""

    def absorb(key, state, chunk, past):
        sizes = jnp.full((), 5.0)
        return state, ChunkRecord(
            jnp.int64(1), state, jnp.int32(3), sizes, sizes, sizes, jnp.int32(0), jnp.int32(0)
        )

    stream = replicated(_recorder()._replace(absorb=absorb), 4, 10)
    rows = jnp.zeros((1, 1))
    chunk, past = Chunk(rows, jnp.int32(1)), PastRows(rows, jnp.int32(0))
    state = stream.init(jax.random.key(0), jnp.float64)
    for n_halvings in (2, 4):
        state, record = stream.absorb(jax.random.key(1), state, chunk, past)
        np.testing.assert_allclose(record.expected_sd, np.sqrt(n_halvings / 10 + 1 / 5 - 1 / 10))
