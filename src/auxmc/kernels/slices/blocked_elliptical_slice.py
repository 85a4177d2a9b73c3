"""Elliptical slice sampling of one block of inputs after another, for standard normal inputs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import Kernel, pytree_positions
from auxmc.kernels.slices.core import MAX_PASSES, Candidate, SliceState
from auxmc.kernels.slices.elliptical_slice import EllipseNoise, draw_ellipse, shrink_ellipse
from auxmc.numerics.random import standard_normal


class BlockedSliceInfo(NamedTuple):
    """Calls of the log likelihood for each block, and 1 for each that found no new point, else 0 [block] (int32)."""

    n_evaluations: Array
    n_collapsed: Array


@pytree_positions("log_likelihood")
def blocked_elliptical_slice(
    log_likelihood: Callable[[Any], Array], blocks: Sequence[tuple[int, int]], *, max_passes: int = MAX_PASSES
) -> Kernel:
    """Updates each block by elliptical slice sampling given the others, in the order of the blocks.

    The target is exp(log_likelihood) times the standard normal density of the inputs. A likelihood of only 0 and 1,
    such as that of a uniform ABC kernel, needs an initial point at which it is 1.

    Args:
        log_likelihood: maps inputs [dim] to a log likelihood in nats; NaN counts as off the slice.
        blocks: start and end of each block, the end not included; together they hold every input once.
        max_passes: number of proposals after which an update keeps its block and counts a collapse.

    Returns:
        Kernel on SliceState, whose `log_density` is the log likelihood, with BlockedSliceInfo.

    Raises:
        ValueError: the blocks overlap, leave an input out, or are empty.

    Source: PhD thesis, Algorithm 5 and section 4.10.2, where the noise of the simulator comes before its parameters.

    >>> kernel = blocked_elliptical_slice(lambda u: -0.5 * jnp.sum((u - 1.0) ** 2), [(1, 3), (0, 1)])
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(3)))
    >>> state.position.shape, info.n_evaluations.shape
    ((3,), (2,))
    """
    reached = 0
    for start, end in sorted(blocks):
        if start != reached or end <= start:
            raise ValueError(
                f"blocks must hold every input exactly once, each with start < end, got {list(blocks)}: "
                f"expected a block that starts at {reached}"
            )
        reached = end
    if reached == 0:
        raise ValueError("blocks must name at least one block of inputs, got none")

    def draw(key: Array) -> tuple[EllipseNoise, ...]:
        return tuple(
            draw_ellipse(jax.random.fold_in(key, i), partial(standard_normal, shape=(end - start,)))
            for i, (start, end) in enumerate(blocks)
        )

    def apply(noise: tuple[EllipseNoise, ...], state: SliceState) -> tuple[SliceState, BlockedSliceInfo]:
        infos = []
        for (start, end), block_noise in zip(blocks, noise, strict=True):

            def evaluate(block: Array, others: Array = state.position, start: int = start) -> Candidate:
                return Candidate(block, log_likelihood(lax.dynamic_update_slice(others, block, (start,))))

            current = Candidate(state.position[start:end], state.log_density)
            shrunk = shrink_ellipse(block_noise, current, evaluate, max_passes)
            position = state.position.at[start:end].set(shrunk.candidate.point)
            state = SliceState(position, shrunk.candidate.log_density)
            infos.append(BlockedSliceInfo(shrunk.info.n_evaluations, shrunk.info.n_collapsed))
        return state, BlockedSliceInfo(*map(jnp.stack, zip(*infos, strict=True)))

    return Kernel(lambda position, key=None: SliceState(position, log_likelihood(position)), draw, apply)
