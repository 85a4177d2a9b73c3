"""Special functions that stay accurate far into the tails."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

_TAIL_START = -20.0  # below it the series is exact to rounding, above it erfc is far from underflow
# Coefficients (-1)^k (2k - 1)!! of the Mills ratio series in 1/z^2, from k = 0.
_TAIL_COEFFICIENTS = np.cumprod([1.0, *(1.0 - 2.0 * k for k in range(1, 10))]).tolist()
_SQRT_HALF = math.sqrt(0.5)
_SQRT_TWO_PI = math.sqrt(2.0 * math.pi)


class ProbitTerms(NamedTuple):
    """Log of the normal distribution function and its first two derivatives, at z."""

    log_cdf: Array  # log Phi(z), in nats
    slope: Array  # d log Phi / dz = phi(z) / Phi(z), positive
    curvature: Array  # -d^2 log Phi / dz^2 = slope (slope + z), in [0, 1]


def log_normal_cdf(z: Array) -> Array:
    """Log of the standard normal distribution function, with a relative error below 1e-12 up to z = 37.

    Above, it underflows to zero. One complementary error function and one logarithm serve all three ranges, which makes
    it several times faster than `jax.scipy.special.log_ndtr`.
    """
    in_tail = z < _TAIL_START
    tail = jnp.minimum(z, _TAIL_START)
    small = 0.5 * lax.erfc(_SQRT_HALF * jnp.abs(z))
    positive = z > 0.0
    large = 1.0 - small
    probability = jnp.where(positive, large, small)
    argument = jnp.where(in_tail, _tail_series(1.0 / (tail * tail)) / (-_SQRT_TWO_PI * tail), probability)
    log_argument = jnp.log(argument)
    # log(1 - small) from the rounded difference, corrected by the ratio of small to what was subtracted.
    subtracted = 1.0 - large
    nonzero = subtracted > 0.0
    corrected = jnp.where(nonzero, log_argument * (small / jnp.where(nonzero, subtracted, 1.0)), -small)
    return jnp.where(positive, corrected, jnp.where(in_tail, log_argument - 0.5 * tail * tail, log_argument))


def probit_terms(z: Array) -> ProbitTerms:
    """Log Phi(z) with slope and curvature (Rasmussen and Williams, Eq. 3.16), without cancellation in the lower tail.

    The curvature tends to 1 there, as the small difference of two numbers of size z^2: it has a series of its own.
    """
    log_cdf = log_normal_cdf(z)
    in_tail = z < _TAIL_START
    tail = jnp.minimum(z, _TAIL_START)
    inverse_square = 1.0 / (tail * tail)
    series = _tail_series(inverse_square)
    body = jnp.maximum(z, _TAIL_START)
    density = jnp.exp(-0.5 * body * body) / _SQRT_TWO_PI
    slope = jnp.where(in_tail, -tail / series, density / (0.5 * lax.erfc(-_SQRT_HALF * body)))
    tail_curvature = _tail_deficit(inverse_square) / (series * series)
    curvature = jnp.where(in_tail, tail_curvature, jnp.maximum(slope * (slope + z), 0.0))
    return ProbitTerms(log_cdf, slope, curvature)


def _horner(coefficients: list[float], argument: Array) -> Array:
    """Polynomial with the given coefficients, lowest power first."""
    total = jnp.full_like(argument, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * argument + coefficient
    return total


def _tail_series(inverse_square: Array) -> Array:
    """S = -z Phi(z) / phi(z) for z far below zero, as 1 - 1/z^2 + 3/z^4 - ..."""
    return _horner(_TAIL_COEFFICIENTS, inverse_square)


def _tail_deficit(inverse_square: Array) -> Array:
    """z^2 (1 - S), as 1 - 3/z^2 + 15/z^4 - ..."""
    return _horner([-c for c in _TAIL_COEFFICIENTS[1:]], inverse_square)
