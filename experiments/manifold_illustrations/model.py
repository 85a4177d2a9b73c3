"""The generator of figure 4.3: two inputs, one observation, a fibre with a steep branch and a flat one."""

import jax.numpy as jnp
from jax import Array


def fibre_height(first: Array) -> Array:
    """u2 on the fibre as a function of u1, as in the published figure.

    The generator is x = u2 - fibre_height(u1), conditioned on x = 0; the sources do not give theirs. Constants are
    those of the fibre drawn there: through (0.15, 3.9) and (0.56, 0), least near (1.6, -1.19), level at -1.17.
    """
    return -1.17 + 8.67 * jnp.exp(-3.575 * first) - 0.05 * jnp.exp(-jnp.square((first - 1.6) / 0.6))


def generate(inputs: Array) -> Array:
    """The observation [1] of two inputs."""
    return (inputs[1] - fibre_height(inputs[0]))[None]


def hyperbola(inputs: Array) -> Array:
    """The observation u1^2 - u2^2 [1] of two inputs, whose fibres have two branches."""
    return (jnp.square(inputs[0]) - jnp.square(inputs[1]))[None]


def log_prior(inputs: Array) -> Array:
    """Log density of standard normal inputs, up to a constant."""
    return -0.5 * jnp.sum(jnp.square(inputs))


START = jnp.stack([jnp.asarray(0.9), fibre_height(jnp.asarray(0.9))])  # a point on the fibre

DRAWN_START = jnp.array([0.7292, -0.3039])
"""Where the trajectory of figure 4.3 starts, in units of prior standard deviations."""
