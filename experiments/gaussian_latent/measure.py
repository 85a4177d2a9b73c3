"""From recorded chains to the numbers and curves of the study. NumPy, SciPy and xarray only."""

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from auxmc.diagnostics.coda import effective_sample_size
from auxmc.diagnostics.convergence import mcse_sd
from auxmc.diagnostics.distributions import bin_probabilities, sample_frequencies, total_variation
from auxmc.diagnostics.errors_of_means import error_between_chains
from auxmc.diagnostics.runs import longest_rejection_run
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chain_statistics import (
    MOST_KEPT,
    error_of_mean,
    histogram,
    labelled_draws,
    over_chains,
    over_draws,
    pooled,
    thinned_r_hat,
    units_of,
    with_units,
)
from auxmc_pipeline.chains import Chains
from experiments.gaussian_latent.problem import Distribution, Known

# Last iterations of a long chain, drawn and searched for sticking (thesis figure 3.4).
TRACE_WINDOW = 10_000
TRACE_STRIDE = 5  # Every so many of them are drawn (as in the published figures)
_N_BINS = 100
_HALF_RANGE_SD = 4.0
_AUXILIARY_EDGES = np.linspace(-4.0, 4.0, _N_BINS + 1)
_R_HAT_DRAWS = 1000
_UNITS = units_of(
    {
        "draws": "auxiliary_ess",
        "draws per density evaluation": "ess_per_evaluation auxiliary_ess_per_evaluation",
        "density evaluations": "work_normalised_error",
        "draws per iteration": "auxiliary_ess_per_iteration",
        "1/iteration": "estimates_position estimates_auxiliary",
        "iterations": "longest_run_position longest_run_auxiliary longest_run_window n_not_finite",
        "updates": "n_collapsed",
        "proposals": "n_failures",
    }
)


def recorded(chains: Chains) -> xr.Dataset:
    """Recorded quantities with dims (sweep axis, chain, draw), the position with coordinate in addition."""
    names = [f"x{i + 1}" for i in range(chains.draws["position"].shape[-1])]
    return labelled_draws(chains, {"coordinate": names}, {"position": ["coordinate"]})


def chain_statistics(draws: xr.Dataset, chain_s: float, n_importance: int) -> xr.Dataset:
    """Efficiency, acceptance rates, work, sticking and posterior moments by chain and sweep point.

    `chain_s` is the fraction of a chain in the seconds that all took side by side; each importance sample
    counts as one density evaluation. `mcse_mean` is the error between the chains, widened for few and NaN for
    a single one; `mcse_mean_within` comes from the effective sample sizes, which do not see that auxiliary
    variables are held for thousands of iterations.
    """
    position, calls = draws["position"], _calls(draws)
    # One chain at a time: a copy of all draws of a large sweep would not fit into memory.
    ess = xr.apply_ufunc(
        effective_sample_size,
        position,
        input_core_dims=[["coordinate", "draw"]],
        output_core_dims=[["coordinate"]],
        vectorize=True,
    )
    few = ["bulk_ess", "tail_ess"] if position.size <= MOST_KEPT else []
    found: dict[str, Any] = {
        "ess": ess,
        "ess_per_evaluation": ess.mean("coordinate") / (calls * n_importance),
        "ess_per_second": ess.mean("coordinate") / chain_s,
        "acceptance_position": draws["accepted_position"].mean("draw"),
        "acceptance_auxiliary": draws["accepted_auxiliary"].mean("draw"),
        "estimates_position": draws["n_estimates_position"].mean("draw"),
        "estimates_auxiliary": draws["n_estimates_auxiliary"].mean("draw"),
        "evaluations_per_iteration": calls * n_importance / draws.sizes["draw"],
        "longest_run_position": over_draws(longest_rejection_run, draws["accepted_position"]),
        "longest_run_auxiliary": over_draws(longest_rejection_run, draws["accepted_auxiliary"]),
        "n_collapsed": draws["n_collapsed"].sum("draw"),
        "n_failures": draws["n_failures"].sum("draw"),
        "n_not_finite": draws["not_finite"].sum("draw"),
        "n_iterations": draws.sizes["draw"],
        "chain_seconds": chain_s,
        **pooled(position, "posterior_mean", *few),
        "chain_mean": position.mean("draw", skipna=False),
        "posterior_sd": over_chains(partial(np.std, ddof=1), position, one_by_one=True),
        "r_hat": thinned_r_hat(position, _R_HAT_DRAWS),
    }
    found["mcse_mean"] = _error_between_chains(found["chain_mean"])
    found["mcse_mean_within"] = error_of_mean(found["posterior_sd"], ess)
    return with_units(found, _UNITS)


