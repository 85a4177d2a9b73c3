"""Moments from weighted states of independent chains or runs, with standard errors."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray

__all__ = ["WeightedMoments", "in_batches", "weighted_estimates"]


class WeightedMoments(NamedTuple):
    """Weighted means and standard deviations, each [quantity].

    Attributes:
        mean: self-normalised estimate.
        mean_error: its standard error; NaN for a single unit.
        sd: standard deviation.
        sd_error: its standard error; NaN for a single unit.
    """

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
        raise ValueError(
            f"log_weights must be [unit, draw] and values [unit, draw, quantity], got {logs.shape} and {states.shape}"
        )
    shares = np.exp(logs - logsumexp(logs))
    mean = np.einsum("ud,ude->e", shares, states)
    deviation = states - mean
    variance = np.einsum("ud,ude->e", shares, deviation**2)
    sd = np.sqrt(variance)
    n_units = len(shares)
    if n_units < 2:
        unknown = np.full(mean.shape, np.nan)
        return WeightedMoments(mean, unknown, sd, unknown)
    # Influence of each unit on the ratio of sums; its mean over units is zero.
    on_mean = n_units * np.einsum("ud,ude->ue", shares, deviation)
    on_variance = n_units * np.einsum("ud,ude->ue", shares, deviation**2 - variance)
    mean_error = on_mean.std(axis=0, ddof=1) / np.sqrt(n_units)
    variance_error = on_variance.std(axis=0, ddof=1) / np.sqrt(n_units)
    with np.errstate(divide="ignore", invalid="ignore"):
        return WeightedMoments(mean, mean_error, sd, variance_error / (2.0 * sd))


def in_batches(values: ArrayLike, n_batches: int) -> FloatArray:
    """Cuts chains [chain, draw, ...] into batches of equal length [chain * n_batches, draw, ...].

    Batches that are long beside the autocorrelation time count as units of their own. Draws left over are the first.

    Raises:
        ValueError: there are fewer draws than batches.
    """
    array = np.asarray(values, float)
    n_chains, n_draws = array.shape[:2]
    length = n_draws // n_batches
    if length < 1:
        raise ValueError(f"{n_draws} draws cannot be cut into {n_batches} batches")
    return array[:, n_draws - n_batches * length :].reshape(n_chains * n_batches, length, *array.shape[2:])
