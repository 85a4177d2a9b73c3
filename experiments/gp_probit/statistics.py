"""What is measured from recorded chains and weights: NumPy arrays in, labelled datasets out."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from auxmc.diagnostics.coda import (
    effective_sample_size,
    gelman_plot_ends,
    potential_scale_reduction,
    potential_scale_reduction_path,
)
from auxmc.diagnostics.runs import longest_constant_run, n_distinct_states
from auxmc.diagnostics.summary import summarise_chains
from auxmc.numerics.array_types import FloatArray
from experiments.gp_probit.problem import Problem

HISTOGRAM_RANGE = (0.0, 4.5)
"""Range of the histograms of the log output scale with the breast cancer data: mean 2.1, +- 4 standard deviations."""

SLICE_HISTOGRAM_FRACTION = 0.4
"""Part of the chains of methods with slice updates of x in their histogram, for equal cost (thesis, figure 3.12)."""

_N_BINS = 100
_AGGREGATES = ("mean over coordinates", "largest", "first coordinate")
_COUNTS = ("n_cubic", "n_estimates_position", "n_estimates_auxiliary", "n_failures", "n_collapsed")


class ChainDraws(NamedTuple):
    """Recorded quantities of the chains of one case, each [chain, draw, ...], warm-up and main run apart.

    Attributes:
        warm_up: quantities of the warm-up; may have no draws.
        main: quantities of the main run.
        coordinates: names of the target variables.
        run_s: seconds that both took, all chains together.
    """

    warm_up: dict[str, NDArray[np.generic]]
    main: dict[str, NDArray[np.generic]]
    coordinates: tuple[str, ...]
    run_s: float

    @classmethod
    def of(
        cls,
        draws: Mapping[str, NDArray[np.generic]],
        index: tuple[int, ...],
        n_warm_up: int,
        coordinates: tuple[str, ...],
        run_s: float,
    ) -> "ChainDraws":
        """Splits arrays [*sweep, chain, draw, ...] at one point of the sweep after `n_warm_up` draws.

        Raises:
            ValueError: a chain never had a finite density estimate.
        """
        point = {name: array[index] for name, array in draws.items()}
        stuck = np.flatnonzero(~np.isfinite(point["log_estimate"].astype(float)).all(axis=1))
        if stuck.size:
            raise ValueError(
                f"chains {stuck.tolist()} found no start with a finite density estimate: check the scale of the "
                "features, or use more importance samples (n_importance)"
            )
        return cls(
            {name: array[:, :n_warm_up] for name, array in point.items()},
            {name: array[:, n_warm_up:] for name, array in point.items()},
            coordinates,
            run_s,
        )


def chain_statistics(draws: ChainDraws, batch_size: int) -> xr.Dataset:
    """Statistics of the main runs.

    Args:
        draws: recorded quantities.
        batch_size: iterations in a batch of the warm-up.

    Returns:
        Variables with dims among (chain, coordinate), units in attributes. The time of a chain is its share of the
        time of all, by cubic operations: the chains run inside one program.
    """
    main = draws.main
    x = main["x"].astype(float)
    series = np.moveaxis(x, -1, 1)  # [chain, coordinate, draw]
    n_chains, n_draws = x.shape[:2]
    totals = {name: main[name].sum(axis=1, dtype=float) for name in _COUNTS}
    cubic = totals["n_cubic"]
    seconds_per_cubic = draws.run_s / (cubic.sum() + draws.warm_up["n_cubic"].sum(dtype=float))
    ess = effective_sample_size(series)
    summary = summarise_chains(np.moveaxis(series, 0, 1))
    undefined = np.full(len(draws.coordinates), np.nan)
    if n_chains > 1:
        reduction = potential_scale_reduction(np.moveaxis(series, 0, 1))
        r_hat, r_hat_upper = reduction.point, reduction.upper
    else:
        r_hat, r_hat_upper = undefined, undefined
    per_chain = {
        "cubic_operations": (cubic, "operations"),
        "cubic_operations_per_iteration": (cubic / n_draws, "operations"),
        "acceptance_position": (main["accepted_position"].mean(axis=1), ""),
        "acceptance_auxiliary": (main["accepted_auxiliary"].mean(axis=1), ""),
        "estimates_position_per_iteration": (totals["n_estimates_position"] / n_draws, "estimates"),
        "estimates_auxiliary_per_iteration": (totals["n_estimates_auxiliary"] / n_draws, "estimates"),
        "acceptance_last_batches": (_acceptance_last_batches(draws, batch_size), ""),
        "adapted_step_size": (main["scale"][:, -1], ""),
        "longest_run": ([longest_constant_run(chain) for chain in x], "iterations"),
        "distinct_states": ([n_distinct_states(chain) for chain in x], "states"),
        "n_failures": (totals["n_failures"], "proposals"),
        "n_collapsed": (totals["n_collapsed"], "updates"),
        "n_not_finite": (np.sum(~np.isfinite(main["log_estimate"].astype(float)), axis=1), "iterations"),
        "run_time": (cubic * seconds_per_cubic, "s"),
    }
    per_coordinate = {
        "r_hat_coda": (r_hat, ""),
        "r_hat_coda_upper": (r_hat_upper, ""),
        "r_hat_rank": (summary.r_hat, ""),
        "bulk_ess": (summary.bulk_ess, "draws"),
        "tail_ess": (summary.tail_ess, "draws"),
        "posterior_mean": (summary.mean, ""),
        "posterior_mean_mcse": (summary.mcse_mean, ""),
        "posterior_sd": (summary.sd, ""),
        "posterior_sd_mcse": (summary.mcse_sd, ""),
    }
    both = {
        "ess": (ess, "draws"),
        "ess_per_1000_cubic_operations": (1000.0 * ess / cubic[:, None], "draws per 1000 operations"),
        "chain_mean": (series.mean(axis=-1), ""),
        "chain_sd": (series.std(axis=-1, ddof=1), ""),
    }
    single = {
        "main_draws": (float(n_draws), "iterations"),
        "run_time_per_iteration": (cubic.sum() * seconds_per_cubic / (n_chains * n_draws), "s"),
        "run_time_per_cubic_operation": (seconds_per_cubic, "s"),
    }
    variables = {
        **_variables(("chain",), per_chain),
        **_variables(("coordinate",), per_coordinate),
        **_variables(("chain", "coordinate"), both),
        **_variables((), single),
    }
    return xr.Dataset(variables, coords={"chain": np.arange(n_chains), "coordinate": list(draws.coordinates)})


def chain_curves(draws: ChainDraws, method: str, fixed_range: bool) -> xr.Dataset:
    """Trace and histogram of the first coordinate, and how R-hat and stuck runs develop.

    Args:
        draws: recorded quantities.
        method: the method; slice updates of x have a shorter histogram.
        fixed_range: histogram over HISTOGRAM_RANGE, the same in every case; otherwise over the range of the draws.

    Returns:
        `trace` [iteration]; `histogram` [chain, bin] counts, with the centres of the bins as coordinate, and
        `histogram_draws` [chain], the draws inside the range or not; `r_hat`, `r_hat_upper` [aggregate, end],
        `r_hat_left_out` [aggregate, left_out, end] without one chain (NaN where fewer than two are left), and, at
        the same ends, `cubic_operations_so_far`, `run_time_so_far` (means over chains) and `longest_run_so_far`
        [chain, end].
    """
    x = draws.main["x"].astype(float)
    n_chains, n_draws = x.shape[:2]
    counts, centres, n_histogram = _histogram(x[:, :, 0], method, fixed_range)
    ends = gelman_plot_ends(n_draws)
    point, upper, left_out = _r_hat_paths(x, ends)
    n_cubic = draws.main["n_cubic"].astype(float).cumsum(axis=1)
    all_cubic = n_cubic[:, -1].sum() + draws.warm_up["n_cubic"].sum(dtype=float)
    so_far = n_cubic[:, ends - 1].mean(axis=0)
    longest = np.array([[longest_constant_run(chain[:end]) for end in ends] for chain in x])
    variables = {
        "trace": ("iteration", x[0, :, 0], {"units": ""}),
        "histogram": (("chain", "bin"), counts, {"units": "draws"}),
        "histogram_draws": ("chain", np.full(n_chains, n_histogram), {"units": "draws"}),
        "r_hat": (("aggregate", "end"), point, {"units": ""}),
        "r_hat_upper": (("aggregate", "end"), upper, {"units": ""}),
        "r_hat_left_out": (("aggregate", "left_out", "end"), left_out, {"units": ""}),
        "cubic_operations_so_far": ("end", so_far, {"units": "operations"}),
        "run_time_so_far": ("end", so_far * draws.run_s / all_cubic, {"units": "s"}),
        "longest_run_so_far": (("chain", "end"), longest, {"units": "iterations"}),
    }
    coords = {
        "iteration": np.arange(1, n_draws + 1),
        "bin": centres,
        "end": ends,
        "aggregate": list(_AGGREGATES),
        "chain": np.arange(n_chains),
        "left_out": np.arange(n_chains),
    }
    return xr.Dataset(variables, coords=coords)


def chain_groups(draws: ChainDraws) -> dict[str, xr.Dataset]:
    """The draws themselves in groups named as ArviZ does, dims (chain, draw) first."""
    groups = {}
    for prefix, part in (("", draws.main), ("warmup_", draws.warm_up)):
        if part["x"].shape[1] == 0:
            continue
        names = {"log_estimate": "lp", "scale": "step_size"}
        stats = {
            names.get(name, name): (("chain", "draw"), values) for name, values in part.items() if name != "x"
        }
        n_chains, n_draws = part["x"].shape[:2]
        index = {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
        groups[f"{prefix}posterior"] = xr.Dataset(
            {"x": (("chain", "draw", "coordinate"), part["x"])},
            coords={**index, "coordinate": list(draws.coordinates)},
        )
        groups[f"{prefix}sample_stats"] = xr.Dataset(stats, coords=index)
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
    """Noise of the density estimate and the accept rates that it allows, over the number of importance samples.

    Args:
        log_estimate: single-sample log estimates at posterior draws [chain, reference, weight], in nats.
        log_proposed: the same at an MH proposal from each draw, with the same auxiliary variables.
        n_newton: Newton steps at each draw [chain, reference].
        n_importance: numbers of importance samples N; each divides the weights into groups.

    Returns:
        `newton_steps` [chain, reference]; `sd_log_estimate` and, as dims (n_importance, chain, reference), the
        expected accept rates `acceptance_mi`, `acceptance_pm_mh` and `acceptance_apm_mh` of the independence update
        of u, of a joint update with fresh u, and of an update of x with u fixed.
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
    units = {"sd_log_estimate": "nats"}
    dims = ("n_importance", "chain", "reference")
    variables = {
        **_variables(dims, {name: (values, units.get(name, "")) for name, values in found.items()}),
        **_variables(dims[1:], {"newton_steps": (n_newton.astype(float), "steps")}),
    }
    coords = {
        "n_importance": list(n_importance),
        "chain": np.arange(shape[1]),
        "reference": np.arange(shape[2]),
    }
    return xr.Dataset(variables, coords=coords)


