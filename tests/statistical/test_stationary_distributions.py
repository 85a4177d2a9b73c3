"""Dynamics that are biased by design keep their known distribution, as do momenta and step counts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg, stats

from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import project_momentum
from auxmc.kernels.streams.stochastic_gradient import injected_noise, sghmc_step
from auxmc.kernels.streams.stochastic_gradient_chain import stochastic_gradient_chain
from auxmc.numerics.jacobians import dense_jacobian
from tests.statistical.levels import assert_independent, key_for, seed_for

N = 100_000
N_STEPS = 3
CURVATURE = np.array([[2.0, 0.6], [0.6, 0.7]])
GRADIENT_SD = 0.8
STEP = 0.3


def stationary_covariance(friction, gradient_noise):
    """Covariance of position and velocity of the linear recursion, from its discrete Lyapunov equation [4, 4]."""
    identity = np.eye(2)
    velocity = np.hstack([-STEP * CURVATURE, (1.0 - friction) * identity])
    recursion = np.vstack([np.hstack([identity, 0.0 * identity]) + velocity, velocity])
    variance = float(injected_noise(friction, STEP, gradient_noise)) ** 2 + (STEP * GRADIENT_SD) ** 2
    return np.asarray(
        linalg.solve_discrete_lyapunov(recursion, variance * np.kron(np.ones((2, 2)), identity))
    )


def standardised(covariance, friction, gradient_noise, name):
    """Standard normal coordinates after one and after three steps from exact draws [draw, 4]."""
    kernel = stochastic_gradient_chain(
        lambda x, noise: jnp.asarray(CURVATURE) @ x + GRADIENT_SD * noise,
        lambda key: jax.random.normal(key, (2,)),
        STEP,
        friction,
        2,
        gradient_noise,
    )
    factor = jnp.asarray(np.linalg.cholesky(covariance))

    def replica(key):
        key_start, key_init, key_steps = jax.random.split(key, 3)
        start = factor @ jax.random.normal(key_start, (4,))
        state = kernel.init(key_init, start[:2])._replace(velocity=start[2:])

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, jnp.concatenate([state.position, state.velocity])

        _, path = jax.lax.scan(step, state, jax.random.split(key_steps, N_STEPS))
        return jax.scipy.linalg.solve_triangular(factor, path.T, lower=True).T

    path = np.asarray(jax.jit(jax.vmap(replica))(jax.random.split(key_for(f"stationary/{name}"), N)))
    return path[:, 0], path[:, -1]


def check_standard_normal(points, label):
    assert_independent(stats.norm.cdf(points), label)


@pytest.mark.parametrize(("friction", "gradient_noise"), [(1.0, 0.0), (0.3, 0.0), (0.3, 0.32)])
def test_noisy_gradients_keep_their_own_gaussian_distribution(friction, gradient_noise):
    """On a quadratic potential the distribution is Gaussian, with step size and gradient noise in its covariance."""
    covariance = stationary_covariance(friction, gradient_noise)
    for points, label in zip(
        standardised(covariance, friction, gradient_noise, f"{friction}/{gradient_noise}"),
        ("one step", "three steps"),
        strict=True,
    ):
        check_standard_normal(points, label)


@pytest.mark.parametrize(
    ("step", "gradient_noise", "gradient_variance"),
    [(0.05, 0.0, 0.0), (1.0, 0.0, 0.0), (3.0, 0.0, 0.0), (0.05, 0.0, 2.0), (0.05, 1.0, 2.0)],
)
def test_variance_on_a_quadratic_is_the_known_one(step, gradient_noise, gradient_variance):
    """Thirty steps from exact draws of the distribution in closed form; its noise is written out here."""
    friction = 0.2
    noise = 2.0 * (friction - gradient_noise * step) * step + step**2 * gradient_variance
    variance = noise * (2.0 - friction) / (friction * step * (2.0 * (2.0 - friction) - step))
    if gradient_noise:
        # Half the variance of the gradient cancels its noise.
        assert variance == pytest.approx(1.0 / (1.0 - step / 3.6), rel=1e-12)
    recursion = np.array([[1.0 - step, 1.0 - friction], [-step, 1.0 - friction]])
    covariance = linalg.solve_discrete_lyapunov(recursion, noise * np.ones((2, 2)))
    assert covariance[0, 0] == pytest.approx(variance, rel=1e-9)
    factor = np.linalg.cholesky(covariance)

    def one(state, key):
        position, velocity = state
        own, injected = jax.random.normal(key, (2, N))
        gradient = position + np.sqrt(gradient_variance) * own
        return sghmc_step(position, velocity, gradient, injected, step, friction, gradient_noise), None

    key_start, key_steps = jax.random.split(key_for(f"quadratic/{step}/{gradient_noise}/{gradient_variance}"))
    start = jnp.asarray(factor) @ jax.random.normal(key_start, (2, N))
    run = jax.jit(lambda keys: jax.lax.scan(one, (start[0], start[1]), keys)[0])
    end = np.stack(run(jax.random.split(key_steps, 30)))
    check_standard_normal(linalg.solve_triangular(factor, end, lower=True).T, "position and velocity")


def test_the_velocity_begins_with_the_variance_of_the_step():
    kernel = stochastic_gradient_chain(lambda x, noise: x, lambda key: jnp.zeros(2), STEP, 0.2, 2)
    keys = jax.random.split(key_for("first velocity"), N)
    velocities = np.asarray(jax.jit(jax.vmap(lambda key: kernel.init(key, jnp.zeros(2)).velocity))(keys))
    check_standard_normal(velocities / np.sqrt(STEP), "first velocity")


def test_the_bias_is_of_first_order_in_the_step():
    """Without gradient noise the position's covariance misses the posterior's by a multiple of the step."""
    errors = []
    for step in (0.1, 0.05):
        recursion = np.block(
            [[np.eye(2) - step * CURVATURE, 0.0 * np.eye(2)], [-step * CURVATURE, 0.0 * np.eye(2)]]
        )
        variance = float(injected_noise(1.0, step, 0.0)) ** 2
        covariance = linalg.solve_discrete_lyapunov(recursion, variance * np.kron(np.ones((2, 2)), np.eye(2)))
        errors.append(np.abs(covariance[:2, :2] - np.linalg.inv(CURVATURE)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.1)


def test_random_numbers_of_a_trajectory_have_their_distributions_and_are_independent():
    kernel = hamiltonian_monte_carlo(lambda x: -0.5 * jnp.sum(x**2), 0.1, (2, 6), 2)
    noise = jax.vmap(kernel.draw)(jax.random.split(key_for("trajectory"), N))
    fresh = np.random.default_rng(seed_for("trajectory/fresh")).uniform(size=N)
    transforms = [
        *stats.norm.cdf(np.asarray(noise.normal)).T,
        np.exp(np.asarray(noise.log_uniform)),
        (np.asarray(noise.n_steps) - 2 + fresh) / 5.0,
    ]
    assert_independent(np.stack(transforms, axis=1), "momentum, momentum, accept, steps")


def test_momenta_are_standard_normal_in_the_tangent_space():
    """Along two orthonormal tangents the projected momentum is normal; along the gradient there is nothing left."""
    gradient = np.array([[1.0, -2.0, 0.5]])
    basis = linalg.null_space(gradient)
    jacobian = dense_jacobian(jnp.asarray(gradient))
    normals = jax.random.normal(key_for("tangent"), (N, 3))
    momenta = np.asarray(jax.vmap(lambda normal: project_momentum(jacobian, normal))(normals))
    np.testing.assert_allclose(momenta @ gradient[0], 0.0, atol=1e-12)
    check_standard_normal(momenta @ basis, "along the tangents")
