"""From recorded chains to the numbers and curves of the study. NumPy and xarray only."""

from typing import Any

import numpy as np
import xarray as xr

from auxmc.diagnostics.coda import potential_scale_reduction
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.chain_statistics import (
    arviz_groups,
    fraction_of_time,
    over_chains,
    thinned,
    units_of,
    with_units,
)
from experiments.human_pose.model.skeleton import JOINT_NAMES

AXES = ("x", "y", "z")
N_CURVE_POINTS = 100  # Points of an error curve, as in the published figure
PUBLISHED_CHAINS = 5  # Chains of each method in the published figure
N_SAMPLES = 3  # Samples of a chain that are drawn as skeletons: at a third, two thirds and the end
MOST_STORED_DRAWS = 1000  # Draws of each chain that go into the result file, evenly spaced
_MOST_SHOWN_CHAINS = 10  # Of which samples are recorded.


def running_rmse(
    positions: FloatArray, truth: FloatArray, counts: IntegerArray, *, homogeneous: bool = False
) -> FloatArray:
    """Error in metres [..., point] of means of the first `counts` samples [..., sample, joint, 3].

    There is one count for each point. `homogeneous` is sqrt(3/4) of the error, as published: a fourth
    coordinate is 1 in both (PhD thesis, section 4.10.3).
    """
    sums = np.cumsum(positions, axis=-3)[..., counts - 1, :, :]
    means = sums / counts[:, None, None]
    n_rows = 4 if homogeneous else 3
    return np.sqrt(np.square(means - truth).sum(axis=(-2, -1)) / (n_rows * truth.shape[0]))


_UNITS = units_of(
    {
        "chains": "n_chains_still",
        "noise standard deviations": "misfit",
        "s": "seconds_per_chain time_s",
        "1/iteration": "work_per_iteration",
        "units of the image plane": "largest_residual",
        "m": "spread_within spread_between rms_front rms_depth rmse rmse_homogeneous mean_position",
    }
)


