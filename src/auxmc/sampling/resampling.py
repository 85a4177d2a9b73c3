"""Resampling: particle numbers drawn in proportion to weights, by four schemes that differ in their spread.

In every scheme the expected number of times that a particle is drawn is n times its fraction of the weights, which is
all that unbiased estimates of an evidence need. Weights are given by their logs. Those that are not finite count as
absent; where all are, nothing can be drawn in proportion and all particles count alike (the evidence of such particles
is zero whatever is drawn).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

# Relative rounding of weights: without an allowance for it an expected count of 1 would be 0.99999 and left to chance.
_ROUNDING = 1e-10


class Resampled(NamedTuple):
    """Points drawn from weighted points [draw, ...], and which of these each is [draw], int32."""

    positions: Array
    indices: Array


def multinomial_indices(key: Array, log_weights: Array, n: int) -> Array:
    """Draws n particle numbers [n] (int32) independently of each other, from log weights [particle] in nats.

    Raises:
        ValueError: log_weights is not one axis of at least one particle, or n is not positive.

    Must hold, for every scheme: expected counts are n times the fractions of the weights; an absent particle is never
    drawn; adding a constant to the log weights changes nothing.

    Source: Gordon, Salmond and Smith 1993; MSc thesis, section 3.4.

    >>> multinomial_indices(jax.random.key(0), jnp.array([-jnp.inf, 0.0]), 3).tolist()
    [1, 1, 1]
    """
    return _invert(_fractions(log_weights, n), jax.random.uniform(key, (n,), dtype=jnp.float64))


def stratified_indices(key: Array, log_weights: Array, n: int) -> Array:
    """Draws one number from each n-th part of the weights, in rising order; arguments as for `multinomial_indices`.

    Must hold besides: a count differs from its expectation by less than 2.

    Source: Kitagawa 1996.
    """
    return _invert(_fractions(log_weights, n), _strata(jax.random.uniform(key, (n,), dtype=jnp.float64)))


def systematic_indices(key: Array, log_weights: Array, n: int) -> Array:
    """As `stratified_indices`, with one uniform number for all parts.

    Must hold besides: a count differs from its expectation by less than 1.

    Source: Kitagawa 1996.
    """
    uniform = jax.random.uniform(key, (1,), dtype=jnp.float64)
    return _invert(_fractions(log_weights, n), _strata(jnp.broadcast_to(uniform, (n,))))


def residual_indices(key: Array, log_weights: Array, n: int) -> Array:
    """Takes the whole part of each expected count for certain, in rising order, and draws what is left independently.

    Must hold besides, with expected counts to a relative 1e-10: no count is below the whole part of its expectation.

    Source: Liu and Chen 1998.
    """
    expected = n * _fractions(log_weights, n)
    certain = jnp.floor(expected * (1.0 + _ROUNDING))
    ends = jnp.cumsum(certain)
    slots = jnp.arange(n, dtype=jnp.float64)
    taken = jnp.minimum(jnp.searchsorted(ends, slots, side="right"), log_weights.shape[0] - 1)
    drawn = _invert(jnp.maximum(expected - certain, 0.0), jax.random.uniform(key, (n,), dtype=jnp.float64))
    return jnp.where(slots < ends[-1], taken.astype(jnp.int32), drawn)


SCHEMES: dict[str, Callable[[Array, Array, int], Array]] = {
    "multinomial": multinomial_indices,
    "stratified": stratified_indices,
    "systematic": systematic_indices,
    "residual": residual_indices,
}
"""All schemes by name, each a function of (key, log_weights, n)."""


def sampling_importance_resampling(
    key: Array,
    positions: Array,
    log_weights: Array,
    n: int,
    scheme: Callable[[Array, Array, int], Array] = multinomial_indices,
) -> Resampled:
    """Turns weighted points into n points of equal weight, drawn with replacement by one of `SCHEMES`.

    Positions [particle, ...] are draws from the proposal, log weights [particle] the log of the target's density less
    the proposal's there, in nats; n is static. ValueError if lengths differ, there is no point, or n is not positive.

    Must hold: given the weighted points, the mean of a resampled point is their self-normalised mean; its distribution
    tends to the target as their number grows, and is biased for any finite number.

    Source: Rubin 1988; lecture slides on Monte Carlo methods.
    """
    if positions.shape[:1] != log_weights.shape:
        raise ValueError(f"positions must be [{log_weights.size}, ...] as log_weights, got {positions.shape}")
    indices = scheme(key, log_weights, n)
    return Resampled(positions[indices], indices)


def _fractions(log_weights: Array, n: int) -> Array:
    """Weights that add up to 1 [particle]; both arguments of a scheme are checked here."""
    if log_weights.ndim != 1 or log_weights.shape[0] == 0:
        raise ValueError(f"log_weights must be [particle], got shape {log_weights.shape}")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be a positive integer, got {n!r}")
    logs = log_weights.astype(jnp.float64)
    present = jnp.isfinite(logs)
    logs = jnp.where(jnp.any(present), jnp.where(present, logs, -jnp.inf), 0.0)
    return jax.nn.softmax(logs)


def _strata(uniforms: Array) -> Array:
    n = uniforms.shape[0]
    heights = (jnp.arange(n, dtype=jnp.float64) + uniforms) / n
    # Rounding can carry the last height to 1, above which there is no particle.
    return jnp.minimum(heights, 1.0 - 2.0**-53)


def _invert(masses: Array, heights: Array) -> Array:
    """For each height in [0, 1) the first particle up to which the fraction of the masses exceeds it."""
    cumulated = jnp.cumsum(masses)
    total = cumulated[-1]
    # Divided by its last entry, the sum ends at 1 exactly: no height is beyond the last particle that has a mass.
    ends = cumulated / jnp.where(total > 0.0, total, 1.0)
    found = jnp.searchsorted(ends, heights, side="right")
    return jnp.minimum(found, masses.shape[0] - 1).astype(jnp.int32)
