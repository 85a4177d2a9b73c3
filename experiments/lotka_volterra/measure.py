"""From recorded chains to the numbers and curves of the study. NumPy and xarray only."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from auxmc.diagnostics.distributions import bin_probabilities, sample_frequencies, total_variation
from auxmc.diagnostics.errors_of_means import error_between_chains
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chain_statistics import (
    MOST_KEPT,
    chain_moments,
    error_of_mean,
    longest_run,
    over_chains,
    pooled,
    scale_reduction,
    thinned_r_hat,
    with_units,
)
from experiments.lotka_volterra.model.exact import LogRatePosterior
from experiments.lotka_volterra.settings import COORDINATES, EXACT_METHODS, SUMMARY_METHODS

_BINS, _SUMMARY_BINS = 20, 30
_DISTANCE_EDGES = 41
_DISTANCE_HALF_RANGE_SD = 5.0
_CURVE_POINTS = 161
_CURVE_HALF_RANGE_SD = 4.5
_R_HAT_DRAWS = 2000
_MOST_LEFT_OUT = 200  # Chains of which each is left out in turn; of more the errors come from sets of chains.
# Errors of the constrained integrator: each rejects a proposal.
ERRORS = ("n_not_converged", "n_not_converged_reverse", "n_irreversible", "n_not_finite", "n_singular")
COUNTERS = (*ERRORS, "n_fallback", "n_projections", "n_collapsed")  # counted besides, where a method has them

_UNITS = {
    "ess_per_1000_evaluations": "draws per 1000 runs of the generator",
    "n_accepted": "iterations",
    "n_failed": "iterations",
    "iterations_to_band": "iterations",
    "iterations_per_projection": "",
}


def chain_statistics(
    draws: xr.Dataset, method: str, n_discard: int, seconds: xr.DataArray, exact: LogRatePosterior | None
) -> xr.Dataset:
    """Efficiency, acceptance rates, failures and posterior moments of draws (tolerance, step_size, chain, draw, ...).

    Counters and rates are over all iterations, moments and effective sample sizes over the kept ones. `seconds` include
    the discarded iterations, but no compilation. `mcse_mean` is from within the chains of exact methods, whose draws
    are nearly independent; noise that stays for thousands of iterations shows between chains alone. `_without_chain` is
    from all chains but one, for the jackknife, and needs at least three.
    """
    rates = draws["log_rates"].isel(draw=slice(n_discard, None))
    moments = chain_moments(rates)
    ess = moments["ess"]
    evaluations = draws["n_evaluations"].sum("draw").astype(float)
    found: dict[str, Any] = {
        **moments,
        "ess_per_second": ess / seconds,
        "ess_per_1000_evaluations": 1e3 * ess / evaluations,
        "acceptance": draws["accepted"].mean("draw"),
        "n_accepted": draws["accepted"].sum("draw"),
        "longest_run": longest_run(draws["log_rates"], "coordinate").astype(float),
        "evaluations_per_iteration": evaluations / draws.sizes["draw"],
        "n_failed": draws["n_failed"].sum("draw"),
        **pooled(rates, "posterior_mean", "posterior_sd"),
        "smallest": rates.min("draw"),
        "largest": rates.max("draw"),
        "lower_quantile": rates.quantile(0.025, "draw").drop_vars("quantile"),
        "upper_quantile": rates.quantile(0.975, "draw").drop_vars("quantile"),
        **({} if exact is None else {"total_variation": _distances(rates, exact)}),
        "n_iterations": draws.sizes["draw"],
        "chain_seconds": seconds,
    }
    if method in EXACT_METHODS:
        found["mcse_mean"] = error_of_mean(found["posterior_sd"], ess)
    else:
        means = moments["chain_mean"]
        found["mcse_mean"] = xr.apply_ufunc(error_between_chains, means, input_core_dims=[["chain"]])
    if rates.size <= MOST_KEPT:
        found |= pooled(rates, "bulk_ess")
    found |= {name: draws[name].sum("draw") for name in COUNTERS if name in draws}
    if "n_projections" in draws:
        found["iterations_per_projection"] = evaluations / np.maximum(found["n_projections"], 1)
        found["largest_residual"] = draws["residual"].max("draw")
        found["iterations_to_band"] = over_chains(iterations_to_band, draws["potential"], ["chain"])
    if "accepted_auxiliary" in draws:
        found["acceptance_auxiliary"] = draws["accepted_auxiliary"].mean("draw")
    if "scale" in draws:
        found["adapted_scale"] = draws["scale"].isel(draw=-1)
    if draws.sizes["chain"] > 1:
        found["r_hat"] = thinned_r_hat(rates, _R_HAT_DRAWS)
        found |= scale_reduction(rates, "coordinate")
    if 2 < draws.sizes["chain"] <= _MOST_LEFT_OUT:
        found["psrf_without_chain"] = _without_each_chain(lambda kept: scale_reduction(kept)["psrf"], rates)
        if exact is not None:
            distances = _without_each_chain(lambda kept: _distances(kept, exact), rates)
            found["total_variation_without_chain"] = distances
    return with_units(found, _UNITS)


def chain_curves(draws: xr.Dataset, n_discard: int, method: str) -> xr.Dataset:
    """Density histograms of the log rates over the kept iterations of all chains, each over its own range."""
    n_bins = _SUMMARY_BINS if method in SUMMARY_METHODS else _BINS

    def own_range(values: FloatArray) -> tuple[FloatArray, float, float]:
        low, high = float(values.min()), float(values.max())
        half = max(0.5 * (high - low), 1e-6)  # a chain that never moves has no range
        low, high = 0.5 * (low + high) - half, 0.5 * (low + high) + half
        return np.histogram(values, n_bins, (low, high), density=True)[0], low, high

    rates = draws["log_rates"].isel(draw=slice(n_discard, None))
    density, low, high = over_chains(own_range, rates, ["bin"], [], [], one_by_one=True)
    curves = xr.Dataset({"histogram": density, "histogram_low": low, "histogram_high": high})
    return curves.assign_coords(bin=range(n_bins))


def exact_statistics(exact: LogRatePosterior) -> xr.Dataset:
    """Moments of the exact posterior given all data."""
    moments = {"exact_mean": ("coordinate", exact.mean), "exact_sd": ("coordinate", exact.sd)}
    return xr.Dataset(moments, coords={"coordinate": list(COORDINATES)})


def exact_curves(exact: LogRatePosterior) -> xr.Dataset:
    """Marginal densities of the exact posterior, and where they are taken."""
    offsets = np.linspace(-_CURVE_HALF_RANGE_SD, _CURVE_HALF_RANGE_SD, _CURVE_POINTS)
    places = exact.mean[:, None] + exact.sd[:, None] * offsets[None, :]
    densities = [np.interp(places[i], exact.points[i], exact.density[i]) for i in range(len(COORDINATES))]
    dims = ("coordinate", "point")
    return xr.Dataset(
        {"exact_density": (dims, np.stack(densities)), "exact_place": (dims, places)},
        coords={"coordinate": list(COORDINATES), "point": range(_CURVE_POINTS)},
    )


def iterations_to_band(potential: FloatArray) -> FloatArray:
    """Iterations [..., chain], at least 1, to within 3 sds of a potential's mean in all second halves; NaN: never."""
    late = potential[..., potential.shape[-1] // 2 :]
    centre, spread = late.mean(axis=(-2, -1), keepdims=True), late.std(axis=(-2, -1), keepdims=True)
    inside = np.abs(potential - centre) <= 3.0 * spread
    return np.where(inside.any(axis=-1), inside.argmax(axis=-1) + 1.0, np.nan)


def _without_each_chain(statistic: Callable[..., xr.DataArray], rates: xr.DataArray) -> xr.DataArray:
    """A statistic (...) of all chains but one, by the chain that is left out (chain, ...)."""
    chains = np.arange(rates.sizes["chain"])
    left = [statistic(rates.isel(chain=np.delete(chains, chain))) for chain in chains]
    return xr.concat(left, rates["chain"] if "chain" in rates.coords else "chain")


def _distances(rates: xr.DataArray, exact: LogRatePosterior) -> xr.DataArray:
    """Total variation distance (tolerance, step_size, coordinate) of pooled histograms from the exact posterior."""
    offsets = np.linspace(-_DISTANCE_HALF_RANGE_SD, _DISTANCE_HALF_RANGE_SD, _DISTANCE_EDGES)

    def distance(values: FloatArray, rate: int) -> float:
        edges = exact.mean[rate] + exact.sd[rate] * offsets
        probabilities = bin_probabilities(lambda x: exact.cumulative(x, rate), edges)
        return total_variation(sample_frequencies(values, edges), probabilities)

    found = [
        over_chains(partial(distance, rate=rate), rates.isel(coordinate=rate), one_by_one=True)
        for rate in range(rates.sizes["coordinate"])
    ]
    return xr.concat(found, rates["coordinate"]).transpose(..., "coordinate")
