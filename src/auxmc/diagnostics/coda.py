"""Effective sample size and potential scale reduction as the R package coda computes them.

Published efficiency figures of the pseudo-marginal studies used these definitions, which differ from the
rank-normalised ones in `auxmc.diagnostics.convergence`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from auxmc.diagnostics.checks import finite_series
from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray

# Lanes are worked on in groups of about this size, so that the passes over the lags stay in the cache.
_GROUP_BYTES = 1 << 20


class PotentialScaleReduction(NamedTuple):
    """Potential scale reduction factor: point estimate and upper 97.5 % confidence limit, same shapes."""

    point: FloatArray
    upper: FloatArray


def effective_sample_size(series: ArrayLike) -> FloatArray:
    """Effective sample size n var(x) / S0 of each series, S0 from a fitted autoregression.

    Args:
        series: recorded values [..., draw], at least 2 draws.

    Returns:
        Effective sample sizes [...] in draws; may exceed the number of draws for antithetic series. A series
        that is constant, or an exact straight line, has 0.

    Raises:
        ValueError: a value is not finite, or fewer than 2 draws.

    Source: R coda `effectiveSize`; PhD thesis, section 3.6 (efficiency measures).

    >>> float(effective_sample_size([1.0, 1.0, 1.0, 1.0]))
    0.0
    """
    values = finite_series(series)
    n_draws = values.shape[-1]
    lanes = values.reshape(-1, n_draws)
    sizes = np.empty(len(lanes))
    group = max(1, _GROUP_BYTES // (8 * n_draws))
    for start in range(0, len(lanes), group):
        part = slice(start, start + group)
        sizes[part] = _sizes_of_lanes(lanes[part].astype(np.float64))
    return sizes.reshape(values.shape[:-1])


def potential_scale_reduction(chains: ArrayLike) -> PotentialScaleReduction:
    """Gelman-Rubin potential scale reduction with the degrees-of-freedom correction of coda.

    Args:
        chains: one scalar quantity [..., chain, draw], at least 2 chains of at least 2 draws.

    Returns:
        Point estimates [...] and upper limits [...]. Infinite where every chain is constant but they
        differ; NaN where all draws are the same.

    Raises:
        ValueError: a value is not finite, or chains or draws are too few.

    Source: R coda `gelman.diag(autoburnin = FALSE, transform = FALSE)`; PhD thesis, figure 3.11b.
    """
    values = _chains(chains)
    path = potential_scale_reduction_path(values, np.array([values.shape[-1]]))
    return PotentialScaleReduction(path.point[..., 0], path.upper[..., 0])


def potential_scale_reduction_path(chains: ArrayLike, ends: ArrayLike) -> PotentialScaleReduction:
    """Potential scale reduction of the first k draws for every k in `ends`, in one pass over the draws.

    Args:
        chains: one scalar quantity [..., chain, draw], at least 2 chains.
        ends: strictly increasing numbers of draws [end], each between 2 and the length of the chains.

    Returns:
        Point estimates [..., end] and upper limits [..., end].

    Raises:
        ValueError: a value is not finite, fewer than 2 chains, or `ends` is not as described.

    Source: R coda `gelman.plot`; PhD thesis, figure 3.11b.
    """
    values = _chains(chains)
    checked_ends = np.asarray(ends)
    if checked_ends.ndim != 1 or checked_ends.size == 0 or not np.issubdtype(checked_ends.dtype, np.integer):
        raise ValueError(f"ends must be a non-empty list of integers [end], got {ends!r}")
    if checked_ends[0] < 2 or checked_ends[-1] > values.shape[-1] or np.any(np.diff(checked_ends) <= 0):
        most = f"at most {values.shape[-1]}, the number of draws"
        raise ValueError(f"ends must increase from at least 2 to {most}; got {checked_ends.tolist()}")
    means, variances = _moments_of_first_draws(values, checked_ends)
    return _scale_reduction(means, variances, checked_ends.astype(np.float64))


def scale_reduction_of_moments(
    means: ArrayLike, variances: ArrayLike, n_draws: int
) -> PotentialScaleReduction:
    """Potential scale reduction of chains of which the moments alone are kept.

    Args:
        means: of each chain [..., chain], at least 2.
        variances: of each chain, with divisor n_draws - 1 [..., chain].
        n_draws: length of the chains, at least 2.

    Returns:
        What `potential_scale_reduction` gives for the draws.

    Source: R coda `gelman.diag(autoburnin = FALSE, transform = FALSE)`.
    """
    of_chains, within = (np.asarray(values, np.float64)[..., None] for values in (means, variances))
    found = _scale_reduction(of_chains, within, np.array([n_draws], np.float64))
    return PotentialScaleReduction(found.point[..., 0], found.upper[..., 0])


def gelman_plot_ends(n_draws: int) -> IntegerArray:
    """Increasing numbers of draws [end] at which coda's `gelman.plot` evaluates the potential scale reduction.

    They are at least 10 apart: the first 51, at most 50 of them, and the last `n_draws`; `n_draws` alone for chains
    with fewer than 60 draws, where coda rejects to draw.
    """
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}")
    first = 51
    n_bins = min((n_draws - first + 1) // 10, 50)
    if n_bins < 1 or n_draws <= first:
        return np.array([n_draws], dtype=np.int64)
    spacing = (n_draws - first + 1) // n_bins
    inner = first + spacing * np.arange(n_bins, dtype=np.int64)
    return np.append(inner[inner < n_draws], n_draws)


def multivariate_scale_reduction(chains: ArrayLike) -> FloatArray:
    """Multivariate potential scale reduction: that of the direction in which the chains differ most.

    Args:
        chains: quantities side by side [..., quantity, chain, draw], at least 2 chains of at least 2 draws.

    Returns:
        Square root of (n - 1)/n + (m + 1)/m times the largest eigenvalue of W^-1 B/n [...], for m chains of n draws, W
        being the mean of the chains' covariances and B/n the covariance of their means. NaN where W has not full rank
        to rounding (`numpy.linalg.matrix_rank`): some combination of the quantities moves in no chain.

    Raises:
        ValueError: a value is not finite, or chains or draws are too few.

    Source: Brooks and Gelman 1998; R coda `gelman.diag(multivariate = TRUE)`.
    """
    values = _chains(chains)
    n_quantities, n_chains, n_draws = values.shape[-3:]
    within = np.mean(_covariances(np.swapaxes(values, -3, -2)), axis=-3)
    between = _covariances(values.mean(axis=-1))
    full = np.linalg.matrix_rank(within) == n_quantities
    solvable = np.where(full[..., None, None], within, np.eye(n_quantities))
    largest = np.max(np.linalg.eigvals(np.linalg.solve(solvable, between)).real, axis=-1)
    factors = np.sqrt((n_draws - 1) / n_draws + (n_chains + 1) / n_chains * largest)
    return np.where(full, factors, np.nan)


def _chains(chains: ArrayLike) -> NDArray[np.floating]:
    values = finite_series(chains, "chains", chain_axis=True)
    if values.shape[-2] < 2:
        raise ValueError(f"chains must hold at least 2 chains [..., chain, draw], got shape {values.shape}")
    return values


def _sizes_of_lanes(lanes: FloatArray) -> FloatArray:
    """Effective sample sizes [lane] of series [lane, draw]."""
    n_draws = lanes.shape[-1]
    # Scaling by a power of two is exact; it keeps squares away from overflow and underflow.
    largest = np.max(np.abs(lanes), axis=-1)
    exponent = np.where(largest > 0.0, np.frexp(largest)[1], 0)
    scaled = np.ldexp(lanes, -exponent[:, None])
    centred = scaled - np.mean(scaled, axis=-1, keepdims=True)
    constant = _is_straight_line(scaled, centred)
    max_order = min(n_draws - 1, int(np.floor(10.0 * np.log10(n_draws))))
    covariances = np.empty((len(lanes), max_order + 1))
    for lag in range(max_order + 1):
        covariances[:, lag] = np.vecdot(centred[:, : n_draws - lag], centred[:, lag:]) / n_draws
    covariances[constant] = np.eye(1, max_order + 1)
    density = _autoregressive_density(covariances, n_draws)
    variance = covariances[:, 0] * (n_draws / (n_draws - 1.0))
    return np.where(constant, 0.0, n_draws * variance / density)


def _is_straight_line(scaled: FloatArray, centred: FloatArray) -> BooleanArray:
    n_draws = scaled.shape[-1]
    time = np.arange(n_draws) - 0.5 * (n_draws - 1)
    slope = centred @ time / (time @ time)
    residual_sd = np.std(centred - slope[:, None] * time, axis=-1)
    # Rounding of the values themselves, whose magnitude is at most 1 here, leaves residuals of this size.
    same: BooleanArray = np.max(scaled, axis=-1) == np.min(scaled, axis=-1)
    rounding = 16.0 * float(np.finfo(np.float64).eps)
    return same | (residual_sd <= rounding) if n_draws > 2 else same


def _autoregressive_density(covariances: FloatArray, n_draws: int) -> FloatArray:
    """Levinson recursion on all lanes [lane, lag] at once; keeps, per lane, the order with the smallest AIC."""
    n_lanes, n_lags = covariances.shape
    coefficients = np.zeros((n_lanes, n_lags - 1))
    innovation = covariances[:, 0].copy()
    best_criterion = n_draws * np.log(innovation)
    best_variance = innovation * (n_draws / (n_draws - 1.0))
    best_gain = np.ones(n_lanes)
    for order in range(1, n_lags):
        previous = coefficients[:, : order - 1]
        predicted = np.sum(previous * covariances[:, order - 1 : 0 : -1], axis=-1)
        reflection = (covariances[:, order] - predicted) / innovation
        coefficients[:, : order - 1] = previous - reflection[:, None] * previous[:, ::-1]
        coefficients[:, order - 1] = reflection
        innovation = innovation * np.maximum(1.0 - reflection**2, np.finfo(np.float64).tiny)
        criterion = n_draws * np.log(innovation) + 2.0 * order
        better = criterion < best_criterion
        n_left = n_draws - (order + 1)
        variance = innovation * (n_draws / n_left) if n_left > 0 else np.full(n_lanes, np.inf)
        best_criterion = np.where(better, criterion, best_criterion)
        best_variance = np.where(better, variance, best_variance)
        best_gain = np.where(better, 1.0 - np.sum(coefficients[:, :order], axis=-1), best_gain)
    return best_variance / best_gain**2


def _moments_of_first_draws(
    values: NDArray[np.floating], ends: NDArray[np.integer]
) -> tuple[FloatArray, FloatArray]:
    """Means and variances (divisor k - 1) [..., chain, end] of the first k draws, for k in `ends`.

    Sums of squares about the mean are joined segment by segment, which loses no digits to cancellation;
    the first value is taken off first, so that a chain that has not moved has variance exactly zero.
    """
    first = values[..., :1].astype(np.float64)
    means = np.empty((*values.shape[:-1], len(ends)))
    variances = np.empty_like(means)
    mean = np.zeros(values.shape[:-1])
    squares = np.zeros(values.shape[:-1])
    count = 0
    for index, end in enumerate(ends.tolist()):
        segment = values[..., count:end] - first
        segment_mean = np.mean(segment, axis=-1)
        difference = segment_mean - mean
        n_segment = end - count
        squares += np.sum((segment - segment_mean[..., None]) ** 2, axis=-1)
        squares += difference**2 * (count * n_segment / end)
        mean = mean + difference * (n_segment / end)
        count = end
        means[..., index] = mean + first[..., 0]
        variances[..., index] = squares / (end - 1)
    return means, variances


def _scale_reduction(
    means: FloatArray, variances: FloatArray, n_draws: FloatArray
) -> PotentialScaleReduction:
    """Potential scale reduction [..., end] from moments [..., chain, end] of chains of n_draws [end]."""
    n_chains = means.shape[-2]
    # The statistic does not depend on the origin; without the shift, means far from zero lose digits below.
    means = means - np.mean(means, axis=-2, keepdims=True)
    within = np.mean(variances, axis=-2)
    between = n_draws * np.var(means, axis=-2, ddof=1)
    inflation = 1.0 + 1.0 / n_chains
    var_within = np.var(variances, axis=-2, ddof=1) / n_chains
    var_between = 2.0 * between**2 / (n_chains - 1)
    # The term -2 mean(xb) cov(s2, xb) of the covariance is zero for centred means.
    one, other = (values - np.mean(values, axis=-2, keepdims=True) for values in (variances, means**2))
    covariance = (n_draws / n_chains) * (np.sum(one * other, axis=-2) / (n_chains - 1))
    pooled = (n_draws - 1.0) / n_draws * within + inflation * between / n_draws
    var_pooled = (
        (n_draws - 1.0) ** 2 * var_within
        + inflation**2 * var_between
        + 2.0 * (n_draws - 1.0) * inflation * covariance
    ) / n_draws**2
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 2.0 * pooled**2 / var_pooled
        correction = np.where(np.isinf(degrees), 1.0, (degrees + 3.0) / (degrees + 1.0))
        ratio = inflation * between / (n_draws * within)
        degrees_within = 2.0 * within**2 / var_within
        fixed = (n_draws - 1.0) / n_draws
        point = np.sqrt(correction * (fixed + ratio))
        # The chi-square limit where all chains have the same variance, which makes the degrees infinite.
        limit = stats.chi2.ppf(0.975, n_chains - 1) / (n_chains - 1)
        infinite = np.isinf(degrees_within)
        finite_degrees = np.where(np.isfinite(degrees_within), degrees_within, 1.0)
        quantile = np.where(infinite, limit, stats.f.ppf(0.975, n_chains - 1, finite_degrees))
        upper = np.sqrt(correction * (fixed + quantile * ratio))
    return PotentialScaleReduction(point, np.where(np.isinf(point), np.inf, upper))


def _covariances(values: NDArray[np.floating]) -> FloatArray:
    """Covariance matrices [..., quantity, quantity] of values [..., quantity, draw], divisor n - 1."""
    centred = values - np.mean(values, axis=-1, keepdims=True)
    return np.asarray(centred @ np.swapaxes(centred, -1, -2) * (1.0 / (values.shape[-1] - 1)), np.float64)
