"""From recorded chains to the numbers and curves of the study. NumPy and xarray only."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from auxmc.diagnostics.coda import (
    effective_sample_size,
    multivariate_scale_reduction,
    potential_scale_reduction,
)
from auxmc.diagnostics.distributions import bin_probabilities, sample_frequencies, total_variation
from auxmc.diagnostics.runs import longest_constant_run
from auxmc.diagnostics.summary import bulk_ess, rank_r_hat
from auxmc.models.lotka_volterra.oracles import LogRatePosterior
from auxmc.numerics.array_types import FloatArray, NamedArrays
from experiments.lotka_volterra.settings import SUMMARY_METHODS

MOST_KEPT = 2_000_000
"""Draws are kept in the result file if there are at most this many numbers, all coordinates counted."""

_BINS, _SUMMARY_BINS = 20, 30
_DISTANCE_EDGES = 41
_DISTANCE_HALF_RANGE_SD = 5.0
_CURVE_POINTS = 161
_CURVE_HALF_RANGE_SD = 4.5
# R-hat hardly depends on thinning, and ranking millions of draws would take longer than the chains.
_R_HAT_DRAWS = 2000

Variable = tuple[tuple[str, ...], Any, dict[str, str]]


class AxisValues(NamedTuple):
    """Values of the swept settings and names of the log rates: the coordinates of every variable."""

    tolerance: FloatArray
    step_size: FloatArray
    coordinate: tuple[str, ...]

    def coordinates(self, n_chains: int) -> dict[str, Any]:
        """Coordinates of a dataset."""
        return {
            "tolerance": self.tolerance,
            "step_size": self.step_size,
            "chain": range(n_chains),
            "coordinate": list(self.coordinate),
        }


_POINT = ("tolerance", "step_size")
_BY_CHAIN = (*_POINT, "chain")
_BY_RATE = (*_POINT, "coordinate")


def chain_statistics(
    draws: NamedArrays,
    axes: AxisValues,
    n_discard: int,
    chain_s: float,
    exact: LogRatePosterior,
) -> xr.Dataset:
    """Efficiency, accept rates, failures and posterior moments.

    Counters and rates are over all iterations, moments and effective sample sizes over the kept ones; run times include
    the discarded iterations, but no compilation.

    Args:
        draws: recorded quantities [tolerance, step_size, chain, draw, ...].
        axes: values of the swept settings.
        n_discard: first iterations to leave out.
        chain_s: run time of a chain in seconds.
        exact: exact posterior given all data under the scheme of the chains.
    """
    kept = draws["log_rates"][:, :, :, n_discard:]
    n_chains, n_kept = kept.shape[2:4]
    by_rate = np.moveaxis(kept, -1, 2)  # [tolerance, step_size, coordinate, chain, draw]
    ess = effective_sample_size(np.moveaxis(kept, -1, -2))
    evaluations = draws["n_evaluations"].sum(axis=3, dtype=np.int64)
    sd = by_rate.std(axis=(3, 4), ddof=1)
    total_ess = ess.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(total_ess > 0.0, sd / np.sqrt(total_ess), np.nan)
    accepted = draws["accepted"]
    runs = np.empty(accepted.shape[:3])
    for index in np.ndindex(runs.shape):
        runs[index] = longest_constant_run(draws["log_rates"][index])
    variables: dict[str, Variable] = {
        "ess": ((*_BY_CHAIN, "coordinate"), ess, {"units": "draws"}),
        "ess_per_second": ((*_BY_CHAIN, "coordinate"), ess / chain_s, {"units": "1/s"}),
        "ess_per_1000_evaluations": (
            (*_BY_CHAIN, "coordinate"),
            1e3 * ess / evaluations[..., None],
            {"units": "draws per 1000 runs of the generator"},
        ),
        "acceptance": (_BY_CHAIN, accepted.mean(axis=3), {}),
        "n_accepted": (_BY_CHAIN, accepted.sum(axis=3, dtype=np.int64), {"units": "iterations"}),
        "longest_run": (_BY_CHAIN, runs, {"units": "iterations"}),
        "evaluations_per_iteration": (_BY_CHAIN, evaluations / accepted.shape[3], {"units": "1/iteration"}),
        "n_failed": (
            _BY_CHAIN,
            draws["n_failed"].sum(axis=3, dtype=np.int64),
            {"units": "iterations"},
        ),
        "posterior_mean": (_BY_RATE, by_rate.mean(axis=(3, 4)), {}),
        "posterior_sd": (_BY_RATE, sd, {}),
        "mcse_mean": (_BY_RATE, error, {}),
        "smallest": (_BY_RATE, by_rate.min(axis=(3, 4)), {}),
        "largest": (_BY_RATE, by_rate.max(axis=(3, 4)), {}),
        "lower_quantile": (_BY_RATE, np.quantile(by_rate, 0.025, axis=(3, 4)), {}),
        "upper_quantile": (_BY_RATE, np.quantile(by_rate, 0.975, axis=(3, 4)), {}),
        "total_variation": (_BY_RATE, _distances(by_rate, exact), {}),
        "n_iterations": ((), accepted.shape[3], {"units": "iterations"}),
        "chain_seconds": ((), chain_s, {"units": "s"}),
    }
    for name, counts in draws.items():
        if name.startswith("count_"):
            total = counts.sum(axis=3, dtype=np.int64)
            variables[f"n_{name.removeprefix('count_')}"] = (_BY_CHAIN, total, {})
    if "count_projections" in draws:
        projections = np.maximum(draws["count_projections"].sum(axis=3, dtype=np.int64), 1)
        variables["iterations_per_projection"] = (_BY_CHAIN, evaluations / projections, {})
        variables["largest_residual"] = (_BY_CHAIN, draws["residual"].max(axis=3), {})
        reached = iterations_to_band(draws["potential"])
        variables["iterations_to_band"] = (_BY_CHAIN, reached, {"units": "iterations"})
    if "accepted_auxiliary" in draws:
        variables["acceptance_auxiliary"] = (_BY_CHAIN, draws["accepted_auxiliary"].mean(axis=3), {})
    if "scale" in draws:
        variables["adapted_scale"] = (_BY_CHAIN, draws["scale"][..., -1], {})
    if kept.size <= MOST_KEPT:
        variables["bulk_ess"] = (_BY_RATE, bulk_ess(by_rate), {"units": "draws"})
    if n_chains > 1:
        thinned = by_rate[..., :: max(1, n_kept // _R_HAT_DRAWS)]
        reduction = potential_scale_reduction(by_rate)
        variables |= {
            "r_hat": (_BY_RATE, rank_r_hat(thinned), {}),
            "psrf": (_BY_RATE, reduction.point, {}),
            "psrf_upper": (_BY_RATE, reduction.upper, {}),
            "psrf_multivariate": (_POINT, multivariate_scale_reduction(by_rate), {}),
        }
    return xr.Dataset(variables, coords=axes.coordinates(n_chains))


def chain_curves(draws: NamedArrays, axes: AxisValues, n_discard: int, method: str) -> xr.Dataset:
    """Histograms of the log rates over the kept iterations of all chains, each over its own range.

    Variables `histogram` (density), and `histogram_low` and `histogram_high`, the ends of its range.
    """
    n_bins = _SUMMARY_BINS if method in SUMMARY_METHODS else _BINS
    kept = np.moveaxis(draws["log_rates"][:, :, :, n_discard:], -1, 2)
    shape = kept.shape[:3]
    density, ends = np.empty((*shape, n_bins)), np.empty((2, *shape))
    for index in np.ndindex(shape):
        values = kept[index].ravel()
        low, high = float(values.min()), float(values.max())
        # A chain that never moves has no range: a narrow one about its value.
        half = max(0.5 * (high - low), 1e-6)
        ends[:, *index] = 0.5 * (low + high) - half, 0.5 * (low + high) + half
        density[index], _ = np.histogram(values, n_bins, (ends[0][index], ends[1][index]), density=True)
    return xr.Dataset(
        {
            "histogram": ((*_BY_RATE, "bin"), density),
            "histogram_low": (_BY_RATE, ends[0]),
            "histogram_high": (_BY_RATE, ends[1]),
        },
        coords={name: value for name, value in axes.coordinates(0).items() if name != "chain"}
        | {"bin": range(n_bins)},
    )


def chain_groups(draws: NamedArrays, axes: AxisValues) -> dict[str, xr.Dataset]:
    """Groups `posterior` and `sample_stats` with dims (chain, draw) first, if the draws are few enough to keep."""
    if draws["log_rates"].size > MOST_KEPT:
        return {}
    dims = (*_BY_CHAIN, "draw")
    coords = axes.coordinates(draws["log_rates"].shape[2])
    posterior = xr.Dataset({"log_rates": ((*dims, "coordinate"), draws["log_rates"])}, coords=coords)
    del coords["coordinate"]
    sample_stats = xr.Dataset(
        {name: (dims, values) for name, values in draws.items() if name != "log_rates"}, coords=coords
    )
    return {
        name: data.transpose("chain", "draw", ...)
        for name, data in (("posterior", posterior), ("sample_stats", sample_stats))
    }


def exact_statistics(exact: LogRatePosterior, coordinates: tuple[str, ...]) -> xr.Dataset:
    """Moments of the exact posterior given all data."""
    return xr.Dataset(
        {"exact_mean": ("coordinate", exact.mean), "exact_sd": ("coordinate", exact.sd)},
        coords={"coordinate": list(coordinates)},
    )


def exact_curves(exact: LogRatePosterior, coordinates: tuple[str, ...]) -> xr.Dataset:
    """Marginal densities of the exact posterior, and where they are taken."""
    offsets = np.linspace(-_CURVE_HALF_RANGE_SD, _CURVE_HALF_RANGE_SD, _CURVE_POINTS)
    places = exact.mean[:, None] + exact.sd[:, None] * offsets[None, :]
    densities = [np.interp(places[i], exact.points[i], exact.density[i]) for i in range(len(coordinates))]
    dims = ("coordinate", "point")
    return xr.Dataset(
        {"exact_density": (dims, np.stack(densities)), "exact_place": (dims, places)},
        coords={"coordinate": list(coordinates), "point": range(_CURVE_POINTS)},
    )


def iterations_to_band(potential: FloatArray) -> FloatArray:
    """Iterations until the potential of a chain is first within 3 standard deviations of its stationary mean.

    The stationary mean and standard deviation are those of the second half of all chains at a point.

    Args:
        potential: [tolerance, step_size, chain, draw], in nats.

    Returns:
        Numbers of iterations, at least 1 [tolerance, step_size, chain]; NaN for a chain that never gets there.
    """
    late = potential[..., potential.shape[-1] // 2 :]
    centre, spread = late.mean(axis=(2, 3), keepdims=True), late.std(axis=(2, 3), keepdims=True)
    inside = np.abs(potential - centre) <= 3.0 * spread
    first: FloatArray = np.where(inside.any(axis=-1), inside.argmax(axis=-1) + 1.0, np.nan)
    return first


def _distances(by_rate: FloatArray, exact: LogRatePosterior) -> FloatArray:
    """Total variation distance [tolerance, step_size, coordinate] of pooled histograms from the exact posterior."""
    distances = np.empty(by_rate.shape[:3])
    offsets = np.linspace(-_DISTANCE_HALF_RANGE_SD, _DISTANCE_HALF_RANGE_SD, _DISTANCE_EDGES)
    for index in np.ndindex(distances.shape):
        rate = index[2]
        edges = exact.mean[rate] + exact.sd[rate] * offsets
        probabilities = bin_probabilities(lambda x, rate=rate: exact.cumulative(x, rate), edges)  # type: ignore[misc]
        distances[index] = total_variation(sample_frequencies(by_rate[index], edges), probabilities)
    return distances
