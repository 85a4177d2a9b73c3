"""What the study measures of its draws: evidence, posterior and base moments, running estimates."""

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
from auxmc.numerics.array_types import FloatArray, IntegerArray, NamedArrays
from auxmc_pipeline.chain_statistics import arviz_groups
from experiments.radon.model import effect_names
from experiments.radon.problem import Problem
from experiments.radon.settings import Settings, published_file

CLAIM_ITERATIONS = (100, 250, 500, 1000, 2500)
"""Iterations at which the published running estimate is known."""

_FIT_BLOCK = 100
_BATCHES = 10
_N_TEMPERATURES = 101
_N_POINTS = 120


def chain_statistics(draws: NamedArrays, problem: Problem, seconds: float, n_warm_up: int) -> xr.Dataset:
    """Summary of tempered chains.

    Args:
        draws: recorded quantities [chain, draw, ...].
        problem: what the chains sample.
        seconds: run time of one chain.
        n_warm_up: first iterations left out of the mean acceptance, in which the step size changes.
    """
    target, base = draws["log_target_weight"], draws["log_base_weight"]
    by_chain = [log_evidence(t, b) for t, b in zip(target, base, strict=True)]
    last = min(n_warm_up, target.shape[1] - 1)
    scores = base_moment_scores(base, draws["standard"])
    chain = "chain"
    variables: dict[str, Any] = {
        "log_evidence": ((), log_evidence(target, base), {"units": "nats"}),
        "log_evidence_error": ((), log_evidence_error(target, base), {"units": "nats"}),
        "log_evidence_by_chain": (chain, by_chain, {"units": "nats"}),
        "acceptance": (chain, draws["acceptance"][:, last:].mean(axis=1), {"units": ""}),
        "step_size": (chain, draws["step_size"][:, -1], {"units": ""}),
        "n_failures": (chain, draws["n_failures"].sum(axis=1, dtype=int), {"units": "iterations"}),
        "n_not_finite": (chain, draws["n_not_finite"].sum(axis=1, dtype=int), {"units": "iterations"}),
        "n_gradients_per_chain": (
            chain,
            draws["n_gradients"].sum(axis=1, dtype=np.int64),
            {"units": "gradients"},
        ),
        "mean_inverse_temperature": (chain, draws["inverse_temperature"].mean(axis=1), {"units": ""}),
        **_posterior(weighted_estimates(target, draws["effects"])),
        "base_moment_score": ("base_moment", scores, {"units": "standard errors"}),
        "seconds_per_chain": ((), seconds, {"units": "s"}),
    }
    coords = _coords(problem, len(target)) | {"base_moment": np.arange(scores.size)}
    return xr.Dataset(variables, coords=coords)


def annealed_statistics(draws: NamedArrays, problem: Problem, seconds: float) -> xr.Dataset:
    """Summary of annealed runs; recorded quantities are [lane, run of the lane, ...].

    Errors of posterior moments are not known (NaN): few runs reach the tail of a scale, with large weights, and the
    spread of the others does not show it. The mean of log sigma_b was 4.5 of such errors below the quadrature.
    """
    weights = draws["log_weight"].reshape(-1)
    estimate = annealed_evidence(weights)
    moments = weighted_estimates(weights[:, None], draws["effects"].reshape(weights.size, 1, -1))
    unknown = np.full_like(moments.mean, np.nan)
    moments = moments._replace(mean_error=unknown, sd_error=unknown)
    fractions = np.exp(weights - logsumexp(weights))
    variables: dict[str, Any] = {
        "log_evidence": ((), estimate.value, {"units": "nats"}),
        "log_evidence_error": ((), estimate.standard_error, {"units": "nats"}),
        "n_runs": ((), weights.size, {"units": "runs"}),
        "ess_is": ((), 1.0 / np.sum(fractions**2), {"units": "runs"}),
        "sd_log_weight": ((), weights.std(ddof=1), {"units": "nats"}),
        "mean_acceptance": ((), draws["acceptance"].mean(), {"units": ""}),
        "n_not_finite": ((), draws["n_not_finite"].sum(dtype=int), {"units": "iterations"}),
        "n_gradients_per_run": ((), draws["n_gradients"].mean(), {"units": "gradients"}),
        **_posterior(moments),
        "seconds_per_run": ((), seconds / draws["log_weight"].shape[1], {"units": "s"}),
    }
    return xr.Dataset(variables, coords=_coords(problem))


def problem_statistics(problem: Problem, settings: Settings) -> xr.Dataset:
    """Sizes of the data, exact values, and the variational base."""
    exact, base = problem.exact, problem.base
    sizes = {
        "n_rows": len(problem.data.outcome),
        "n_groups": problem.model.n_groups,
        "n_parameters": problem.model.dim,
    }
    values = {
        "exact_log_evidence": exact.log_evidence,
        "exact_log_evidence_error": exact.error,
        "log_zeta": base.log_zeta,
        "log_zeta_error": base.log_zeta_error,
        "lower_bound": base.lower_bound,
        "lower_bound_error": base.lower_bound_error,
    }
    variables: dict[str, Any] = {name: ((), value, {"units": ""}) for name, value in sizes.items()}
    variables |= {name: ((), value, {"units": "nats"}) for name, value in values.items()}
    variables |= {
        "fit_seconds": ((), base.run_s, {"units": "s"}),
        "fit_not_finite": ((), base.n_not_finite, {"units": "steps"}),
        "exact_mean": ("effect", exact.mean, {"units": ""}),
        "exact_sd": ("effect", exact.sd, {"units": ""}),
    }
    published = published_file()
    if not settings.data and published is not None:
        variables["data_difference"] = ((), _difference(problem, np.load(published)), {"units": ""})
    return xr.Dataset(variables, coords=_coords(problem))


