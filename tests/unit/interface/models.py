"""Small models with known answers, written as a user writes them; each is made and compiled once."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp

import auxmc


@functools.cache
def sum_of_normals() -> Any:
    """One observation 1.5 of a mean with a standard normal prior and noise of standard deviation 0.5.

    The mean's posterior is normal with mean 1.2 and variance 0.2.
    """
    return auxmc.simulator(
        lambda inputs: inputs["mean"] + 0.5 * inputs["noise"],
        observed=jnp.array([1.5]),
        inputs={"mean": auxmc.prior.normal(1), "noise": auxmc.prior.normal(1)},
    )


@functools.cache
def normal_density() -> Any:
    """Variables with different shapes: a has mean 1, b [2] is standard normal."""
    log_density = lambda p: -0.5 * (p["a"] - 1.0) ** 2 - 0.5 * jnp.sum(p["b"] ** 2)
    return auxmc.density(log_density, {"a": 0.0, "b": jnp.zeros(2)})


@functools.cache
def estimated_normal() -> Any:
    """A mean with a standard normal prior and an estimated likelihood of the observation 1 with variance 2."""
    log_prior = lambda p: -0.5 * p["mean"] ** 2
    log_estimate = lambda p, u: jax.nn.logsumexp(-0.5 * (1.0 - p["mean"] - u["shift"]) ** 2) - math.log(10.0)
    return auxmc.estimated(log_prior, log_estimate, auxiliary={"shift": (10,)}, start={"mean": 0.0})
