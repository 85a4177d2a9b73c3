"""From recorded chains to the numbers and curves of a case: evidence, moments, running estimates."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import logsumexp

from auxmc.diagnostics.log_evidence import (
    annealed_evidence,
    log_evidence,
    log_evidence_error,
    running_log_evidence,
)
from auxmc.diagnostics.weighted import WeightedMoments, in_batches, weighted_estimates
from auxmc.driver.chains import Chains
from auxmc.numerics.array_types import FloatArray, IntegerArray, NamedArrays
from auxmc_pipeline.chain_statistics import arviz_groups, with_units
from experiments.radon.base import Base
from experiments.radon.model import Problem
from experiments.radon.settings import Settings, published_file

CLAIM_ITERATIONS = (100, 250, 500, 1000, 2500)
"""Iterations at which the published running estimate is known."""

_FIT_BLOCK = 100
_BATCHES = 10
_N_TEMPERATURES = 101
_N_POINTS = 120
_KEPT = ("delta", "inverse_temperature", "acceptance", "n_gradients", "n_failures", "step_size")
_UNITS = {
    name: unit
    for unit, names in {
        "nats": "log_evidence log_evidence_error log_evidence_by_chain sd_log_weight exact_log_evidence "
        "exact_log_evidence_error log_zeta log_zeta_error lower_bound lower_bound_error objective running_by_chain "
        "running_mean running_mean_error running_pooled running_pooled_error log_temperature_density "
        "log_temperature_density_error",
        "gradients": "n_gradients_per_chain n_gradients_per_run gradients_so_far",
        "s": "seconds_per_chain seconds_per_run fit_seconds fit_time time_so_far",
        "iterations": "n_failures n_not_finite",
        "runs": "n_runs ess_is",
        "steps": "fit_not_finite",
        "standard errors": "base_moment_score",
    }.items()
    for name in names.split()
}


def measure_case(chains: Chains, posterior: Problem, base: Base, settings: Settings) -> dict[str, xr.Dataset]:
    """Groups of the result file of a case, from its chains or annealed runs."""
    draws, seconds = chains.draws, chains.run_s / chains.n_lanes
    if settings.method == "ais":
        statistics, curves, groups = annealed_statistics(draws, seconds), {}, {}
    else:
        n_warm_up = settings.n_warm_up if settings.method == "nuts" else 0
        statistics = chain_statistics(draws, seconds, n_warm_up)
        curves = chain_curves(draws, seconds)
        groups = _draws(draws, posterior)
    statistics |= problem_statistics(posterior, base, settings)
    coords = {"effect": list(posterior.effect_names)}
    data = posterior.data
    return {
        **groups,
        "statistics": with_units(statistics, _UNITS).assign_coords(coords),
        "curves": with_units(curves | fit_curves(base), _UNITS),
        "observed_data": xr.Dataset({"outcome": ("row", data.outcome), "group": ("row", data.group)}),
    }


def chain_statistics(draws: NamedArrays, seconds: float, n_warm_up: int) -> dict[str, Any]:
    """Summary of tempered chains.

    Args:
        draws: recorded quantities [chain, draw, ...].
        seconds: run time of one chain.
        n_warm_up: first iterations left out of the mean acceptance, in which the step size changes.
    """
    target, base = draws["log_target_weight"], draws["log_base_weight"]
    last = min(n_warm_up, target.shape[1] - 1)
    by_chain = {
        "log_evidence_by_chain": [log_evidence(t, b) for t, b in zip(target, base, strict=True)],
        "acceptance": draws["acceptance"][:, last:].mean(axis=1),
        "step_size": draws["step_size"][:, -1],
        "n_failures": draws["n_failures"].sum(axis=1, dtype=int),
        "n_not_finite": draws["n_not_finite"].sum(axis=1, dtype=int),
        "n_gradients_per_chain": draws["n_gradients"].sum(axis=1, dtype=np.int64),
        "mean_inverse_temperature": draws["inverse_temperature"].mean(axis=1),
        "chain": np.arange(len(target)),
    }
    scores = base_moment_scores(base, draws["standard"])
    return {
        "log_evidence": log_evidence(target, base),
        "log_evidence_error": log_evidence_error(target, base),
        **_along("chain", by_chain),
        **_moments(weighted_estimates(target, draws["effects"])),
        **_along("base_moment", {"base_moment_score": scores, "base_moment": np.arange(scores.size)}),
        "seconds_per_chain": seconds,
    }


def annealed_statistics(draws: NamedArrays, seconds: float) -> dict[str, Any]:
    """Summary of annealed runs; recorded quantities are [chain, run of the chain, ...].

    Errors of posterior moments are not known (NaN): few runs reach the tail of a scale, with large weights, and the
    spread of the others does not show it. The mean of log sigma_b was 4.5 of these errors below the quadrature.
    """
    weights = draws["log_weight"].reshape(-1)
    estimate = annealed_evidence(weights)
    moments = weighted_estimates(weights[:, None], draws["effects"].reshape(weights.size, 1, -1))
    unknown = np.full_like(moments.mean, np.nan)
    fractions = np.exp(weights - logsumexp(weights))
    return {
        "log_evidence": estimate.value,
        "log_evidence_error": estimate.standard_error,
        "n_runs": weights.size,
        "ess_is": 1.0 / np.sum(fractions**2),
        "sd_log_weight": weights.std(ddof=1),
        "mean_acceptance": draws["acceptance"].mean(),
        "n_not_finite": draws["n_not_finite"].sum(dtype=int),
        "n_gradients_per_run": draws["n_gradients"].mean(),
        **_moments(moments._replace(mean_error=unknown, sd_error=unknown)),
        "seconds_per_run": seconds / draws["log_weight"].shape[1],
    }


def problem_statistics(posterior: Problem, base: Base, settings: Settings) -> dict[str, Any]:
    """Sizes of the data, exact values where they are known, and the variational base."""
    found: dict[str, Any] = {
        "n_rows": len(posterior.data.outcome),
        "n_groups": len(posterior.data.group_names),
        "n_parameters": posterior.dim,
        "log_zeta": base.log_zeta,
        "log_zeta_error": base.log_zeta_error,
        "lower_bound": base.lower_bound,
        "lower_bound_error": base.lower_bound_error,
        "fit_seconds": base.run_s,
        "fit_not_finite": base.n_not_finite,
    }
    if posterior.known is not None:
        found["exact_log_evidence"] = posterior.known.log_evidence
        found["exact_log_evidence_error"] = posterior.known.error
        found |= _along("effect", {"exact_mean": posterior.known.mean, "exact_sd": posterior.known.sd})
    published = published_file()
    if not settings.data and published is not None:
        found["data_difference"] = _difference(posterior, np.load(published))
    return found


def fit_curves(base: Base) -> dict[str, Any]:
    """Objective of the variational fit, averaged over blocks of 100 steps."""
    n_blocks = base.objective.size // _FIT_BLOCK
    blocks = base.objective[: n_blocks * _FIT_BLOCK].reshape(n_blocks, _FIT_BLOCK)
    ends = _FIT_BLOCK * np.arange(1, n_blocks + 1)
    times = base.run_s * ends / base.objective.size
    return _along("fit_step", {"objective": blocks.mean(axis=1), "fit_time": times, "fit_step": ends})


def chain_curves(draws: NamedArrays, seconds: float) -> dict[str, Any]:
    """Running estimates at chosen iterations, and the distribution of the inverse temperature.

    Args:
        draws: recorded quantities [chain, draw, ...].
        seconds: run time of one chain.
    """
    target, base = draws["log_target_weight"], draws["log_base_weight"]
    n_chains, n_draws = target.shape
    points = running_points(n_draws)
    each = np.stack([running_log_evidence(t[None], b[None]) for t, b in zip(target, base, strict=True)])
    each = each[:, points - 1]
    inverse_temperatures = np.linspace(0.0, 1.0, _N_TEMPERATURES)
    conditional = [base - b * draws["delta"] for b in inverse_temperatures]
    unknown = np.full(points.size, np.nan)
    several = n_chains > 1
    by_iteration = {
        "running_mean": each.mean(axis=0),
        "running_mean_error": each.std(axis=0, ddof=1) / np.sqrt(n_chains) if several else unknown,
        "running_pooled": running_log_evidence(target, base)[points - 1],
        "running_pooled_error": [log_evidence_error(target[:, :n], base[:, :n]) for n in points]
        if several
        else unknown,
        "gradients_so_far": draws["n_gradients"].cumsum(axis=1).mean(axis=0)[points - 1],
        "time_so_far": seconds * points / n_draws,
        "iteration": points,
    }
    by_temperature = {
        "log_temperature_density": [log_evidence(weights, base) for weights in conditional],
        "log_temperature_density_error": [
            log_evidence_error(weights, base) if several else np.nan for weights in conditional
        ],
        "inverse_temperature": inverse_temperatures,
    }
    return {
        "running_by_chain": (("chain", "iteration"), each),
        "chain": ("chain", np.arange(n_chains)),
        **_along("iteration", by_iteration),
        **_along("inverse_temperature", by_temperature),
    }


def base_moment_scores(log_base_weights: FloatArray, standard: FloatArray) -> FloatArray:
    """Base means and second moments estimated from weighted states, minus their known values, in standard errors.

    Args:
        log_base_weights: of each state [chain, draw].
        standard: states in standard deviations of the base from its mean [chain, draw, dim].

    Returns:
        Scores of the means, which are 0, then of the second moments, which are 1 [2 dim]. Errors are by the delta
        method over batches of a tenth of a chain.
    """
    n_batches = min(_BATCHES, standard.shape[1])
    weights, states = in_batches(log_base_weights, n_batches), in_batches(standard, n_batches)
    dim = standard.shape[2]
    estimates = weighted_estimates(weights, np.concatenate([states, states**2], axis=2))
    return estimates.scores(np.concatenate([np.zeros(dim), np.ones(dim)]))


def running_points(n_draws: int) -> IntegerArray:
    """Numbers of iterations after which running estimates are kept, dense at first, and those of the claims."""
    dense = np.geomspace(1, n_draws, _N_POINTS // 2)
    even = np.linspace(1, n_draws, _N_POINTS // 2)
    claims = [n for n in CLAIM_ITERATIONS if n <= n_draws]
    return np.unique(np.concatenate([dense, even, claims]).round().astype(np.int64))


def _draws(draws: NamedArrays, posterior: Problem) -> dict[str, xr.Dataset]:
    """The draws themselves in groups named as ArviZ does."""
    dims = ("chain", "draw")
    variables = {name: (dims, draws[name]) for name in _KEPT} | {
        "effects": ((*dims, "effect"), draws["effects"])
    }
    coords = {"chain": np.arange(len(draws["delta"])), "effect": list(posterior.effect_names)}
    return arviz_groups(xr.Dataset(variables, coords=coords), ["effects"])


def _moments(moments: WeightedMoments) -> dict[str, Any]:
    return _along(
        "effect",
        {
            "posterior_mean": moments.mean,
            "posterior_mean_error": moments.mean_error,
            "posterior_sd": moments.sd,
            "posterior_sd_error": moments.sd_error,
        },
    )


def _along(dim: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays [dim] as variables; one with the name of the dimension is its coordinate."""
    return {name: (dim, array) for name, array in arrays.items()}


def _difference(posterior: Problem, published: Any) -> float:
    """Largest difference of our data from the published file's, in any column; infinite where the shapes differ."""
    data = posterior.data
    columns = (data.outcome, data.regressors[:, 0], data.regressors[:, 1], data.group)
    ours = dict(zip(("y", "x", "u", "county"), columns, strict=True))
    if any(published[name].shape != values.shape for name, values in ours.items()):
        return np.inf
    return float(max(np.max(np.abs(published[name] - values)) for name, values in ours.items()))