def fixed_step_statistics(
    draws: Mapping[str, NDArray[np.generic]], step_sizes: Sequence[float]
) -> xr.Dataset:
    """Accept rates and longest runs of identical states of chains at fixed step sizes.

    Args:
        draws: recorded quantities [step_size, chain, draw, ...].
        step_sizes: the step sizes [step_size].

    Returns:
        `acceptance_fixed_step`, `longest_run_fixed_step`, dims (step_size, chain).
    """
    longest = [[longest_constant_run(chain.astype(float)) for chain in at_step] for at_step in draws["x"]]
    variables = {
        "acceptance_fixed_step": (draws["accepted_position"].mean(axis=-1), ""),
        "longest_run_fixed_step": (np.array(longest), "iterations"),
    }
    coords = {"step_size": np.asarray(step_sizes, dtype=float), "chain": np.arange(draws["x"].shape[1])}
    return xr.Dataset(_variables(("step_size", "chain"), variables), coords=coords)


def expected_acceptance(log_current: FloatArray, log_proposed: FloatArray) -> float:
    """Accept rate of a proposal with auxiliary variables of its own, averaged over the stationary law of the current.

    With e_i estimates at the current point and f_j at the proposed one, all with u ~ rho, the current u has the
    law e rho: the rate is sum_ij min(e_i, f_j) / (R sum_i e_i), here without the pairs i = j, which share their u.

    Args:
        log_current: log estimates at the current x [estimate], at least 2, in nats.
        log_proposed: log estimates at the proposed x [estimate]; the same array for an update of u alone.

    Returns:
        The accept rate; biased upwards where the estimates are so noisy that the largest was not met.

    >>> expected_acceptance(np.zeros(3), np.zeros(3))
    1.0
    """
    current, proposed = _scaled_exponentials(log_current, log_proposed)
    ordered = np.sort(proposed)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    n_below = np.searchsorted(ordered, current)
    minima = sums[n_below] + current * (ordered.size - n_below)
    pairs = np.sum(minima) - np.sum(np.minimum(current, proposed))
    return float(pairs / ((current.size - 1) * np.sum(current)))


