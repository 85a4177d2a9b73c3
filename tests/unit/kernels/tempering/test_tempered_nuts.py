"""The no-U-turn sampler on position and temperature control."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base

JOINED = bridge(
    lambda x: -2.0 * jnp.sum((x - 1.0) ** 2), gaussian_base(jnp.zeros(2), jnp.array([1.0, 2.0])), 0.5
)
KERNEL = tempered_nuts(JOINED, 0.4, jnp.array([1.0, 1.0, 4.0]), max_doublings=5)
STEP = jax.jit(KERNEL.step)


def log_density(extended):
    """b (1 - b) (target / zeta)^b base^(1 - b), written out."""
    target, base = JOINED.log_densities(jnp.asarray(extended[:-1]))
    b = 1.0 / (1.0 + np.exp(-extended[-1]))
    return float(b * (target - 0.5) + (1.0 - b) * base + np.log(b) + np.log(1.0 - b))


def check_caches(state):
    extended = np.asarray(state.extended)
    assert float(state.log_density) == pytest.approx(log_density(extended), rel=1e-10)
    target, base = JOINED.log_densities(state.position)
    assert float(state.delta) == pytest.approx(float(base - (target - 0.5)), rel=1e-12)
    for i in range(3):
        away = 1e-5 * np.eye(3)[i]
        slope = (log_density(extended + away) - log_density(extended - away)) / 2e-5
        assert float(state.gradient[i]) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_states_carry_what_belongs_to_their_point():
    state = KERNEL.init(jnp.array([0.5, -1.0]), 0.7)
    check_caches(state)
    assert float(state.inverse_temperature) == pytest.approx(1.0 / (1.0 + np.exp(-0.7)))
    for i in range(3):
        state, _ = STEP(jax.random.key(i), state)
        check_caches(state)
        assert float(state.log_base_weight - state.log_target_weight) == pytest.approx(
            float(state.delta) - 0.5
        )


def test_a_step_is_a_function_of_its_key_and_counts_its_work():
    start = KERNEL.init(jnp.zeros(2))
    first, info = STEP(jax.random.key(3), start)
    again, _ = STEP(jax.random.key(3), start)
    np.testing.assert_array_equal(first.extended, again.extended)
    assert 1 <= int(info.n_gradients) < 2**5
    assert int(info.n_gradients) >= 2 ** (int(info.n_doublings) - 1)
    assert not bool(info.is_divergent)
    assert 0.0 < float(info.acceptance_rate) <= 1.0


def test_a_step_that_is_far_too_long_diverges_stays_and_says_so():
    wild = tempered_nuts(JOINED, 1e3, jnp.ones(3))
    start = wild.init(jnp.ones(2), 5.0)
    state, info = jax.jit(wild.step)(jax.random.key(0), start)
    assert bool(info.is_divergent)
    np.testing.assert_array_equal(state.extended, start.extended)
