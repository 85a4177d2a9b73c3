"""Small targets and estimators for the tests of kernels."""

import jax
import jax.numpy as jnp

from auxmc.models.estimator import Estimator

DIM = 2


def chain(kernel, state, keys):
    """Makes a step with each key; returns the last state, and the states and infos of all steps."""

    def step(state, key):
        state, info = kernel.apply(kernel.draw(key), state)
        return state, (state, info)

    return jax.lax.scan(step, state, keys)


def log_normal(position):
    """Standard normal log density, up to a constant."""
    return -0.5 * jnp.sum(position**2)


def log_bimodal(position):
    """Two well separated modes with different widths in each coordinate."""
    left = jnp.log(0.3) - 0.5 * ((position + 1.0) / 0.1) ** 2 - jnp.log(0.1)
    right = jnp.log(0.7) - 0.5 * ((position - 1.2) / 0.4) ** 2 - jnp.log(0.4)
    return jnp.sum(jnp.logaddexp(left, right))


def latent_estimator():
    """x ~ N(0, I), z | x ~ N(x, I), an observation of ones with unit noise; z drawn from its prior.

    Preparing a point costs 2 cubic operations if its first coordinate is positive and 1 otherwise, and
    fails where it exceeds 1, so that the counts tell points apart.
    """

    def log_estimate(cache, auxiliary):
        residual = 1.0 - cache[None] - auxiliary
        log_weights = -0.5 * jnp.sum(residual**2, axis=1)
        return log_normal(cache) + jax.nn.logsumexp(log_weights) - jnp.log(3.0)

    return Estimator(
        prepare=lambda position: position,
        log_estimate=log_estimate,
        draw_auxiliary=lambda key: jax.random.normal(key, (3, DIM)),
        n_cubic=lambda cache: 1 + (cache[0] > 0.0).astype(jnp.int32),
        n_failures=lambda cache: (cache[0] > 1.0).astype(jnp.int32),
    )


def exact_estimator(log_density):
    """Estimator without noise: its value is the density, whatever the auxiliary variables."""
    draw_auxiliary = lambda key: jax.random.normal(key, (DIM,))
    return Estimator(prepare=log_density, log_estimate=lambda cache, _: cache, draw_auxiliary=draw_auxiliary)
