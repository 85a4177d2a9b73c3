"""Claims on stochastic-gradient dynamics: what they sample on N(0, 1), and what their noise must be."""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from scipy import linalg

from auxmc.kernels.hamiltonian.langevin import LangevinNoise, unadjusted_langevin
from auxmc.kernels.streams.stochastic_gradient import sghmc_step, sgld_step
from experiments.foundations.measurements import normal_points
from experiments.foundations.topic import Lines, Topic, Work

TOPIC = Topic()


@TOPIC.claim(
    "FN-SG-01",
    numbers=[
        "step 0.1, gradient noise 0",
        "step 0.1, gradient noise 4, estimate 4",
        "corrected: estimate half the variance, less that without gradient noise",
    ],
)
def langevin_variances(work: Work) -> Lines:
    """Stationary variances of SGLD, from its linear recursion."""
    quiet, half, whole = (
        _stationary_variance(0.1, variance, estimate, 1.0)
        for variance, estimate in ((0.0, 0.0), (4.0, 2.0), (4.0, 4.0))
    )
    return {
        "step 0.1, gradient noise 0": quiet,
        "step 0.1, gradient noise 4, estimate 4": whole,
        "corrected: estimate half the variance, less that without gradient noise": half - quiet,
    }


@TOPIC.claim(
    "FN-SG-02",
    numbers=["position, step 0.01, gradient noise 0", "position, step 0.01, gradient noise 10, estimate 5"],
)
def hamiltonian_variances(work: Work) -> Lines:
    """Stationary variances of the position of SGHMC with decay 0.1."""
    return {
        "position, step 0.01, gradient noise 0": _stationary_variance(0.01, 0.0, 0.0, 0.1),
        "position, step 0.01, gradient noise 10, estimate 5": _stationary_variance(0.01, 10.0, 5.0, 0.1),
    }


@TOPIC.claim("FN-SG-03")
def same_paths(work: Work) -> Lines:
    """SGHMC with decay 1 and SGLD, the same numbers."""
    normals, noises = jnp.split(jnp.asarray(normal_points(1000, 4)), 2, axis=1)
    step, still = 0.05, jnp.zeros(2)

    @functools.partial(jax.jit, static_argnums=0)
    def walk(move: Callable[[Array, Array, Array], Array]) -> Array:
        def advance(position: Array, numbers: tuple[Array, Array]) -> tuple[Array, Array]:
            normal, noise = numbers
            position = move(position, position**3 + noise, normal)
            return position, position

        return jax.lax.scan(advance, jnp.array([1.0, -0.5]), (normals, noises))[1]

    first = walk(lambda x, gradient, normal: sgld_step(x, gradient, normal, step, 0.4))
    second = walk(lambda x, gradient, normal: sghmc_step(x, still, gradient, normal, step, 1.0, 0.4)[0])
    return {"1000 steps": jnp.max(jnp.abs(first - second))}


@TOPIC.claim("FN-SG-04")
def same_steps(work: Work) -> Lines:
    """A Langevin step of size epsilon is one of SGLD with eta = epsilon^2 / 2."""
    size = 0.3
    start, normal = jnp.asarray(normal_points(2, 3))
    kernel = unadjusted_langevin(lambda x: -jnp.sum(0.25 * x**4), size, 3)
    numbers = LangevinNoise(normal, jnp.zeros(()))
    moved, _ = jax.jit(lambda x: kernel.apply(numbers, kernel.init(jax.random.key(0), x)))(start)
    other = sgld_step(start, start**3, normal, 0.5 * size**2)
    return {"one step": jnp.max(jnp.abs(moved.position - other))}


@TOPIC.claim("FN-SG-06", numbers=["noise divided by eta"])
def noise_in_the_loss(work: Work) -> Lines:
    """Noise as a term x . zeta of the loss that plain gradient descent follows."""
    eta = 0.02
    start, normal = jnp.asarray(normal_points(2, 3))
    noise = math.sqrt(2.0 * eta) * normal
    wanted = sgld_step(start, start**3, normal, eta)

    def error(zeta: Array) -> float:
        optimiser = optax.sgd(eta)
        gradient = jax.grad(lambda x: jnp.sum(0.25 * x**4) + x @ zeta)(start)
        updates, _ = optimiser.update(gradient, optimiser.init(start))
        moved = optax.apply_updates(start, updates)
        # The term's sign is that of its slope: gradient descent subtracts it.
        return float(jnp.max(jnp.abs(moved - wanted)))

    return {"noise divided by eta": error(-noise / eta), "noise as printed": error(-noise)}


def _stationary_variance(step: float, variance: float, estimate: float, friction: float) -> float:
    """Stationary variance of the position on N(0, 1): from S = M S M^T + Q for position and velocity.

    A step is linear in position, velocity, injected and gradient noise: it is made from each unit vector of them.

    Args:
        step: of the dynamics.
        variance: of the noise that is added to the gradient x.
        estimate: what the dynamics take for half that variance.
        friction: decay of the velocity in a step; 1 is SGLD.
    """
    position, velocity, normal, noise = jnp.eye(4)
    gradient = position + math.sqrt(variance) * noise
    columns = np.array(sghmc_step(position, velocity, gradient, normal, step, friction, estimate))
    move, added = columns[:, :2], columns[:, 2:]
    return float(linalg.solve_discrete_lyapunov(move, added @ added.T)[0, 0])
