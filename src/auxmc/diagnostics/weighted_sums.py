"""Running weighted sums of many chains, merged without overflow: what estimates over a growing sample need."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from auxmc.numerics.array_types import FloatArray

__all__ = ["RunningSums", "WeightedSums", "pooled", "running"]


class WeightedSums(NamedTuple):
    """Sums over states x of weights w, w x and w x x^T, in units of exp(log_scale).

    Attributes:
        log_scale: log of the unit of the sums, in nats [...]; minus infinity where all weights are zero.
        total: [...].
        first: [..., dim].
        second: [..., dim, dim].
    """

    log_scale: FloatArray
    total: FloatArray
    first: FloatArray
    second: FloatArray

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
    """Sums at one point of a run.

    Attributes:
        n_draws: draws of each chain so far.
        sums: of each group of chains [group, ...].
    """

    n_draws: int
    sums: WeightedSums


def pooled(sums: WeightedSums, membership: FloatArray) -> WeightedSums:
    """Adds the sums of the chains of each group.

    Args:
        sums: [chain, ...].
        membership: 1.0 where a chain belongs to a group, else 0.0 [group, chain].

    Returns:
        Sums [group, ...].
    """
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
    """Sums over a growing number of draws: after the first draw of each block, and at the end.

    Args:
        blocks: sums over each block of draws [chain, block, ...].
        first_draws: of the first draw of each block alone [chain, block, ...].
        membership: of chains to groups [group, chain], as in `pooled`.
        block_size: draws in a block.

    Yields:
        Sums after 1, block_size + 1, 2 block_size + 1, ... draws and after all.
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
        a, b = (
            np.where(np.isneginf(part.log_scale), 0.0, np.exp(part.log_scale - top)) for part in (one, other)
        )
    return WeightedSums(
        top,
        a * one.total + b * other.total,
        a[:, None] * one.first + b[:, None] * other.first,
        a[:, None, None] * one.second + b[:, None, None] * other.second,
    )
