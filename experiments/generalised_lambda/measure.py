"""From recorded chains to the numbers and curves of the study. NumPy and xarray only."""

import xarray as xr

from auxmc_pipeline.chain_statistics import (
    chain_moments,
    fraction_of_time,
    longest_run,
    pooled,
    scale_reduction,
    with_units,
)
from experiments.generalised_lambda.settings import Settings

# First iterations, warm-up included, whose integration errors are counted apart
EARLY_ITERATIONS = 20
_ERRORS = ("n_not_converged", "n_not_converged_reverse", "n_irreversible", "n_not_finite", "n_singular")
_UNITS = {
    "ess_per_1000_evaluations": "draws per 1000 evaluations",
    "start_redraws": "draws",
    "n_not_finite_density": "iterations",
    **dict.fromkeys(("failed_warm_up", "failed_early"), "proposals"),
    "iterations_per_projection_warm_up": "1/projection",
    "largest_residual": "units of the data",
}


def chain_statistics(
    draws: xr.Dataset, settings: Settings, run_s: float, n_redraws: xr.DataArray
) -> xr.Dataset:
    """Statistics of draws after the warm-up, NaN where no chain moved.

    Draws are (prior, swept settings, chain, draw, ...). The run time of a chain is its fraction of that of
    all, `run_s`, by its evaluations of the generator.
    """
    warm_up = draws.isel(draw=slice(0, settings.n_warm_up))
    kept = draws.isel(draw=slice(settings.n_warm_up, None))
    z = kept["z"]
    moved = kept["accepted"].any("draw")
    some_moved = moved.any("chain")
    work = draws["n_evaluations"].sum("draw").astype(float)
    seconds = fraction_of_time(run_s, work)
    moments = chain_moments(z)
    usable = z.transpose(..., "parameter", "chain", "draw").where(some_moved, 0.0)
    posterior = {
        **moments,
        "ess_per_second": moments["ess"] / seconds,
        "ess_per_1000_evaluations": 1000.0 * moments["ess"] / work,
        **pooled(z, "posterior_mean", "posterior_sd"),
        **pooled(usable, "mcse_mean", "mcse_sd", "bulk_ess", "r_hat"),
        **(scale_reduction(usable, "parameter") if z.sizes["chain"] > 1 else {}),
    }
    found = {
        **{name: array.where(some_moved) for name, array in posterior.items()},
        "chain_seconds": seconds,
        "evaluations_per_iteration": work / draws.sizes["draw"],
        "acceptance": kept["accepted"].mean("draw"),
        "acceptance_probability": kept["acceptance_probability"].mean("draw"),
        "moved": moved,
        "longest_run": longest_run(z.isel(parameter=0, drop=True)),
        "start_redraws": n_redraws,
        "n_not_finite_density": (~xr.ufuncs.isfinite(kept["log_density"])).sum("draw"),
    }
    if settings.n_warm_up:
        found["acceptance_warm_up"] = warm_up["accepted"].mean("draw")
    found |= _counted(draws, warm_up, kept)
    return with_units(found, _UNITS).astype(float)


def _counted(draws: xr.Dataset, warm_up: xr.Dataset, kept: xr.Dataset) -> dict[str, xr.DataArray]:
    """Failures and work counted by the kernels, after the warm-up and in it."""
    names = [str(n) for n in draws.data_vars if str(n).startswith("n_") and n != "n_evaluations"]
    found = {name: kept[name].sum("draw") for name in names}
    errors = [name for name in _ERRORS if name in names]
    if errors:
        failed = (draws[errors].to_dataarray("error") > 0).any("error")
        n_warm_up = warm_up.sizes["draw"]
        found["failed_share"] = failed.isel(draw=slice(n_warm_up, None)).mean("draw")
        found["failed_warm_up"] = failed.isel(draw=slice(0, n_warm_up)).sum("draw")
        found["failed_early"] = failed.isel(draw=slice(0, EARLY_ITERATIONS)).sum("draw")
    if "n_projections" in names:
        found["iterations_per_projection"] = _iterations_per_projection(kept)
        found["iterations_per_projection_warm_up"] = _iterations_per_projection(warm_up)
    if "residual" in draws:
        found["largest_residual"] = draws["residual"].max("draw")
    return found


def _iterations_per_projection(draws: xr.Dataset) -> xr.DataArray:
    n_projections = draws["n_projections"].sum("draw")
    return draws["n_projection_iterations"].sum("draw") / n_projections.where(n_projections > 0)
