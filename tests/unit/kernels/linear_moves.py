"""Moves that draw from their target itself, for linear regression: what an estimator is without error of its moves."""

import jax
import jax.numpy as jnp


def exact_linear_moves(noise_scale):
    """Independent draws from prior, past rows and a power of the chunk's likelihood; past rows are used whole."""

    def move(key, particles, target):
        past, chunk = target.past.rows, target.chunk.rows
        seen = (jnp.arange(len(past), dtype=jnp.int64) < target.n_past).astype(jnp.float64)
        counts = jnp.where(jnp.arange(len(chunk), dtype=jnp.int32) < target.chunk.n_valid, target.power, 0.0)
        rows = jnp.concatenate([past, chunk])
        weights = jnp.concatenate([seen, counts]) / noise_scale**2
        design = jnp.concatenate([rows[:, :-1], jnp.ones((rows.shape[0], 1))], axis=1)
        weighted = (design * weights[:, None]).T
        factor = jnp.linalg.cholesky(jnp.eye(particles.shape[1]) + weighted @ design)
        mean = jax.scipy.linalg.cho_solve((factor, True), weighted @ rows[:, -1])
        normal = jax.random.normal(key, particles.shape, dtype=jnp.float64)
        return mean[None, :] + jax.scipy.linalg.solve_triangular(factor.T, normal.T, lower=False).T

    return move