def fit_curves(problem: Problem) -> xr.Dataset:
    """Objective of the variational fit, averaged over blocks of 100 steps."""
    objective = problem.base.objective
    n_blocks = objective.size // _FIT_BLOCK
    blocks = objective[: n_blocks * _FIT_BLOCK].reshape(n_blocks, _FIT_BLOCK)
    ends = _FIT_BLOCK * np.arange(1, n_blocks + 1)
    variables: dict[str, Any] = {
        "objective": ("fit_step", blocks.mean(axis=1), {"units": "nats"}),
        "fit_time": ("fit_step", problem.base.run_s * ends / objective.size, {"units": "s"}),
    }
    return xr.Dataset(variables, coords={"fit_step": ends})


def chain_curves(draws: NamedArrays, problem: Problem, seconds: float) -> xr.Dataset:
    """Running estimates at chosen iterations, and the law of the inverse temperature.

    Args:
        draws: recorded quantities [chain, draw, ...].
        problem: what the chains sample.
        seconds: run time of one chain.
    """
    target, base = draws["log_target_weight"], draws["log_base_weight"]
    n_chains, n_draws = target.shape
    points = running_points(n_draws)
    each = np.stack([running_log_evidence(t[None], b[None]) for t, b in zip(target, base, strict=True)])[
        :, points - 1
    ]
    spread = each.std(axis=0, ddof=1) / np.sqrt(n_chains) if n_chains > 1 else np.full(points.size, np.nan)
    error = (
        [log_evidence_error(target[:, :n], base[:, :n]) for n in points]
        if n_chains > 1
        else np.full(points.size, np.nan)
    )
    gradients = draws["n_gradients"].cumsum(axis=1).mean(axis=0)[points - 1]
    inverse_temperatures = np.linspace(0.0, 1.0, _N_TEMPERATURES)
    density = np.empty(_N_TEMPERATURES)
    density_error = np.empty(_N_TEMPERATURES)
    for i, b in enumerate(inverse_temperatures):
        conditional = base - b * draws["delta"]
        density[i] = log_evidence(conditional, base)
        density_error[i] = log_evidence_error(conditional, base) if n_chains > 1 else np.nan
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "running_by_chain": (("chain", "iteration"), each, nats),
        "running_mean": ("iteration", each.mean(axis=0), nats),
        "running_mean_error": ("iteration", spread, nats),
        "running_pooled": ("iteration", running_log_evidence(target, base)[points - 1], nats),
        "running_pooled_error": ("iteration", error, nats),
        "gradients_so_far": ("iteration", gradients, {"units": "gradients"}),
        "time_so_far": ("iteration", seconds * points / n_draws, {"units": "s"}),
        "log_temperature_density": ("inverse_temperature", density, nats),
        "log_temperature_density_error": ("inverse_temperature", density_error, nats),
    }
    coords = {
        "chain": np.arange(n_chains),
        "iteration": points,
        "inverse_temperature": inverse_temperatures,
    }
    return xr.Dataset(variables, coords=coords)


def chain_groups(draws: NamedArrays, problem: Problem) -> dict[str, xr.Dataset]:
    """The draws themselves in groups named as ArviZ does."""
    dims = ("chain", "draw")
    kept = ("delta", "inverse_temperature", "acceptance", "n_gradients", "n_failures", "step_size")
    coords = {"chain": np.arange(len(draws["delta"])), "effect": list(effect_names(problem.model))}
    data = xr.Dataset({name: (dims, draws[name]) for name in kept}, coords=coords)
    return arviz_groups(data.assign(effects=((*dims, "effect"), draws["effects"])), ["effects"])


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


def _posterior(moments: WeightedMoments) -> dict[str, Any]:
    values = {
        "posterior_mean": moments.mean,
        "posterior_mean_error": moments.mean_error,
        "posterior_sd": moments.sd,
        "posterior_sd_error": moments.sd_error,
    }
    return {name: ("effect", value, {"units": ""}) for name, value in values.items()}


def _coords(problem: Problem, n_chains: int = 0) -> dict[str, Any]:
    coords: dict[str, Any] = {"effect": list(effect_names(problem.model))}
    return coords | ({"chain": np.arange(n_chains)} if n_chains else {})


def _difference(problem: Problem, published: Any) -> float:
    """Largest difference of our data to the published file's, in any column; infinite where the shapes differ."""
    data = problem.data
    ours = {
        "y": data.outcome,
        "x": data.regressors[:, 0],
        "u": data.regressors[:, 1],
        "county": data.group,
    }
    if any(published[name].shape != values.shape for name, values in ours.items()):
        return np.inf
    return float(max(np.max(np.abs(published[name] - values)) for name, values in ours.items()))
