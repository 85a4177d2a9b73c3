"""Metropolis kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.metropolis.metropolis import (
    IndependenceNoise,
    MetropolisState,
    RandomWalkNoise,
    metropolis_independence,
    random_walk_metropolis,
)
from tests.unit.kernels.toys import log_normal


def test_acceptance_is_one_when_the_density_is_constant() -> None:
    kernel = random_walk_metropolis(lambda _: jnp.zeros(()), 2.0, 3)
    state, info = kernel.step(jax.random.key(0), kernel.init(jax.random.key(0), jnp.zeros(3)))
    assert bool(info.accepted)
    assert float(info.acceptance_probability) == 1.0
    assert int(info.n_evaluations) == 1
    assert not np.any(np.asarray(state.position) == 0.0)


def test_proposal_is_the_scaled_normal_draw() -> None:
    kernel = random_walk_metropolis(log_normal, jnp.array([0.5, 2.0]), 2)
    noise = RandomWalkNoise(jnp.array([1.0, -1.0]), jnp.array(-50.0))
    state, _ = kernel.apply(noise, kernel.init(jax.random.key(0), jnp.array([0.25, 0.25])))
    np.testing.assert_array_equal(state.position, [0.75, -1.75])


def test_a_proposal_of_exactly_equal_log_uniform_is_rejected() -> None:
    kernel = random_walk_metropolis(log_normal, 1.0, 1)
    noise = RandomWalkNoise(jnp.array([1.0]), jnp.array(-0.5))
    state, info = kernel.apply(noise, kernel.init(jax.random.key(0), jnp.zeros(1)))
    assert not bool(info.accepted)
    assert float(info.acceptance_probability) == pytest.approx(np.exp(-0.5))
    np.testing.assert_array_equal(state.position, [0.0])


@pytest.mark.parametrize("value", [jnp.nan, -jnp.inf, jnp.inf])
def test_a_proposal_without_finite_density_is_rejected(value: float) -> None:
    def log_density(position: jax.Array) -> jax.Array:
        return jnp.where(position[0] == 0.0, 0.0, value)

    kernel = random_walk_metropolis(log_density, 1.0, 1)
    start = kernel.init(jax.random.key(0), jnp.zeros(1))
    states, infos = jax.vmap(lambda key: kernel.step(key, start))(jax.random.split(jax.random.key(0), 50))
    assert not np.any(infos.accepted)
    np.testing.assert_array_equal(states.position, 0.0)
    np.testing.assert_array_equal(infos.acceptance_probability, 0.0)


def test_a_start_outside_the_support_is_left_at_once() -> None:
    kernel = random_walk_metropolis(log_normal, 1.0, 1)
    noise = RandomWalkNoise(jnp.array([1.0]), jnp.array(-0.1))
    _, info = kernel.apply(noise, MetropolisState(jnp.zeros(1), jnp.array(-jnp.inf)))
    assert bool(info.accepted)


def test_independence_proposals_from_the_target_are_always_accepted() -> None:
    kernel = metropolis_independence(lambda _: jnp.zeros(()), lambda key: jax.random.normal(key, (2,)))
    noise = IndependenceNoise(jnp.array([3.0, 4.0]), jnp.array(-1e-9))
    state, info = kernel.apply(noise, kernel.init(jax.random.key(0), jnp.zeros(2)))
    assert bool(info.accepted)
    np.testing.assert_array_equal(state.position, [3.0, 4.0])


def test_an_impossible_dimension_is_rejected() -> None:
    with pytest.raises(ValueError, match="dim must be a positive integer, got 0"):
        random_walk_metropolis(log_normal, 1.0, 0)
