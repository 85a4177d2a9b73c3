"""Annealed importance sampling in the limit of perfect transitions: moments of its weights, and its ladders."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from auxmc.numerics.array_types import FloatArray

__all__ = ["AnnealedMoments", "annealed_moments", "limit_ladder"]


_MAX_INTERVALS = 10_000


class AnnealedMoments(NamedTuple):
    """Moments of log weights, in nats.

    Attributes:
        forward_mean: of runs from base to target: a lower bound of the log normaliser.
        forward_variance: of these.
        reverse_mean: of runs from target to base: minus this is an upper bound of the log normaliser.
        reverse_variance: of these.
    """

    forward_mean: float
    forward_variance: float
    reverse_mean: float
    reverse_variance: float


def annealed_moments(ladder: ArrayLike, means: ArrayLike, variances: ArrayLike) -> AnnealedMoments:
    """Moments of the log weights of annealed importance sampling whose transitions draw from their targets.

    The log weight of a forward run is the sum of (b_{k+1} - b_k) g(x_k), x_k being an independent draw at b_k and g the
    log ratio of target and base; that of a reverse run has the opposite sign and x_{k+1} in the place of x_k.

    Args:
        ladder: inverse temperatures from 0 to 1, strictly increasing [K + 1].
        means: E[g(x)] at each of them [K + 1], in nats.
        variances: Var[g(x)] at each of them [K + 1].

    Raises:
        ValueError: the ladder does not rise from 0 to 1, or lengths differ.

    Must hold: forward_mean <= log normaliser <= -reverse_mean; the gap is the sum of (b_{k+1} - b_k) times the rise of
    the means; both are the left and right sum of thermodynamic integration.

    Source: PhD thesis, section 5.2 and Algorithm 13; MSc thesis, section 3.3.


    >>> annealed_moments([0.0, 0.5, 1.0], [-3.0, -1.0, 0.0], [4.0, 2.0, 1.0])
    AnnealedMoments(forward_mean=-2.0, forward_variance=1.5, reverse_mean=0.5, reverse_variance=0.75)
    """
    b, expected, spread = (np.asarray(values, np.float64) for values in (ladder, means, variances))
    if b.ndim != 1 or b.size < 2 or expected.shape != b.shape or spread.shape != b.shape:
        raise ValueError(
            "ladder, means and variances must be vectors of one length, at least 2, got shapes "
            f"{list(b.shape)}, {list(expected.shape)} and {list(spread.shape)}"
        )
    steps = np.diff(b)
    if b[0] != 0.0 or b[-1] != 1.0 or not np.all(steps > 0.0):
        raise ValueError(f"ladder must rise strictly from 0 to 1, got {b[0]:g} to {b[-1]:g}")
    return AnnealedMoments(
        float(steps @ expected[:-1]),
        float(np.square(steps) @ spread[:-1]),
        float(-steps @ expected[1:]),
        float(np.square(steps) @ spread[1:]),
    )


def limit_ladder(log_normaliser: Callable[[float], float], target_share: float) -> FloatArray:
    """Ladder whose steps each keep a fraction of the effective sample size, for infinitely many particles.

    The effective size of the weights of a step d at b is the fraction z(b + d)^2 / (z(b) z(b + 2 d)) of the particles;
    it falls with d, from 1. A step is the root of share = target, or all that is left where that keeps more.

    Args:
        log_normaliser: log z(b), the log of the integral of base times ratio^b, for b from 0 to below 2.
        target_share: share to keep, in (0, 1).

    Returns:
        Inverse temperatures 0, ..., 1, strictly increasing.

    Raises:
        ValueError: target_share is not between 0 and 1, or the ladder would need more than 10 000 steps.

    Must hold: every step but the last keeps the target to rounding, the last at least as much.

    Source: MSc thesis, Algorithm 6, its minimum read as a root.

    """
    if not 0.0 < target_share < 1.0:
        raise ValueError(f"target_share must be above 0 and below 1, got {target_share!r}")
    log_target = math.log(target_share)

    def log_excess(step: float, at: float) -> float:
        middle, end = log_normaliser(at + step), log_normaliser(at + 2.0 * step)
        return float(2.0 * middle - log_normaliser(at) - end - log_target)

    ladder = [0.0]
    while ladder[-1] < 1.0:
        at, left = ladder[-1], 1.0 - ladder[-1]
        if len(ladder) > _MAX_INTERVALS:
            raise ValueError(
                f"target_share {target_share!r} needs more than {_MAX_INTERVALS} steps: take less of it"
            )
        if log_excess(left, at) >= 0.0:
            ladder.append(1.0)
        else:
            ladder.append(at + float(brentq(log_excess, 0.0, left, args=(at,), xtol=1e-15, rtol=1e-14)))
    return np.array(ladder)
