"""Stochastic-gradient dynamics as a kernel."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.gradient_noise import evidence_loss_per_row, particle_variance_ratio
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgnht_step
from auxmc.kernels.streams.stochastic_gradient_chain import ChainState, stochastic_gradient_chain

CURVATURES = jnp.array([1.0, 4.0])


def chain(friction, step=0.1, correction=0.0):
    """On a quadratic, with a noise that is added to the gradient."""
    return stochastic_gradient_chain(
        lambda x, noise: CURVATURES * x + noise,
        lambda key: 3.0 * jax.random.normal(key, (2,)),
        step,
        friction,
        2,
        correction,
    )


def start():
    return ChainState(jnp.array([1.0, -2.0]), jnp.array([0.3, 0.1]))


def test_chains_that_leave_the_finite_numbers_are_counted():
    kernel = chain(0.2, step=4.0)

    def one(state, key):
        state, info = kernel.step(key, state)
        return state, info.n_not_finite

    keys = jax.random.split(jax.random.key(2), 2000)
    _, lost = jax.jit(lambda s: jax.lax.scan(one, s, keys))(start())
    # Sixteen is past the bound of stability, 2 (2 - alpha), so that the numbers grow until they overflow.
    assert int(lost[0]) == 0
    assert int(lost[-1]) == 1


def test_predicted_loss_is_a_thousandth_of_the_log_evidence():
    assert evidence_loss_per_row(0.1, 500, 0.2, 6.0) == pytest.approx(-1.5e-3 / (1.0 - 0.1 / 3.6))
    assert evidence_loss_per_row(1.0, 500, 0.2, 6.0) == pytest.approx(-0.0208, rel=2e-3)


def test_particles_are_twice_as_wide_where_noise_and_posterior_are_of_one_size():
    assert particle_variance_ratio(0.1, 500, 0.2, 0.0) == 1.0
    assert particle_variance_ratio(0.1, 500, 0.2, 2000.0) == pytest.approx(2.0)


# Step, friction, and standard deviation of the gradient: a friction of 0.3 balances its noise.
NOISY = (0.02, 0.1, math.sqrt(20.0))


def thermal_widths(rate, step_of=sgnht_step, n_steps=2000, warm_up=500):
    """Variances of 500 particles over those of the posterior [coordinate], and mean friction."""
    step, friction, sd = NOISY

    def one(state, key):
        slope, normal = jax.random.normal(key, (2, *state[0].shape))
        state = step_of(*state, CURVATURES[None] * state[0] + sd * slope, normal, step, friction, rate)
        return state, (jnp.mean(jnp.square(state[0]), 0), jnp.mean(state[2]))

    begin = (jnp.ones((500, 2)), jnp.zeros((500, 2)), jnp.full(500, friction))
    keys = jax.random.split(jax.random.key(5), n_steps)
    variance, alpha = (found[warm_up:].mean(axis=0) for found in jax.lax.scan(one, begin, keys)[1])
    return np.asarray(variance * CURVATURES), float(alpha)


def test_a_thermostat_removes_the_noise_of_gradients_that_friction_leaves():
    """Within 3 % of the width of the posterior, where SGHMC has three times its variance."""
    widths, friction = thermal_widths(0.01)
    np.testing.assert_allclose(widths, 1.0, atol=0.03)
    assert friction == pytest.approx(0.3, abs=0.015)
    # Broken twins: a thermostat that stands still, and one that compares with velocities of no friction.
    still, _ = thermal_widths(0.0)
    assert np.all(still > 2.5)

    def uncorrected(position, velocity, thermostat, *given):
        moved, fast, _ = sgnht_step(position, velocity, thermostat, *given)
        return moved, fast, thermostat + given[-1] * (jnp.mean(fast**2, axis=-1) / given[2] - 1.0)

    assert np.all(thermal_widths(0.01, step_of=uncorrected)[0] < 0.9)


def test_a_thermostat_that_stands_still_is_the_published_step():
    dtype = jnp.float32
    x, v, slope, normal = jax.random.normal(jax.random.key(3), (4, 3, 2), dtype)
    found = sgnht_step(x, v, jnp.full(3, 0.2, dtype), slope, normal, 0.1, 0.2, 0.0)
    for own, other in zip(found[:2], sghmc_step(x, v, slope, normal, 0.1, 0.2), strict=True):
        np.testing.assert_array_equal(own, other)
        assert own.dtype == dtype
    hot = sgnht_step(x, 100.0 * v, found[2], slope, normal, 0.1, 0.2, 0.1)
    np.testing.assert_array_equal(hot[2], jnp.ones(3, dtype))
