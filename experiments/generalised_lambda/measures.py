"""From recorded chains to the numbers and curves of the study. NumPy and xarray only."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from auxmc.diagnostics.coda import (
    effective_sample_size,
    multivariate_scale_reduction,
    potential_scale_reduction,
)
from auxmc.diagnostics.runs import longest_constant_run
from auxmc.diagnostics.summary import bulk_ess, mcse_mean, mcse_sd, rank_r_hat
from auxmc.numerics.array_types import FloatArray, IntegerArray
from experiments.generalised_lambda.settings import Settings

MOST_CURVE_DRAWS = 800
"""Draws of each chain that go into the figures' histograms, evenly spaced."""

EARLY_ITERATIONS = 20
"""First iterations, warm-up included, whose integration errors are counted apart."""

_INTEGRATION_ERRORS = (
    "n_not_converged",
    "n_not_converged_reverse",
    "n_irreversible",
    "n_not_finite",
    "n_singular",
)


def chain_statistics(
    draws: xr.Dataset, settings: Settings, run_s: float, n_redraws: xr.DataArray
) -> xr.Dataset:
    """Efficiency, accept rates, failures, work and moments of the draws after the warm-up.

    Where no chain at a point moved, all that speaks of the posterior is missing (NaN). The run time of a
    chain, warm-up included, is its share of the run time of all by its evaluations of the generator.

    Args:
        draws: recorded quantities (prior, swept settings, chain, draw, ...), warm-up included.
        settings: of the case.
        run_s: seconds that all chains took, one after the other.
        n_redraws: prior draws discarded before the start of each chain (prior, chain).

    Returns:
        Variables with dims (prior, swept settings) and chain or parameter or both.
    """
    kept = draws.isel(draw=slice(settings.n_warm_up, None))
    z = kept["z"].transpose(..., "chain", "parameter", "draw")
    moved = kept["accepted"].any("draw")
    some_moved = moved.any("chain")
    work = draws["n_evaluations"].sum("draw").astype(float)
    seconds = run_s * work / work.sum()
    ess = _over_draws(z, effective_sample_size)
    found: dict[str, tuple[xr.DataArray, str]] = {
        "ess": (ess, "draws"),
        "ess_per_second": (ess / seconds, "1/s"),
        "ess_per_1000_evaluations": (1000.0 * ess / work, "draws per 1000 evaluations"),
        "chain_mean": (z.mean("draw"), ""),
        "chain_sd": (z.std("draw", ddof=1), ""),
        "chain_seconds": (seconds, "s"),
        "evaluations_per_iteration": (work / draws.sizes["draw"], "1/iteration"),
        "acceptance": (kept["accepted"].mean("draw"), ""),
        "acceptance_probability": (kept["acceptance_probability"].mean("draw"), ""),
        "moved": (moved.astype(float), ""),
        "longest_run": (_over_draws(z.isel(parameter=0), _longest), "iterations"),
        "start_redraws": (n_redraws, "draws"),
        "n_not_finite_density": (
            xr.zeros_like(kept["log_density"]).where(np.isfinite(kept["log_density"]), 1.0).sum("draw"),
            "iterations",
        ),
    }
    if settings.n_warm_up:
        found["acceptance_warm_up"] = (
            draws["accepted"].isel(draw=slice(0, settings.n_warm_up)).mean("draw"),
            "",
        )
    found |= _counted(draws, kept, settings.n_warm_up)
    found |= _pooled(z, some_moved)
    variables = {}
    for name, (values, unit) in found.items():
        about_posterior = "parameter" in values.dims
        array = values.where(some_moved) if about_posterior else values
        variables[name] = array.astype(float).assign_attrs(units=unit)
    return xr.Dataset(variables)


