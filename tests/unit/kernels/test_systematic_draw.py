"""Systematic resampling: with one uniform number for all, counts are expected numbers rounded up or down."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.contract import Chunk, PastRows, StreamSettings
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.sampling.resampling import systematic_indices

N = 12


@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0, 300.0])
def test_counts_are_the_expected_numbers_rounded_up_or_down(scale: float) -> None:
    """Independent numbers would be further away for one particle in many of the 200 draws."""
    log_weights = jnp.asarray(scale * np.random.default_rng(3).normal(size=N) - 700.0)
    expected = N * np.exp(np.asarray(log_weights) - float(jax.nn.logsumexp(log_weights)))
    draws = np.asarray(
        jax.jit(jax.vmap(lambda key: systematic_indices(key, log_weights, N)))(
            jax.random.split(jax.random.key(1), 200)
        )
    )
    counts = np.stack([np.bincount(draw, minlength=N) for draw in draws])
    assert (np.abs(counts - expected) < 1.0 + 1e-9).all()
    assert (np.diff(draws, axis=1) >= 0).all()
    if scale == 0.5:
        assert len(np.unique(counts, axis=0)) > 5, "the one uniform number is drawn again each time"


def test_particles_without_weight_are_not_drawn() -> None:
    log_weights = jnp.array([-jnp.inf, 0.0, -jnp.inf, 1.0])
    draws = jax.vmap(lambda key: systematic_indices(key, log_weights, 4))(
        jax.random.split(jax.random.key(2), 100)
    )
    assert set(np.unique(np.asarray(draws))) == {1, 3}


def test_resampled_particles_fraction_the_mean_of_the_weights() -> None:
    """Without moves, so that nothing forgets which particles were drawn."""
    settings = StreamSettings(n_particles=8, target_size=1.0, resampling="always")
    stream = stream_evidence(linear_regression(1), settings, lambda key, particles, target: particles)
    rows = jnp.asarray(np.random.default_rng(5).normal(size=(6, 2)))
    state, log_evidence = stream.init(jax.random.key(3), jnp.float64), 0.0
    for begin in (0, 3):
        before = np.asarray(state.particles)
        chunk, past = Chunk(rows[begin : begin + 3], jnp.int32(3)), PastRows(rows, jnp.int32(begin))
        state, record = stream.absorb(jax.random.key(begin), state, chunk, past)
        design = np.column_stack([np.asarray(chunk.rows)[:, 0], np.ones(3)])
        residuals = np.asarray(chunk.rows)[:, 1] - before @ design.T
        likelihoods = np.exp(-0.5 * np.sum(residuals**2, axis=1)) / (2.0 * np.pi) ** 1.5
        log_evidence += np.log(likelihoods.mean())
        assert float(record.log_evidence) == pytest.approx(log_evidence, rel=1e-10)
        np.testing.assert_allclose(state.log_weights, log_evidence, rtol=1e-10)
        # Copies of a particle stand side by side and share their part of the weights.
        places, copies = np.unique(before, axis=0, return_inverse=True)
        expected = 8.0 * np.bincount(copies.ravel(), likelihoods) / likelihoods.sum()
        counts = (np.asarray(state.particles)[:, None] == places).all(axis=2).sum(axis=0)
        assert counts.sum() == 8
        assert (np.abs(counts - expected) < 1.0).all()
