"""Importance sampling: averages over draws from another density, weighted by the ratio of the two.

The proposal must be positive wherever the target is; where its tails are lighter, weights have no variance and nothing
in a small sample shows it but the index of their tail.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.numerics.annealing import log_effective_size
from auxmc.numerics.array_types import FloatArray


class WeightedDraws(NamedTuple):
    """Draws from a proposal [draw, ...], and log target minus log proposal density there [draw], in nats."""

    positions: Array
    log_weights: Array


def importance_draws(
    key: Array,
    log_target: Callable[[Array], Array],
    draw: Callable[[Array], Array],
    log_proposal: Callable[[Array], Array],
    n: int,
) -> WeightedDraws:
    """Draws n times from a proposal and weighs the draws; n is static.

    `draw` maps a key to a position [...] from the proposal. Both log densities map a position to a scalar in nats; that
    of the proposal is normalised, the target need not be. ValueError if n is not positive.

    Must hold: the mean weight is the target's normaliser on average.
    Source: PhD thesis, section 2.1.5.
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n}")
    positions = jax.vmap(draw)(jax.random.split(key, n))
    return WeightedDraws(positions, jax.vmap(log_target)(positions) - jax.vmap(log_proposal)(positions))


def log_mean_weight(log_weights: Array) -> Array:
    """Log of the mean weight [...] of weights given by their logs [..., draw], in nats.

    The mean itself is an unbiased estimate of the target's normaliser; its log is too low on average.

    Source: PhD thesis, section 2.1.5.
    """
    return jax.nn.logsumexp(log_weights, axis=-1) - math.log(log_weights.shape[-1])


def self_normalised_mean(log_weights: Array, values: Array) -> Array:
    """Weighted mean [...] of values [..., draw] by log weights of that shape, up to any constant: sum w f / sum w.

    NaN where all weights are zero. Consistent, with a bias in proportion to 1 / draws.

    Source: PhD thesis, Eq. 2.15 with the factor 1 / N in the numerator.
    """
    return jnp.sum(jax.nn.softmax(log_weights, axis=-1) * values, axis=-1)


def effective_size(log_weights: Array) -> Array:
    """(sum w)^2 / sum w^2 [...] of weights given by their logs [..., draw], in draws.

    Over the number of draws it is 1 / (1 + Var(w / mean w)); the slides leave out that number.

    Must hold: between 1 and the number of draws, which it is where weights are equal; 0 where all are zero; constants
    added to the log weights change nothing.

    Source: MSc thesis, Eq. 3.41; computed by `numerics.annealing.log_effective_size`.

    >>> float(effective_size(jnp.zeros(4)))
    4.0
    """
    rows = log_weights.reshape(-1, log_weights.shape[-1])
    return jnp.exp(jax.vmap(log_effective_size)(rows)).reshape(log_weights.shape[:-1])


def pareto_index(log_weights: ArrayLike) -> FloatArray:
    """Index k of the Pareto distribution fitted to the largest weights: moments of order below 1 / k exist.

    Where k [...] is above 0.7 averages with these weights converge too slowly to be of use. k is minus infinity where
    all of the largest weights are equal; where they take a few values only it says nothing. Log weights [..., draw] are
    in nats; ValueError if there are fewer than 25 draws, or one is not finite.

    Must hold: weights with a Pareto tail of index k give k.

    Source: Vehtari, Simpson, Gelman, Yao and Gabry 2024, whose prior of k is that of arviz_stats.
    """
    logs = np.asarray(log_weights, np.float64)
    if logs.ndim == 0 or logs.shape[-1] < 25:
        raise ValueError(f"log_weights must be [..., draw] with at least 25, got shape {logs.shape}")
    if not np.all(np.isfinite(logs)):
        raise ValueError("log_weights must be finite")
    n = logs.shape[-1]
    n_tail = int(min(0.2 * n, 3.0 * math.sqrt(n)))
    largest = np.sort(logs - logs.max(axis=-1, keepdims=True), axis=-1)[..., -n_tail - 1 :]
    found = [_pareto_shape(one) for one in largest.reshape(-1, n_tail + 1)]
    return np.asarray(found, np.float64).reshape(logs.shape[:-1])


def _pareto_shape(logs: FloatArray) -> float:
    """Shape of the generalised Pareto distribution of values above the first one; their logs are in order [value]."""
    if logs[1] == logs[-1]:
        return -math.inf
    x, n = np.exp(logs[1:]) - np.exp(logs[0]), len(logs) - 1
    m = 30 + int(n**0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = 1.0 - np.sqrt(m / (np.arange(1.0, m + 1.0) - 0.5))
        b /= 3.0 * x[int(n / 4 + 0.5) - 1]
        b += 1.0 / x[-1]
        k = np.mean(np.log1p(-b[:, None] * x), axis=1)
        log_weights = n * (np.log(-b / k) - k - 1.0)
        weights = np.exp(log_weights - logsumexp(log_weights))
        kept = weights >= 10.0 * np.finfo(float).eps
        weights, b = weights[kept], b[kept]
        mean = np.sum(b * (weights / weights.sum()))
        return float((n * np.mean(np.log1p(-mean * x)) + 5.0) / (n + 10.0))
