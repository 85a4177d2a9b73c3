"""From recorded chains and weights to the numbers and curves of the study. NumPy and xarray only."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from auxmc.diagnostics.coda import gelman_plot_ends, potential_scale_reduction_path
from auxmc.diagnostics.runs import n_distinct_states, run_lengths
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.chain_statistics import (
    arviz_groups,
    chain_moments,
    histogram,
    labelled_draws,
    longest_run,
    pooled,
    scale_reduction,
    units_of,
    with_units,
    without_sweep,
)
from auxmc_pipeline.chains import Chains
from experiments.gp_probit.model import Problem
from experiments.gp_probit.settings import AVERAGE

HISTOGRAM_RANGE = (0.0, 4.5)  # of the log output scale with the breast cancer data: mean 2.1, +- 4 sds
LONG_RUN = 200  # identical states: "sticking periods of hundreds of iterations" (section 3.6.2)
SLICE_HISTOGRAM_FRACTION = 0.4  # of chains with slice updates of x, for equal cost (figure 3.12)
_N_BINS = 100
_POOLED = ("posterior_mean", "posterior_sd", "mcse_mean", "mcse_sd", "bulk_ess", "tail_ess", "r_hat")
_AGGREGATES = (AVERAGE, "largest", "first coordinate")
_UNITS = units_of(
    {
        "operations": "cubic_operations cubic_operations_per_iteration cubic_operations_so_far",
        "estimates": "estimates_position_per_iteration estimates_auxiliary_per_iteration",
        "iterations": "longest_run_fixed_step n_not_finite main_draws",
        "runs": "n_long_runs",
        "states": "distinct_states",
        "proposals": "n_failures",
        "updates": "n_collapsed",
        "draws per 1000 operations": "ess_per_1000_cubic_operations",
        "s": "run_time run_time_per_iteration run_time_per_cubic_operation run_time_so_far",
        "draws": "histogram histogram_draws",
        "nats": "sd_log_estimate",
        "steps": "newton_steps",
    }
)


def recorded(chains: Chains, coordinates: Sequence[str]) -> xr.Dataset:
    """Recorded quantities of the chains of one case, warm-up first, dims (chain, draw), x with coordinate as well."""
    draws = labelled_draws(without_sweep(chains), {"coordinate": list(coordinates)}, {"x": ["coordinate"]})
    stuck = np.flatnonzero((~xr.ufuncs.isfinite(draws["log_estimate"])).any("draw"))
    if stuck.size:
        raise ValueError(
            f"chains {stuck.tolist()} found no start with a finite density estimate: check the scale of the "
            "features, or use more importance samples (n_importance)"
        )
    return draws


def chain_statistics(draws: xr.Dataset, n_warm_up: int, batch_size: int, run_s: float) -> xr.Dataset:
    """Statistics (chain, coordinate) of the main runs after the warm-up; `run_s` is shared out by cubic operations."""
    main = draws.isel(draw=slice(n_warm_up, None))
    x = main["x"].astype(float)
    n_draws = main.sizes["draw"]
    cubic = main["n_cubic"].sum("draw").astype(float)
    seconds_per_cubic = run_s / float(draws["n_cubic"].sum())
    moments = chain_moments(x)
    found: dict[str, Any] = {
        "cubic_operations": cubic,
        "cubic_operations_per_iteration": cubic / n_draws,
        "acceptance_position": main["accepted_position"].mean("draw"),
        "acceptance_auxiliary": main["accepted_auxiliary"].mean("draw"),
        "estimates_position_per_iteration": main["n_estimates_position"].sum("draw") / n_draws,
        "estimates_auxiliary_per_iteration": main["n_estimates_auxiliary"].sum("draw") / n_draws,
        "acceptance_last_batches": _acceptance_last_batches(draws, n_warm_up, batch_size),
        "adapted_step_size": main["scale"].isel(draw=-1),
        "longest_run": longest_run(x, "coordinate"),
        "n_long_runs": xr.apply_ufunc(
            lambda states: float((run_lengths(states) >= LONG_RUN).sum()),
            x,
            input_core_dims=[["draw", "coordinate"]],
            vectorize=True,
        ),
        "distinct_states": xr.apply_ufunc(
            n_distinct_states, x, input_core_dims=[["draw", "coordinate"]], vectorize=True
        ),
        "n_failures": main["n_failures"].sum("draw").astype(float),
        "n_collapsed": main["n_collapsed"].sum("draw").astype(float),
        "n_not_finite": (~xr.ufuncs.isfinite(main["log_estimate"])).sum("draw"),
        "run_time": cubic * seconds_per_cubic,
        **moments,
        **pooled(x, *_POOLED),
        "ess_per_1000_cubic_operations": 1000.0 * moments["ess"] / cubic,
        "main_draws": float(n_draws),
        "run_time_per_iteration": float(cubic.sum()) * seconds_per_cubic / (x.sizes["chain"] * n_draws),
        "run_time_per_cubic_operation": seconds_per_cubic,
    }
    undefined = xr.full_like(found["r_hat"], np.nan)
    several = x.sizes["chain"] > 1
    found |= scale_reduction(x) if several else {"psrf": undefined, "psrf_upper": undefined}
    return with_units(found, _UNITS)


def chain_curves(draws: xr.Dataset, n_warm_up: int, run_s: float, method: str, fix_range: bool) -> xr.Dataset:
    """Trace and histogram of the first coordinate, and how the scale reduction and stuck runs develop.

    Counts are over HISTOGRAM_RANGE if `fix_range`, else over the range of the draws; `histogram_draws` has those
    outside as well. `psrf_left_out` is NaN where fewer than two chains are left.
    """
    main = draws.isel(draw=slice(n_warm_up, None))
    x = main["x"].astype(float)
    n_chains, n_draws = x.sizes["chain"], x.sizes["draw"]
    first = x.isel(coordinate=0, drop=True)
    counts, n_histogram = _histogram(first, method, fix_range)
    ends = gelman_plot_ends(n_draws)
    point, upper, left_out = _scale_reduction_paths(x.values, ends)
    so_far = main["n_cubic"].astype(float).cumsum("draw").isel(draw=ends - 1).mean("chain").values
    firsts = [x.isel(draw=slice(end)) for end in ends]
    found = {
        "trace": ("iteration", first.isel(chain=0).values),
        "histogram": counts,
        "histogram_draws": ("chain", np.full(n_chains, n_histogram)),
        "psrf": (("aggregate", "end"), point),
        "psrf_upper": (("aggregate", "end"), upper),
        "psrf_left_out": (("aggregate", "left_out", "end"), left_out),
        "cubic_operations_so_far": ("end", so_far),
        "run_time_so_far": ("end", so_far * run_s / float(draws["n_cubic"].sum())),
        "mean_so_far": xr.concat([part.mean("draw") for part in firsts], "end"),
        "sd_so_far": xr.concat([part.std("draw", ddof=1) for part in firsts], "end"),
    }
    coords = {
        "iteration": np.arange(1, n_draws + 1),
        "end": ends,
        "aggregate": list(_AGGREGATES),
        "left_out": np.arange(n_chains),
    }
    return with_units(found, _UNITS).assign_coords(coords)


def chain_groups(draws: xr.Dataset, n_warm_up: int) -> dict[str, xr.Dataset]:
    """The draws themselves in groups named as ArviZ does, those of the warm-up apart."""
    named = draws.rename(log_estimate="lp", scale="step_size")
    groups = arviz_groups(named.isel(draw=slice(n_warm_up, None)), ["x"])
    if n_warm_up:
        groups |= arviz_groups(named.isel(draw=slice(0, n_warm_up)), ["x"], prefix="warmup_")
    return groups


def data_statistics(problem: Problem) -> xr.Dataset:
    """Size of the data."""
    sizes = {
        "rows_read": problem.n_rows_read,
        "rows_incomplete": problem.n_incomplete,
        "rows_used": len(problem.labels),
        "features": len(problem.feature_names),
        "distinct_inputs": len(problem.model.inputs),
    }
    return xr.Dataset({name: ((), float(size), {"units": ""}) for name, size in sizes.items()})


def data_groups(problem: Problem) -> dict[str, xr.Dataset]:
    """Labels and standardised features as groups named as ArviZ does."""
    features = {"features": (("row", "feature"), problem.features)}
    return {
        "observed_data": xr.Dataset({"label": ("row", problem.labels)}),
        "constant_data": xr.Dataset(features, coords={"feature": list(problem.feature_names)}),
    }


def estimator_statistics(
    log_estimate: FloatArray,
    log_proposed: FloatArray,
    n_newton: NDArray[np.generic],
    n_importance: Sequence[int],
) -> xr.Dataset:
    """Noise of the density estimate and the acceptance rates that it allows [n_importance, chain, reference].

    Log estimates in nats [chain, reference, weight] are of single samples, at posterior draws and, with the same
    auxiliary variables, at an MH proposal from each. `acceptance_mi` is of the independence update of u,
    `acceptance_pm_mh` of a joint update with fresh u, `acceptance_apm_mh` of an update of x with u fixed.
    """
    shape = (len(n_importance), *log_estimate.shape[:2])
    names = ("sd_log_estimate", "acceptance_mi", "acceptance_pm_mh", "acceptance_apm_mh")
    found = {name: np.empty(shape) for name in names}
    for place in np.ndindex(*shape):
        here = _grouped(log_estimate[place[1:]], n_importance[place[0]])
        there = _grouped(log_proposed[place[1:]], n_importance[place[0]])
        found["sd_log_estimate"][place] = np.std(here, ddof=1)
        found["acceptance_mi"][place] = expected_acceptance(here, here)
        found["acceptance_pm_mh"][place] = expected_acceptance(here, there)
        found["acceptance_apm_mh"][place] = _paired_acceptance(here, there)
    dims = ("n_importance", "chain", "reference")
    variables: dict[str, Any] = {name: (dims, values) for name, values in found.items()}
    variables["newton_steps"] = (dims[1:], n_newton.astype(float))
    coords: dict[str, Any] = {dim: np.arange(size) for dim, size in zip(dims, shape, strict=True)}
    coords["n_importance"] = list(n_importance)
    return with_units(variables, _UNITS).assign_coords(coords)


def fixed_step_statistics(chains: Chains) -> xr.Dataset:
    """Acceptance rates and longest runs of identical states (step_size, chain) of chains swept over `scale`."""
    by_step = chains._replace(axes={"step_size": chains.axes["scale"]})
    draws = labelled_draws(by_step, {}, {"x": ["coordinate"]})
    found = {
        "acceptance_fixed_step": draws["accepted_position"].mean("draw"),
        "longest_run_fixed_step": longest_run(draws["x"].astype(float), "coordinate"),
    }
    return with_units(found, _UNITS)


def expected_acceptance(log_current: FloatArray, log_proposed: FloatArray) -> float:
    """Acceptance rate of a proposal with new auxiliary variables, from log estimates [estimate] at both points.

    With e_i at the current point and f_j at the proposed one, all with u ~ rho, the current u has the distribution e
    rho: the rate is sum_ij min(e_i, f_j) / (R sum_i e_i), without the pairs i = j of equal u. It is biased upwards
    where the estimates are so noisy that the largest was not met.
    """
    current, proposed = _scaled_exponentials(log_current, log_proposed)
    ordered = np.sort(proposed)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    n_below = np.searchsorted(ordered, current)
    minima = sums[n_below] + current * (ordered.size - n_below)
    pairs = np.sum(minima) - np.sum(np.minimum(current, proposed))
    return float(pairs / ((current.size - 1) * np.sum(current)))


def _paired_acceptance(log_current: FloatArray, log_proposed: FloatArray) -> float:
    """Acceptance rate of an update of x with u fixed: sum_i min(e_i, f_i) / sum_i e_i, f_i with the u of e_i."""
    current, proposed = _scaled_exponentials(log_current, log_proposed)
    return float(np.sum(np.minimum(current, proposed)) / np.sum(current))


def _scaled_exponentials(log_current: FloatArray, log_proposed: FloatArray) -> tuple[FloatArray, FloatArray]:
    # The largest current estimate becomes 1; a proposed one that is larger still counts as what it is compared with.
    top = np.max(log_current)
    return np.exp(log_current - top), np.exp(np.minimum(log_proposed - top, 0.0))


def _grouped(log_weights: FloatArray, size: int) -> FloatArray:
    """Log means of groups of `size` weights; weights that fill no group are left out."""
    groups = log_weights[: len(log_weights) // size * size].reshape(-1, size)
    return np.logaddexp.reduce(groups, axis=1) - np.log(size)


def _acceptance_last_batches(draws: xr.Dataset, n_warm_up: int, batch_size: int) -> xr.DataArray:
    n_batches = n_warm_up // batch_size
    last = -(-n_batches // 4) * batch_size
    return draws["accepted_position"].isel(draw=slice(n_warm_up - last, n_warm_up)).astype(float).mean("draw")


def _histogram(first: xr.DataArray, method: str, fix_range: bool) -> tuple[xr.DataArray, int]:
    """Counts (chain, bin), and draws per chain."""
    part = SLICE_HISTOGRAM_FRACTION if method.endswith("_ss") else 1.0
    used = first.isel(draw=slice(max(1, round(part * first.sizes["draw"]))))
    low, high = HISTOGRAM_RANGE if fix_range else (float(first.min()), float(first.max()))
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return histogram(used, np.linspace(low, high, _N_BINS + 1)).astype(float), used.sizes["draw"]


def _scale_reduction_paths(x: FloatArray, ends: IntegerArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scale reduction and its upper limit [aggregate, end], and without each chain [aggregate, left out, end]."""
    n_chains = len(x)
    by_coordinate = np.moveaxis(x, -1, 0)  # [coordinate, chain, draw]
    shape = (len(_AGGREGATES), len(ends))
    point, upper = np.full(shape, np.nan), np.full(shape, np.nan)
    left_out = np.full((len(_AGGREGATES), n_chains, len(ends)), np.nan)
    if n_chains > 1:
        path = potential_scale_reduction_path(by_coordinate, ends)
        point, upper = _aggregated(path.point), _aggregated(path.upper)
    if n_chains > 2:
        for chain in range(n_chains):
            others = np.delete(by_coordinate, chain, axis=1)
            left_out[:, chain] = _aggregated(potential_scale_reduction_path(others, ends).point)
    return point, upper, left_out


def _aggregated(values: FloatArray) -> FloatArray:
    return np.stack([values.mean(axis=0), values.max(axis=0), values[0]])
