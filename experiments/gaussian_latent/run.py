"""Maps the settings of a case to estimator, kernels and recorded quantities, and runs the chains."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.joint_hmc import pseudo_marginal_hmc
from auxmc.kernels.pseudo_marginal.updates import (
    PseudoMarginalInfo,
    PseudoMarginalState,
    pseudo_marginal_method,
)
from auxmc.models.estimator import Estimator
from auxmc_pipeline.chain_statistics import MOST_KEPT, arviz_groups
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.gaussian_latent import measure
from experiments.gaussian_latent.checks import estimator_noise, exactness_checks
from experiments.gaussian_latent.model import problem
from experiments.gaussian_latent.problem import Problem
from experiments.gaussian_latent.settings import DATASETS, Settings, programs, scale_name, swept_scales

# Estimator calls of one iteration, for those that depend on the chain a round number near their mean.
_CALLS = {"pm_mh": 1, "apm_mi_mh": 2, "apm_ss_mh": 4, "apm_mi_ss": 6, "apm_ss_ss": 8}
_CALLS |= {"cpm_mh": 1, "apm_cn_mh": 2, "apm_rw_mh": 2, "pm_hmc": 7}


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Groups `statistics` and `observed_data` of a case, and others by its design.

    Designs other than sweep have `curves`; `posterior` and `sample_stats` are there where draws are few enough to keep.
    """
    posterior = problem(settings)
    if settings.design in ("sweep", "long"):
        groups = _run_programs(posterior, settings, context)
    else:
        groups = _run_checks(posterior, settings, context)
    names = {"coordinate": [f"x{i + 1}" for i in range(posterior.dim)]}
    data: dict[str, Any] = {"y": (("observation", "coordinate"), posterior.observations)}
    if posterior.generating is not None:
        data["x_generating"] = ("coordinate", posterior.generating)
    rows = {"observation": range(len(posterior.observations))}
    return {**groups, "observed_data": xr.Dataset(data, coords={**rows, **names})}


def long_chain_draws(settings: Settings, method: str, n_importance: int) -> int:
    """Iterations of a chain.

    These are `n_draws`, or in design long as many as `n_evaluations` allow, unless that is 0.
    """
    if settings.design != "long" or settings.n_evaluations == 0:
        return settings.n_draws
    return max(10, settings.n_evaluations // (_CALLS[method] * n_importance))


def _run_programs(posterior: Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    parts = [_run_program(posterior, settings, context, *program) for program in programs(settings)]
    merged = {}
    for name in parts[0]:
        # Traces of unequal length are filled up first: else all curves would be joined along their iterations too.
        of_programs = xr.align(
            *(part[name] for part in parts), join="outer", exclude=["method", "n_importance"]
        )
        merged[name] = xr.combine_by_coords(
            of_programs, join="outer", compat="no_conflicts", data_vars="all", combine_attrs="override"
        )
    return merged  # type: ignore[return-value]


def _run_program(
    posterior: Problem, settings: Settings, context: RunContext, method: str, n_importance: int
) -> dict[str, xr.Dataset]:
    # A function of its own, so that the draws of one program are gone when the next one runs.
    redrawn = method == "pm_mh" or method.startswith("apm_mi")  # Others need standard normal u
    estimate = posterior.estimator(n_importance, not redrawn or settings.record_auxiliary)
    names = (_label(settings), settings.design, method, n_importance)
    sampler = _sampler(estimate, method, settings, posterior.dim)
    n_draws, sweep = long_chain_draws(settings, method, n_importance), swept_scales(settings, method)
    chains = run_chains(context, names, sampler, settings, n_draws=n_draws, sweep=sweep)
    about: dict[str, Sequence[Any]] = {"method": [method], "n_importance": [n_importance]}
    groups = _measured(posterior, settings, chains, method, n_importance)
    if settings.record_accuracy:
        noise = estimator_noise(context, {_label(settings): posterior}, [n_importance], settings.n_draws)
        noise_sd = noise["statistics"][["sd_log_estimate", "sd_log_estimate_error"]]
        groups["statistics"] = groups["statistics"].merge(noise_sd.squeeze(drop=True))
    groups = {name: data.expand_dims(about) for name, data in groups.items()}
    if len(programs(settings)) == 1:
        draws = measure.recorded(chains).drop_vars("auxiliary", errors="ignore").rename(position="x")
        groups |= arviz_groups(draws.expand_dims(about), ["x"], most=MOST_KEPT)
    return groups


def _label(settings: Settings) -> str:
    return "own" if settings.data else settings.dataset


def _sampler(estimate: Estimator, method: str, settings: Settings, dim: int) -> Sampler:
    n_steps = settings.n_integration_steps

    def build(parameters: dict[str, Array]) -> Kernel:
        scale = parameters[scale_name(method)]
        if method == "pm_hmc":
            return pseudo_marginal_hmc(estimate, scale, ((n_steps + 1) // 2, n_steps), dim)
        return pseudo_marginal_method(method, estimate, scale, dim, parameters.get("auxiliary_step", 0.5))

    def initial(key: Array, parameters: dict[str, Array]) -> PseudoMarginalState:
        position_key, auxiliary_key = jax.random.split(key)
        position = jax.random.normal(position_key, (dim,), dtype=jnp.float64)
        return build(parameters).init(position, key=auxiliary_key)

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
        return kept | ({"auxiliary": state.auxiliary[0, 0, 0]} if settings.record_auxiliary else {})

    return Sampler(build, initial, record)


def _measured(
    posterior: Problem, settings: Settings, chains: Chains, method: str, n_importance: int
) -> dict[str, xr.Dataset]:
    known, draws = posterior.known, measure.recorded(chains)
    statistics = measure.chain_statistics(draws, chains.run_s / chains.n_lanes, n_importance)
    statistics = statistics.merge(measure.exact_acceptance(known, chains, method, n_importance))
    if settings.record_accuracy:
        statistics = statistics.merge(measure.accuracy(draws, posterior.known, n_importance))
    if settings.design == "sweep":
        return {"statistics": statistics}
    statistics = statistics.merge(measure.position_statistics(draws, known, posterior.reference))
    curves = measure.position_curves(draws, known, posterior.reference)
    if settings.record_auxiliary:
        exact = None if known.auxiliary is None else known.auxiliary(n_importance)
        statistics = statistics.merge(measure.auxiliary_statistics(draws, exact, n_importance))
        curves |= measure.auxiliary_curves(draws, exact)
    return {"statistics": statistics, "curves": xr.Dataset(curves)}


def _run_checks(posterior: Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    sizes = [size for method, size in programs(settings) if method == programs(settings)[0][0]]
    if settings.design == "estimator":
        noise = estimator_noise(context, {_label(settings): posterior}, sizes, settings.n_draws)
        return {name: data.squeeze("dataset", drop=True) for name, data in noise.items()}
    both = {name: problem(dataclasses.replace(settings, dataset=name)) for name in DATASETS}
    noise = estimator_noise(context, both, sizes, settings.n_draws)
    checks = exactness_checks(context, posterior)
    return {name: noise[name].merge(checks[name]) for name in noise}
