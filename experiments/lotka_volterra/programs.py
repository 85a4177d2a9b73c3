"""From settings to data, kernels, initial states and recorded quantities."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.seeds import generator, stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.hamiltonian.riemannian_hmc import riemannian_hmc
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.kernels.metropolis.adaptation import batch_adaptation
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.models.abc_kernels import abc_estimator, log_abc_kernel
from auxmc.models.conditioned import ConditionedModel
from auxmc.numerics.jacobians import Jacobian, dense_jacobian
from auxmc_pipeline.chains import RunContext
from experiments.lotka_volterra.measure import ERRORS
from experiments.lotka_volterra.model import generator as populations
from experiments.lotka_volterra.model.conditioning import conditioned_model, sparsely_conditioned_model
from experiments.lotka_volterra.model.data import published_data, read_populations
from experiments.lotka_volterra.model.exact import exact_posterior
from experiments.lotka_volterra.model.generator import N_RATES, LotkaVolterraModel, log_prior, residuals
from experiments.lotka_volterra.model.summaries import SummaryScales, prior_summary_scales, summary_statistics
from experiments.lotka_volterra.settings import SUMMARY_METHODS, Settings, step_range

Record = dict[str, Array]
_FORMS: dict[str, str] = {
    "chmc_all": "generator",
    "chmc_all_dense": "generator",
    "chmc_teacher_forced": "teacher_forced",
    "chmc_summaries": "summaries",
}


class Problem(NamedTuple):
    """Data and model under one scheme."""

    model: LotkaVolterraModel  # in a step for each observation
    label: str  # `published` or `own`, for random streams
    starts: Array  # initial inputs that yield the data, with small rates [chain, input]
    near_starts: Array  # the same, with rates as the exact posterior has them [chain, input]
    scales: SummaryScales  # prior standard deviations of the summaries


class Program(NamedTuple):
    """What the lanes of a method do."""

    build: Callable[[Array, Array], Kernel]  # maps (tolerance, step size), traced scalars, to a kernel
    # of (state, info): `log_rates` [4], `accepted`, `n_evaluations` (runs of the generator), `n_failed` (1 for a
    # numerical failure), and those of `measure.COUNTERS` that a method has
    record: Callable[[Any, Any], Record]


def build_problem(settings: Settings, scheme: str, context: RunContext) -> Problem:
    """Model of the published data or the user's own, initial states and scales of summaries.

    All methods share initial states, but for pseudo-marginal MH on raw summaries: with the small rates of the others it
    would need a simulation with the very summaries of the data by chance, and never move.
    """
    default = None if settings.data else (100.0, 100.0)
    model = populations.lotka_volterra_model(
        read_populations(settings.data, 1) if settings.data else published_data()[: settings.n_rows or None],
        scheme,
        initial_state=settings.initial_state or default,
        time_step=settings.time_step,
        noise_scales=settings.noise_scales,
        prior_mean=settings.prior_mean,
        prior_sd=settings.prior_sd,
    )
    finer = populations.with_finer_steps(model, settings.steps_per_observation)
    label = "own" if settings.data else f"first {settings.n_rows}" if settings.n_rows else "published"
    names = (context.study, "start", label)
    keys = jnp.stack([stream(context.seed, *names, chain) for chain in range(settings.n_chains)])
    exact = exact_posterior(model)

    def near(key: Array) -> Array:
        normal = jax.random.normal(key, (N_RATES,), dtype=jnp.float64)
        log_rate = jnp.asarray(exact.mean) + jnp.asarray(exact.sd) * normal
        rate_inputs = (log_rate - model.prior_mean) / model.prior_sd
        return jnp.concatenate([rate_inputs, populations.noise_inputs(finer, rate_inputs)])

    def start(key: Array) -> tuple[Array, Array]:
        small = populations.initial_inputs(finer, key, settings.start_centre, settings.start_spread)
        return small, near(jax.random.fold_in(key, 1))

    starts, near_starts = jax.jit(jax.vmap(start))(keys)
    scales, methods = SummaryScales(np.ones(9), 0, 0), settings.batch.get("method", [settings.method])
    if settings.design == "failures" or "pm_summaries" in methods:
        rng = generator(context.seed, context.study, "normalisation", scheme)
        n_draws, limited = settings.n_normalisation, settings.population_limit
        scales = prior_summary_scales(model, rng, n_draws, settings.summaries, limited)
    return Problem(model, label, starts, near_starts, scales)


def build_program(problem: Problem, settings: Settings, method: str) -> Program:
    """The program of a method."""
    if method in _FORMS:
        return _constrained(problem, settings, method)
    if method in ("hmc_gaussian", "rmhmc_gaussian"):
        return _hamiltonian(problem, settings, method)
    if method.startswith("ss_"):
        return _elliptical(problem, method.removeprefix("ss_"))
    return _pseudo_marginal(problem, settings, method)


def _constrained(problem: Problem, settings: Settings, method: str) -> Program:
    model, n_finer = problem.model, settings.steps_per_observation
    if n_finer > 1:
        model = populations.with_finer_steps(model, n_finer)
        conditioned = sparsely_conditioned_model(model, n_finer)
    else:
        conditioned = conditioned_model(model, _FORMS[method], settings.summaries)
    if method == "chmc_all_dense":
        conditioned = _without_structure(conditioned, model.n_inputs)
    fallback = None if settings.projection_fallback == "none" else settings.projection_fallback
    projection = ProjectionSettings(settings.projection_solver, fallback, settings.projection_tolerance)

    def build(tolerance: Array, step_size: Array) -> Kernel:
        del tolerance
        return constrained_hmc(
            conditioned,
            step_size,
            step_range(settings, method),
            model.n_inputs,
            n_inner_steps=settings.n_inner_steps,
            projection=projection,
            reversibility_check=settings.reversibility_check,
        )

    def record(state: Any, info: Any) -> Record:
        errors = info.errors._asdict()
        failed = sum(errors[name] for name in ERRORS) > 0
        return {
            **_common(model, state.position, info.is_accepted, errors["n_projection_iterations"], failed),
            "residual": jnp.max(jnp.abs(conditioned.constraint(state.position))),
            "potential": state.potential,
            **{name: errors[name] for name in (*ERRORS, "n_fallback", "n_projections")},
        }

    return Program(build, record)


def _without_structure(conditioned: ConditionedModel, n_inputs: int) -> ConditionedModel:
    """The same model, whose Jacobians are solved with as matrices, at a cubic cost in the number of observations."""

    def jacobian(inputs: Array) -> Jacobian:
        columns = jax.vmap(conditioned.jacobian(inputs).times, out_axes=1)
        return dense_jacobian(columns(jnp.eye(n_inputs)))

    return conditioned._replace(jacobian=jacobian)


def _hamiltonian(problem: Problem, settings: Settings, method: str) -> Program:
    model = problem.model
    log_kernel, steps = log_abc_kernel("gaussian"), step_range(settings, method)
    is_riemannian = method == "rmhmc_gaussian"

    def build(tolerance: Array, step_size: Array) -> Kernel:
        def log_density(inputs: Array) -> Array:
            return log_kernel(residuals(model, inputs), tolerance) + log_prior(inputs)

        def metric(inputs: Array) -> Array:
            """Equation 4.52 of the PhD thesis."""
            jacobian = jax.jacfwd(lambda u: residuals(model, u).reshape(-1))(inputs) / tolerance
            return jacobian.T @ jacobian + jnp.eye(model.n_inputs)

        if is_riemannian:
            return riemannian_hmc(log_density, metric, step_size, steps, model.n_inputs)
        return hmc(log_density, step_size, steps, model.n_inputs)

    def record(state: Any, info: Any) -> Record:
        names = [name for name in ERRORS if name in info._fields]
        errors = {name: getattr(info, name) for name in names}
        evaluations = info.n_gradients + (info.n_metrics if is_riemannian else 0)
        failed = sum(errors.values()) > 0
        return {**_common(model, state.position, info.is_accepted, evaluations, failed), **errors}

    return Program(build, record)


def _elliptical(problem: Problem, kernel_name: str) -> Program:
    model = problem.model
    log_kernel = log_abc_kernel(kernel_name)
    # The author's order: the noise of the simulator given the rates, then the rates given the noise.
    blocks = [(N_RATES, model.n_inputs), (0, N_RATES)]

    def build(tolerance: Array, step_size: Array) -> Kernel:
        del step_size
        return blocked_elliptical_slice(lambda u: log_kernel(residuals(model, u), tolerance), blocks)

    def record(state: Any, info: Any) -> Record:
        collapsed = jnp.sum(info.n_collapsed, dtype=jnp.int32)
        evaluations = jnp.sum(info.n_evaluations, dtype=jnp.int32)
        common = _common(model, state.position, info.n_collapsed[1] == 0, evaluations, collapsed > 0)
        return {**common, "n_collapsed": collapsed}

    return Program(build, record)


def _pseudo_marginal(problem: Problem, settings: Settings, method: str) -> Program:
    model = problem.model
    adapts = method in SUMMARY_METHODS
    is_split = method == "pm_summaries"
    log_kernel = log_abc_kernel("gaussian" if method == "pm_gaussian" else "ball")
    scales = jnp.asarray(problem.scales.scales) if is_split else jnp.ones(9)
    observed = jnp.asarray(summary_statistics(model.observations, settings.summaries))

    def distance_vector(inputs: Array) -> Array:
        if not adapts:
            return residuals(model, inputs)
        found = summary_statistics(populations.simulate(model, inputs), settings.summaries)
        return (found - observed) / scales

    def build(tolerance: Array, step_size: Array) -> Kernel:
        def log_simulation_kernel(rate_inputs: Array, noise: Array) -> Array:
            return log_kernel(distance_vector(jnp.concatenate([rate_inputs, noise])), tolerance)

        estimator = abc_estimator(log_simulation_kernel, log_prior, model.n_inputs - N_RATES)

        def plain(scale: Array) -> Kernel:
            kernel = pseudo_marginal_method("apm_mi_mh" if is_split else "pm_mh", estimator, scale, N_RATES)

            def init(inputs: Array, *, key: Array) -> Any:
                state = kernel.init(inputs[:N_RATES], key=key)
                if method == "pm_gaussian":
                    # No other noise has as large an estimate as that which yields the data, and a chain would keep it.
                    return state
                # To a ball, noise that yields the data is as good as any inside, and is found without draws.
                value = estimator.log_estimate(state.cache, inputs[N_RATES:])
                return state._replace(auxiliary=inputs[N_RATES:], log_estimate=value)

            return Kernel(init, kernel.draw, kernel.apply)

        if not adapts:
            return plain(step_size)
        return batch_adaptation(plain, step_size, settings.batch_size, settings.n_batches)

    def record(state: Any, info: Any) -> Record:
        inner, inner_info = (state.inner, info.inner) if adapts else (state, info)
        evaluations = inner_info.n_estimates_position + inner_info.n_estimates_auxiliary
        failed = ~jnp.isfinite(inner.log_estimate)
        common = _common(model, inner.position, inner_info.accepted_position, evaluations, failed)
        common |= {"scale": info.scale} if adapts else {}
        return common | {"accepted_auxiliary": inner_info.accepted_auxiliary}

    return Program(build, record)


def _common(
    model: LotkaVolterraModel, inputs: Array, accepted: Array, n_evaluations: Array, failed: Array
) -> Record:
    return {
        "log_rates": populations.log_rates(model, inputs),
        "accepted": accepted,
        "n_evaluations": n_evaluations,
        "n_failed": failed.astype(jnp.int8),
    }
