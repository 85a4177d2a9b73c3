"""Autocorrelations of a stationary chain: the time that they add up to, the variance of a mean that follows."""

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

__all__ = ["autocorrelation_time", "autocorrelations", "variance_of_mean"]


def variance_of_mean(variance: float, correlations: ArrayLike, n: int) -> float:
    """Variance of the mean of n successive values of a stationary chain.

    V / n (1 + 2 sum_(k < n) (1 - k / n) rho_k).

    Args:
        variance: V, of one value.
        correlations: rho_1, rho_2, ..., at least n - 1 of them [lag].
        n: number of values.

    Raises:
        ValueError: n is not positive, or there are too few correlations.

    Must hold: the variance found from the whole covariance matrix.

    Source: PhD thesis, Eqs. 2.4 and 2.23; the outer sum of 2.4 runs to N, not to N - 1 as printed (FN-MC-03).

    >>> round(variance_of_mean(1.0, [0.5, 0.25], 3), 7)
    0.6111111
    """
    rho = np.asarray(correlations, np.float64)
    if n < 1:
        raise ValueError(f"n must be a positive whole number, got {n}")
    if rho.ndim != 1 or rho.size < n - 1:
        raise ValueError(f"correlations must be at least n - 1 = {n - 1} on one axis, got shape {rho.shape}")
    lags = np.arange(1, n)
    return float(variance / n * (1.0 + 2.0 * np.sum((1.0 - lags / n) * rho[: n - 1])))


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
        raise ValueError(
            f"series must be finite with at least 2 draws on its last axis, got shape {values.shape}"
        )
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
