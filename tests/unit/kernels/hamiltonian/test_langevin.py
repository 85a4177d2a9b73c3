"""Langevin kernels: one leapfrog step, the Hastings ratio, the distribution without an accept step, failures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.hamiltonian.hmc import HMCNoise, hmc
from auxmc.kernels.hamiltonian.langevin import mala, unadjusted_langevin
from auxmc.kernels.metropolis.metropolis import MoveNoise


def log_quartic(x):
    return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]


def test_a_step_is_hamiltonian_monte_carlo_with_one_leapfrog_step():
    langevin = mala(log_quartic, 0.8, 2)
    hamiltonian = hmc(log_quartic, 0.8, (1, 1), 2)
    start = jnp.array([0.7, -1.3])
    apply, other_apply = jax.jit(langevin.apply), jax.jit(hamiltonian.apply)
    state, other_state = langevin.init(start), hamiltonian.init(start)
    for normal in np.random.default_rng(1).normal(size=(10, 2)):
        noise = MoveNoise(jnp.asarray(normal), jnp.array(-0.1))
        new, info = apply(noise, state)
        other, other_info = other_apply(HMCNoise(noise.move, jnp.int32(1), noise.log_uniform), other_state)
        np.testing.assert_allclose(new.position, other.position, atol=1e-13)
        assert float(info.log_ratio) == pytest.approx(-float(other_info.energy_change), abs=1e-11)
        assert bool(info.is_accepted) == bool(other_info.is_accepted)
        assert int(info.n_gradients) == 1
        assert float(new.log_density) == pytest.approx(float(log_quartic(new.position)), rel=1e-13)


def test_without_an_accept_step_every_proposal_is_taken():
    adjusted, free = (build(log_quartic, 0.9, 2) for build in (mala, unadjusted_langevin))
    start = jnp.array([1.5, -1.5])
    noise = MoveNoise(jnp.array([2.0, -2.0]), jnp.array(0.0))
    kept, kept_info = adjusted.apply(noise, adjusted.init(start))
    moved, moved_info = free.apply(noise, free.init(start))
    assert not bool(kept_info.is_accepted)
    assert bool(moved_info.is_accepted)
    np.testing.assert_array_equal(kept.position, start)
    assert float(moved_info.log_ratio) == float(kept_info.log_ratio)
    assert not np.allclose(moved.position, start)


def test_a_proposal_that_is_not_finite_is_rejected_or_counted():
    log_density = lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan)
    noise = MoveNoise(jnp.array([-50.0]), jnp.array(-100.0))
    for build, accepted in ((mala, False), (unadjusted_langevin, True)):
        kernel = build(log_density, 0.5, 1)
        new, info = kernel.apply(noise, kernel.init(jnp.array([1.0])))
        assert bool(info.is_accepted) == accepted
        assert int(info.n_not_finite) == 1
        assert float(info.acceptance_rate) == 0.0
        assert np.isfinite(float(new.log_density)) != accepted
