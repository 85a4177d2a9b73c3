# Question: how do auxiliary pseudo-marginal updates compare with pseudo-marginal Metropolis-Hastings where the
# posterior is known? Source: PhD thesis, section 3.6.1, figures 3.1 to 3.9.
# One case: python -m auxmc_pipeline.steps.run study=gaussian_latent method=pm_mh n_importance=8 out=x.nc
# Cost per preset: README.md.
"""Maps the settings of a case to model, kernels and recorded quantities, and runs the chains."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.data.tables import read_matrix
from auxmc.driver.blocks import Sampler
from auxmc.driver.chains import Chains, RunContext, run_chains
from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.updates import (
    PseudoMarginalInfo,
    PseudoMarginalState,
    pseudo_marginal_method,
)
from auxmc.models.estimator import Estimator
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chain_statistics import MOST_KEPT, arviz_groups
from experiments.gaussian_latent.checks import estimator_noise, exactness_checks
from experiments.gaussian_latent.exact import (
    auxiliary_marginal,
    conditional_precision,
    exact_posterior,
    mean_independence_acceptance,
    metropolis_acceptance,
)
from experiments.gaussian_latent.model import (
    GaussianLatentModel,
    estimator,
    gaussian_latent_model,
    lumped_estimator,
    simulate_data,
)
from experiments.gaussian_latent.settings import Settings, programs, scale_name
from experiments.gaussian_latent.statistics import (
    auxiliary_curves,
    auxiliary_statistics,
    chain_statistics,
    coordinate_names,
    position_curves,
    position_statistics,
    recorded,
)

# Estimator calls of one iteration, for those that depend on the chain a round number near their mean.
_CALLS = {"pm_mh": 1, "apm_mi_mh": 2, "apm_ss_mh": 4, "apm_mi_ss": 6, "apm_ss_ss": 8}

_DATASETS = ("calibrated", "as_stated")


class _Problem(NamedTuple):
    model: GaussianLatentModel
    # Where the noise of the log estimate is measured: the generating x, or the exact posterior mean of own data.
    reference: FloatArray
    label: str


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case.

    Args:
        settings: checked settings.
        context: random streams, checkpoints and progress.

    Returns:
        Groups `statistics` and `observed_data`; designs other than sweep also `curves`; `posterior` and
        `sample_stats` where the draws are few enough to keep.
    """
    problem = _problem(settings, settings.dataset)
    if settings.design in ("sweep", "long"):
        groups = _run_programs(problem, settings, context)
    else:
        groups = _run_checks(problem, settings, context)
    return {**groups, "observed_data": _observed_data(problem)}