def exact_acceptance(known: Known, chains: Chains, method: str, n_importance: int) -> xr.Dataset:
    """Exact stationary acceptance rates, as far as they are known."""
    (axis, scales), *_ = chains.axes.items()
    found: dict[str, Any] = {}
    of_position, of_auxiliary = known.acceptance_position, known.acceptance_auxiliary
    if of_position and (rates := of_position(method, n_importance, scales)) is not None:
        found["exact_acceptance_position"] = ((axis,), rates)
    if of_auxiliary and (rate := of_auxiliary(method, n_importance)) is not None:
        found["exact_acceptance_auxiliary"] = rate
    return with_units(found, {}).assign_coords({axis: scales})


def accuracy(draws: xr.Dataset, known: Known, n_importance: int) -> xr.Dataset:
    """Errors of chain means against the exact posterior, where it is known, and its moments.

    `work_normalised_error` by chain is the squared error of its mean in units of the posterior variance, mean
    over coordinates, times the density evaluations of the chain. Its mean over chains is the number of
    evaluations that an effective draw takes, slow auxiliary variables included.
    """
    if known.position is None:
        return xr.Dataset()
    mean, sd = (
        xr.DataArray([getattr(one, name) for one in known.position], dims="coordinate")
        for name in ("mean", "sd")
    )
    errors = (draws["position"].mean("draw") - mean) / sd
    found = {
        "work_normalised_error": (errors**2).mean("coordinate") * _calls(draws) * n_importance,
        "exact_mean": mean,
        "exact_sd": sd,
    }
    return with_units(found, _UNITS)


def position_statistics(draws: xr.Dataset, known: Known, reference: FloatArray) -> xr.Dataset:
    """Moments of long chains, and how far their histograms are from the exact posterior.

    There is also the longest constant run in the last `TRACE_WINDOW` iterations by chain. Where the posterior
    is known, there are its moments and the total variation distance of 100-bin histograms by chain and
    coordinate; elsewhere histograms lie about `reference` [coordinate].
    """
    position = draws["position"]
    window = draws["accepted_position"].isel(draw=slice(-TRACE_WINDOW, None))
    found: dict[str, Any] = {
        "longest_run_window": over_draws(longest_rejection_run, window),
        "mcse_sd": _error_of_sd(position),
        "mcse_sd_within": over_chains(mcse_sd, position, one_by_one=True),
    }
    if known.position is not None:
        distances = []
        for i, one in enumerate(known.position):
            distance = partial(_distance, one, _edges(known, reference, i))
            distances.append(over_draws(distance, position.isel(coordinate=i), one_by_one=True))
        found["total_variation"] = xr.concat(distances, position["coordinate"]).transpose(..., "coordinate")
        found["exact_mean"] = ("coordinate", [one.mean for one in known.position])
        found["exact_sd"] = ("coordinate", [one.sd for one in known.position])
    return with_units(found, _UNITS)


def position_curves(draws: xr.Dataset, known: Known, reference: FloatArray) -> dict[str, Any]:
    """Trace of x1 at the end of the first chain, histograms of x1 in all chains, exact density of x1."""
    first = draws["position"].isel(coordinate=0, drop=True)
    density = _densities(first, _edges(known, reference, 0), "bin")
    found: dict[str, Any] = {"trace_position": _trace(first), "histogram_position": density}
    if known.position is not None:
        found["exact_density_position"] = ("bin", known.position[0].density(density["bin"].values))
    return found


