"""Batch adaptation of a step size."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.adaptation import batch_adaptation
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from tests.unit.kernels.toys import log_normal

FACTORS = (4.025, 3.05, 2.075, 1.1, 1.1, 1.1)


class _Info(NamedTuple):
    is_accepted: jax.Array


def _scripted(scale):
    """A kernel whose noise is the accept flag and whose state counts steps."""
    return Kernel(
        lambda position, key=None: position,
        lambda key: jnp.zeros((), bool),
        lambda noise, state: (state + 1, _Info(noise)),
    )


def _run(flags, batch_size, n_batches):
    kernel = batch_adaptation(_scripted, 0.5, batch_size, n_batches)
    start = kernel.init(jnp.zeros((), jnp.int32), key=jax.random.key(0))
    return jax.lax.scan(lambda state, flag: kernel.apply(flag, state), start, jnp.asarray(flags))


@pytest.mark.parametrize(
    ("n_accepted", "direction"), [(0, -1), (14, -1), (15, 0), (23, 0), (30, 0), (31, 1), (100, 1)]
)
def test_the_scale_changes_only_outside_the_band_of_acceptance_rates(n_accepted, direction):
    flags = np.tile(np.arange(100) < n_accepted, 6)
    state, info = _run(flags, 100, 6)
    factors = np.concatenate([[1.0], np.cumprod(FACTORS)]) ** direction
    np.testing.assert_allclose(info.scale, np.repeat(0.5 * factors[:-1], 100), rtol=1e-14)
    assert float(state.scale) == pytest.approx(0.5 * factors[-1], rel=1e-14)


def test_each_batch_counts_its_own_steps_and_the_chain_goes_on():
    flags = np.concatenate([np.ones(10), np.zeros(10), np.arange(10) < 2]).astype(bool)
    state, info = _run(flags, 10, 3)
    np.testing.assert_allclose(info.scale[::10], [0.5, 0.5 * 4.025, 0.5 * 4.025 / 3.05], rtol=1e-14)
    assert int(state.inner) == 30
    assert int(state.n_steps) == 30


def test_the_scale_is_frozen_after_the_last_batch():
    state, info = _run(np.ones(100, bool), 10, 2)
    assert len(np.unique(np.asarray(info.scale)[20:])) == 1
    assert float(state.scale) == pytest.approx(0.5 * 4.025 * 3.05)
    unchanged, _ = _run(np.ones(100, bool), 10, 0)
    assert float(unchanged.scale) == 0.5


def test_a_frozen_chain_is_the_plain_chain_at_that_scale():
    adapted = batch_adaptation(lambda scale: random_walk_metropolis(log_normal, scale, 2), 0.5, 5, 0)
    plain = random_walk_metropolis(log_normal, jnp.asarray(0.5), 2)
    state, expected = (
        adapted.init(jnp.zeros(2), key=jax.random.key(0)),
        plain.init(jnp.zeros(2), key=jax.random.key(0)),
    )
    for key in jax.random.split(jax.random.key(0), 10):
        state, _ = adapted.step(key, state)
        expected, _ = plain.step(key, expected)
    jax.tree.map(np.testing.assert_array_equal, state.inner, expected)
