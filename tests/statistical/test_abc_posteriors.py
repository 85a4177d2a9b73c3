"""Elliptical slices in blocks, and samplers of ABC posteriors, leave posteriors invariant that are known exactly.

The generator is x = u1 + u2 with standard normal inputs and x observed near 1: the posterior is a truncated normal
distribution for the ball and a normal one for the Gaussian kernel.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import ndtr, ndtri
from scipy import stats

from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.blocked_elliptical_slice import BlockedSliceInfo, blocked_elliptical_slice
from auxmc.kernels.slices.core import Candidate, SliceState
from auxmc.kernels.slices.elliptical_slice import draw_ellipse, shrink_ellipse
from auxmc.models.abc_estimator import abc_estimator
from auxmc.models.abc_kernels import log_abc_kernel
from tests.statistical.kernel_checks import check_invariance, follow, many_replicas
from tests.statistical.levels import (
    assert_at_least,
    assert_independent,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
)

OBSERVED = 1.0
TOLERANCE = 0.5
ROOT = np.sqrt(2.0)
LOW, HIGH = (float(ndtr((OBSERVED + side * TOLERANCE) / ROOT)) for side in (-1, 1))
# Gaussian kernel: s has prior precision 1 and observation precision 2/eps^2 about OBSERVED/sqrt 2.
PRECISION = 1.0 + 2.0 / TOLERANCE**2
CENTRE = OBSERVED * ROOT / (TOLERANCE**2 * PRECISION)


def log_kernel(name):
    return lambda first, second: log_abc_kernel(name)(first + second - OBSERVED, TOLERANCE)


def draw_exactly(name, key):
    key_sum, key_difference = jax.random.split(key)
    if name == "ball":
        total = ndtri(jax.random.uniform(key_sum, minval=LOW, maxval=HIGH))
    else:
        total = CENTRE + jax.random.normal(key_sum) / jnp.sqrt(PRECISION)
    difference = jax.random.normal(key_difference)
    return jnp.stack([total + difference, total - difference]) / ROOT


def transform(name, inputs):
    total, difference = (inputs[0] + inputs[1]) / ROOT, (inputs[0] - inputs[1]) / ROOT
    in_ball = (ndtr(total) - LOW) / (HIGH - LOW)
    place = in_ball if name == "ball" else ndtr((total - CENTRE) * jnp.sqrt(PRECISION))
    return jnp.stack([place, ndtr(difference)])


def run_replicas(name, kernel, make_state, inputs_of, stream):
    """Replicas that start from exact draws."""

    def replica(_, key):
        key_start, key_steps = jax.random.split(key)
        state = make_state(draw_exactly(name, key_start))
        transform_state = lambda state: transform(name, inputs_of(state))
        return follow(kernel, state, key_steps, transform_state, lambda end: make_state(inputs_of(end)))

    return many_replicas(replica)(0, stream)


def log_likelihood(inputs):
    return log_kernel("ball")(inputs[:1], inputs[1:])


def test_blocked_elliptical_slices_leave_the_ball_posterior_invariant():
    kernel = blocked_elliptical_slice(log_likelihood, [(1, 2), (0, 1)])
    runs = run_replicas(
        "ball",
        kernel,
        partial(kernel.init, jax.random.key(0)),
        lambda state: state.position,
        "abc/blocked ball",
    )
    check_invariance(runs, floor=0.5)


def test_split_update_leaves_the_gaussian_posterior_invariant():
    estimator = abc_estimator(log_kernel("gaussian"), lambda u: -0.5 * jnp.sum(jnp.square(u)), 1)
    kernel = pseudo_marginal_method("apm_mi_mh", estimator, 1.0, 1)

    def make_state(inputs):
        state = kernel.init(jax.random.key(0), inputs[:1])
        value = estimator.log_estimate(estimator.prepare(inputs[:1]), inputs[1:])
        return state._replace(auxiliary=inputs[1:], log_estimate=value)

    def inputs_of(state):
        return jnp.concatenate([state.position, state.auxiliary])

    check_invariance(run_replicas("gaussian", kernel, make_state, inputs_of, "abc/split gaussian"), floor=0.5)


@pytest.mark.slow
def test_blocks_that_do_not_see_each_others_new_value_are_found_out():
    """A kernel that updates both blocks from the same old point leaves the ball, and so must fail."""

    def draw(key):
        return tuple(
            draw_ellipse(jax.random.fold_in(key, i), lambda k: jax.random.normal(k, (1,))) for i in range(2)
        )

    def apply(noise, state):
        new = [
            shrink_ellipse(
                noise[i],
                Candidate(state.position[i : i + 1], state.log_density),
                lambda block, i=i: Candidate(block, log_likelihood(state.position.at[i].set(block[0]))),
                max_passes=30,
            )
            for i in range(2)
        ]
        position = jnp.concatenate([part.candidate.point for part in new])
        counts = jnp.zeros(2, jnp.int32)
        return SliceState(position, jnp.zeros(())), BlockedSliceInfo(counts, counts)

    kernel = Kernel(lambda _, position: SliceState(position, jnp.zeros(())), draw, apply)
    runs = run_replicas(
        "ball", kernel, partial(kernel.init, jax.random.key(0)), lambda state: state.position, "abc/broken"
    )
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_invariance(runs, floor=0.5)


# --- elliptical slices in blocks ----------------------------------------------------------------------

N = 60_000
DIM = 5
BLOCKS = [(2, 5), (0, 2)]
START = 0.5


def test_every_block_moves_and_each_turns_by_an_angle_of_its_own():
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


@pytest.mark.parametrize(
    "blocks", [pytest.param([(0, DIM)], marks=pytest.mark.slow), BLOCKS], ids=["one block", "two blocks"]
)
def test_a_gaussian_posterior_is_left_unchanged_in_one_block_or_several(blocks):
    coupling = np.zeros((DIM, DIM))
    coupling[0, 3] = coupling[3, 0] = 1.0
    centres = np.arange(1.0, DIM + 1.0)
    covariance = np.linalg.inv(2.0 * np.eye(DIM) + coupling)
    mean, factor = jnp.asarray(covariance @ centres), jnp.asarray(np.linalg.cholesky(covariance))

    def log_likelihood(x):
        return -0.5 * jnp.sum(jnp.square(x - jnp.asarray(centres))) - x[0] * x[3]

    kernel = blocked_elliptical_slice(log_likelihood, blocks)

    def replica(key):
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
