"""Parallel Geweke tests: cycles of new data and of a kernel leave the joint distribution of inputs and data unchanged.

Every replica starts from the prior and its data, so that replicas are independent and the joint distribution after ten
cycles is known exactly. A wrong likelihood, prior or Jacobian shows here; tests against a hand-written density do not
see it.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr

from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.models.abc_estimator import abc_estimator
from auxmc.models.abc_kernels import log_abc_kernel
from auxmc.models.conditioned import condition_generator
from tests.statistical.levels import (
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
)

N = 100_000
N_CYCLES = 10
TOLERANCE = 0.7

Cycle = Callable[[Array, Array], tuple[Array, Array]]
"""Maps (key, inputs) to (inputs after new data and a step, uniform numbers under the joint distribution)."""


def log_normal(u: Array) -> Array:
    return -0.5 * jnp.sum(jnp.square(u))


def hmc(key: Array, theta: Array, noise_sd: float = 1.0) -> tuple[Array, Array]:
    """theta ~ N(0, 1), y given theta ~ N(theta, 1); `noise_sd` is that of the density of the kernel."""
    key_data, key_step = jax.random.split(key)
    y = theta + jax.random.normal(key_data, (1,))
    kernel = hamiltonian_monte_carlo(lambda x: log_normal(x) + log_normal((y - x) / noise_sd), 0.6, (1, 4), 1)
    theta = kernel.step(key_step, kernel.init(jax.random.key(0), theta))[0].position
    return theta, ndtr(jnp.concatenate([theta, y - theta]))


def abc_ball(key: Array, inputs: Array, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    """A simulation u1 + u2 and data uniform within the tolerance of it."""
    key_data, key_step = jax.random.split(key)
    y = jnp.sum(inputs) + jax.random.uniform(key_data, minval=-TOLERANCE, maxval=TOLERANCE)
    log_kernel = log_abc_kernel("ball")
    kernel = blocked_elliptical_slice(
        lambda u: log_kernel(jnp.sum(u, keepdims=True) - y, tolerance), [(1, 2), (0, 1)]
    )
    inputs = kernel.step(key_step, kernel.init(jax.random.key(0), inputs))[0].position
    place = 0.5 * (y - jnp.sum(inputs)) / TOLERANCE + 0.5
    return inputs, jnp.concatenate([ndtr(inputs), place[None]])


def abc_split(key: Array, inputs: Array) -> tuple[Array, Array]:
    """A simulation u1 + u2, data with Gaussian noise of the tolerance, updates of noise and parameter in turn."""
    key_data, key_step = jax.random.split(key)
    y = jnp.sum(inputs, keepdims=True) + TOLERANCE * jax.random.normal(key_data, (1,))
    log_kernel = log_abc_kernel("gaussian")
    estimator = abc_estimator(lambda u1, u2: log_kernel(u1 + u2 - y, TOLERANCE), log_normal, 1)
    kernel = pseudo_marginal_method("apm_mi_mh", estimator, 1.0, 1)
    cache = estimator.prepare(inputs[:1])
    state = kernel.init(key_step, inputs[:1])._replace(
        auxiliary=inputs[1:], log_estimate=estimator.log_estimate(cache, inputs[1:])
    )
    state, _ = kernel.step(key_step, state)
    inputs = jnp.concatenate([state.position, state.auxiliary])
    return inputs, ndtr(jnp.concatenate([inputs, (y - jnp.sum(inputs)) / TOLERANCE]))


def constrained(key: Array, inputs: Array, slope: float = 0.4) -> tuple[Array, Array]:
    """Data y = u1 + 0.4 u2^2 + 0.8 n with independent normal inputs, kept exactly by the kernel.

    `slope` takes the place of 0.4 in the density that the kernel uses for the volume of the fibre.
    """
    key_noise, key_step = jax.random.split(key)
    inputs = inputs.at[2].set(jax.random.normal(key_noise))

    def generate(u: Array, slope: float = 0.4) -> Array:
        return (u[0] + slope * u[1] ** 2 + 0.8 * u[2])[None]

    model = condition_generator(generate, log_normal, generate(inputs))
    half = lambda u: 0.5 * jnp.log(1.64 + jnp.square(0.8 * u[1]))
    other = lambda u: 0.5 * jnp.log(1.64 + jnp.square(2.0 * slope * u[1]))
    # With the right slope the two terms cancel.
    model = model._replace(log_prior=lambda u: log_normal(u) + half(u) - other(u))
    kernel = constrained_hmc(
        model, 0.5, (1, 3), 3, projection=ProjectionSettings("newton", None, max_iterations=10)
    )
    inputs = kernel.step(key_step, kernel.init(jax.random.key(0), inputs))[0].position
    return inputs, ndtr(inputs)


def uniforms_after_cycles(cycle: Cycle, dim: int, name: str) -> np.ndarray:
    """Uniform numbers under the joint distribution after ten cycles from exact draws [draw, number]."""

    def replica(key: Array) -> Array:
        key_start, key_cycles = jax.random.split(key)
        start = jax.random.normal(key_start, (dim,))
        _, path = jax.lax.scan(
            lambda inputs, key: cycle(key, inputs), start, jax.random.split(key_cycles, N_CYCLES)
        )
        return path[-1]

    keys = jax.random.split(key_for(f"joint distribution/{name}"), N)
    found = jax.jit(lambda keys: jax.lax.map(replica, keys, batch_size=1000))(keys)
    return np.clip(np.asarray(found), 0.0, 1.0)


def check_joint_distribution(uniforms: np.ndarray) -> None:
    """Each number is uniform, and they are independent."""
    n_numbers = uniforms.shape[1]
    for i in range(n_numbers):
        assert_uniform(uniforms[:, i], label=f"number {i}")
        assert_standard_mean(legendre(uniforms[:, i]), label=f"number {i}, Legendre")
    for i in range(n_numbers):
        for j in range(i):
            products = legendre(uniforms[:, i], 3)[:, :, None] * legendre(uniforms[:, j], 3)[:, None, :]
            assert_standard_mean(products.reshape(N, -1), label=f"numbers {j} and {i}")


def test_hmc_keeps_the_joint_distribution() -> None:
    check_joint_distribution(uniforms_after_cycles(hmc, 1, "hmc"))


@pytest.mark.parametrize("cycle", [abc_ball, abc_split])
def test_approximate_bayesian_computation_keeps_the_joint_distribution(cycle: Cycle) -> None:
    check_joint_distribution(uniforms_after_cycles(cycle, 2, cycle.__name__))


def test_constrained_hmc_keeps_the_joint_distribution() -> None:
    check_joint_distribution(uniforms_after_cycles(constrained, 3, "constrained"))


WRONG: dict[str, tuple[Cycle, int]] = {
    "noise too small": (lambda key, inputs: hmc(key, inputs, noise_sd=0.8), 1),
    "tolerance too large": (lambda key, inputs: abc_ball(key, inputs, tolerance=0.8), 2),
    "volume of another fibre": (lambda key, inputs: constrained(key, inputs, slope=0.0), 3),
}


@pytest.mark.parametrize(
    "name",
    [
        "noise too small",
        "tolerance too large",
        pytest.param("volume of another fibre", marks=pytest.mark.slow),
    ],
)
def test_wrong_models_are_found(name: str) -> None:
    cycle, dim = WRONG[name]
    uniforms = uniforms_after_cycles(cycle, dim, name)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_joint_distribution(uniforms)
