"""From recorded chains to the numbers and curves of a case: evidence, moments, running estimates."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import logsumexp

from auxmc.diagnostics import tempered_evidence as evidence
from auxmc.diagnostics.weighted import in_batches, weighted_estimates
from auxmc.numerics.array_types import FloatArray, IntegerArray, NamedArrays
from auxmc_pipeline.chain_statistics import arviz_groups, labelled_draws, units_of, with_units
from auxmc_pipeline.chains import Chains
from experiments.radon.grouped import GroupedData
from experiments.radon.model import Problem
from experiments.radon.settings import Settings, published_file

# Iterations at which the published running estimate is known, or near from.
CLAIM_ITERATIONS = (100, 204, 250, 500, 1000, 2500)
_FIT_BLOCK = 100
_BATCHES = 10
_N_TEMPERATURES = 101
_N_POINTS = 120
_KEPT = ("delta", "inverse_temperature", "acceptance", "n_gradients", "n_failures", "step_size", "effects")
_UNITS = units_of(
    {
        "nats": "log_evidence log_evidence_error log_evidence_by_chain sd_log_weight exact_log_evidence "
        "exact_log_evidence_error log_zeta log_zeta_error lower_bound lower_bound_error objective running_by_chain "
        "running_pooled running_pooled_error log_temperature_density log_temperature_density_error",
        "gradients": "n_gradients_per_chain n_gradients_per_run gradients_so_far",
        "s": "seconds_per_chain seconds_per_run fit_seconds fit_time time_so_far",
        "iterations": "n_failures n_not_finite",
        "runs": "n_runs ess_is",
        "steps": "fit_not_finite",
        "standard errors": "base_moment_score",
    }
)


def measure_case(
    chains: Chains, posterior: Problem, settings: Settings, objective: FloatArray, of_fit: dict[str, float]
) -> dict[str, xr.Dataset]:
    """Groups of the result file of a case, from its chains or annealed runs and the objective of the fit [step]."""
    draws, seconds = chains.draws, chains.run_s / chains.n_lanes
    coords = {"effect": list(posterior.effect_names)}
    curves, groups = _fit_curves(objective, of_fit["fit_seconds"]), {}
    if settings.method == "ais":
        statistics = annealed_statistics(draws, seconds)
    else:
        statistics = chain_statistics(draws, seconds, settings.n_warm_up if settings.method == "nuts" else 0)
        curves = chain_curves(draws, seconds) | curves
        kept = chains._replace(draws={name: draws[name] for name in _KEPT})
        groups = arviz_groups(labelled_draws(kept, coords, {"effects": ["effect"]}), ["effects"])
    statistics |= problem_statistics(posterior, settings) | of_fit
    data = posterior.data
    return {
        **groups,
        "statistics": with_units(statistics, _UNITS).assign_coords(coords),
        "curves": with_units(curves, _UNITS),
        "observed_data": xr.Dataset({"outcome": ("row", data.outcome), "group": ("row", data.group)}),
    }


def chain_statistics(draws: NamedArrays, seconds: float, n_warm_up: int) -> dict[str, Any]:
    """Summary of chains [chain, draw, ...] of `seconds` each; `acceptance` is that after the warm-up."""
    target, base = draws["log_target_weight"], draws["log_base_weight"]
    last = min(n_warm_up, target.shape[1] - 1)
    scores = base_moment_scores(base, draws["standard"])
    by_chain = {
        "log_evidence_by_chain": list(map(evidence.log_evidence, target, base)),
        "acceptance": draws["acceptance"][:, last:].mean(axis=1),
        "step_size": draws["step_size"][:, -1],
        "n_failures": draws["n_failures"].sum(axis=1, dtype=int),
        "n_not_finite": draws["n_not_finite"].sum(axis=1, dtype=int),
        "n_gradients_per_chain": draws["n_gradients"].sum(axis=1, dtype=np.int64),
        "mean_inverse_temperature": draws["inverse_temperature"].mean(axis=1),
        "chain": np.arange(len(target)),
    }
    return {
        "log_evidence": evidence.log_evidence(target, base),
        "log_evidence_error": evidence.log_evidence_error(target, base),
        "seconds_per_chain": seconds,
        **_along("chain", by_chain),
        **_along("base_moment", {"base_moment_score": scores, "base_moment": np.arange(scores.size)}),
        **_moments(target, draws["effects"]),
    }


def annealed_statistics(draws: NamedArrays, seconds: float) -> dict[str, Any]:
    """Summary of annealed runs, [chain, run of the chain, ...]; errors of posterior moments are not known (NaN).

    Few runs reach the tail of a scale, with large weights: the mean of log sigma_b was 4.5 of such errors off.
    """
    weights = draws["log_weight"].reshape(-1)
    estimate = evidence.annealed_evidence(weights)
    unknown = ("effect", np.full(draws["effects"].shape[-1], np.nan))
    return {
        "log_evidence": estimate.value,
        "log_evidence_error": estimate.standard_error,
        "n_runs": weights.size,
        "ess_is": 1.0 / np.sum(np.exp(weights - logsumexp(weights)) ** 2),
        "sd_log_weight": weights.std(ddof=1),
        "mean_acceptance": draws["acceptance"].mean(),
        "n_not_finite": draws["n_not_finite"].sum(dtype=int),
        "n_gradients_per_run": draws["n_gradients"].mean(),
        "seconds_per_run": seconds / draws["log_weight"].shape[1],
        **_moments(weights[:, None], draws["effects"].reshape(weights.size, 1, -1)),
        "posterior_mean_error": unknown,
        "posterior_sd_error": unknown,
    }


def problem_statistics(posterior: Problem, settings: Settings) -> dict[str, Any]:
    """Sizes of the data, and exact values where they are known."""
    data, known = posterior.data, posterior.known
    found: dict[str, Any] = {
        "n_rows": len(data.outcome),
        "n_groups": len(data.group_names),
        "n_parameters": posterior.dim,
    }
    if known is not None:
        found |= {"exact_log_evidence": known.log_evidence, "exact_log_evidence_error": known.error}
        found |= _along("effect", {"exact_mean": known.mean, "exact_sd": known.sd})
    if not settings.data and (published := published_file()) is not None:
        found["data_difference"] = _difference(data, np.load(published))
    return found


def chain_curves(draws: NamedArrays, seconds: float) -> dict[str, Any]:
    """Running estimates at chosen iterations, and the distribution of the inverse temperature, of such chains."""
    target, base = draws["log_target_weight"], draws["log_base_weight"]
    n_chains, n_draws = target.shape
    points = running_points(n_draws)
    pairs = zip(target[:, None], base[:, None], strict=True)
    each = [evidence.running_log_evidence(*pair)[points - 1] for pair in pairs]
    inverse_temperatures = np.linspace(0.0, 1.0, _N_TEMPERATURES)
    error = evidence.log_evidence_error if n_chains > 1 else lambda *_: np.nan

    def density(b: float) -> tuple[float, float]:
        weights = base - b * draws["delta"]
        return evidence.log_evidence(weights, base), error(weights, base)

    densities, density_errors = zip(*map(density, inverse_temperatures), strict=True)
    by_iteration = {
        "running_pooled": evidence.running_log_evidence(target, base)[points - 1],
        "running_pooled_error": [error(target[:, :n], base[:, :n]) for n in points],
        "gradients_so_far": draws["n_gradients"].cumsum(axis=1).mean(axis=0)[points - 1],
        "time_so_far": seconds * points / n_draws,
        "iteration": points,
    }
    by_temperature = {
        "log_temperature_density": list(densities),
        "log_temperature_density_error": list(density_errors),
        "inverse_temperature": inverse_temperatures,
    }
    return {
        "running_by_chain": (("chain", "iteration"), each),
        "chain": ("chain", np.arange(n_chains)),
        **_along("iteration", by_iteration),
        **_along("inverse_temperature", by_temperature),
    }


def base_moment_scores(log_base_weights: FloatArray, standard: FloatArray) -> FloatArray:
    """First and second moments of the base minus 0 and 1, in standard errors [2 dim], by batches of a tenth of a chain.

    `standard` are states in its standard deviations [chain, draw, dim], `log_base_weights` their weights [chain, draw].
    """
    n_batches = min(_BATCHES, standard.shape[1])
    weights, states = in_batches(log_base_weights, n_batches), in_batches(standard, n_batches)
    first = weighted_estimates(weights, states).scores(0.0)
    # A few coordinates at a time: squares of all states would be as large as these.
    few = np.array_split(states, max(1, states.shape[2] // 8), axis=2)
    return np.concatenate([first, *(weighted_estimates(weights, part**2).scores(1.0) for part in few)])


def running_points(n_draws: int) -> IntegerArray:
    """Numbers of iterations after which running estimates are kept, dense at first, and those of the claims."""
    spaced = [space(1, n_draws, _N_POINTS // 2) for space in (np.geomspace, np.linspace)]
    claims = [n for n in CLAIM_ITERATIONS if n <= n_draws]
    return np.unique(np.concatenate([*spaced, claims]).round().astype(np.int64))


def _fit_curves(objective: FloatArray, seconds: float) -> dict[str, Any]:
    """Objective of the variational fit, averaged over blocks of 100 steps."""
    ends = np.arange(_FIT_BLOCK, objective.size + 1, _FIT_BLOCK)
    blocks = objective[: ends.size * _FIT_BLOCK].reshape(-1, _FIT_BLOCK).mean(axis=1)
    times = seconds * ends / objective.size
    return _along("fit_step", {"objective": blocks, "fit_time": times, "fit_step": ends})


def _moments(log_weights: FloatArray, effects: FloatArray) -> dict[str, Any]:
    found = weighted_estimates(log_weights, effects)._asdict()
    return _along("effect", {f"posterior_{name}": values for name, values in found.items()})


def _along(dim: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays [dim] as variables; one with the name of the dimension is its coordinate."""
    return {name: (dim, array) for name, array in arrays.items()}


def _difference(data: GroupedData, published: Any) -> float:
    """Largest difference of our data from the published file's, in any column; infinite where the shapes differ."""
    columns = (data.outcome, *data.regressors.T)
    pairs = [(published[name], ours) for name, ours in zip("yxu", columns, strict=False)]
    pairs.append((published["county"], data.group))
    if any(theirs.shape != ours.shape for theirs, ours in pairs):
        return np.inf
    return float(max(np.max(np.abs(theirs - ours)) for theirs, ours in pairs))
