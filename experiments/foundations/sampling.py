"""Direct sampling: transforms, inverse distribution functions; quadrature."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtr, ndtri
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

_TURN = 2.0 * math.pi


def transformed_log_density(
    log_density: Callable[[Array], Array], inverse: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """Log density in nats of x = g(u) [dim], from that of u and the smooth inverse of g (PhD thesis, section 1.1.4)."""
    jacobian = jax.jacfwd(inverse)

    def transformed(x: Array) -> Array:
        return log_density(inverse(x)) + jnp.linalg.slogdet(jacobian(x))[1]

    return transformed


def box_muller(uniforms: Array) -> Array:
    """Two independent standard normal numbers [..., 2] of two uniform ones [..., 2].

    Here u1 is in (0, 1] and u2 in [0, 1). See PhD thesis, Eqs. 2.6 and 2.7; the chapter draft prints u1 in
    the cosine (FN-DS-10).

    >>> [round(float(x), 6) for x in box_muller(jnp.array([0.0455, 0.0455]))]
    [2.385078, 0.701062]
    """
    radius = jnp.sqrt(-2.0 * jnp.log(uniforms[..., :1]))
    angle = _TURN * uniforms[..., 1]
    return radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


def inverse_box_muller(normals: Array) -> Array:
    """The uniform numbers [..., 2] that `box_muller` maps to normal ones [..., 2].

    The source is PhD thesis, section 2.1.3, corrected: in arctan(x1 / x2) the sides are exchanged and
    opposite quadrants alike (FN-DS-02).

    >>> [round(float(u), 12) for u in inverse_box_muller(box_muller(jnp.array([0.3, 0.8])))]
    [0.3, 0.8]
    """
    first = jnp.exp(-0.5 * jnp.sum(jnp.square(normals), axis=-1))
    turns = jnp.mod(jnp.arctan2(normals[..., 1], normals[..., 0]) / _TURN, 1.0)
    # A tiny negative angle is rounded to a whole turn.
    return jnp.stack([first, jnp.where(turns < 1.0, turns, 0.0)], axis=-1)


class Distribution(NamedTuple):
    """A distribution on the line in closed form; every function works elementwise on arrays."""

    log_density: Callable[[Array], Array]  # in nats; minus infinity outside the support
    distribution_function: Callable[[Array], Array]  # F, probability of values up to x
    quantile: Callable[[Array], Array]  # inverse of F for arguments in (0, 1)


def draw_by_inversion(key: Array, distribution: Distribution, shape: tuple[int, ...]) -> Array:
    """Draws F^-1(U), U an odd multiple of 2^-53: no normal number beyond 8.2 occurs (PhD thesis, section 2.1.3)."""
    multiples = (jax.random.bits(key, shape, jnp.uint64) >> jnp.uint64(12)).astype(jnp.float64)
    return distribution.quantile(multiples * 2.0**-52 + 2.0**-53)


def normal(mean: float, sd: float) -> Distribution:
    """Normal distribution; the sd is a standard deviation, positive."""

    def log_density(x: Array) -> Array:
        return -0.5 * jnp.square((x - mean) / sd) - math.log(sd) - 0.5 * math.log(2.0 * math.pi)

    return Distribution(log_density, lambda x: ndtr((x - mean) / sd), lambda u: mean + sd * ndtri(u))


def generalised_logistic(exponent: float) -> Distribution:
    """Density a e^(-a x) (1 + e^-x)^(-1 - a), a being the exponent (PhD thesis, figures 2.12 and C.1).

    >>> round(float(generalised_logistic(0.4).quantile(jnp.asarray(0.5))), 6)
    1.53834
    """

    def log_density(x: Array) -> Array:
        return math.log(exponent) - exponent * x - (1.0 + exponent) * jax.nn.softplus(-x)

    def quantile(u: Array) -> Array:
        # log(e^t - 1) for t > 0, from the side on which it keeps its digits.
        t = -jnp.log1p(-u) / exponent
        return jnp.where(t > 1.0, t + jnp.log1p(-jnp.exp(-t)), jnp.log(jnp.expm1(jnp.minimum(t, 1.0))))

    return Distribution(log_density, lambda x: -jnp.expm1(-exponent * jax.nn.softplus(x)), quantile)


_CHUNK = 2**18  # Grid points evaluated at once, which bounds the memory.


def product_simpson(function: Callable[[FloatArray], ArrayLike], n_panels: int, dim: int) -> float:
    """Integral over the unit cube of a function of points [point, dim] by Simpson's rule (PhD thesis, section 2.1.1).

    >>> round(product_simpson(lambda x: x[:, 0] * x[:, 1] ** 3, 2, 2), 12)
    0.125
    """
    # Panels share the points at their ends.
    weights = np.full(2 * n_panels + 1, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    weights /= 6.0 * n_panels
    points = np.linspace(0.0, 1.0, weights.size)
    shape = (points.size,) * dim
    total, n_points = 0.0, points.size**dim
    for start in range(0, n_points, _CHUNK):
        places = np.stack(np.unravel_index(np.arange(start, min(start + _CHUNK, n_points)), shape), axis=1)
        values = np.asarray(function(points[places]), np.float64)
        total += float(np.sum(values * np.prod(weights[places], axis=1)))
    return total
