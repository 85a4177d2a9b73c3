"""Rank-normalised effective sample sizes, R-hat and Monte Carlo standard errors of one or many quantities.

All functions take recorded values [..., chain, draw] of at least 4 draws, or an xarray with these two dimensions,
return an array [...] or a tuple of such, and raise ValueError where a value is not finite, draws are too few, or an
array without named dimensions has more chains than draws: its axes are likely in another order. Effective sizes, R-hat
and the error of the mean follow Vehtari, Gelman, Simpson, Carpenter and Burkner (2021) and equal those of arviz_stats,
whose import takes longer than many runs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.fft import next_fast_len
from scipy.special import fdtri, ndtri

from auxmc.diagnostics.checks import finite_series
from auxmc.numerics.array_types import BooleanArray, FloatArray

_MIN_DRAWS = 4


class ChainSummary(NamedTuple):
    """Estimates and diagnostics of quantities [...], each from chains [chain, draw].

    Attributes:
        mean: mean of all draws.
        sd: standard deviation of all draws, divisor n - 1.
        mcse_mean: Monte Carlo standard error of the mean, in units of the quantity.
        mcse_sd: Monte Carlo standard error of the standard deviation, in units of the quantity.
        bulk_ess: effective sample size of the centre of the distribution, in draws.
        tail_ess: effective sample size of the 5 % and 95 % quantiles, the smaller, in draws.
        r_hat: rank-normalised split R-hat, NaN for a single chain.
    """

    mean: FloatArray
    sd: FloatArray
    mcse_mean: FloatArray
    mcse_sd: FloatArray
    bulk_ess: FloatArray
    tail_ess: FloatArray
    r_hat: FloatArray


def summarise_chains(chains: ArrayLike) -> ChainSummary:
    """Computes every field of `ChainSummary`.

    Args:
        chains: [..., chain, draw], or an xarray of a variable with these two dimensions in any place. Draws of a vector
            that lie as [chain, draw, dim] are rejected: `np.moveaxis(draws, -1, 0)` brings them into order.

    Raises:
        ValueError: If a value is not finite, draws are too few, or an array has more chains than draws.
    """
    values = _chains(chains)
    known = xr.DataArray(values, dims=(*map(str, range(values.ndim - 2)), "chain", "draw"))
    return ChainSummary(
        mean=np.mean(values, axis=(-2, -1)),
        sd=np.std(values, axis=(-2, -1), ddof=1),
        mcse_mean=mcse_mean(known),
        mcse_sd=mcse_sd(known),
        bulk_ess=bulk_ess(known),
        tail_ess=tail_ess(known),
        r_hat=rank_r_hat(known),
    )


def bulk_ess(chains: ArrayLike) -> FloatArray:
    """Effective sample size of rank-normalised split chains, for the centre of the distribution.

    Returns:
        Effective sample sizes [...] in draws; 0 where all draws are the same, as in `diagnostics.coda`.

    Source: Vehtari et al. (2021), section 3.
    """
    values = _chains(chains)
    return np.where(_constant(values), 0.0, _each(lambda x: _ess(_scores(_split(x))), values))


def tail_ess(chains: ArrayLike) -> FloatArray:
    """Effective sample size of the 5 % and 95 % quantiles, whichever is smaller.

    Returns:
        Effective sample sizes [...] in draws; 0 where all draws are the same.

    Source: Vehtari et al. (2021), section 4.3.
    """
    values = _chains(chains)
    ess = _each(lambda x: min(_ess(_split(x <= np.quantile(x, tail))) for tail in (0.05, 0.95)), values)
    return np.where(_constant(values), 0.0, ess)


def rank_r_hat(chains: ArrayLike) -> FloatArray:
    """Rank-normalised split R-hat, the larger of the bulk and the folded version.

    Returns:
        R-hat [...]; NaN for a single chain or where all draws are the same, infinite where each chain is
        constant but they differ.

    Source: Vehtari et al. (2021), section 4.
    """
    values = _chains(chains)
    if values.shape[-2] < 2:
        return np.full(values.shape[:-2], np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(_constant(values), np.nan, _each(_rank_r_hat, values))


def r_hat_limit(chains: ArrayLike, n_quantities: int = 1, level: float = 0.01) -> FloatArray:
    """R-hat that stationary chains exceed in any of so many quantities with at most a given probability.

    The means of half chains vary by their effective sample size, which is taken within chains: it does not know whether
    chains agree. The bound is that of an F distribution, divided over quantities and the two versions of R-hat.

    Returns:
        Limits [...]; infinite where no chain moves.
    """
    values = _chains(chains)
    n_halves = 2 * values.shape[-2]
    folded = np.abs(values - np.median(values, axis=(-2, -1), keepdims=True))
    ess = np.minimum(*(bulk_ess(one[..., None, :]).sum(axis=-1) for one in (values, folded)))
    with np.errstate(divide="ignore", invalid="ignore"):
        quantile = fdtri(n_halves - 1, ess, 1.0 - 0.5 * level / n_quantities)
        return np.where(ess > 0.0, np.sqrt(1.0 + quantile * n_halves / ess), np.inf)


def mcse_mean(chains: ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the mean.

    Returns:
        Standard errors [...] in units of the quantity; NaN where all draws are the same: such chains say
        nothing about their error. Meaningless for a target without a variance.

    Source: Vehtari et al. (2021), section 4.4.
    """
    scaled, spread = _scaled(_chains(chains))
    error = np.std(scaled, axis=(-2, -1), ddof=1) / np.sqrt(_each(lambda x: _ess(_split(x)), scaled))
    return np.where(spread == 0.0, np.nan, error) * spread


