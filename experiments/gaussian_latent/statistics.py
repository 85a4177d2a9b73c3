"""From recorded chains to the numbers and curves of the study. NumPy, SciPy and xarray only."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from auxmc.diagnostics.coda import effective_sample_size
from auxmc.diagnostics.distributions import (
    bin_probabilities,
    histogram_roughness,
    sample_frequencies,
    total_variation,
)
from auxmc.diagnostics.runs import longest_rejection_run
from auxmc.diagnostics.summary import bulk_ess, mcse_sd, rank_r_hat, tail_ess
from auxmc.driver.chains import Chains
from auxmc.models.gaussian.latent_oracles import AuxiliaryMarginal, ExactPosterior
from auxmc.numerics.array_types import FloatArray, IntegerArray

MOST_KEPT = 2_000_000
"""Draws are kept in the result file if there are at most this many numbers, all coordinates counted."""

TRACE_WINDOW = 10_000
"""Iterations at the end of a long chain that are drawn and searched for sticking (thesis figure 3.4)."""

TRACE_STRIDE = 5
"""Every so many of them are drawn (as in the published figures)."""

_N_BINS = 100
_HALF_RANGE_SD = 4.0
_AUXILIARY_EDGES = np.linspace(-4.0, 4.0, _N_BINS + 1)
# R-hat hardly depends on thinning, and ranking all draws of a large sweep would cost more than the chains.
_R_HAT_DRAWS = 1000

Variable = tuple[tuple[str, ...], Any, dict[str, str]]


def coordinate_names(dim: int) -> list[str]:
    """Names x1, x2, ... of the target variables."""
    return [f"x{i + 1}" for i in range(dim)]


def chain_statistics(chains: Chains, n_importance: int) -> xr.Dataset:
    """Efficiency, accept rates, work, sticking and posterior moments of every chain at every sweep point.

    The run time of a chain is its share of the time that all chains at all sweep points took side by side.

    Args:
        chains: recorded `position` [point, chain, draw, dim], flags and counters, one swept setting.
        n_importance: importance samples of one density estimate, each counted as one density evaluation.

    Returns:
        Variables with dims (sweep axis, chain), some with coordinate in addition or in place of chain.
    """
    (axis,) = chains.axes
    draws = chains.draws
    n_points, n_chains, n_draws, dim = draws["position"].shape
    ess = np.empty((n_points, n_chains, dim))
    for point, chain in np.ndindex(n_points, n_chains):
        # One chain at a time: a copy of all draws of a large sweep would not fit into memory.
        ess[point, chain] = effective_sample_size(draws["position"][point, chain].T)
    calls = draws["n_estimates_position"].sum(axis=2) + draws["n_estimates_auxiliary"].sum(axis=2)
    chain_s = chains.run_s / chains.n_lanes
    by_chain = (axis, "chain")
    variables: dict[str, Variable] = {
        "ess": ((axis, "chain", "coordinate"), ess, {"units": "draws"}),
        "ess_per_evaluation": (
            by_chain,
            ess.mean(axis=2) / (calls * n_importance),
            {"units": "draws per density evaluation"},
        ),
        "ess_per_second": (by_chain, ess.mean(axis=2) / chain_s, {"units": "1/s"}),
        "acceptance_position": (by_chain, draws["accepted_position"].mean(axis=2), {}),
        "acceptance_auxiliary": (by_chain, draws["accepted_auxiliary"].mean(axis=2), {}),
        "estimates_position": (
            by_chain,
            draws["n_estimates_position"].mean(axis=2),
            {"units": "1/iteration"},
        ),
        "estimates_auxiliary": (
            by_chain,
            draws["n_estimates_auxiliary"].mean(axis=2),
            {"units": "1/iteration"},
        ),
        "evaluations_per_iteration": (by_chain, calls * n_importance / n_draws, {"units": "1/iteration"}),
        "longest_run_position": (
            by_chain,
            longest_rejection_run(draws["accepted_position"]),
            {"units": "iterations"},
        ),
        "longest_run_auxiliary": (
            by_chain,
            longest_rejection_run(draws["accepted_auxiliary"]),
            {"units": "iterations"},
        ),
        "n_collapsed": (by_chain, draws["n_collapsed"].sum(axis=2, dtype=np.int64), {"units": "updates"}),
        "n_failures": (by_chain, draws["n_failures"].sum(axis=2, dtype=np.int64), {"units": "proposals"}),
        "n_not_finite": (by_chain, draws["not_finite"].sum(axis=2, dtype=np.int64), {"units": "iterations"}),
        "n_iterations": ((), n_draws, {"units": "iterations"}),
        "chain_seconds": ((), chain_s, {"units": "s"}),
    }
    variables |= _pooled_moments(draws["position"], ess, axis)
    coords = {axis: chains.axes[axis], "chain": range(n_chains), "coordinate": coordinate_names(dim)}
    return xr.Dataset(variables, coords=coords)


def position_statistics(chains: Chains, posterior: ExactPosterior) -> xr.Dataset:
    """How far the histograms and moments of long chains are from the exact posterior.

    Args:
        chains: recorded `position` [point, chain, draw, dim] and flags, one swept setting.
        posterior: exact mean and standard deviation.

    Returns:
        Total variation distance and roughness of 100-bin histograms by chain and coordinate, longest constant run
        in the last `TRACE_WINDOW` iterations by chain, the exact moments, errors of the estimated ones.
    """
    (axis,) = chains.axes
    position = chains.draws["position"]
    n_points, n_chains, _, dim = position.shape
    distance, roughness = np.empty((2, n_points, n_chains, dim))
    sd_error = np.empty((n_points, dim))
    for point in range(n_points):
        for coordinate in range(dim):
            edges = _position_edges(posterior, coordinate)
            exact = bin_probabilities(stats.norm(posterior.mean[coordinate], posterior.sd).cdf, edges)
            for chain in range(n_chains):
                frequencies = sample_frequencies(position[point, chain, :, coordinate], edges)
                distance[point, chain, coordinate] = total_variation(frequencies, exact)
                roughness[point, chain, coordinate] = histogram_roughness(frequencies)
            sd_error[point, coordinate] = mcse_sd(position[point, :, :, coordinate])
    window = longest_rejection_run(chains.draws["accepted_position"][:, :, -TRACE_WINDOW:])
    by_coordinate = (axis, "chain", "coordinate")
    return xr.Dataset(
        {
            "total_variation": (by_coordinate, distance),
            "histogram_roughness": (by_coordinate, roughness),
            "longest_run_window": ((axis, "chain"), window, {"units": "iterations"}),
            "mcse_sd": ((axis, "coordinate"), sd_error),
            "exact_mean": (("coordinate",), posterior.mean),
            "exact_sd": ((), posterior.sd),
        },
        coords={axis: chains.axes[axis], "chain": range(n_chains), "coordinate": coordinate_names(dim)},
    )


def position_curves(chains: Chains, posterior: ExactPosterior) -> xr.Dataset:
    """Trace of x1 at the end of the first chain, histograms of x1 in all chains, exact density of x1."""
    (axis,) = chains.axes
    first = chains.draws["position"][..., 0]
    edges = _position_edges(posterior, 0)
    centres = 0.5 * (edges[1:] + edges[:-1])
    trace, iterations = _trace(first)
    return xr.Dataset(
        {
            "trace_position": ((axis, "iteration"), trace),
            "histogram_position": ((axis, "chain", "bin"), _densities(first, edges)),
            "exact_density_position": (("bin",), stats.norm.pdf(centres, posterior.mean[0], posterior.sd)),
        },
        coords={
            axis: chains.axes[axis],
            "iteration": iterations,
            "chain": range(first.shape[1]),
            "bin": centres,
        },
    )


def auxiliary_statistics(chains: Chains, marginal: AuxiliaryMarginal, n_importance: int) -> xr.Dataset:
    """Moments, efficiency and histogram error of u[0, 0, 0] against its exact marginal.

    Args:
        chains: recorded `auxiliary` [point, chain, draw] and counters.
        marginal: the exact law.
        n_importance: importance samples of one density estimate.
    """
    (axis,) = chains.axes
    series = chains.draws["auxiliary"]
    calls = chains.draws["n_estimates_position"].sum(axis=2) + chains.draws["n_estimates_auxiliary"].sum(
        axis=2
    )
    ess = effective_sample_size(series)
    exact = bin_probabilities(marginal.cumulative, _AUXILIARY_EDGES)
    distance = np.array(
        [
            [total_variation(sample_frequencies(chain, _AUXILIARY_EDGES), exact) for chain in point]
            for point in series
        ]
    )
    by_chain = (axis, "chain")
    return xr.Dataset(
        {
            "auxiliary_mean": (by_chain, series.mean(axis=2)),
            "auxiliary_second_moment": (by_chain, np.square(series).mean(axis=2)),
            "auxiliary_mean_error": (by_chain, _standard_errors(series)),
            "auxiliary_second_moment_error": (by_chain, _standard_errors(np.square(series))),
            "auxiliary_ess": (by_chain, ess, {"units": "draws"}),
            "auxiliary_ess_per_iteration": (
                by_chain,
                ess / series.shape[2],
                {"units": "draws per iteration"},
            ),
            "auxiliary_ess_per_evaluation": (
                by_chain,
                ess / (calls * n_importance),
                {"units": "draws per density evaluation"},
            ),
            "total_variation_auxiliary": (by_chain, distance),
            "exact_auxiliary_mean": ((), marginal.mean),
            "exact_auxiliary_sd": ((), marginal.sd),
        },
        coords={axis: chains.axes[axis], "chain": range(series.shape[1])},
    )


def auxiliary_curves(chains: Chains, marginal: AuxiliaryMarginal) -> xr.Dataset:
    """Trace of u[0, 0, 0] at the end of the first chain, its histograms in all chains, its exact density."""
    (axis,) = chains.axes
    series = chains.draws["auxiliary"]
    centres = 0.5 * (_AUXILIARY_EDGES[1:] + _AUXILIARY_EDGES[:-1])
    trace, iterations = _trace(series)
    return xr.Dataset(
        {
            "trace_auxiliary": ((axis, "iteration"), trace),
            "histogram_auxiliary": ((axis, "chain", "bin_auxiliary"), _densities(series, _AUXILIARY_EDGES)),
            "exact_density_auxiliary": (("bin_auxiliary",), marginal.density(centres)),
        },
        coords={
            axis: chains.axes[axis],
            "iteration": iterations,
            "chain": range(series.shape[1]),
            "bin_auxiliary": centres,
        },
    )


def kept_draws(chains: Chains, about: Mapping[str, Sequence[Any]]) -> dict[str, xr.Dataset]:
    """Groups `posterior` and `sample_stats` with dims (chain, draw) first, if the draws are few enough to keep.

    Args:
        chains: recorded chains.
        about: further dims of length 1 that say which chains these are (method, n_importance).

    Returns:
        The two groups, or nothing when there are more than `MOST_KEPT` numbers.
    """
    if chains.draws["position"].size > MOST_KEPT:
        return {}
    (axis,) = chains.axes
    _, n_chains, n_draws, dim = chains.draws["position"].shape
    coords = {axis: chains.axes[axis], "chain": range(n_chains), "draw": range(n_draws)}
    position = xr.DataArray(
        chains.draws["position"],
        dims=(axis, "chain", "draw", "coordinate"),
        coords=coords | {"coordinate": coordinate_names(dim)},
    )
    stats_names = [name for name in chains.draws if name not in ("position", "auxiliary")]
    sample_stats = xr.Dataset(
        {name: ((axis, "chain", "draw"), chains.draws[name]) for name in stats_names}, coords=coords
    )
    groups = {"posterior": position.to_dataset(name="x"), "sample_stats": sample_stats}
    return {
        name: data.expand_dims({key: list(values) for key, values in about.items()}).transpose(
            "chain", "draw", *about, axis, ...
        )
        for name, data in groups.items()
    }


def _pooled_moments(position: FloatArray, ess: FloatArray, axis: str) -> dict[str, Variable]:
    """Posterior moments over all chains of a sweep point, by coordinate, and how far they can be trusted."""
    n_points, _, n_draws, dim = position.shape
    thinned = position[:, :, :: max(1, n_draws // _R_HAT_DRAWS)]
    names = ["posterior_mean", "posterior_sd", "r_hat"]
    values = {name: np.empty((n_points, dim)) for name in names}
    few = position.size <= MOST_KEPT
    if few:
        values |= {"bulk_ess": np.empty((n_points, dim)), "tail_ess": np.empty((n_points, dim))}
    for point in range(n_points):
        series = np.moveaxis(position[point], -1, 0)
        values["posterior_mean"][point] = series.mean(axis=(1, 2))
        values["posterior_sd"][point] = [coordinate.std(ddof=1) for coordinate in series]
        values["r_hat"][point] = rank_r_hat(np.moveaxis(thinned[point], -1, 0))
        if few:
            values["bulk_ess"][point] = bulk_ess(series)
            values["tail_ess"][point] = tail_ess(series)
    total = ess.sum(axis=1)
    with np.errstate(divide="ignore"):
        error = np.where(total > 0.0, values["posterior_sd"] / np.sqrt(total), np.nan)
    units = {"bulk_ess": {"units": "draws"}, "tail_ess": {"units": "draws"}}
    variables: dict[str, Variable] = {
        name: ((axis, "coordinate"), array, units.get(name, {})) for name, array in values.items()
    }
    return variables | {"mcse_mean": ((axis, "coordinate"), error, {})}


def _standard_errors(series: FloatArray) -> FloatArray:
    """Monte Carlo standard error of the mean of each chain [..., draw]; NaN for a chain that never moves."""
    ess = effective_sample_size(series)
    with np.errstate(divide="ignore"):
        return np.where(ess > 0.0, series.std(axis=-1, ddof=1) / np.sqrt(ess), np.nan)


def _position_edges(posterior: ExactPosterior, coordinate: int) -> FloatArray:
    half = _HALF_RANGE_SD * posterior.sd
    return np.linspace(posterior.mean[coordinate] - half, posterior.mean[coordinate] + half, _N_BINS + 1)


def _densities(series: FloatArray, edges: FloatArray) -> FloatArray:
    """Histogram of each chain [point, chain, draw] as a density [point, chain, bin], draws outside counted."""
    widths = np.diff(edges)
    return np.array(
        [[sample_frequencies(chain, edges)[1:-1] / widths for chain in point] for point in series]
    )


def _trace(series: FloatArray) -> tuple[FloatArray, IntegerArray]:
    """Last iterations of the first chain at each point [point, chain, draw], thinned, with their numbers.

    Iterations are counted from the beginning of the window, so that chains of unequal length share an axis.
    """
    window = min(TRACE_WINDOW, series.shape[2])
    iterations = np.arange(0, window, TRACE_STRIDE)
    return series[:, 0, -window:][:, iterations], iterations
