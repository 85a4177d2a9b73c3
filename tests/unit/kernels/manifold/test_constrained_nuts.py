"""Trajectories that end by themselves: how long they grow on a manifold where that is known."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.manifold.constrained_nuts import constrained_nuts
from auxmc.models.conditioned import condition_generator

PLANE = condition_generator(
    lambda u: jnp.array([u[0] + 2.0 * u[1] - u[2]]), lambda u: -0.5 * jnp.sum(jnp.square(u)), jnp.array([0.6])
)
CENTRE = jnp.array([0.1, 0.2, -0.1])
ACROSS = jnp.array([[1.0, 0.0, 1.0], [1.0, -1.0, -1.0]]) / jnp.sqrt(jnp.array([[2.0], [3.0]]))


def test_a_trajectory_doubles_until_it_is_longer_than_half_a_circle():
    """Normal inputs on a plane, with as much momentum as distance, go round its centre once in a time of 2 pi."""
    kernel = constrained_nuts(PLANE, 0.05, 3)
    begin = kernel.init(CENTRE + 1.5 * ACROSS[0])

    def made(key):
        noise = kernel.draw(key)._replace(normal=1.5 * ACROSS[1])
        return kernel.apply(noise, begin)[1].num_integration_steps

    found = jax.jit(jax.vmap(made))(jax.random.split(jax.random.key(3), 20))
    np.testing.assert_array_equal(found, 63)
