"""Confidence sequences for the mean of bounded values, by betting against candidate means."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

# Largest stake, as a fraction of the capital that the largest value could win or lose: no bet can ruin the gambler.
_LARGEST_STAKE = 0.5
_HALVINGS = 50


class ConfidenceInterval(NamedTuple):
    """Intervals [..., time] of means that have not been refuted, in units of the values."""

    lower: FloatArray
    upper: FloatArray


def confidence_sequence(
    values: ArrayLike, low: float, high: float, alpha: float, *, times: Sequence[int] | None = None
) -> ConfidenceInterval:
    """Intervals for the mean of values in [low, high], exactly valid for every number of values and at all times.

    A gambler bets that values lie above a candidate mean m, another that they lie below. Under the mean m both
    capitals are martingales that start at 1 and stay positive, so that either ever reaches 2 / alpha with probability
    at most alpha / 2 (Ville's inequality). The interval holds the means against which neither has.

    Args:
        values: independent, or at least of one conditional mean given those before [..., draw]; leading axes are
            separate sequences. Stakes are chosen for this number of values.
        low: proved smallest value.
        high: proved largest value, above low.
        alpha: probability that the interval ever misses the mean, in (0, 1).
        times: numbers of values after which an interval is wanted; by default after all.

    Returns:
        Interval at each time [..., time], one time by default. After all values its half-width nears
        sd sqrt(2 log(2 / alpha) / n), the leading term of the empirical Bernstein bound, without that bound's terms in
        (high - low) / n.

    Raises:
        ValueError: an argument is outside its range, or there is no value.

    Must hold: under the mean, P(the interval misses it at any time) <= alpha, whatever the distribution on [low,
    high]; intervals are inside [low, high]; shifting and scaling values and ends shifts and scales them.

    Source: Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting, with stakes that do
    not depend on the candidate, so that the capital is monotone in it.

    >>> found = confidence_sequence(np.tile([0.0, 1.0], 500), 0.0, 1.0, 0.05)
    >>> found.lower.round(2), found.upper.round(2)
    (array([0.46]), array([0.54]))
    """
    scaled = _scaled(values, low, high)
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be above 0 and below 1, got {alpha!r}")
    n = scaled.shape[-1]
    chosen = [n] if times is None else list(times)
    if not chosen or min(chosen) < 1 or max(chosen) > n:
        raise ValueError(f"times must be numbers of values from 1 to {n}, got {chosen}")
    log_stake = math.log(2.0 / alpha)
    stakes = np.minimum(np.sqrt(2.0 * log_stake / (n * _variances_before(scaled))), _LARGEST_STAKE)
    ends = [
        [_edge(scaled[..., :n], stakes[..., :n], log_stake, side) for n in chosen] for side in (1.0, -1.0)
    ]
    lower, upper = (low + (high - low) * np.stack(side, axis=-1) for side in ends)
    return ConfidenceInterval(lower, upper)


def _scaled(values: ArrayLike, low: float, high: float) -> FloatArray:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low must be below high and both finite, got {low!r} and {high!r}")
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise ValueError(f"values must be [..., draw] with a draw at least, got {list(array.shape)}")
    outside = ~((array >= low) & (array <= high))
    if outside.any():
        got = f"got {int(outside.sum())} that are not, such as {array[outside][0]}"
        raise ValueError(f"values must be in [{low:g}, {high:g}], {got}")
    return (array - low) / (high - low)


def _variances_before(scaled: FloatArray) -> FloatArray:
    """Estimate of the variance from the values before each [..., draw], begun at the largest possible variance."""
    counts = np.arange(2.0, scaled.shape[-1] + 2.0)
    means = (0.5 + np.cumsum(scaled, axis=-1)) / counts
    after = (0.25 + np.cumsum(np.square(scaled - means), axis=-1)) / counts
    return np.concatenate([np.full((*scaled.shape[:-1], 1), 0.25), after[..., :-1]], axis=-1)


def _edge(scaled: FloatArray, stakes: FloatArray, log_stake: float, side: float) -> FloatArray:
    """Last candidate, from 0 up (side 1) or from 1 down (side -1), that is refuted; the end where none is."""
    outer = np.full(scaled.shape[:-1], 0.0 if side > 0.0 else 1.0)
    inner = 1.0 - outer
    for _ in range(_HALVINGS):
        middle = 0.5 * (outer + inner)
        gains = np.log1p(side * stakes * (scaled - middle[..., None]))
        out = gains.sum(axis=-1) >= log_stake
        outer, inner = np.where(out, middle, outer), np.where(out, inner, middle)
    return outer
