"""Moments from weighted states: with errors over independent chains or runs, and from sums that grow with the chains.

The sums are kept in units of their own largest weight, so that they neither overflow nor vanish.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray

# Quantities are worked on in groups of about this size, so that deviations of all draws are never there together.
_GROUP_BYTES = 1 << 26


class WeightedMoments(NamedTuple):
    """Self-normalised weighted means and standard deviations [quantity], with errors that are NaN for a single unit."""

    mean: FloatArray
    mean_error: FloatArray
    sd: FloatArray
    sd_error: FloatArray

    def scores(self, truth: ArrayLike) -> FloatArray:
        """Means minus known values, in standard errors [quantity]."""
        return np.asarray((self.mean - np.asarray(truth, float)) / self.mean_error, float)


def weighted_estimates(log_weights: ArrayLike, values: ArrayLike) -> WeightedMoments:
    """Self-normalised estimates with errors by the delta method over independent units.

    Args:
        log_weights: of each state [unit, draw], in nats; units are chains, batches of chains, or runs of one draw.
        values: [unit, draw, quantity].

    Raises:
        ValueError: shapes do not agree.

    >>> found = weighted_estimates(np.zeros((2, 3)), np.arange(6.0).reshape(2, 3, 1))
    >>> found.mean.tolist(), found.mean_error.round(6).tolist()
    ([2.5], [1.5])
    """
    logs, states = np.asarray(log_weights, float), np.asarray(values, float)
    if logs.ndim != 2 or states.ndim != 3 or states.shape[:2] != logs.shape:
        got = f"{logs.shape} and {states.shape}"
        raise ValueError(f"log_weights must be [unit, draw] and values [unit, draw, quantity], got {got}")
    fractions = np.exp(logs - logsumexp(logs))
    # Sums over draws have the same last bits in groups of two quantities or more, which halves of five or more are.
    n_groups = max(1, -(-states.shape[2] // max(4, _GROUP_BYTES // max(1, logs.nbytes))))
    groups = [_moments_of_group(fractions, part) for part in np.array_split(states, n_groups, axis=2)]
    return WeightedMoments(*map(np.concatenate, zip(*groups, strict=True)))


def _moments_of_group(fractions: FloatArray, states: FloatArray) -> WeightedMoments:
    """Moments of a few quantities [unit, draw, quantity] with normalised weights [unit, draw]."""
    mean = np.einsum("ud,ude->e", fractions, states)
    deviation = states - mean
    squares = deviation**2
    variance = np.einsum("ud,ude->e", fractions, squares)
    sd = np.sqrt(variance)
    n_units = len(fractions)
    if n_units < 2:
        unknown = np.full(mean.shape, np.nan)
        return WeightedMoments(mean, unknown, sd, unknown)
    # Influence of each unit on the ratio of sums; its mean over units is zero.
    on_mean = n_units * np.einsum("ud,ude->ue", fractions, deviation)
    on_variance = n_units * np.einsum("ud,ude->ue", fractions, squares - variance)
    mean_error = on_mean.std(axis=0, ddof=1) / np.sqrt(n_units)
    variance_error = on_variance.std(axis=0, ddof=1) / np.sqrt(n_units)
    with np.errstate(divide="ignore", invalid="ignore"):
        return WeightedMoments(mean, mean_error, sd, variance_error / (2.0 * sd))


def in_batches(values: ArrayLike, n_batches: int) -> FloatArray:
    """Cuts chains [chain, draw, ...] into batches of equal length [chain * n_batches, draw, ...].

    Batches that are long next to the autocorrelation time count as units of their own. Draws left over are the first.
    """
    array = np.asarray(values, float)
    n_chains, n_draws = array.shape[:2]
    length = n_draws // n_batches
    if length < 1:
        raise ValueError(f"{n_draws} draws cannot be cut into {n_batches} batches")
    return array[:, n_draws - n_batches * length :].reshape(n_chains * n_batches, length, *array.shape[2:])


class WeightedSums(NamedTuple):
    """Sums over states x of weights w, w x and w x x^T, in units of exp(log_scale)."""

    # Log of the unit of the sums, in nats [...]; minus infinity where all weights are zero.
    log_scale: FloatArray
    total: FloatArray  # [...]
    first: FloatArray  # [..., dim]
    second: FloatArray  # [..., dim, dim]

    @property
    def log_total(self) -> FloatArray:
        """Log of the sum of weights [...], in nats."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.total) + self.log_scale, dtype=np.float64)

    @property
    def mean(self) -> FloatArray:
        """Weighted mean [..., dim]; NaN where all weights are zero."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.first / self.total[..., None], dtype=np.float64)

    @property
    def covariance(self) -> FloatArray:
        """Weighted covariance [..., dim, dim], divisor the sum of weights."""
        mean = self.mean
        with np.errstate(invalid="ignore"):
            second = self.second / self.total[..., None, None]
        return np.asarray(second - mean[..., :, None] * mean[..., None, :], dtype=np.float64)


class RunningSums(NamedTuple):
    """Sums of each group of chains [group, ...] after so many draws of each chain."""

    n_draws: int
    sums: WeightedSums


def pooled(sums: WeightedSums, membership: FloatArray) -> WeightedSums:
    """Adds the sums of the chains of each group, to [group, ...]; membership [group, chain] is 1.0 or 0.0."""
    logs = np.where(membership > 0.0, sums.log_scale, -np.inf)
    top = np.max(logs, axis=1)
    with np.errstate(invalid="ignore"):
        factors = np.where(np.isneginf(logs), 0.0, np.exp(logs - top[:, None]))
    dim = sums.first.shape[-1]
    second = factors @ sums.second.reshape(len(sums.second), dim * dim)
    return WeightedSums(top, factors @ sums.total, factors @ sums.first, second.reshape(-1, dim, dim))


def running(
    blocks: WeightedSums, first_draws: WeightedSums, membership: FloatArray, block_size: int
) -> Iterator[RunningSums]:
    """Yields sums over a growing number of draws: after 1, block_size + 1, 2 block_size + 1, ... draws and after all.

    `blocks` are sums over each block of draws, `first_draws` those of the first draw of each block alone, both
    [chain, block, ...]. The membership of chains in groups [group, chain] is 1.0 or 0.0.
    """
    n_blocks = blocks.total.shape[1]
    so_far: WeightedSums | None = None
    for block in range(n_blocks):
        start = pooled(WeightedSums(*(a[:, block] for a in first_draws)), membership)
        yield RunningSums(block * block_size + 1, start if so_far is None else _sum(so_far, start))
        whole = pooled(WeightedSums(*(a[:, block] for a in blocks)), membership)
        so_far = whole if so_far is None else _sum(so_far, whole)
    if so_far is not None and block_size > 1:
        yield RunningSums(n_blocks * block_size, so_far)


def _sum(one: WeightedSums, other: WeightedSums) -> WeightedSums:
    top = np.maximum(one.log_scale, other.log_scale)
    with np.errstate(invalid="ignore"):
        a, b = (np.where(np.isneginf(x.log_scale), 0.0, np.exp(x.log_scale - top)) for x in (one, other))
    return WeightedSums(
        top,
        a * one.total + b * other.total,
        a[:, None] * one.first + b[:, None] * other.first,
        a[:, None, None] * one.second + b[:, None, None] * other.second,
    )
