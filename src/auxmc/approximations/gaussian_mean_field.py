"""Mean-field approximation of a Gaussian: independent blocks of coordinates, updated in turn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray


class MeanFieldGaussian(NamedTuple):
    """A Gaussian whose blocks are independent, and how it was found."""

    mean: FloatArray  # [dim]
    covariance: FloatArray  # [dim, dim], zero between blocks
    # Evidence lower bound at the start and after the update of each block, in nats [update + 1]; the log normaliser of
    # the target counts as 0, so that it is minus the divergence KL(q, p).
    bounds: FloatArray
    means: FloatArray  # mean after each sweep, the start first [sweep + 1, dim]


def gaussian_mean_field(
    mean: ArrayLike,
    covariance: ArrayLike,
    start: ArrayLike,
    n_sweeps: int,
    blocks: Sequence[Sequence[int]] | None = None,
) -> MeanFieldGaussian:
    """Coordinate ascent on the evidence lower bound of N(mean, covariance).

    With precision P, the best factor of a block b given the others has the precision P_bb, whatever the others are, and
    the mean that a Gaussian has given the others at their means.

    Args:
        mean: of the target [dim].
        covariance: of the target [dim, dim], positive definite.
        start: first mean of the approximation [dim]; its first covariance is the identity.
        n_sweeps: passes over all blocks, at least 1.
        blocks: indices of the coordinates of each block; by default every coordinate is one.

    Raises:
        ValueError: n_sweeps is not positive, blocks are not a partition of the coordinates, or the covariance is not
            positive definite.

    Source: PhD thesis, Eq. C.16, and coordinate-ascent variational inference (Blei, Kucukelbir and McAuliffe 2017).
    Must hold: the bound never falls; the limit has the target's mean, and in two dimensions with unit variances and
    correlation r the variances 1 - r^2.

    >>> fit = gaussian_mean_field([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], [1.0, 1.0], 60)
    >>> fit.covariance.round(6).tolist()
    [[0.36, 0.0], [0.0, 0.36]]
    """
    m, v, q = (np.asarray(values, float) for values in (mean, covariance, start))
    parts = [np.array([i]) for i in range(len(m))] if blocks is None else [np.array(b) for b in blocks]
    if n_sweeps < 1:
        raise ValueError(f"n_sweeps must be at least 1, got {n_sweeps}")
    if sorted(np.concatenate(parts).tolist()) != list(range(len(m))):
        raise ValueError(f"blocks must hold each of the {len(m)} coordinates once, got {blocks}")
    if np.min(np.linalg.eigvalsh(v)) <= 0.0:
        raise ValueError("covariance must be positive definite")
    precision = np.linalg.inv(v)
    q, s = q.copy(), np.eye(len(m))
    bounds, means = [-gaussian_divergence(q, s, m, v)], [q.copy()]
    for _ in range(n_sweeps):
        for part in parts:
            rest = np.setdiff1d(np.arange(len(m)), part)
            own = np.ix_(part, part)
            pull = precision[np.ix_(part, rest)] @ (q[rest] - m[rest])
            s[own] = np.linalg.inv(precision[own])
            q[part] = m[part] - s[own] @ pull
            bounds.append(-gaussian_divergence(q, s, m, v))
        means.append(q.copy())
    return MeanFieldGaussian(q, s, np.array(bounds), np.array(means))


def gaussian_divergence(
    mean: ArrayLike, covariance: ArrayLike, other_mean: ArrayLike, other_covariance: ArrayLike
) -> float:
    """KL(q, p) of q = N(mean, covariance) from p = N(other_mean, other_covariance), in nats."""
    m, v, n, w = (np.asarray(values, float) for values in (mean, covariance, other_mean, other_covariance))
    log_det = float(np.linalg.slogdet(w)[1] - np.linalg.slogdet(v)[1])
    distance = float((m - n) @ np.linalg.solve(w, m - n))
    return 0.5 * (float(np.trace(np.linalg.solve(w, v))) + distance - len(m) + log_det)