def _paired_acceptance(log_current: FloatArray, log_proposed: FloatArray) -> float:
    """Accept rate of an update of x with u fixed: sum_i min(e_i, f_i) / sum_i e_i, f_i with the u of e_i."""
    current, proposed = _scaled_exponentials(log_current, log_proposed)
    return float(np.sum(np.minimum(current, proposed)) / np.sum(current))


def _scaled_exponentials(log_current: FloatArray, log_proposed: FloatArray) -> tuple[FloatArray, FloatArray]:
    # The largest current estimate becomes 1; a proposed one that is larger still counts as what it is compared with.
    top = np.max(log_current)
    return np.exp(log_current - top), np.exp(np.minimum(log_proposed - top, 0.0))


def _grouped(log_weights: FloatArray, size: int) -> FloatArray:
    """Log means of groups of `size` weights; weights that fill no group are left out."""
    groups = log_weights[: len(log_weights) // size * size].reshape(-1, size)
    grouped: FloatArray = np.logaddexp.reduce(groups, axis=1) - np.log(size)
    return grouped


def _variables(
    dims: tuple[str, ...], values: Mapping[str, tuple[object, str]]
) -> dict[str, tuple[tuple[str, ...], object, dict[str, str]]]:
    return {name: (dims, array, {"units": unit}) for name, (array, unit) in values.items()}


def _acceptance_last_batches(draws: ChainDraws, batch_size: int) -> FloatArray:
    """Accept rate of x in the last quarter of the batches of the warm-up, NaN where there is no warm-up."""
    accepted = draws.warm_up["accepted_position"]
    n_batches = accepted.shape[1] // batch_size
    if n_batches == 0:
        return np.full(len(accepted), np.nan)
    last = -(-n_batches // 4) * batch_size
    rate: FloatArray = accepted[:, -last:].mean(axis=1)
    return rate


def _histogram(first: FloatArray, method: str, fixed_range: bool) -> tuple[FloatArray, FloatArray, int]:
    """Counts [chain, bin], centres of the bins, and draws per chain."""
    part = SLICE_HISTOGRAM_FRACTION if method.endswith("_ss") else 1.0
    used = first[:, : max(1, round(part * first.shape[1]))]
    low, high = HISTOGRAM_RANGE if fixed_range else (first.min(), first.max())
    if high <= low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _N_BINS + 1)
    counts = np.array([np.histogram(chain, edges)[0] for chain in used], dtype=float)
    return counts, 0.5 * (edges[1:] + edges[:-1]), used.shape[1]


def _r_hat_paths(x: FloatArray, ends: NDArray[np.integer]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """R-hat and its upper limit [aggregate, end], and R-hat without each chain [aggregate, left out, end]."""
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
    """Mean over coordinates, largest, and first, of values [coordinate, end]."""
    return np.stack([values.mean(axis=0), values.max(axis=0), values[0]])
