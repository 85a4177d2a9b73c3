"""Stochastic-gradient dynamics as a kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.gradient_noise import evidence_loss_per_row, particle_variance_ratio
from auxmc.kernels.streams.stochastic_gradient import sghmc_step
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


def test_a_step_is_that_of_the_dynamics_with_the_drawn_numbers():
    kernel = chain(0.2, correction=0.7)
    noise = kernel.draw(jax.random.key(1))
    state, info = kernel.apply(noise, start())
    slope = CURVATURES * start().position + noise.gradient
    expected = sghmc_step(*start(), slope, noise.normal, 0.1, 0.2, 0.7)
    np.testing.assert_array_equal(state.position, expected[0])
    np.testing.assert_array_equal(state.velocity, expected[1])
    assert int(info.n_not_finite) == 0
    assert not np.any(np.asarray(noise.normal) == np.asarray(noise.gradient) / 3.0)


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
