"""Samplers of the study: kernel, start and what is kept of a block of iterations or of an annealed run."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.driver.blocks import Sampler
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.tempering.annealed_importance import (
    AnnealedInfo,
    AnnealedState,
    annealed_importance_sampling,
)
from auxmc.kernels.tempering.continuous_tempering import continuously_tempered_hmc, gibbs_continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.numerics.random import standard_normal
from auxmc.numerics.schedules import sigmoidal_schedule
from experiments.boltzmann.model.machine import relaxation_log_density
from experiments.boltzmann.problem import Problem
from experiments.boltzmann.settings import MethodSettings, Settings

# Weights under which the moments of a method's states are summed.
WEIGHTS: dict[str, tuple[str, ...]] = {
    "st": ("target", "base", "visits", "naive"),
    "gibbs_ct": ("target", "base"),
    "ct_hmc": ("target", "base"),
    "hmc": ("target",),
    "tuned": ("target", "base"),
}


class _Draw(NamedTuple):
    """What is kept of an iteration until its block is summarised."""

    position: Array
    log_weights: Array
    inverse_temperature: Array
    accepted: Array
    n_not_finite: Array


def block_summaries(
    kernel: Kernel, n_steps: int, keep: Callable[[Any, Any], Any], summarise: Callable[[Any], Any]
) -> Kernel:
    """Makes `n_steps` steps of a kernel one step, so that a record need not hold each of them.

    The kernel's random numbers must be arrays; step i uses the key `fold_in(key, i)`. `keep` maps (state, info) after
    each step to arrays, and `summarise` these, stacked [step, ...], to the info of the new kernel.
    """
    if n_steps < 1:
        raise ValueError(f"n_steps must be at least 1, got {n_steps}")

    def draw(key: Array) -> Any:
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(n_steps, dtype="uint32"))
        return jax.vmap(kernel.draw)(keys)

    def one(state: Any, noise: Any) -> tuple[Any, Any]:
        state, info = kernel.apply(noise, state)
        return state, keep(state, info)

    def apply(noise: Any, state: Any) -> tuple[Any, Any]:
        state, kept = lax.scan(one, state, noise)
        return state, summarise(kept)

    return Kernel(kernel.init, draw, apply)


def chain_sampler(
    settings: Settings, problem: Problem, method: str, numbers: MethodSettings, n_temperatures: int
) -> Sampler:
    """Sampler of a method that runs chains, which records one summary for each block of iterations."""
    kernel, start, log_weights = _chain_kernel(settings, problem, method, numbers, n_temperatures)
    loadings, biases = jnp.asarray(problem.relaxation.loadings), jnp.asarray(problem.relaxation.biases)

    def keep(state: Any, info: Any) -> _Draw:
        logs, inverse_temperature = log_weights(state)
        return _Draw(
            state.position, jnp.stack(logs), inverse_temperature, info.is_accepted, info.n_not_finite
        )

    def summarise(draws: _Draw) -> dict[str, Array]:
        top = jnp.max(draws.log_weights, axis=0)
        weights = jnp.where(jnp.isneginf(draws.log_weights), 0.0, jnp.exp(draws.log_weights - top[None]))
        weighted = jnp.einsum("ds,di->sdi", weights, draws.position)
        patterns = jnp.matmul(draws.position, loadings.T) + biases[None] > 0.0
        near_target = draws.inverse_temperature > 0.5
        pairs = near_target[1:] & near_target[:-1]
        changed = jnp.any(patterns[1:] != patterns[:-1], axis=1)
        return {
            "log_scale": top,
            "total": jnp.sum(weights, axis=0),
            "first": jnp.sum(weighted, axis=1),
            "second": jnp.matmul(jnp.swapaxes(weighted, 1, 2), draws.position),
            "start_log_weights": draws.log_weights[0],
            "start_position": draws.position[0],
            "n_accepted": jnp.sum(draws.accepted, dtype=jnp.int32),
            "n_not_finite": jnp.sum(draws.n_not_finite, dtype=jnp.int32),
            "n_pairs": jnp.sum(pairs, dtype=jnp.int32),
            "n_pattern_changes": jnp.sum(pairs & changed, dtype=jnp.int32),
            "n_near_target": jnp.sum(near_target, dtype=jnp.int32),
            "n_positive": jnp.sum(patterns, axis=0, dtype=jnp.int32),
        }

    blocks = block_summaries(kernel, settings.summary_size, keep, summarise)

    def initial(key: Array, _: dict[str, Array]) -> Any:
        noise = standard_normal(jax.random.fold_in(key, 0), (problem.bridge.dim,))
        return start(problem.bridge.draw_base(noise), key=jax.random.fold_in(key, 1))

    return Sampler(lambda _: blocks, initial, lambda _, summary: summary)


def annealed_sampler(
    settings: Settings, problem: Problem, numbers: MethodSettings, n_temperatures: int
) -> Sampler:
    """Sampler whose iterations are annealed runs."""
    kernel = annealed_importance_sampling(
        problem.bridge,
        sigmoidal_schedule(n_temperatures),
        numbers.step_size,
        numbers.n_steps,
        refreshment=numbers.refreshment,
        integrator=settings.integrator,
    )
    loadings, biases = jnp.asarray(problem.relaxation.loadings), jnp.asarray(problem.relaxation.biases)

    def pattern(x: Array) -> Array:
        return jnp.matmul(x, loadings.T) + biases > 0.0

    def record(state: AnnealedState, info: AnnealedInfo) -> dict[str, Array]:
        return {
            "position": state.position,
            "log_weight": state.log_weight,
            "acceptance": info.acceptance_rate,
            "n_not_finite": info.n_not_finite,
            "settled": jnp.all(pattern(state.position) == pattern(info.halfway)),
        }

    return Sampler(lambda _: kernel, lambda key, _: kernel.init(key=key), record)


def _chain_kernel(
    settings: Settings, problem: Problem, method: str, numbers: MethodSettings, n_temperatures: int
) -> tuple[Kernel, Callable[..., Any], Callable[[Any], tuple[tuple[Array, ...], Array]]]:
    """Kernel, its start from a position and `key=`, and the log weights and inverse temperature of a state."""
    bridge, step_size, n_steps = problem.bridge, numbers.step_size, numbers.n_steps
    options: dict[str, Any] = {"refreshment": numbers.refreshment, "integrator": settings.integrator}
    if method == "hmc":
        log_density = relaxation_log_density(problem.relaxation)
        direct = hmc(log_density, step_size, n_steps, bridge.dim)
        return direct, direct.init, lambda _: ((jnp.zeros(()),), jnp.ones(()))
    if method == "st":
        ladder = jnp.asarray(sigmoidal_schedule(n_temperatures))
        tempering = simulated_tempering(
            bridge, ladder, step_size, n_steps, index_update=settings.index_update, **options
        )

        def tempering_weights(state: Any) -> tuple[tuple[Array, ...], Array]:
            b = ladder[state.index]
            visits = jnp.where(state.index == n_temperatures, 0.0, -jnp.inf)
            naive = -(1.0 - b) * state.delta
            return (state.log_target_weight, state.log_base_weight, visits, naive), b

        return tempering, tempering.init, tempering_weights

    def continuous_weights(state: Any) -> tuple[tuple[Array, ...], Array]:
        return (state.log_target_weight, state.log_base_weight), state.inverse_temperature

    if method == "ct_hmc":
        controlled = continuously_tempered_hmc(bridge, step_size, n_steps, settings.control_mass, **options)
        return (
            controlled,
            lambda x, key: controlled.init(x, settings.start_control, key=key),
            continuous_weights,
        )
    gibbs = gibbs_continuous_tempering(bridge, step_size, n_steps, **options)
    return gibbs, gibbs.init, continuous_weights
