"""Slice sampling along lines whose direction is drawn from a distribution of choice."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import FROM_POSITION, Kernel, pytree_positions
from auxmc.kernels.slices.core import MAX_PASSES
from auxmc.kernels.slices.linear_slice import LineNoise, linear_slice
from auxmc.numerics.linalg import check_lower_triangular
from auxmc.numerics.random import standard_normal

Direction = Callable[[Array], Array]
"""Maps a key to the direction of a line [dim]."""


def along_axes(dim: int) -> Direction:
    """Unit vector of a coordinate drawn uniformly."""
    return lambda key: jax.nn.one_hot(jax.random.randint(key, (), 0, dim), dim, dtype=jnp.float64)


def along_unit_vectors(dim: int) -> Direction:
    """Uniform on the unit sphere."""

    def draw(key: Array) -> Array:
        normal = standard_normal(key, (dim,))
        return normal / jnp.linalg.norm(normal)

    return draw


def along_gaussian(cholesky: Array, *, unit_length: bool = False) -> Direction:
    """Gaussian with the covariance whose lower Cholesky factor is given, or its direction alone.

    Raises:
        ValueError: the factor is not a square matrix.
    """
    check_lower_triangular("cholesky", cholesky)

    def draw(key: Array) -> Array:
        vector = cholesky @ standard_normal(key, (len(cholesky),))
        return vector / jnp.linalg.norm(vector) if unit_length else vector

    return draw


@pytree_positions("log_density")
def directed_slice(
    log_density: Callable[[Any], Array],
    direction: Direction,
    width: Array | float,
    dim: int = FROM_POSITION,
    max_step_outs: int = 0,
    *,
    max_passes: int | Array = MAX_PASSES,
) -> Kernel:
    """Slice sampling along a line through the current point.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        direction: distribution of the line's direction, which may not depend on the point: `along_axes`,
            `along_unit_vectors`, `along_gaussian`.
        width: initial bracket width in units of the direction (positive scalar, may be traced).
        dim: length of the position; taken from it unless given.
        max_step_outs: total number of steps of its own length by which the bracket may grow.
        max_passes: number of proposals after which an update keeps its state and counts a collapse; may be traced.

    Returns:
        Kernel on SliceState with SliceInfo; `n_evaluations` includes those of the step-outs. The direction of a
        step is in its noise.

    Raises:
        ValueError: dim is not positive, or max_step_outs is negative.

    Source: PhD thesis, Algorithm 4 and figure 2.11.
    Must hold: the target is invariant, the kernel reversible, the current point inside the bracket.

    >>> kernel = directed_slice(lambda x: -0.5 * jnp.sum(x**2), along_axes(3), 2.0, dim=3)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.ones(3)))
    >>> int(jnp.sum(state.position != 1.0))
    1
    """
    isotropic = linear_slice(log_density, width, dim, max_step_outs, max_passes=max_passes)

    def draw(key: Array) -> LineNoise:
        noise: LineNoise = isotropic.draw(jax.random.fold_in(key, 0))
        return noise._replace(direction=direction(jax.random.fold_in(key, 1)))

    return isotropic._replace(draw=draw)
