"""Hamiltonian Monte Carlo with persistent momentum: refreshment, reversal, failures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.hamiltonian.hmc import HMCNoise, hmc
from auxmc.kernels.hamiltonian.persistent_hmc import persistent_hmc
from auxmc.kernels.metropolis.metropolis import MoveNoise


def log_quartic(x):
    return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]


START = jnp.array([0.7, -1.1])


def _state(kernel, momentum):
    return kernel.init(START, key=jax.random.key(0))._replace(momentum=momentum)


def test_without_persistence_it_is_plain_hamiltonian_monte_carlo():
    kernel = persistent_hmc(log_quartic, 0.3, 5, 0.0, 2)
    plain = hmc(log_quartic, 0.3, (5, 5), 2)
    state, first = _state(kernel, jnp.array([9.0, 9.0])), plain.init(START, key=jax.random.key(0))
    apply, plain_apply = jax.jit(kernel.apply), jax.jit(plain.apply)
    for normal in np.random.default_rng(1).normal(size=(5, 2)):
        new, info = apply(MoveNoise(jnp.asarray(normal), jnp.array(-0.1)), state)
        other, other_info = plain_apply(HMCNoise(jnp.asarray(normal), jnp.int32(5), jnp.array(-0.1)), first)
        np.testing.assert_allclose(new.position, other.position, atol=1e-13)
        assert float(info.energy_change) == pytest.approx(float(other_info.energy_change), abs=1e-12)


def test_a_rejection_keeps_the_point_and_reverses_the_refreshed_momentum():
    kernel = persistent_hmc(log_quartic, 0.3, 5, 0.6, 2)
    momentum, normal = jnp.array([0.4, -0.2]), jnp.array([1.0, 0.5])
    state = _state(kernel, momentum)
    rejected, info = kernel.apply(MoveNoise(normal, jnp.array(jnp.inf)), state)
    refreshed = 0.6 * momentum + 0.8 * normal
    assert not bool(info.is_accepted)
    np.testing.assert_allclose(rejected.momentum, -refreshed, atol=1e-15)
    for name in ("position", "log_density", "gradient"):
        np.testing.assert_array_equal(getattr(rejected, name), getattr(state, name))
    accepted, info = kernel.apply(MoveNoise(normal, jnp.array(-jnp.inf)), state)
    assert bool(info.is_accepted)
    assert float(accepted.log_density) == pytest.approx(float(log_quartic(accepted.position)), rel=1e-13)
    np.testing.assert_allclose(accepted.gradient, jax.grad(log_quartic)(accepted.position), rtol=1e-12)


def test_an_end_without_a_finite_energy_is_a_counted_rejection():
    kernel = persistent_hmc(lambda x: -jnp.sum(x**4), 30.0, 50, 0.5, 1)
    state = kernel.init(jnp.array([2.0]), key=jax.random.key(0))
    new, info = kernel.step(jax.random.key(1), state)
    assert not bool(info.is_accepted)
    assert int(info.n_not_finite) == 1
    assert float(info.acceptance_rate) == 0.0
    assert float(new.position[0]) == 2.0
    assert np.isfinite(float(new.momentum[0]))
