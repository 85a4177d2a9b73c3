"""Elliptical slice sampling: slices along a random ellipse, for targets with a Gaussian factor."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, pytree_positions
from auxmc.kernels.slices.core import MAX_PASSES, Candidate, Shrunk, shrink_bracket, slice_kernel
from auxmc.numerics.linalg import check_lower_triangular


class EllipseNoise(NamedTuple):
    """Random numbers of an update: a draw from the Gaussian factor, that of the slice height, and the first angle.

    The bracket is cut at that angle, in radians; `key` is that of the angles after it.
    """

    direction: Array
    log_uniform: Array
    angle: Array
    key: Array


def draw_ellipse(key: Array, draw_direction: Callable[[Array], Array]) -> EllipseNoise:
    """Draws the random numbers of one elliptical slice update; `draw_direction` maps a key to a draw of v."""
    key_direction, key_height, key_angle, key_loop = jax.random.split(key, 4)
    return EllipseNoise(
        direction=draw_direction(key_direction),
        log_uniform=-jax.random.exponential(key_height),
        angle=jax.random.uniform(key_angle, maxval=2.0 * jnp.pi),
        key=key_loop,
    )


def shrink_ellipse(
    noise: EllipseNoise,
    current: Candidate,
    evaluate: Callable[[Array], Candidate],
    max_passes: int | Array = MAX_PASSES,
) -> Shrunk:
    """Moves to a point of the slice on the ellipse through the current point and `noise.direction`.

    The point, of any shape, at angle theta is u cos(theta) + v sin(theta); all elements of u turn by the same angle,
    the offset of the result. The bracket starts as [theta - 2 pi, theta], theta being the first proposal, so that its
    cut is uniform.

    Source: PhD thesis, Algorithm 5, with the sign of Eq. 2.50 corrected.
    """
    return shrink_bracket(
        noise.key,
        lambda angle: evaluate(current.point * jnp.cos(angle) + noise.direction * jnp.sin(angle)),
        current,
        log_height=current.log_density + noise.log_uniform,
        offset=noise.angle,
        lower=noise.angle - 2.0 * jnp.pi,
        upper=noise.angle,
        max_passes=max_passes,
    )


@pytree_positions("log_likelihood")
def elliptical_slice(
    log_likelihood: Callable[[Any], Array],
    prior_cholesky: Array | None = None,
    *,
    dim: int | None = None,
    max_passes: int = MAX_PASSES,
) -> Kernel:
    """Slice sampling along an ellipse for targets prior x likelihood with a centred Gaussian prior.

    Args:
        log_likelihood: maps position [dim] to a log likelihood, in nats.
        prior_cholesky: lower Cholesky factor of the prior covariance [dim, dim]; None for the identity.
        dim: length of the position; needed only if prior_cholesky is None.
        max_passes: number of proposals after which an update keeps its state and counts a collapse.

    Returns:
        Kernel on SliceState, whose `log_density` is the log likelihood, with SliceInfo.

    Raises:
        ValueError: prior_cholesky is not square and lower triangular, or neither it nor dim is given.

    Source: PhD thesis, Algorithm 5 and Eq. 2.50 with its sign corrected.

    >>> kernel = elliptical_slice(lambda x: -0.5 * jnp.sum((x - 1.0) ** 2), jnp.eye(2))
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(2)))
    >>> state.position.shape
    (2,)
    """
    if prior_cholesky is not None:
        check_lower_triangular("prior_cholesky", prior_cholesky)
        dim = len(prior_cholesky)
    elif dim is None:
        raise ValueError(
            "expected prior_cholesky [dim, dim] or dim, got neither: give dim for an identity prior"
        )
    shape = (dim,)

    def draw_direction(key: Array) -> Array:
        normal = jax.random.normal(key, shape)
        return normal if prior_cholesky is None else prior_cholesky @ normal

    def shrink(noise: EllipseNoise, current: Candidate) -> Shrunk:
        return shrink_ellipse(noise, current, lambda u: Candidate(u, log_likelihood(u)), max_passes)

    return slice_kernel(log_likelihood, lambda key: draw_ellipse(key, draw_direction), shrink)
