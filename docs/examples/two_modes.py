"""A model file for `auxmc evidence`: a density of two modes far apart, whose integral is 1.

Usage: `auxmc evidence docs/examples/two_modes.py`.
"""

import jax
import jax.numpy as jnp

start = {"x": [1.0, 0.0]}


def log_density(variables):
    """Two normal densities, one with a third of the mass, in nats."""
    x = variables["x"]
    return jnp.logaddexp(
        jnp.log(1 / 3) + jnp.sum(jax.scipy.stats.norm.logpdf(x, 4.0, 0.5)),
        jnp.log(2 / 3) + jnp.sum(jax.scipy.stats.norm.logpdf(x, -4.0, 0.5)),
    )
