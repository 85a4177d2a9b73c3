"""Metropolis kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.metropolis.metropolis import MetropolisState, MoveNoise, random_walk_metropolis
from tests.unit.kernels.toys import log_normal


def test_proposal_is_the_scaled_normal_draw():
    kernel = random_walk_metropolis(log_normal, jnp.array([0.5, 2.0]), 2)
    noise = MoveNoise(jnp.array([1.0, -1.0]), jnp.array(-50.0))
    state, _ = kernel.apply(noise, kernel.init(jnp.array([0.25, 0.25])))
    np.testing.assert_array_equal(state.position, [0.75, -1.75])


def test_a_proposal_of_exactly_equal_log_uniform_is_rejected():
    kernel = random_walk_metropolis(log_normal, 1.0, 1)
    noise = MoveNoise(jnp.array([1.0]), jnp.array(-0.5))
    state, info = kernel.apply(noise, kernel.init(jnp.zeros(1)))
    assert not bool(info.is_accepted)
    assert float(info.acceptance_rate) == pytest.approx(np.exp(-0.5))
    np.testing.assert_array_equal(state.position, [0.0])


@pytest.mark.parametrize("value", [jnp.nan, -jnp.inf, jnp.inf])
def test_a_proposal_without_finite_density_is_rejected(value):
    def log_density(position):
        return jnp.where(position[0] == 0.0, 0.0, value)

    kernel = random_walk_metropolis(log_density, 1.0, 1)
    start = kernel.init(jnp.zeros(1))
    states, infos = jax.vmap(lambda key: kernel.step(key, start))(jax.random.split(jax.random.key(0), 50))
    assert not np.any(infos.is_accepted)
    np.testing.assert_array_equal(states.position, 0.0)
    np.testing.assert_array_equal(infos.acceptance_rate, 0.0)


def test_a_start_outside_the_support_is_left_at_once():
    kernel = random_walk_metropolis(log_normal, 1.0, 1)
    noise = MoveNoise(jnp.array([1.0]), jnp.array(-0.1))
    _, info = kernel.apply(noise, MetropolisState(jnp.zeros(1), jnp.array(-jnp.inf)))
    assert bool(info.is_accepted)
