"""Slice sampling on the unit hypercube along a line reflected at its faces."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions
from auxmc.kernels.slices.core import MAX_PASSES, Candidate, Shrunk, slice_kernel
from auxmc.kernels.slices.linear_slice import LineNoise, draw_line, shrink_line


def reflect(point: Array) -> Array:
    """Folds each coordinate into [0, 1] by reflection at 0 and 1, for any shape.

    >>> [float(a) for a in reflect(jnp.array([-0.25, 0.5, 1.25, 2.5]))]
    [0.25, 0.5, 0.75, 0.5]
    """
    # The wave is even; taking the modulus of the absolute value keeps the result in [0, 2) for every sign.
    remainder = jnp.mod(jnp.abs(point), 2.0)
    return jnp.where(remainder < 1.0, remainder, 2.0 - remainder)


@pytree_positions("log_density")
def reflective_slice(
    log_density: Callable[[Any], Array],
    dim: int = FROM_POSITION,
    width: Array | float = 1.0,
    *,
    max_passes: int = MAX_PASSES,
) -> Kernel:
    """Slice sampling of a density on the unit hypercube, along a line that bounces off its faces.

    The direction is standard normal and not normalised, so the bracket is `width` times its length long.

    Args:
        log_density: maps position [dim] in the unit hypercube to a log density with respect to the uniform
            distribution, in nats.
        dim: length of the position; taken from it unless given.
        width: initial bracket width in units of the direction (positive scalar, may be traced).
        max_passes: number of proposals after which an update keeps its state and counts a collapse.

    Returns:
        Kernel on SliceState with SliceInfo.

    Raises:
        ValueError: dim is not positive.

    Source: PhD thesis, section 3.5 (reflective slice update of uniform auxiliary variables).
    """

    def evaluate(point: Array) -> Candidate:
        folded = reflect(point)
        return Candidate(folded, log_density(folded))

    def shrink(noise: LineNoise, current: Candidate) -> Shrunk:
        return shrink_line(noise, width, current, evaluate, max_passes=max_passes)

    return slice_kernel(log_density, lambda key: draw_line(key, dim, unit_length=False), shrink)