def long_chain_draws(settings: Settings, method: str, n_importance: int) -> int:
    """Iterations of a chain: `n_evaluations` over those of one iteration in design long, else `n_draws`."""
    if settings.design != "long" or settings.n_evaluations == 0:
        return settings.n_draws
    return max(10, settings.n_evaluations // (_CALLS[method] * n_importance))


def _problem(settings: Settings, dataset: str) -> _Problem:
    scales = (settings.sd_latent, settings.sd_observation)
    if settings.data:
        model = gaussian_latent_model(read_matrix(settings.data), *scales)
        return _Problem(model, exact_posterior(model).mean, "own")
    data = simulate_data(settings.seed, dataset, settings.n_observations, settings.dim, *scales)  # type: ignore[arg-type]
    return _Problem(gaussian_latent_model(data.observations, *scales), data.position, dataset)


def _run_programs(problem: _Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    parts: list[dict[str, xr.Dataset]] = []
    for method, n_importance in programs(settings):
        chains = _chains(problem, settings, context, method, n_importance)
        about: dict[str, Sequence[Any]] = {"method": [method], "n_importance": [n_importance]}
        groups = {
            name: data.expand_dims(about)
            for name, data in _measured(problem, settings, chains, method, n_importance)
        }
        if len(programs(settings)) == 1:
            draws = recorded(chains).drop_vars("auxiliary", errors="ignore").rename(position="x")
            groups |= arviz_groups(draws.expand_dims(about), ["x"], most=MOST_KEPT)
        parts.append(groups)
    merged = {
        name: xr.combine_by_coords(
            [part[name] for part in parts],
            join="outer",
            compat="no_conflicts",
            data_vars="all",
            combine_attrs="override",
        )
        for name in parts[0]
    }
    return merged  # type: ignore[return-value]


def _chains(
    problem: _Problem, settings: Settings, context: RunContext, method: str, n_importance: int
) -> Chains:
    model = problem.model
    # The lumped form has the same law and far fewer numbers, but elliptical updates need u itself.
    lumped = not method.startswith("apm_ss") and not settings.record_auxiliary
    estimate = (lumped_estimator if lumped else estimator)(model, n_importance)
    name = scale_name(method)
    return run_chains(
        context,
        (problem.label, settings.design, method, n_importance),
        _sampler(estimate, method, name, model.dim, settings.record_auxiliary),
        n_draws=long_chain_draws(settings, method, n_importance),
        n_chains=settings.n_chains,
        sweep={name: settings.batch.get(name, [getattr(settings, name)])},
        block_size=settings.block_size,
    )


def _sampler(estimate: Estimator, method: str, scale: str, dim: int, record_auxiliary: bool) -> Sampler:
    def build(parameters: dict[str, Array]) -> Kernel:
        return pseudo_marginal_method(method, estimate, parameters[scale], dim)

    def initial(key: Array, parameters: dict[str, Array]) -> PseudoMarginalState:
        position_key, auxiliary_key = jax.random.split(key)
        position = jax.random.normal(position_key, (dim,), dtype=jnp.float64)
        state: PseudoMarginalState = build(parameters).init(auxiliary_key, position)
        return state

    def record(state: PseudoMarginalState, info: PseudoMarginalInfo) -> dict[str, Array]:
        kept = {
            "position": state.position,
            "accepted_position": info.accepted_position,
            "accepted_auxiliary": info.accepted_auxiliary,
            "n_estimates_position": info.n_estimates_position.astype(jnp.int16),
            "n_estimates_auxiliary": info.n_estimates_auxiliary.astype(jnp.int16),
            "n_collapsed": info.n_collapsed.astype(jnp.int8),
            "n_failures": info.n_failures.astype(jnp.int8),
            "not_finite": ~jnp.isfinite(state.log_estimate),
        }
        return kept | ({"auxiliary": state.auxiliary[0, 0, 0]} if record_auxiliary else {})

    return Sampler(build, initial, record)


def _measured(
    problem: _Problem, settings: Settings, chains: Chains, method: str, n_importance: int
) -> list[tuple[str, xr.Dataset]]:
    model = problem.model
    posterior = exact_posterior(model)
    draws = recorded(chains)
    statistics = chain_statistics(draws, chains.run_s / chains.n_lanes, n_importance).merge(
        _closed_forms(model, chains, method, n_importance)
    )
    if settings.design == "sweep":
        return [("statistics", statistics)]
    statistics = statistics.merge(position_statistics(draws, posterior))
    curves = position_curves(draws, posterior)
    if settings.record_auxiliary:
        marginal = auxiliary_marginal(model, n_importance)
        statistics = statistics.merge(auxiliary_statistics(draws, marginal, n_importance))
        curves = curves.merge(auxiliary_curves(draws, marginal))
    return [("statistics", statistics), ("curves", curves)]


def _closed_forms(model: GaussianLatentModel, chains: Chains, method: str, n_importance: int) -> xr.Dataset:
    """Exact stationary accept rates; NaN where the method or the number of importance samples has none."""
    (axis,) = chains.axes
    scales = chains.axes[axis]
    position, auxiliary = np.full(scales.size, np.nan), np.nan
    if n_importance == 1 and method in ("apm_mi_mh", "apm_ss_mh"):
        position = metropolis_acceptance(scales, conditional_precision(model), model.dim)
    if n_importance == 1 and method in ("apm_mi_mh", "apm_mi_ss"):
        auxiliary = mean_independence_acceptance(model)
    return xr.Dataset(
        {"exact_acceptance_position": ((axis,), position), "exact_acceptance_auxiliary": ((), auxiliary)},
        coords={axis: scales},
    )


def _run_checks(problem: _Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    sizes = [size for method, size in programs(settings) if method == programs(settings)[0][0]]
    if settings.design == "estimator":
        noise = estimator_noise(
            context, {problem.label: (problem.model, problem.reference)}, sizes, settings.n_draws
        )
        return {name: data.squeeze("dataset", drop=True) for name, data in noise.items()}
    both = {name: _problem(settings, name) for name in _DATASETS}
    points = {name: (p.model, p.reference) for name, p in both.items()}
    noise = estimator_noise(context, points, sizes, settings.n_draws)
    checks = exactness_checks(context, problem.model, settings.n_draws)
    return {name: noise[name].merge(checks[name]) for name in noise}


def _observed_data(problem: _Problem) -> xr.Dataset:
    model = problem.model
    data: dict[str, Any] = {"y": (("observation", "coordinate"), model.observations)}
    if problem.label != "own":
        data["x_generating"] = (("coordinate",), problem.reference)
    coords = {"observation": range(model.n_observations), "coordinate": coordinate_names(model.dim)}
    return xr.Dataset(data, coords=coords)
