"""Errors of means: from the autocorrelations within a stationary chain, and from the spread between independent ones.

The spread between chains sees what no chain sees of itself. An error from within rests on the lags that its estimator
looks at: about 60 for the autoregression of `diagnostics.coda`, however long the chain. Where something is held for
thousands of iterations and moves the target little, like the auxiliary variables of pseudo-marginal methods, that error
is too small and nothing in the chain says so.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, stdtrit

from auxmc.numerics.array_types import FloatArray


def variance_of_mean(variance: float, correlations: ArrayLike, n: int) -> float:
    """Variance V / n (1 + 2 sum_(k < n) (1 - k / n) rho_k) of the mean of n successive values of a stationary chain.

    Args:
        variance: V, of one value.
        correlations: rho_1, rho_2, ..., at least n - 1 of them [lag].
        n: number of values.

    Raises:
        ValueError: n is not positive, or there are too few correlations.

    Source: PhD thesis, Eqs. 2.4 and 2.23; the outer sum of 2.4 runs to N, not to N - 1 as printed (FN-MC-03).

    >>> round(variance_of_mean(1.0, [0.5, 0.25], 3), 7)
    0.6111111
    """
    rho = np.asarray(correlations, np.float64)
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n}")
    if rho.ndim != 1 or rho.size < n - 1:
        raise ValueError(f"correlations must be at least n - 1 = {n - 1} on one axis, got shape {rho.shape}")
    return float(variance / n * (1.0 + 2.0 * np.sum((1.0 - np.arange(1, n) / n) * rho[: n - 1])))


def autocorrelations(series: ArrayLike) -> FloatArray:
    """Autocorrelations at lags 0, 1, ... of a series, with the usual divisor n at every lag.

    Args:
        series: [..., draw], finite, at least 2 draws.

    Returns:
        [..., lag], as many lags as draws; NaN for a constant series, which tells nothing.

    Raises:
        ValueError: fewer than 2 draws, or a value is not finite.

    Must hold: 1 at lag 0; the sums of products of the definition.
    """
    values = np.asarray(series, np.float64)
    if values.ndim == 0 or values.shape[-1] < 2 or not np.all(np.isfinite(values)):
        raise ValueError(f"series must be finite, with at least 2 draws last, got shape {values.shape}")
    n = values.shape[-1]
    constant = np.ptp(values, axis=-1) == 0.0
    centred = values - values.mean(axis=-1, keepdims=True)
    # Padded with zeros, so that the circle of the Fourier transform does not close.
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, length, axis=-1)
    products = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, length, axis=-1)[..., :n]
    first = np.where(constant, 1.0, products[..., 0])
    return np.where(constant[..., None], np.nan, products / first[..., None])


def autocorrelation_time(series: ArrayLike) -> FloatArray:
    """Integrated autocorrelation time 1 + 2 sum rho_k, with Geyer's initial monotone sequence of pairs.

    Sums of neighbouring autocorrelations of a reversible chain are positive and fall with the lag: the sum stops at the
    first pair that is not positive, and each pair counts at most as much as the one before. The series counts as it is:
    the number of draws over this time is the effective sample size for the mean of its values, unlike that of
    `auxmc.diagnostics.convergence.bulk_ess`, which is of their ranks.

    Args:
        series: stationary chains [..., draw], finite, at least 4 draws.

    Returns:
        Times [...] in draws, NaN for a constant chain; below 1 for an antithetic one.

    Raises:
        ValueError: fewer than 4 draws, or a value is not finite.

    Must hold: (1 + rho) / (1 - rho) for a long autoregression of order one; unchanged by a linear map of the values.

    Source: Geyer 1992, section 3.3; PhD thesis, Eqs. 2.23 to 2.25.
    """
    values = np.asarray(series, np.float64)
    if values.ndim == 0 or values.shape[-1] < 4:
        raise ValueError(f"series must have at least 4 draws on its last axis, got shape {values.shape}")
    rho = autocorrelations(values)
    n_pairs = rho.shape[-1] // 2
    pairs = rho[..., : 2 * n_pairs].reshape(*rho.shape[:-1], n_pairs, 2).sum(axis=-1)
    going = np.cumprod(pairs > 0.0, axis=-1, dtype=np.int8).astype(bool)
    falling = np.minimum.accumulate(pairs, axis=-1)
    time = 2.0 * np.sum(np.where(going, falling, 0.0), axis=-1) - 1.0
    return np.where(np.isnan(rho[..., 0]), np.nan, time)


def few_replicates(n_replicates: float, n_looks: int = 1) -> float:
    """Factor that widens an error from few replicates, so that two of it hold what two of a normal distribution hold.

    It is a two-sigma quantile of Student's t over 2, for at least 2 replicates, which may be an effective number.
    With `n_looks` twice the error holds at all of so many times together (Bonferroni), whichever of them is the last.

    >>> [round(few_replicates(n), 2) for n in (2, 5, 100)]
    [6.98, 1.43, 1.01]
    """
    level = 1.0 - (1.0 - ndtr(2.0)) / n_looks
    return float(stdtrit(n_replicates - 1, level)) / 2.0


def replicated_evidence_error(
    replicate_sd: ArrayLike, n_replicates: int, expected_sd: ArrayLike = 0.0
) -> FloatArray:
    """Standard error of the log of the mean of replicates of an evidence, what they all fall short by included.

    Estimates that average weights fall short by about half the variance of their logarithm, and particles that are
    tuned on themselves by as much again: the whole variance is taken, or the standard deviation where that is less.
    Few replicates may agree by chance: the error is never below what the expected standard deviation gives.

    Args:
        replicate_sd: standard deviation of the replicates' log evidences [...], in nats.
        n_replicates: how many there are.
        expected_sd: what the resampling of the particles leads to expect of it [...], in nats; 0 where not known.

    Returns:
        Standard errors [...] in nats; NaN for a single replicate.

    >>> [round(float(replicated_evidence_error(sd, 8)), 3) for sd in (0.1, 0.5, 5.0)]
    [0.044, 0.33, 5.441]
    >>> [round(float(replicated_evidence_error(sd, 4, 0.3)), 3) for sd in (0.03, 0.3)]
    [0.175, 0.264]
    """
    sd, expected = np.asarray(replicate_sd, np.float64), np.asarray(expected_sd, np.float64)
    if n_replicates < 2:
        return np.full(sd.shape, np.nan)
    error = np.maximum(sd * few_replicates(n_replicates), expected) / math.sqrt(n_replicates)
    largest = np.maximum(sd, expected)
    return np.hypot(error, np.minimum(largest, largest**2))


def error_between_chains(values: ArrayLike) -> FloatArray:
    """Standard error of a mean over independent chains, widened for few by `few_replicates`.

    Args:
        values: an estimate from each chain [..., chain], at least one.

    Returns:
        Standard errors [...] in units of the values; NaN for a single chain, whose error cannot be known this way.

    >>> float(error_between_chains([1.0]))
    nan
    """
    array = np.asarray(values, dtype=np.float64)
    n_chains = array.shape[-1]
    if n_chains < 2:
        return np.full(array.shape[:-1], np.nan)
    return np.asarray(np.std(array, axis=-1, ddof=1) / math.sqrt(n_chains) * few_replicates(n_chains))
