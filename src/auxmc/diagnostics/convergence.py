"""Rank-normalised effective sample sizes, R-hat and Monte Carlo standard errors of one or many quantities.

All functions take recorded values [..., chain, draw] of at least 4 draws, or an xarray with these two dimensions,
return an array [...] or a tuple of such, and raise ValueError where a value is not finite, draws are too few, or an
array without named dimensions has more chains than draws: its axes are likely in another order. Effective sizes, R-hat
and the error of the mean are computed by arviz_stats as in Vehtari, Gelman, Simpson, Carpenter and Burkner (2021).
"""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.diagnostics.checks import finite_series
from auxmc.numerics.array_types import BooleanArray, FloatArray

_MIN_DRAWS = 4

# arviz_stats has no annotations.
_arviz: Any = array_stats


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
    return np.where(_constant(values), 0.0, _arviz.ess(values, method="bulk"))


def tail_ess(chains: ArrayLike) -> FloatArray:
    """Effective sample size of the 5 % and 95 % quantiles, whichever is smaller.

    Returns:
        Effective sample sizes [...] in draws; 0 where all draws are the same.

    Source: Vehtari et al. (2021), section 4.3.
    """
    values = _chains(chains)
    return np.where(_constant(values), 0.0, _arviz.ess(values, method="tail", prob=(0.05, 0.95)))


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
        return np.where(_constant(values), np.nan, _arviz.rhat(values, method="rank"))


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
        quantile = stats.f.isf(0.5 * level / n_quantities, n_halves - 1, ess)
        return np.where(ess > 0.0, np.sqrt(1.0 + quantile * n_halves / ess), np.inf)


def mcse_mean(chains: ArrayLike) -> FloatArray:
    """Monte Carlo standard error of the mean.

    Returns:
        Standard errors [...] in units of the quantity; NaN where all draws are the same: such chains say
        nothing about their error. Meaningless for a target without a variance.

    Source: Vehtari et al. (2021), section 4.4.
    """
    scaled, spread = _scaled(_chains(chains))
    return np.where(spread == 0.0, np.nan, _arviz.mcse(scaled, method="mean")) * spread


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
    ess = _arviz.ess(scaled, method="sd")
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
    """Values moved to [0, 1] and their range [...]: arviz_stats takes a range below 1e-15 for none."""
    low = np.min(values, axis=(-2, -1), keepdims=True)
    spread = np.max(values, axis=(-2, -1), keepdims=True) - low
    return (values - low) / np.where(spread == 0.0, 1.0, spread), spread[..., 0, 0]