def chain_curves(draws: xr.Dataset, settings: Settings) -> xr.Dataset:
    """Evenly spaced draws of the parameters after the warm-up, for histograms."""
    kept = draws["z"].isel(draw=slice(settings.n_warm_up, None))
    stride = -(-kept.sizes["draw"] // MOST_CURVE_DRAWS)
    thinned = kept.isel(draw=slice(None, None, stride))
    return thinned.assign_coords(draw=np.arange(thinned.sizes["draw"])).to_dataset(name="z")


def chain_groups(draws: xr.Dataset, settings: Settings) -> dict[str, xr.Dataset]:
    """The draws after the warm-up in groups named as ArviZ does, dims (chain, draw) first."""
    kept = draws.isel(draw=slice(settings.n_warm_up, None)).transpose("chain", "draw", ...)
    kept = kept.assign_coords(draw=np.arange(kept.sizes["draw"]))
    return {"posterior": kept[["z"]], "sample_stats": kept.drop_vars(["z", "parameter"])}


def _counted(draws: xr.Dataset, kept: xr.Dataset, n_warm_up: int) -> dict[str, tuple[xr.DataArray, str]]:
    """Failures and work counted by the kernels, after the warm-up and in it."""
    names = [str(n) for n in draws.data_vars if str(n).startswith("n_") and n != "n_evaluations"]
    found = {name: (kept[name].sum("draw").astype(float), "") for name in names}
    warm_up = draws.isel(draw=slice(0, n_warm_up))
    errors = [name for name in _INTEGRATION_ERRORS if name in names]
    if errors:
        failed = sum((draws[name] > 0 for name in errors), xr.zeros_like(draws["accepted"], dtype=int)) > 0
        found["failed_share"] = (failed.isel(draw=slice(n_warm_up, None)).mean("draw"), "")
        found["failed_warm_up"] = (failed.isel(draw=slice(0, n_warm_up)).sum("draw"), "proposals")
        found["failed_early"] = (failed.isel(draw=slice(0, EARLY_ITERATIONS)).sum("draw"), "proposals")
    if "n_projections" in names:
        for label, part in (("", kept), ("_warm_up", warm_up)):
            n_projections = part["n_projections"].sum("draw")
            share = part["n_projection_iterations"].sum("draw") / n_projections.where(n_projections > 0)
            found[f"iterations_per_projection{label}"] = (share, "1/projection")
    if "residual" in draws:
        found["largest_residual"] = (draws["residual"].max("draw"), "units of the data")
    return found


def _pooled(z: xr.DataArray, moved: xr.DataArray) -> dict[str, tuple[xr.DataArray, str]]:
    """Moments over all chains, their errors, and how far the chains agree; dims without chain."""
    chains = z.transpose(..., "parameter", "chain", "draw")
    several = z.sizes["chain"] > 1
    usable = chains.where(moved, 0.0)
    found = {
        "posterior_mean": (chains.mean(["chain", "draw"]), ""),
        "posterior_sd": (chains.std(["chain", "draw"], ddof=1), ""),
        "mcse_mean": (_over_chains(usable, mcse_mean), ""),
        "mcse_sd": (_over_chains(usable, mcse_sd), ""),
        "bulk_ess": (_over_chains(usable, bulk_ess), "draws"),
        "r_hat": (_over_chains(usable, rank_r_hat), ""),
    }
    if several:
        found["psrf"] = (_over_chains(usable, lambda x: potential_scale_reduction(x).point), "")
        found["psrf_upper"] = (_over_chains(usable, lambda x: potential_scale_reduction(x).upper), "")
        multivariate = xr.apply_ufunc(
            multivariate_scale_reduction, usable, input_core_dims=[["parameter", "chain", "draw"]]
        )
        found["psrf_multivariate"] = (multivariate.where(moved), "")
    return found


def _over_draws(array: xr.DataArray, function: Callable[..., Any]) -> xr.DataArray:
    result: xr.DataArray = xr.apply_ufunc(function, array, input_core_dims=[["draw"]])
    return result


def _over_chains(array: xr.DataArray, function: Callable[..., Any]) -> xr.DataArray:
    result: xr.DataArray = xr.apply_ufunc(function, array, input_core_dims=[["chain", "draw"]])
    return result


def _longest(series: FloatArray) -> IntegerArray:
    flat = series.reshape(-1, series.shape[-1])
    return np.array([longest_constant_run(chain) for chain in flat]).reshape(series.shape[:-1])
