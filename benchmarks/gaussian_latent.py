"""Iterations a second of pseudo-marginal chains on the Gaussian latent variable model, next to a plain JAX program.

Ten chains side by side, PM MH and APM MI+MH with 1, 8 and 32 importance samples:

* auxmc, few numbers: kernels and driver with the few numbers on which the estimate depends, as the studies use them
  where that is exact;
* auxmc, all auxiliary variables: the same with auxiliary variables [importance, observation, dim];
* plain JAX: the method as one would first write it, a `lax.scan` of a step that splits its key, draws all auxiliary
  variables with `jax.random.normal`, evaluates and selects, under `vmap`.

All three record the position and the accept flags of every iteration, as NumPy arrays.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.blocks import Sampler, run_program, trace_sampler
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.models.estimator import Estimator
from benchmarks.contract import Benchmark, Program, Run, compiled, timed
from experiments.gaussian_latent.model import (
    GaussianLatentModel,
    estimator,
    gaussian_latent_model,
    lumped_estimator,
    simulate_data,
)

__all__ = ["BENCHMARK"]

N_CHAINS = 10
SCALE = 0.425
PILOT_DRAWS = 2000
RATE = "iterations per CPU second"


@cache
def _model() -> GaussianLatentModel:
    return gaussian_latent_model(simulate_data(1).observations)


def _programs(method: str, n_importance: int, quick: bool) -> Sequence[Program]:
    model, seconds = _model(), 0.2 if quick else 1.0
    of_few = partial(_of_driver, method, lumped_estimator(model, n_importance))
    of_all = partial(_of_driver, method, estimator(model, n_importance))
    return [
        Program("auxmc, few numbers", partial(_prepare, of_few, seconds)),
        Program("auxmc, all auxiliary variables", partial(_prepare, of_all, seconds)),
        Program("plain JAX", partial(_prepare, partial(_of_plain, method, n_importance), seconds)),
    ]


def _prepare(program_of: Callable[[int], Callable[[Array], Any]], seconds: float) -> Run:
    """Compiles for as many iterations as take about so many seconds, by a first run of few."""
    pilot, keys = program_of(PILOT_DRAWS), jax.random.split(jax.random.key(0), N_CHAINS)
    pilot(keys)
    n_draws = max(PILOT_DRAWS, int(seconds * PILOT_DRAWS / timed(pilot, keys).cpu_s) // 1000 * 1000)
    program = program_of(n_draws)

    def run(i: int) -> dict[str, float]:
        cost = timed(program, jax.random.split(jax.random.key(i), N_CHAINS))
        return {RATE: n_draws * N_CHAINS / cost.cpu_s}

    return run


def _of_driver(method: str, estimate: Estimator, n_draws: int) -> Callable[[Array], Any]:
    """The package's kernel in the package's driver."""
    dim, scales = _model().dim, jnp.full(N_CHAINS, SCALE)

    def build(scale: Array) -> Any:
        return pseudo_marginal_method(method, estimate, scale, dim)

    def initial(key: Array, scale: Array) -> Any:
        position = jax.random.normal(jax.random.fold_in(key, 0), (dim,))
        return build(scale).init(jax.random.fold_in(key, 1), position)

    def record(state: Any, info: Any) -> dict[str, Array]:
        accepted = {name: getattr(info, name) for name in ("accepted_position", "accepted_auxiliary")}
        return {"position": state.position} | accepted

    keys = jax.random.split(jax.random.key(0), N_CHAINS)
    sampler = Sampler(build, initial, record)
    program = trace_sampler(sampler, scales, keys, n_draws=n_draws, block_size=n_draws).compile()
    return lambda keys: run_program(program, scales, keys).draws


def _of_plain(method: str, n_importance: int, n_draws: int) -> Callable[[Array], Any]:
    model = _model()
    shape = (n_importance, *model.observations.shape)
    step = _plain_step(method, shape)

    def chain(key: Array) -> Any:
        x = jax.random.normal(jax.random.fold_in(key, 0), (model.dim,))
        u = jax.random.normal(jax.random.fold_in(key, 1), shape)
        return jax.lax.scan(step, (key, x, u, _plain_log_estimate(x, u)), None, length=n_draws)[1]

    program = compiled(jax.vmap(chain), jax.random.split(jax.random.key(0), N_CHAINS))
    return lambda keys: jax.tree.map(np.asarray, program(keys))


def _plain_log_estimate(x: Array, u: Array) -> Array:
    model = _model()
    deviations = (jnp.asarray(model.observations) - x - model.sd_latent * u) / model.sd_observation
    return -0.5 * jnp.sum(x**2) + jax.nn.logsumexp(-0.5 * jnp.sum(deviations**2, axis=(1, 2)))


def _plain_step(method: str, shape: tuple[int, ...]) -> Callable[[Any, None], Any]:
    def joint_step(state: tuple[Array, ...], _: None) -> Any:
        key, x, u, current = state
        key, key_x, key_u, key_accept = jax.random.split(key, 4)
        new_x = x + SCALE * jax.random.normal(key_x, x.shape)
        new_u = jax.random.normal(key_u, shape)
        proposed = _plain_log_estimate(new_x, new_u)
        accept = jnp.log(jax.random.uniform(key_accept)) < proposed - current
        x, u = jnp.where(accept, new_x, x), jnp.where(accept, new_u, u)
        return (key, x, u, jnp.where(accept, proposed, current)), (x, accept, accept)

    def split_step(state: tuple[Array, ...], _: None) -> Any:
        key, x, u, current = state
        key, key_x, key_u, key_accept_u, key_accept_x = jax.random.split(key, 5)
        new_u = jax.random.normal(key_u, shape)
        proposed = _plain_log_estimate(x, new_u)
        accept_u = jnp.log(jax.random.uniform(key_accept_u)) < proposed - current
        u, current = jnp.where(accept_u, new_u, u), jnp.where(accept_u, proposed, current)
        new_x = x + SCALE * jax.random.normal(key_x, x.shape)
        proposed = _plain_log_estimate(new_x, u)
        accept_x = jnp.log(jax.random.uniform(key_accept_x)) < proposed - current
        x, current = jnp.where(accept_x, new_x, x), jnp.where(accept_x, proposed, current)
        return (key, x, u, current), (x, accept_x, accept_u)

    return joint_step if method == "pm_mh" else split_step


BENCHMARK = Benchmark(
    problems={
        f"{label}, {n} importance samples": partial(_programs, method, n)
        for method, label in (("pm_mh", "PM MH"), ("apm_mi_mh", "APM MI+MH"))
        for n in (1, 8, 32)
    },
    units={RATE: "1/s"},
    page_problems=[f"{name} importance samples" for name in ("PM MH, 32", "APM MI+MH, 32")],
    quick=["APM MI+MH, 1 importance samples", "APM MI+MH, 8 importance samples"],
    repeats=3,
)
