"""Moves of particles whose target is a posterior of rows: distributions that linear models give exactly."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from scipy import stats

from auxmc.kernels.streams.contract import Chunk, PastRows, StreamSettings, Target
from auxmc.kernels.streams.curvature_moves import curvature_moves
from auxmc.kernels.streams.stochastic_gradient_moves import (
    no_anchors,
    renewed_anchors,
    stochastic_gradient_moves,
)
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import tempered_posterior
from tests.statistical.levels import (
    assert_at_least,
    assert_independent,
    assert_standard_mean,
    expecting_failure,
    key_for,
)

MODEL = linear_regression(5)
DATA = rows("linear", 300)


def check_standard_normal(points: FloatArray, label: str) -> None:
    """Coordinates [draw, coordinate] are independent standard normal numbers."""
    assert_independent(stats.norm.cdf(points), label, detects=0.04, detects_mean=0.07, n_pair=1)


def standardised(points: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), (points - mean).T).T)


def test_moves_by_curvature_leave_the_tempered_posterior_invariant() -> None:
    chunk = Chunk(jnp.asarray(DATA[30:50]), jnp.int32(20))
    past = PastRows(jnp.asarray(DATA[:40]), jnp.int32(30))
    mean, covariance = tempered_posterior(DATA[:50], np.r_[np.ones(30), np.full(20, 0.4)])
    # The step size is set by scores at the particles: with many of them it is all but a constant.
    normals = np.asarray(jax.random.normal(key_for("rows/curvature/start"), (20_000, 6)))
    draws = jnp.asarray(mean + normals @ np.linalg.cholesky(covariance).T)
    move = jax.jit(curvature_moves(MODEL, 2, 4))
    target = Target(chunk, jnp.float64(0.4), past, jnp.int64(30))
    moved = np.asarray(move(key_for("rows/curvature"), draws, target))
    assert_at_least(np.any(moved != np.asarray(draws), axis=1), 0.9, detects=0.05, label="movement")
    check_standard_normal(standardised(moved, mean, covariance), "moved")


# --- stochastic gradients ------------------------------------------------------------------------------

N_PAST, N_CHUNK, BATCH = 250, 50, 20


def row_gradients(points: FloatArray, data: FloatArray) -> FloatArray:
    """Gradients of the log likelihood of each row at each point [point, row, coordinate]."""
    design = np.column_stack([data[:, :5], np.ones(len(data))])
    return np.asarray((data[:, 5] - points @ design.T)[:, :, None] * design)


def test_control_variates_are_the_full_gradient_at_the_anchor_and_unbiased_elsewhere() -> None:
    """First-order steps from a fresh velocity: a gradient whose mean and variance are sums over rows, and noise."""
    settings = StreamSettings(n_particles=4, n_moves=1, batch_size=BATCH, friction=1.0, control_variates=True)
    data = jnp.asarray(DATA)
    past = PastRows(data[:N_PAST], jnp.int32(N_PAST))
    points = jax.random.normal(jax.random.key(1), (4, 6), dtype=jnp.float64)
    anchors = renewed_anchors(
        MODEL, no_anchors(points), points, Chunk(data[:N_PAST], jnp.int32(N_PAST)), past, jnp.int64(0)
    )
    full = jax.vmap(lambda p: MODEL.weighted_gradient(p, data[:N_PAST], jnp.ones(N_PAST)))(points)
    np.testing.assert_allclose(anchors.gradients, full, rtol=1e-12)

    plain = Target(
        Chunk(data[N_PAST:], jnp.int32(N_CHUNK)), jnp.ones((), jnp.float64), past, jnp.int64(N_PAST)
    )
    controlled = plain._replace(anchors=anchors)
    eta = settings.learning_rate / (N_PAST + N_CHUNK)

    def drifts(target: Target, particles: Array, name: str) -> FloatArray:
        with_anchors = target.anchors is not None
        move: Any = stochastic_gradient_moves(MODEL, settings._replace(control_variates=with_anchors))
        keys = jax.random.split(key_for(f"rows/drifts/{name}"), 20_000)
        run = jax.jit(jax.vmap(lambda key: move(key, particles, target) - particles))
        return np.asarray(run(keys)).reshape(len(keys), -1)

    def expected(particles: Array) -> FloatArray:
        at = np.asarray(particles)
        return np.asarray(eta * (row_gradients(at, DATA).sum(axis=1) - at)).ravel()

    def sd_with(gradients: FloatArray) -> FloatArray:
        """Of a drift whose batch is chosen from these gradients of past rows [point, row, coordinate]."""
        variance = (eta * N_PAST) ** 2 / BATCH * gradients.var(axis=1) + 2.0 * eta
        return np.asarray(np.sqrt(variance)).ravel()

    # At the anchor the choice of rows makes no difference: what is left is the injected noise alone.
    at_anchor = (drifts(controlled, points, "anchor") - expected(points)) / math.sqrt(2.0 * eta)
    check_standard_normal(at_anchor, "at the anchor")
    without = (drifts(plain, points, "plain") - expected(points)) / math.sqrt(2.0 * eta)
    with expecting_failure(), pytest.raises(AssertionError, match="without anchors"):
        check_standard_normal(without, "without anchors")
    nearby = points + 0.01
    at, there = (row_gradients(np.asarray(p), DATA[:N_PAST]) for p in (points, nearby))
    for target, gradients, label in (
        (plain, there, "nearby, plain"),
        (controlled, there - at, "nearby, controlled"),
    ):
        found = (drifts(target, nearby, label) - expected(nearby)) / sd_with(gradients)
        assert_standard_mean(found, detects=0.07, label=label)
