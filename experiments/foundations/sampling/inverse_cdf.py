"""Distributions on the line that can be drawn from by inverting their distribution function."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtr, ndtri

__all__ = [
    "Distribution",
    "draw_by_inversion",
    "exponential",
    "generalised_logistic",
    "logistic",
    "normal",
]

_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SMALLEST_TAIL = 2.0**-53


class Distribution(NamedTuple):
    """A distribution on the line in closed form; every function works elementwise on arrays.

    Attributes:
        log_density: in nats; minus infinity outside the support.
        distribution_function: F, probability of values up to x.
        quantile: inverse of F for arguments in (0, 1).

    Must hold: F(F^-1(u)) is u to 1e-12 for u between 1e-12 and 1 - 1e-12, and the slope of F is the density. Tested in
    tests/unit/sampling/test_inverse_cdf.py for each distribution of this module.
    """

    log_density: Callable[[Array], Array]
    distribution_function: Callable[[Array], Array]
    quantile: Callable[[Array], Array]


def draw_by_inversion(key: Array, distribution: Distribution, shape: tuple[int, ...]) -> Array:
    """Draws F^-1(U), U being uniform on the multiples of 2^-52 plus 2^-53, so that neither 0 nor 1 occurs.

    The largest of the draws is limited: no normal number beyond 8.2 occurs.

    Args:
        key: typed key, scalar.
        distribution: what to draw from.
        shape: shape of the draw.

    Returns:
        Array of the given shape, float64.

    Must hold: finite; the distribution of the draws is that of `distribution`.

    Source: PhD thesis, section 2.1.3.

    >>> draw_by_inversion(jax.random.key(0), exponential(2.0), (3,)).shape
    (3,)
    """
    multiples = (jax.random.bits(key, shape, jnp.uint64) >> jnp.uint64(12)).astype(jnp.float64)
    return distribution.quantile(multiples * 2.0**-52 + _SMALLEST_TAIL)


def normal(mean: float, sd: float) -> Distribution:
    """Normal distribution; the sd is a standard deviation, positive."""
    _require_positive("sd", sd)

    def log_density(x: Array) -> Array:
        return -0.5 * jnp.square((x - mean) / sd) - math.log(sd) - _LOG_ROOT_TWO_PI

    return Distribution(log_density, lambda x: ndtr((x - mean) / sd), lambda u: mean + sd * ndtri(u))


def exponential(rate: float) -> Distribution:
    """Exponential distribution on the positive numbers, with mean 1 / rate."""
    _require_positive("rate", rate)
    return Distribution(
        lambda x: jnp.where(x >= 0.0, math.log(rate) - rate * x, -jnp.inf),
        lambda x: -jnp.expm1(-rate * jnp.maximum(x, 0.0)),
        lambda u: -jnp.log1p(-u) / rate,
    )


def logistic(mean: float, scale: float) -> Distribution:
    """Logistic distribution, with standard deviation pi scale / sqrt 3."""
    _require_positive("scale", scale)

    def log_density(x: Array) -> Array:
        z = (x - mean) / scale
        return jax.nn.log_sigmoid(z) + jax.nn.log_sigmoid(-z) - math.log(scale)

    return Distribution(
        log_density,
        lambda x: jax.nn.sigmoid((x - mean) / scale),
        lambda u: mean + scale * (jnp.log(u) - jnp.log1p(-u)),
    )


def generalised_logistic(exponent: float) -> Distribution:
    """Distribution with density a e^(-a x) (1 + e^-x)^(-1 - a), where a is the exponent, and F = 1 - (1 + e^x)^-a.

    The logistic distribution for a = 1; smaller a make the right tail heavier.

    Source: PhD thesis, figures 2.12 and C.1, with a = 0.4.

    >>> round(float(generalised_logistic(0.4).quantile(jnp.asarray(0.5))), 6)
    1.53834
    """
    _require_positive("exponent", exponent)

    def log_density(x: Array) -> Array:
        return math.log(exponent) - exponent * x - (1.0 + exponent) * jax.nn.softplus(-x)

    def quantile(u: Array) -> Array:
        # log(e^t - 1) for t > 0, from the side on which it keeps its digits.
        t = -jnp.log1p(-u) / exponent
        return jnp.where(t > 1.0, t + jnp.log1p(-jnp.exp(-t)), jnp.log(jnp.expm1(jnp.minimum(t, 1.0))))

    return Distribution(log_density, lambda x: -jnp.expm1(-exponent * jax.nn.softplus(x)), quantile)


def _require_positive(name: str, value: float) -> None:
    if not (value > 0.0 and math.isfinite(value)):
        raise ValueError(f"{name} must be positive and finite, got {value}")
