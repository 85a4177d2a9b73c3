"""Residual resampling: what has a whole expected count is drawn that often, and chance decides on the rest alone."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.sampling.resampling import residual_indices


def test_a_particle_of_whole_expectation_is_drawn_that_often() -> None:
    log_weights = jnp.log(jnp.array([0.5, 0.3, 0.2])) - 40.0
    draw = jax.jit(jax.vmap(lambda key: residual_indices(key, log_weights, 4)))
    draws = np.asarray(draw(jax.random.split(jax.random.key(1), 60)))
    counts = np.stack([np.bincount(drawn, minlength=3) for drawn in draws])
    assert (counts[:, 0] == 2).all()
    assert (counts[:, 1] >= 1).all()
    # The fourth draw is of the second or the third particle.
    assert set(map(tuple, counts)) == {(2, 2, 0), (2, 1, 1)}
