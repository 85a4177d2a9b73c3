"""Small models with known answers, written as a user writes them."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

import auxmc


def sum_of_normals() -> Any:
    """One observation 1.5 of a mean with a standard normal prior and noise of standard deviation 0.5.

    The mean's posterior is normal with mean 1.2 and variance 0.2.
    """
    return auxmc.simulator(
        lambda inputs: inputs["mean"] + 0.5 * inputs["noise"],
        observed=jnp.array([1.5]),
        inputs={"mean": auxmc.prior.normal(1), "noise": auxmc.prior.normal(1)},
    )


def two_moons() -> Any:
    """sbibm's two moons at the observation (0, 0): the posterior is two crescents, mirror images of each other."""

    def generate(inputs: dict[str, Array]) -> Array:
        angle, radius, theta = inputs["angle"], inputs["radius"], inputs["theta"]
        moon = jnp.stack([radius * jnp.cos(angle) + 0.25, radius * jnp.sin(angle)])
        shift = jnp.stack([-jnp.abs(theta[0] + theta[1]), -theta[0] + theta[1]]) / math.sqrt(2.0)
        return moon + shift

    return auxmc.simulator(
        generate,
        observed=jnp.zeros(2),
        inputs={
            "theta": auxmc.prior.uniform(2, -1.0, 1.0),
            "angle": auxmc.prior.uniform((), -math.pi / 2, math.pi / 2),
            "radius": auxmc.prior.normal((), 0.1, 0.01),
        },
    )


def slcp() -> Any:
    """sbibm's SLCP: four points from a normal law whose mean and covariance are nonlinear in five parameters."""

    def generate(inputs: dict[str, Array]) -> Array:
        theta, noise = inputs["theta"], inputs["noise"]
        first, second, correlation = theta[2] ** 2, theta[3] ** 2, jnp.tanh(theta[4])
        across = jnp.sqrt(1.0 - correlation**2)
        x = theta[0] + first * noise[:, 0]
        y = theta[1] + second * (correlation * noise[:, 0] + across * noise[:, 1])
        return jnp.stack([x, y], axis=1)

    return auxmc.simulator(
        generate,
        observed=jnp.array([[0.7, -2.9], [1.1, -2.2], [-0.4, -3.4], [0.9, -2.6]]),
        inputs={"theta": auxmc.prior.uniform(5, -3.0, 3.0), "noise": auxmc.prior.normal((4, 2))},
    )


def normal_density() -> Any:
    """Variables with different shapes: a has mean 1, b [2] is standard normal."""
    return auxmc.density(
        lambda p: -0.5 * (p["a"] - 1.0) ** 2 - 0.5 * jnp.sum(p["b"] ** 2), {"a": 0.0, "b": jnp.zeros(2)}
    )


def estimated_normal() -> Any:
    """A mean with a standard normal prior and an estimated likelihood of the observation 1 with variance 2."""
    return auxmc.estimated(
        log_prior=lambda p: -0.5 * p["mean"] ** 2,
        log_estimate=lambda p, u: (
            jax.nn.logsumexp(-0.5 * (1.0 - p["mean"] - u["shift"]) ** 2) - math.log(10.0)
        ),
        auxiliary={"shift": (10,)},
        start={"mean": 0.0},
    )