def mcse_sd(chains: ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the standard deviation.

    The effective sample size is that of the squared deviations. `mcse(method="sd")` of arviz_stats 0.8 takes
    that of the values, which is far too large for antithetic chains (a factor 5 for an AR(1) with -0.5).

    Returns:
        Standard errors [...] in units of the quantity; NaN where all draws are the same.

    Source: delta method for the square root of the mean squared deviation.
    """
    scaled, spread = _scaled(_chains(chains))
    squares = (scaled - np.mean(scaled, axis=(-2, -1), keepdims=True)) ** 2
    variance = np.mean(squares, axis=(-2, -1))
    ess = _each(lambda x: _ess(_split(x)), squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.var(squares, axis=(-2, -1)) / (4.0 * variance * ess))
    return np.where(spread == 0.0, np.nan, error) * spread


def _chains(chains: ArrayLike) -> FloatArray:
    dims = getattr(chains, "dims", ())
    if "chain" in dims and "draw" in dims:
        chains = chains.transpose(..., "chain", "draw")  # type: ignore[union-attr, call-arg]
    elif np.ndim(chains) > 1 and np.shape(chains)[-2] > np.shape(chains)[-1] >= _MIN_DRAWS:
        turned = "chains.T" if np.ndim(chains) == 2 else "np.moveaxis(chains, -1, 0)"
        raise ValueError(
            f"chains: expected [..., chain, draw], got shape {np.shape(chains)}, more chains than draws. Give "
            f"{turned}, or an xarray with dimensions chain and draw"
        )
    values = finite_series(chains, "chains", min_draws=_MIN_DRAWS, chain_axis=True)
    return values.astype(np.float64, copy=False)


def _constant(values: FloatArray) -> BooleanArray:
    return np.asarray(np.max(values, axis=(-2, -1)) == np.min(values, axis=(-2, -1)))


def _scaled(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values moved to [0, 1] and their range [...]: `_ess` takes a range below 1e-15 for none."""
    low = np.min(values, axis=(-2, -1), keepdims=True)
    spread = np.max(values, axis=(-2, -1), keepdims=True) - low
    return (values - low) / np.where(spread == 0.0, 1.0, spread), spread[..., 0, 0]


def _each(function: Callable[[FloatArray], float], values: FloatArray) -> FloatArray:
    """The function of each quantity's chains [chain, draw]."""
    found = [function(one) for one in values.reshape(-1, *values.shape[-2:])]
    return np.asarray(found, np.float64).reshape(values.shape[:-2])


def _split(chains: np.ndarray) -> FloatArray:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]]).astype(np.float64)


def _scores(chains: FloatArray) -> FloatArray:
    """Normal scores of the ranks, by Blom's formula."""
    _, places, counts = np.unique(chains, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)
    return np.asarray(ndtri((ranks[places] - 0.375) / (chains.size + 0.25)).reshape(chains.shape))


def _rank_r_hat(chains: FloatArray) -> float:
    halves = _split(chains)
    return max(_r_hat(_scores(x)) for x in (halves, np.abs(halves - np.median(halves))))


def _r_hat(chains: FloatArray) -> float:
    n = chains.shape[1]
    between, within = n * np.var(chains.mean(axis=1), ddof=1), np.mean(np.var(chains, axis=1, ddof=1))
    return float(np.sqrt((between / within + n - 1) / n))


def _ess(chains: FloatArray) -> float:
    """Effective sample size of chains [chain, draw] by Geyer's initial monotone sequence."""
    n = chains.shape[1]
    if np.ptp(chains) < np.finfo(float).resolution:
        return chains.size
    size = next_fast_len(2 * n, real=True)
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), n=size)
    spectrum *= np.conjugate(spectrum)
    by_chain = np.fft.irfft(spectrum, n=size)[:, :n] / n
    covariances = np.mean(np.ascontiguousarray(by_chain.T), axis=1)
    within = covariances[0] * n / (n - 1.0)
    variance = within * (n - 1.0) / n + np.var(chains.mean(axis=1), ddof=1)
    pairs = (1.0 - (within - covariances) / variance)[: 2 * max(1, (n - 1) // 2)].reshape(-1, 2)
    pairs[0, 0] = 1.0
    sums = pairs.sum(axis=1)
    last = np.argmax(np.append(sums[:-1] <= 0.0, True))
    head, lowest = pairs[:last], np.minimum.accumulate(sums[:last])
    head = np.where((sums[:last] > lowest)[:, None], 0.5 * lowest[:, None], head)
    rest = pairs[last, 0] if pairs[last, 0] > 0.0 or sums[last] >= 0.0 else 0.0
    time = -1.0 + 2.0 * np.sum(head) + rest
    return float(chains.size / max(time, 1.0 / np.log10(chains.size)))
