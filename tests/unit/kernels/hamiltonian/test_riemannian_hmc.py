"""Riemannian Hamiltonian Monte Carlo: its Euclidean case, reversibility, failures that are counted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.hamiltonian.hmc import HMCNoise, hmc
from auxmc.kernels.hamiltonian.riemannian_hmc import riemannian_hmc

START = jnp.array([0.7, -1.1])
NORMAL = jnp.array([0.5, 1.2])
ALWAYS = jnp.array(-jnp.inf)


def log_quartic(x):
    return -jnp.sum(0.25 * x**4) - 0.3 * x[0] * x[1]


def curved(x):
    return jnp.diag(1.0 + x**2) + 0.5 * jnp.outer(x, x)


def noise(n_steps, normal=NORMAL):
    return HMCNoise(normal, jnp.int32(n_steps), ALWAYS)


def test_with_a_constant_metric_it_is_hmc_with_that_mass_matrix():
    mass = jnp.array([[2.0, 0.4], [0.4, 0.7]])
    kernel = riemannian_hmc(log_quartic, lambda x: mass, 0.2, 5, 2, tolerance=1e-13)
    plain = hmc(log_quartic, 0.2, 5, 2, jnp.linalg.inv(mass))
    state, info = jax.jit(kernel.apply)(noise(5), kernel.init(START))
    # The other whitens by a factor of the inverse mass.
    root = jnp.linalg.cholesky(jnp.linalg.inv(mass))
    whitened = root.T @ jnp.linalg.cholesky(mass) @ NORMAL
    other, other_info = plain.apply(noise(5, whitened), plain.init(START))
    np.testing.assert_allclose(state.position, other.position, atol=1e-11)
    assert float(info.energy_change) == pytest.approx(float(other_info.energy_change), abs=1e-10)
    assert int(info.n_gradients) == 2 * 5


def test_the_energy_error_falls_with_the_square_of_the_step_size():
    changes = []
    for refinement in (1, 2, 4):
        kernel = riemannian_hmc(log_quartic, curved, 0.1 / refinement, 4, 2, tolerance=1e-12)
        _, info = jax.jit(kernel.apply)(noise(4 * refinement), kernel.init(START))
        changes.append(abs(float(info.energy_change)))
    assert 3.0 < changes[0] / changes[1] < 5.0
    assert 3.5 < changes[1] / changes[2] < 4.5


@pytest.mark.parametrize(("step_size", "options"), [(4.0, {}), (0.3, {"max_iterations": 1})])
def test_a_step_without_a_solution_is_a_counted_rejection(step_size, options):
    kernel = riemannian_hmc(log_quartic, curved, step_size, 3, 2, **options)
    state = kernel.init(START)
    new, info = jax.jit(kernel.apply)(noise(3), state)
    assert not bool(info.is_accepted)
    assert bool(info.is_divergent)
    assert int(info.n_not_converged) == 1
    assert int(info.n_gradients) == 2
    assert float(info.acceptance_rate) == 0.0
    np.testing.assert_array_equal(new.position, state.position)
