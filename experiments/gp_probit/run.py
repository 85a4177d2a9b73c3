"""Maps the settings of a case to model, kernel and recorded quantities, and runs the chains."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.blocks import Sampler
from auxmc.kernels.base import Kernel
from auxmc.kernels.metropolis.adaptation import AdaptationInfo, AdaptationState, batch_adaptation
from auxmc.kernels.pseudo_marginal.joint_hmc import pseudo_marginal_hmc
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.gp_probit import measure
from experiments.gp_probit.model import Problem, build_problem, estimator, with_gradient
from experiments.gp_probit.settings import Settings

_MAX_STARTS, _N_STARTS = 100, 30
_WEIGHTS_AT_A_TIME = 500
_REFERENCE_METHOD = "apm_ss_mh"  # makes posterior draws for other designs: fewest long rejections
_REFERENCE_N_IMPORTANCE = 50


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns `statistics`, `observed_data`, `constant_data`, and draws and `curves` of chains."""
    problem = build_problem(settings)
    design = {"chains": _adapted_chains, "estimator": _estimator_study}
    groups = design[settings.design](problem, settings, context)
    statistics = groups["statistics"].merge(measure.data_statistics(problem))
    return {**groups, "statistics": statistics, **measure.data_groups(problem)}


def _adapted_chains(problem: Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    n_warm_up = _n_warm_up(settings, settings.method)
    names = ("chains", settings.method, settings.n_importance)
    chains = _adaptive_chains(problem, settings, context, names, n_warm_up + settings.n_draws)
    draws = measure.recorded(chains, problem.coordinates)
    return {
        "statistics": measure.chain_statistics(draws, n_warm_up, settings.batch_size, chains.run_s),
        "curves": measure.chain_curves(draws, n_warm_up, chains.run_s, settings.method, not settings.data),
        **measure.chain_groups(draws, n_warm_up),
    }


def _estimator_study(problem: Problem, settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """At posterior draws: noise of the density estimate, acceptance rates that follow, PM MH with small steps."""
    n_warm_up, spacing = _n_warm_up(settings, _REFERENCE_METHOD), settings.reference_spacing
    names = ("reference", _REFERENCE_METHOD, _REFERENCE_N_IMPORTANCE)
    n_draws = n_warm_up + settings.n_reference_draws * spacing
    reference = _adaptive_chains(problem, settings, context, names, n_draws)
    step_sizes = reference.draws["scale"][0, :, -1]
    # Posterior draws [chain, draw, coordinate].
    positions = reference.draws["x"][0, :, n_warm_up:][:, spacing - 1 :: spacing]
    # A lane is a reference draw; its weights are those of its only iteration.
    n_points = positions.shape[0] * positions.shape[1]
    weights = run_chains(
        context,
        ("weights",),
        _weights_at(problem, positions, step_sizes, settings.n_weights),
        settings,
        n_draws=1,
        n_chains=1,
        sweep={"reference": list(range(n_points))},
        block_size=1,
        vectorise=False,
    )
    small = _small_steps(problem, settings, context, positions)
    shape = positions.shape[:2]
    recorded = {name: x[:, 0, 0].reshape(*shape, *x.shape[3:]) for name, x in weights.draws.items()}
    statistics = measure.estimator_statistics(
        recorded["log_estimate"],
        recorded["log_estimate_proposed"],
        recorded["n_newton"],
        settings.n_importance_grid,
    )
    statistics["adapted_step_size"] = ("chain", step_sizes, {"units": ""})
    statistics = statistics.merge(measure.fixed_step_statistics(small))
    kept = {"x": (("chain", "draw", "coordinate"), positions)}
    posterior = xr.Dataset(kept, coords={"coordinate": list(problem.coordinates)})
    return {"statistics": statistics, "posterior": posterior}


def _small_steps(problem: Problem, settings: Settings, context: RunContext, positions: FloatArray) -> Chains:
    """PM MH with one importance sample at fixed step sizes, each chain from one of the posterior draws."""
    starts = jnp.asarray(positions.reshape(-1, positions.shape[-1]))

    def start(key: Array) -> Array:
        return starts[jax.random.randint(key, (), 0, len(starts))]

    names, sampler = ("fixed_step", "pm_mh", 1), _sampler(problem, settings, "pm_mh", 1, 0, start)
    n_draws, sweep = settings.n_fixed_step_draws, {"scale": settings.fixed_step_sizes}
    return run_chains(context, names, sampler, settings, n_draws=n_draws, sweep=sweep, vectorise=False)


def _adaptive_chains(
    problem: Problem, settings: Settings, context: RunContext, names: tuple[str, str, int], n_draws: int
) -> Chains:
    """Chains (purpose, method, n_importance) from the prior; a step size adapts in the first `n_batches` batches."""
    _, method, n_importance = names
    n_batches = settings.n_batches if method.endswith("_mh") else 0
    start = partial(_best_prior_draw, problem) if method == "pm_hmc" else problem.model.sample_prior
    sampler = _sampler(problem, settings, method, n_importance, n_batches, start)
    sweep = {"scale": [settings.bracket_width if method.endswith("_ss") else settings.step_size]}
    return run_chains(
        context, names, sampler, settings, n_draws=n_draws, sweep=sweep, vectorise=False, lanes_per_unit=1
    )


def _best_prior_draw(problem: Problem, key: Array) -> Array:
    """The most likely of some prior draws: far from the mode all trajectories of fixed steps are rejected."""
    density = estimator(problem.model, 1)
    draws = jax.vmap(problem.model.sample_prior)(jax.random.split(key, _N_STARTS))

    def log_posterior(x: Array) -> Array:
        cache = density.prepare(x)
        return jnp.where(cache.failed, -jnp.inf, cache.log_prior + cache.log_marginal)

    return draws[jnp.argmax(jax.lax.map(log_posterior, draws))]


def _n_warm_up(settings: Settings, method: str) -> int:
    return settings.batch_size * settings.n_batches if method.endswith("_mh") else settings.n_warm_up_slice


def _sampler(
    problem: Problem,
    settings: Settings,
    method: str,
    n_importance: int,
    n_batches: int,
    start: Callable[[Array], Array],
) -> Sampler:
    """A chain of the method; `start` maps a key to a first position, tried again until its estimate is finite."""
    density = estimator(problem.model, n_importance)
    dim, n_steps = len(problem.coordinates), settings.n_integration_steps

    def of_scale(scale: Array) -> Kernel:
        if method == "pm_hmc":
            smooth = with_gradient(problem.model, density)
            return pseudo_marginal_hmc(smooth, scale, ((n_steps + 1) // 2, n_steps), dim)
        return pseudo_marginal_method(method, density, scale, dim, settings.auxiliary_step)

    def build(parameters: Any) -> Kernel:
        return batch_adaptation(of_scale, parameters["scale"], settings.batch_size, n_batches)

    def initial(key: Array, parameters: Any) -> AdaptationState:
        kernel = build(parameters)

        def attempt(n: Array) -> AdaptationState:
            place = jax.random.fold_in(key, n)
            return kernel.init(start(jax.random.fold_in(place, 0)), key=jax.random.fold_in(place, 1))

        def unusable(loop: tuple[Array, Array, AdaptationState]) -> Array:
            n, usable, _ = loop
            return ~usable & (n < _MAX_STARTS)

        def retry(loop: tuple[Array, Array, AdaptationState]) -> tuple[Array, Array, AdaptationState]:
            state = attempt(loop[0])
            return loop[0] + 1, jnp.isfinite(state.inner.log_estimate), state

        # The loop begins without a state, so that the program holds one copy of the costly preparation.
        shapes = jax.eval_shape(attempt, jnp.int32(0))
        none_yet = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        return jax.lax.while_loop(unusable, retry, (jnp.int32(0), jnp.bool_(False), none_yet))[2]

    def record(state: AdaptationState, info: AdaptationInfo) -> dict[str, Array]:
        return {
            "x": state.inner.position,
            "log_estimate": state.inner.log_estimate,
            "scale": info.scale,
            **info.inner._asdict(),
        }

    return Sampler(build, initial, record)


def _weights_at(problem: Problem, positions: FloatArray, step_sizes: FloatArray, n_weights: int) -> Sampler:
    """Single-sample log estimates at a reference draw and an MH proposal, same auxiliaries: one set serves every N."""
    dim = positions.shape[-1]
    flat = jnp.asarray(positions.reshape(-1, dim))
    steps = jnp.asarray(np.repeat(step_sizes, positions.shape[1]))
    density = estimator(problem.model, 1)
    n_chunks = -(-n_weights // _WEIGHTS_AT_A_TIME)

    def build(parameters: Any) -> Kernel:
        def apply(key: Array, state: Array) -> tuple[Array, dict[str, Array]]:
            index = parameters["reference"].astype(jnp.int32)
            step = steps[index] * jax.random.normal(jax.random.fold_in(key, 0), (dim,), jnp.float64)
            caches = [density.prepare(flat[index]), density.prepare(flat[index] + step)]

            def chunk(number: Array) -> tuple[Array, Array]:
                own_key = jax.random.fold_in(jax.random.fold_in(key, 1), number)
                keys = jax.random.split(own_key, _WEIGHTS_AT_A_TIME)
                u = jax.vmap(density.draw_auxiliary)(keys)
                here, there = (jax.vmap(lambda v, c=c: density.log_estimate(c, v))(u) for c in caches)
                return here, there

            here, there = jax.lax.map(chunk, jnp.arange(n_chunks))
            info = {
                "log_estimate": here.ravel()[:n_weights],
                "log_estimate_proposed": there.ravel()[:n_weights],
                "n_newton": caches[0].n_newton,
            }
            return state, info

        # The noise is the key itself: the auxiliaries are too many to be drawn ahead.
        return Kernel(lambda position, key=None: position, lambda key: key, apply)

    return Sampler(build, lambda key, parameters: jnp.zeros(()), lambda state, info: info)
