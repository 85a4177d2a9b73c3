"""Errors of estimates from the summaries of chains and from annealed runs."""

import numpy as np
import xarray as xr

from auxmc.diagnostics import tempered_evidence
from auxmc.diagnostics.weighted import WeightedSums, pooled, running
from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray
from experiments.boltzmann.model.machine import RelaxedMoments
from experiments.boltzmann.problem import Problem
from experiments.boltzmann.programs import WEIGHTS
from experiments.boltzmann.settings import POOLINGS

ERRORS = ("log_z", "mean", "covariance")
_THOUSANDS = 2000  # "Thousands of iterations" that a chain of direct HMC must stay in one component


def base_errors(reference: RelaxedMoments, truth: RelaxedMoments) -> FloatArray:
    """Errors of the variational base [error], the unit of relative errors."""
    return _errors(reference.log_normaliser, reference, truth)


def labelled(errors: FloatArray) -> xr.DataArray:
    """Errors [repeat, error] or [error] with the names of their dimensions and of the errors."""
    coords = [("repeat", range(len(errors))), ("coordinate", list(ERRORS))]
    return xr.DataArray(errors, coords[-errors.ndim :])


def memberships(n_chains: int, n_repeats: int) -> dict[str, FloatArray]:
    """Chains that the estimate of each repeat pools [repeat, chain], for each pooling.

    In "disjoint", repeat r pools its own group of g chains. In "nested" it pools chains r to (r + 1) g - 1,
    as the slice in the author's notebook does. In "single" it has one chain.
    """
    group = n_chains // n_repeats
    chain = np.arange(n_chains)[None]
    repeat = np.arange(n_repeats)[:, None]
    return {
        "disjoint": (chain // group == repeat).astype(float),
        "nested": ((chain >= repeat) & (chain < (repeat + 1) * group)).astype(float),
        "single": np.eye(n_chains),
    }


def chain_curves(
    draws: dict[str, FloatArray], problem: Problem, method: str, n_repeats: int, block_size: int
) -> xr.Dataset:
    """Relative errors of running estimates [pooling, repeat, n_samples, error].

    Those of single chains are averaged over the chains of a repeat's group. Nested groups share chains: the Monte Carlo
    error of their average over repeats, `nested_average_error`, is from leaving out one chain at a time.
    """
    n_chains = draws["total"].shape[0]
    groups = memberships(n_chains, n_repeats)
    parts: list[FloatArray] = []
    for pooling in POOLINGS:
        _, errors = _running_errors(draws, problem, method, groups[pooling], block_size)
        if pooling == "single":
            errors = errors.reshape(n_repeats, -1, *errors.shape[1:]).mean(axis=1)
        parts.append(errors)
    one_left_out = groups["nested"][None] * (1.0 - np.eye(n_chains))[:, None]
    points, without = _running_errors(draws, problem, method, one_left_out.reshape(-1, n_chains), block_size)
    averages = without.reshape(n_chains, n_repeats, *without.shape[1:]).mean(axis=1)
    jackknife = np.sqrt((n_chains - 1) * np.mean((averages - averages.mean(axis=0)) ** 2, axis=0))
    units = {"units": "base errors"}
    return xr.Dataset(
        {
            "relative_error": (("pooling", "repeat", "n_samples", "coordinate"), np.stack(parts), units),
            "nested_average_error": (("n_samples", "coordinate"), jackknife, units),
        },
        coords={
            "pooling": list(POOLINGS),
            "repeat": range(n_repeats),
            "n_samples": points,
            "coordinate": list(ERRORS),
        },
    )


def chain_statistics(
    draws: dict[str, FloatArray], problem: Problem, method: str, n_repeats: int, block_size: int
) -> xr.Dataset:
    """Estimates from all chains together, errors of other weights, and what the chains did."""
    n_chains, n_blocks = draws["n_accepted"].shape
    n_draws = n_blocks * block_size
    target = _total(draws, method, "target")
    found: dict[str, xr.DataArray | float | int] = {
        "acceptance": draws["n_accepted"].sum() / (n_chains * n_draws),
        "n_not_finite": int(draws["n_not_finite"].sum()),
        "n_samples_total": n_chains * n_draws,
        "share_near_target": draws["n_near_target"].sum() / (n_chains * n_draws),
        "pattern_change_rate": draws["n_pattern_changes"].sum() / max(1, draws["n_pairs"].sum()),
    }
    if method == "hmc" and n_draws >= _THOUSANDS:
        most = draws["n_positive"] > 0.5 * block_size
        found["stuck_share"] = float(np.mean(longest_stay(most) * block_size >= _THOUSANDS))
    estimate = np.full(1, np.nan)
    if "base" in WEIGHTS[method]:
        target_logs, base_logs = (_sums(draws, method, name).log_total for name in ("target", "base"))
        value = tempered_evidence.log_evidence(target_logs, base_logs)
        found["log_z_estimate"] = value
        found["log_z_standard_error"] = tempered_evidence.log_evidence_error(target_logs, base_logs)
        estimate = np.full(1, value)
        found["base_mean_z"] = _base_deviation(draws, method, problem)
    if problem.truth is not None:
        unit = base_errors(problem.reference, problem.truth)
        pooled_errors = _errors(estimate, target, problem.truth)[0]
        found["pooled_error"] = labelled(pooled_errors / unit)
        found["pooled_log_z_error"] = float(pooled_errors[0])
        groups = memberships(n_chains, n_repeats)["disjoint"]
        for weight in WEIGHTS[method]:
            known = problem.base if weight == "base" else problem.truth
            # Of mean and covariance alone: log Z takes two weights.
            errors = _errors(np.full(n_repeats, np.nan), _total(draws, method, weight, groups), known)
            found[f"error_by_{weight}_weights"] = labelled(errors / unit)
    return xr.Dataset(found)


def longest_stay(signs: BooleanArray) -> IntegerArray:
    """Largest number of successive blocks with the same signs [chain], from signs [chain, block, unit].

    >>> longest_stay(np.array([[[True], [True], [False], [False], [False]]])).tolist()
    [3]
    """
    longest = stay = np.ones(len(signs), dtype=int)
    for same in (signs[:, 1:] == signs[:, :-1]).all(axis=2).T:
        stay = np.where(same, stay + 1, 1)
        longest = np.maximum(longest, stay)
    return longest


def estimated_moments(draws: dict[str, FloatArray], method: str) -> RelaxedMoments:
    """Moments of the target by all chains, variances at least 1, a component's: short runs miss directions."""
    target, base = (_total(draws, method, name) for name in ("target", "base"))
    variances, basis = np.linalg.eigh(target.covariance[0])
    covariance = (basis * np.maximum(variances, 1.0)) @ basis.T
    return RelaxedMoments(float(target.log_total[0] - base.log_total[0]), target.mean[0], covariance)


def final_errors(draws: dict[str, FloatArray], problem: Problem, method: str, n_repeats: int) -> xr.DataArray:
    """Relative errors of estimates from whole runs of disjoint groups of chains [repeat, coordinate]."""
    assert problem.truth is not None
    groups = memberships(draws["total"].shape[0], n_repeats)["disjoint"]
    target, base = (_total(draws, method, name, groups) for name in ("target", "base"))
    errors = _errors(target.log_total - base.log_total, target, problem.truth)
    return labelled(errors / base_errors(problem.reference, problem.truth))


def mean_estimate(draws: dict[str, FloatArray], method: str, problem: Problem) -> xr.Dataset:
    """Estimated mean of q_i^T x by unit, from all chains together: the same in every basis of x."""
    values = problem.relaxation.loadings @ _total(draws, method, "target").mean[0]
    return xr.Dataset({"mean_estimate": ("unit_number", values)}, {"unit_number": range(1, len(values) + 1)})


def annealed_statistics(draws: dict[str, FloatArray], problem: Problem) -> xr.Dataset:
    """Relative errors of annealed importance sampling, and what the runs did, from draws [run, repeat, ...]."""
    logs, positions = draws["log_weight"], draws["position"]
    n_runs, n_repeats = logs.shape
    found: dict[str, xr.DataArray | float | int] = {
        "acceptance": float(draws["acceptance"].mean()),
        "n_not_finite": int(draws["n_not_finite"].sum()),
        "settled_share": float(draws["settled"].mean()),
        "log_weight_sd": float(logs.std()),
        "n_runs_total": n_runs * n_repeats,
    }
    everything = tempered_evidence.annealed_evidence(logs)
    found["log_z_estimate"], found["log_z_standard_error"] = everything
    if problem.truth is not None:
        unit = base_errors(problem.reference, problem.truth)
        rows = []
        for repeat in range(n_repeats):
            moments = tempered_evidence.weighted_moments(logs[:, repeat], positions[:, repeat])
            evidence = tempered_evidence.annealed_evidence(logs[:, repeat]).value
            rows.append(_errors(evidence, RelaxedMoments(evidence, *moments), problem.truth) / unit)
        found["annealed_error"] = labelled(np.stack(rows))
        everywhere = RelaxedMoments(everything.value, *tempered_evidence.weighted_moments(logs, positions))
        found["pooled_error"] = labelled(_errors(everything.value, everywhere, problem.truth) / unit)
        found["pooled_log_z_error"] = float(abs(everything.value - problem.truth.log_normaliser))
    return xr.Dataset(found)


def _running_errors(
    draws: dict[str, FloatArray], problem: Problem, method: str, groups: FloatArray, block_size: int
) -> tuple[list[int], FloatArray]:
    """Samples of a chain so far, and relative errors [group, n_samples, error] of groups of chains [group, chain]."""
    assert problem.truth is not None
    unit = base_errors(problem.reference, problem.truth)
    targets, *bases = (
        running(_sums(draws, method, name), _first_draws(draws, method, name), groups, block_size)
        for name in ("target", "base")
        if name in WEIGHTS[method]
    )
    points, rows = [], []
    for at in targets:
        log_z = np.full(len(groups), np.nan)
        for base_runs in bases:
            log_z = at.sums.log_total - next(base_runs).sums.log_total
        points.append(at.n_draws)
        rows.append(_errors(log_z, at.sums, problem.truth) / unit)
    return points, np.stack(rows, axis=1)


def _errors(
    log_z: float | FloatArray, moments: RelaxedMoments | WeightedSums, truth: RelaxedMoments
) -> FloatArray:
    """Errors [..., error] of estimates of log normalisers [...] and moments."""
    return np.stack(
        [
            np.abs(log_z - truth.log_normaliser),
            np.sqrt(np.mean((moments.mean - truth.mean) ** 2, axis=-1)),
            np.sqrt(np.mean((moments.covariance - truth.covariance) ** 2, axis=(-2, -1))),
        ],
        axis=-1,
    )


def _sums(draws: dict[str, FloatArray], method: str, weight: str) -> WeightedSums:
    """Sums of blocks [chain, block, ...] under a weight."""
    s = WEIGHTS[method].index(weight)
    return WeightedSums(*(draws[name][:, :, s] for name in WeightedSums._fields))


def _first_draws(draws: dict[str, FloatArray], method: str, weight: str) -> WeightedSums:
    """Sums of the first draw of each block alone [chain, block, ...] under a weight."""
    logs, x = draws["start_log_weights"][:, :, WEIGHTS[method].index(weight)], draws["start_position"]
    present = (~np.isneginf(logs)).astype(float)
    second = x[..., :, None] * x[..., None, :] * present[..., None, None]
    return WeightedSums(logs, present, x * present[..., None], second)


def _total(
    draws: dict[str, FloatArray], method: str, weight: str, membership: FloatArray | None = None
) -> WeightedSums:
    """Sums of groups of chains [group, chain], by default of one group of all, under a weight."""
    n_chains, n_blocks = draws["n_accepted"].shape
    flat = (field.reshape(-1, *field.shape[2:]) for field in _sums(draws, method, weight))
    groups = np.ones((1, n_chains)) if membership is None else membership
    return pooled(WeightedSums(*flat), np.repeat(groups, n_blocks, axis=1))


def _base_deviation(draws: dict[str, FloatArray], method: str, problem: Problem) -> float:
    """Largest deviation of the mean under base weights from the known one, in standard errors over chains."""
    n_chains = draws["n_accepted"].shape[0]
    by_chain = _total(draws, method, "base", np.eye(n_chains))
    fraction = np.exp(by_chain.log_total - by_chain.log_total.max())
    fraction = n_chains * fraction / fraction.sum()
    deviations = fraction[:, None] * (by_chain.mean - problem.base.mean)
    error = deviations.std(axis=0, ddof=1) / np.sqrt(n_chains)
    return float(np.max(np.abs(deviations.mean(axis=0)) / error))
