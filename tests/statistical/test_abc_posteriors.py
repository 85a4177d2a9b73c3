"""Samplers of ABC posteriors leave them invariant: blocked elliptical slices on a ball, the split update on a Gaussian.

The generator is x = u1 + u2 with standard normal inputs and x observed near 1, so that both posteriors can be drawn
from exactly: with s = (u1 + u2)/sqrt 2 and d = (u1 - u2)/sqrt 2, d is standard normal and independent of s, which is
a truncated normal for the ball and normal for the Gaussian kernel.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr, ndtri

from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.blocked_elliptical_slice import BlockedSliceInfo, blocked_elliptical_slice
from auxmc.kernels.slices.core import Candidate, SliceState
from auxmc.kernels.slices.elliptical_slice import draw_ellipse, shrink_ellipse
from auxmc.models.abc_estimator import abc_estimator
from auxmc.models.abc_kernels import log_abc_kernel
from tests.statistical.kernel_checks import Runs, check_invariance, follow, many_replicas
from tests.statistical.levels import expecting_failure

OBSERVED = 1.0
TOLERANCE = 0.5
ROOT = np.sqrt(2.0)
LOW, HIGH = (float(ndtr((OBSERVED + side * TOLERANCE) / ROOT)) for side in (-1, 1))
# Gaussian kernel: s has prior precision 1 and observation precision 2/eps^2 about OBSERVED/sqrt 2.
PRECISION = 1.0 + 2.0 / TOLERANCE**2
CENTRE = OBSERVED * ROOT / (TOLERANCE**2 * PRECISION)


def log_kernel(name: str) -> Callable[[Array, Array], Array]:
    return lambda first, second: log_abc_kernel(name)(first + second - OBSERVED, TOLERANCE)


def draw_exactly(name: str, key: Array) -> Array:
    key_sum, key_difference = jax.random.split(key)
    if name == "ball":
        total = ndtri(jax.random.uniform(key_sum, minval=LOW, maxval=HIGH))
    else:
        total = CENTRE + jax.random.normal(key_sum) / jnp.sqrt(PRECISION)
    difference = jax.random.normal(key_difference)
    return jnp.stack([total + difference, total - difference]) / ROOT


def transform(name: str, inputs: Array) -> Array:
    total, difference = (inputs[0] + inputs[1]) / ROOT, (inputs[0] - inputs[1]) / ROOT
    in_ball = (ndtr(total) - LOW) / (HIGH - LOW)
    place = in_ball if name == "ball" else ndtr((total - CENTRE) * jnp.sqrt(PRECISION))
    return jnp.stack([place, ndtr(difference)])


def run_replicas(
    name: str,
    kernel: Kernel,
    make_state: Callable[[Array], Any],
    inputs_of: Callable[[Any], Array],
    stream: str,
) -> Runs:
    """Replicas that start from exact draws."""

    def replica(_: Array, key: Array) -> Any:
        key_start, key_steps = jax.random.split(key)
        state = make_state(draw_exactly(name, key_start))
        transform_state = lambda state: transform(name, inputs_of(state))
        return follow(kernel, state, key_steps, transform_state, lambda end: make_state(inputs_of(end)))

    return many_replicas(replica)(0, stream)


def log_likelihood(inputs: Array) -> Array:
    return log_kernel("ball")(inputs[:1], inputs[1:])


def test_blocked_elliptical_slices_leave_the_ball_posterior_invariant() -> None:
    kernel = blocked_elliptical_slice(log_likelihood, [(1, 2), (0, 1)])
    runs = run_replicas(
        "ball",
        kernel,
        partial(kernel.init, jax.random.key(0)),
        lambda state: state.position,
        "abc/blocked ball",
    )
    check_invariance(runs, floor=0.5)


def test_split_update_leaves_the_gaussian_posterior_invariant() -> None:
    estimator = abc_estimator(log_kernel("gaussian"), lambda u: -0.5 * jnp.sum(jnp.square(u)), 1)
    kernel = pseudo_marginal_method("apm_mi_mh", estimator, 1.0, 1)

    def make_state(inputs: Array) -> Any:
        state = kernel.init(jax.random.key(0), inputs[:1])
        value = estimator.log_estimate(estimator.prepare(inputs[:1]), inputs[1:])
        return state._replace(auxiliary=inputs[1:], log_estimate=value)

    def inputs_of(state: Any) -> Array:
        return jnp.concatenate([state.position, state.auxiliary])

    check_invariance(run_replicas("gaussian", kernel, make_state, inputs_of, "abc/split gaussian"), floor=0.5)


@pytest.mark.slow
def test_blocks_that_do_not_see_each_others_new_value_are_found_out() -> None:
    """A kernel that updates both blocks from the same old point leaves the ball, and so must fail."""

    def draw(key: Array) -> Any:
        return tuple(
            draw_ellipse(jax.random.fold_in(key, i), lambda k: jax.random.normal(k, (1,))) for i in range(2)
        )

    def apply(noise: Any, state: SliceState) -> tuple[SliceState, BlockedSliceInfo]:
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