def auxiliary_statistics(draws: xr.Dataset, exact: Distribution | None, n_importance: int) -> xr.Dataset:
    """Moments and efficiency of u[0, 0, 0], and the error of its histogram where its distribution is known."""
    series = draws["auxiliary"]
    ess = over_draws(effective_sample_size, series)
    found: dict[str, Any] = {
        "auxiliary_mean": series.mean("draw"),
        "auxiliary_second_moment": (series**2).mean("draw"),
        "auxiliary_ess": ess,
        "auxiliary_ess_per_iteration": ess / series.sizes["draw"],
        "auxiliary_ess_per_evaluation": ess / (_calls(draws) * n_importance),
    }
    if exact is not None:
        distance = partial(_distance, exact, _AUXILIARY_EDGES)
        found["total_variation_auxiliary"] = over_draws(distance, series, one_by_one=True)
        found |= {"exact_auxiliary_mean": exact.mean, "exact_auxiliary_sd": exact.sd}
    return with_units(found, _UNITS)


def auxiliary_curves(draws: xr.Dataset, exact: Distribution | None) -> dict[str, Any]:
    """Trace of u[0, 0, 0] at the end of the first chain, its histograms in all chains, its exact density."""
    series = draws["auxiliary"]
    density = _densities(series, _AUXILIARY_EDGES, "bin_auxiliary")
    found: dict[str, Any] = {"trace_auxiliary": _trace(series), "histogram_auxiliary": density}
    if exact is not None:
        values = exact.density(density["bin_auxiliary"].values)
        found["exact_density_auxiliary"] = ("bin_auxiliary", values)
    return found


def _calls(draws: xr.Dataset) -> xr.DataArray:
    return draws["n_estimates_position"].sum("draw") + draws["n_estimates_auxiliary"].sum("draw")


def _error_between_chains(values: xr.DataArray) -> xr.DataArray:
    """Standard error of the mean over chains of an estimate from each (..., chain, ...)."""
    return xr.apply_ufunc(error_between_chains, values, input_core_dims=[["chain"]])


def _error_of_sd(series: xr.DataArray) -> xr.DataArray:
    """Standard error between chains of the standard deviation of all draws (..., chain, draw, ...)."""
    mean = series.mean("draw")
    squares = over_draws(np.var, series, one_by_one=True) + (mean - mean.mean("chain")) ** 2
    return _error_between_chains(squares) / (2.0 * np.sqrt(squares.mean("chain")))


def _edges(known: Known, reference: FloatArray, coordinate: int) -> FloatArray:
    """Edges of the bins of a coordinate, the same for all programs of a case."""
    mean, sd = float(reference[coordinate]), 1.0
    if known.position is not None:
        mean, sd = known.position[coordinate].mean, known.position[coordinate].sd
    return np.linspace(mean - _HALF_RANGE_SD * sd, mean + _HALF_RANGE_SD * sd, _N_BINS + 1)


def _distance(exact: Distribution, edges: FloatArray, chain: FloatArray) -> float:
    """Total variation distance of the histogram of a chain [draw] from its exact distribution."""
    return total_variation(sample_frequencies(chain, edges), bin_probabilities(exact.cumulative, edges))


def _densities(series: xr.DataArray, edges: FloatArray, dim: str) -> xr.DataArray:
    """Histogram of each chain as a density over its bins, draws outside counted."""
    frequencies = histogram(series, edges, dim) / series.sizes["draw"]
    return frequencies / np.diff(edges)


def _trace(series: xr.DataArray) -> xr.DataArray:
    """Last iterations of the first chain at each point, thinned.

    Iterations are counted from the beginning of the window, so that chains of unequal length share an axis.
    """
    last = series.isel(chain=0, draw=slice(-TRACE_WINDOW, None), drop=True)
    iterations = np.arange(0, last.sizes["draw"], TRACE_STRIDE)
    return last.isel(draw=iterations).rename(draw="iteration").assign_coords(iteration=iterations)
