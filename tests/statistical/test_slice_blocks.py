"""Elliptical slice sampling in blocks: the angle of each block, and a Gaussian posterior that stays as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from scipy import stats

from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from tests.statistical.levels import (
    assert_at_least,
    assert_independent,
    assert_standard_mean,
    assert_uniform,
    key_for,
    legendre,
)

N = 60_000
DIM = 5
BLOCKS = [(2, 5), (0, 2)]
START = 0.5


def test_every_block_moves_and_each_turns_by_an_angle_of_its_own() -> None:
    """A flat likelihood accepts the first point of each ellipse: v cos(a) + nu sin(a) with independent angles."""
    kernel = blocked_elliptical_slice(lambda position: jnp.zeros(()), BLOCKS)
    start = kernel.init(jax.random.key(0), jnp.full(DIM, START))
    keys = jax.random.split(key_for("blocks/flat"), N)
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(keys)
    assert np.all(infos.n_evaluations == 1)
    x = np.asarray(states.position)
    grid, angles = np.linspace(-6.0, 6.0, 12_001), np.pi * (np.arange(500) + 0.5) / 500
    cdf = np.zeros_like(grid)
    for angle in angles:
        cdf += stats.norm.cdf((grid - START * np.cos(angle)) / np.sin(angle)) / len(angles)
    uniforms = np.interp(x, grid, cdf)
    for place, block in ((0, "last block"), (2, "first block")):
        assert_uniform(uniforms[:, place], label=block)
    across = [
        (legendre(uniforms[:, i])[:, :, None] * legendre(uniforms[:, j])[:, None, :]).reshape(N, -1)
        for i in (0, 1)
        for j in (2, 3, 4)
    ]
    assert_standard_mean(np.concatenate(across, axis=1), detects=0.05, label="two blocks")
    # Inputs of a block share their angle: the moments of products follow from those of its cosine and sine.
    fraction = 0.5 * START**2
    variance = 3.0 / 8.0 * START**4 + 2.0 * START**2 / 8.0 + 3.0 / 8.0 - fraction**2
    within = np.stack([x[:, 0] * x[:, 1], x[:, 2] * x[:, 3], x[:, 3] * x[:, 4]], axis=1)
    # Nothing is as large as forty: the bound is for the assertion.
    products = np.clip((within - fraction) / np.sqrt(variance), -40.0, 40.0)
    assert_standard_mean(products, detects=0.04, label="one block")


@pytest.mark.parametrize("blocks", [[(0, DIM)], BLOCKS], ids=["one block", "two blocks"])
def test_a_gaussian_posterior_is_left_unchanged_in_one_block_or_several(
    blocks: list[tuple[int, int]],
) -> None:
    coupling = np.zeros((DIM, DIM))
    coupling[0, 3] = coupling[3, 0] = 1.0
    centres = np.arange(1.0, DIM + 1.0)
    covariance = np.linalg.inv(2.0 * np.eye(DIM) + coupling)
    mean, factor = jnp.asarray(covariance @ centres), jnp.asarray(np.linalg.cholesky(covariance))

    def log_likelihood(x: Array) -> Array:
        return -0.5 * jnp.sum(jnp.square(x - jnp.asarray(centres))) - x[0] * x[3]

    kernel = blocked_elliptical_slice(log_likelihood, blocks)

    def replica(key: Array) -> tuple[Array, Array]:
        key_start, key_steps = jax.random.split(key)
        state = start = kernel.init(jax.random.key(0), mean + factor @ jax.random.normal(key_start, (DIM,)))
        for key_step in jax.random.split(key_steps, 2):
            state, _ = kernel.step(key_step, state)
        standard = jax.scipy.linalg.solve_triangular(factor, state.position - mean, lower=True)
        return standard, jnp.all(state.position != start.position)

    keys = jax.random.split(key_for(f"blocks/{len(blocks)}"), N)
    standard, moved = map(np.asarray, jax.jit(jax.vmap(replica))(keys))
    uniforms = stats.norm.cdf(standard)
    assert_at_least(moved, 0.9, label="movement")
    assert_independent(uniforms, "posterior", detects_mean=0.05)