def chain_statistics(draws: xr.Dataset, first: xr.DataArray, truth: xr.DataArray, run_s: float) -> xr.Dataset:
    """Statistics of chains by (scene, step_size, chain).

    Those of the posterior are from second halves, as no warm-up is discarded. The run time of a chain is its
    fraction of that of all, `run_s`, by its projections or gradients. `first` (chain, joint, axis) are joint
    positions at the start, `truth` (scene, joint, axis) the true ones, NaN where unknown.
    """
    work = draws["n_work"].sum("draw").astype(float)
    half = draws.isel(draw=slice(draws.sizes["draw"] // 2, None))
    moved = draws["accepted"].any("draw")
    found = {
        "acceptance": draws["accepted"].mean("draw"),
        "acceptance_probability": draws["acceptance_probability"].mean("draw"),
        "acceptance_second_half": half["accepted"].mean("draw"),
        "moved": moved,
        "n_chains_still": (~moved).sum("chain"),
        "misfit": xr.ufuncs.sqrt((half["misfit"] ** 2).mean("draw")),
        "seconds_per_chain": fraction_of_time(run_s, work),
        "work_per_iteration": work / draws.sizes["draw"],
        "spread_within": half["positions"].std("draw").mean(["joint", "axis"]),
    }
    counts = [str(n) for n in draws.data_vars if str(n).startswith("n_") and n != "n_work"]
    found |= {name: draws[name].sum("draw") for name in counts}
    if "residual" in draws:
        found["largest_residual"] = draws["residual"].max("draw")
    if draws.sizes["chain"] > 1:
        mean = half["positions"].mean("draw")
        found["spread_between"] = mean.std("chain", ddof=1).mean(["joint", "axis"])
        found["psrf"] = over_chains(_scale_reduction, half["positions"])
        found["largest_psrf"] = found["psrf"].max(["joint", "axis"])
    if draws.sizes["chain"] >= 2 * PUBLISHED_CHAINS:
        found["largest_psrf_of_set"] = sets_of_chains(half["positions"])
    if bool(np.isfinite(truth).all()):
        squares = (half["positions"] - truth) ** 2
        front, depth = (squares.sel(axis=list(axes)).mean(["joint", "axis"]) for axes in ("xy", "z"))
        found["rms_front"], found["rms_depth"] = (
            xr.ufuncs.sqrt(part.mean("draw")) for part in (front, depth)
        )
        found["log_depth_over_front"] = xr.ufuncs.log(depth / front).mean("draw") / 2.0
        at_end = chain_curves(draws, first, truth, run_s).isel(point=-1, drop=True)
        found |= {name: at_end[name] for name in ("rmse", "rmse_homogeneous")}
    return with_units(found, _UNITS).astype(float)


def sets_of_chains(positions: xr.DataArray) -> xr.DataArray:
    """Largest PSRF of a joint coordinate in each full set (..., chain_set) of as many chains as are published."""
    n_sets = positions.sizes["chain"] // PUBLISHED_CHAINS
    sets = [slice(n * PUBLISHED_CHAINS, (n + 1) * PUBLISHED_CHAINS) for n in range(n_sets)]
    factors = [over_chains(_scale_reduction, positions.isel(chain=one)) for one in sets]
    return xr.concat(factors, xr.DataArray(np.arange(n_sets), dims="chain_set")).max(["joint", "axis"])


def chain_curves(draws: xr.Dataset, first: xr.DataArray, truth: xr.DataArray, run_s: float) -> xr.Dataset:
    """Errors against run time, and samples and mean pose of each chain; see `chain_statistics`."""
    samples = draws["positions"].transpose("scene", "step_size", "chain", "draw", "joint", "axis")
    n_draws = draws.sizes["draw"]
    shown = chain_samples(samples)
    half = samples.isel(draw=slice(n_draws // 2, None))
    curves: dict[str, Any] = {
        "sample_position": of_shown_chains(shown.astype(float)),
        "mean_position": half.mean("draw"),
    }
    if bool(np.isfinite(truth).all()):
        counts = np.unique(np.round(np.linspace(1, n_draws + 1, N_CURVE_POINTS)).astype(np.int64))
        true = truth.transpose("scene", "joint", "axis").values
        start = first.broadcast_like(samples.isel(draw=0)).transpose(*samples.isel(draw=0).dims)
        shape = samples.shape[:3]
        for name, has_four in (("rmse", False), ("rmse_homogeneous", True)):
            errors = np.empty((*shape, counts.size))
            # One by one: the sums of all draws take as much memory as the draws.
            for lane in np.ndindex(shape):
                run = np.concatenate([start.values[lane][None], samples.values[lane]])
                errors[lane] = running_rmse(run, true[lane[0]], counts, homogeneous=has_four)
            curves[name] = (("scene", "step_size", "chain", "point"), errors)
        seconds = fraction_of_time(run_s, draws["n_work"].sum("draw").astype(float))
        curves["time_s"] = seconds * xr.DataArray((counts - 1) / n_draws, dims="point")
        curves["n_samples"] = ("point", counts.astype(float))
    coords = {name: draws[name] for name in ("scene", "step_size", "chain")}
    return with_units(curves, _UNITS).assign_coords(coords)


def chain_samples(draws: xr.DataArray) -> xr.DataArray:
    """Draws at a third, two thirds and the end of each chain, with dim sample in place of draw."""
    n_draws = draws.sizes["draw"]
    places = [-(-n_draws * (index + 1) // N_SAMPLES) - 1 for index in range(N_SAMPLES)]
    shown = draws.isel(draw=places).rename(draw="sample")
    return shown.assign_coords(sample=np.arange(1, N_SAMPLES + 1))


def of_shown_chains(samples: xr.DataArray) -> xr.DataArray:
    """Samples or curves of as many chains as figures show, others missing: of all they would be megabytes of rows."""
    return samples.where(samples["chain"] < _MOST_SHOWN_CHAINS)


def chain_groups(draws: xr.Dataset) -> dict[str, xr.Dataset]:
    """Evenly spaced draws in groups named as ArviZ does, dims (chain, draw) first."""
    kept = thinned(draws, MOST_STORED_DRAWS, last=True).assign_coords(joint=list(JOINT_NAMES))
    return arviz_groups(kept, ["positions", "camera"])


def _scale_reduction(chains: FloatArray) -> FloatArray:
    """Point estimates [...] from positions [..., chain, draw]; infinite where no chain moves."""
    # Without any variance the factor is 0 / 0 or infinite; a stand-in keeps the warning away.
    still = np.ptp(chains, axis=-1).max(axis=-1) == 0.0
    stand_in = np.arange(chains.shape[-1], dtype=np.float64)
    usable = np.where(still[..., None, None], stand_in, chains)
    return np.where(still, np.inf, potential_scale_reduction(usable).point)
