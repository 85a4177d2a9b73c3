"""Iterations a second of pseudo-marginal chains on the Gaussian latent variable model, next to a plain JAX program.

Ten chains side by side, 32 importance samples, recording positions and accept flags as NumPy arrays. Ours are kernels
and driver with the few numbers on which the estimate depends, as the studies use them where that is exact, or with all
auxiliary variables [importance, observation, dim]. Plain JAX is the method as one would first write it.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.driver.blocks import Sampler, run_program, trace_sampler
from auxmc.kernels.pseudo_marginal.updates import pseudo_marginal_method
from auxmc.models.estimator import Estimator
from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from experiments.gaussian_latent import model as latent

N_CHAINS = 10
N_IMPORTANCE = 32
SCALE = 0.425
RATE = "iterations per CPU second"


@cache
def _model() -> latent.GaussianLatentModel:
    return latent.gaussian_latent_model(latent.simulate_data(1).observations)


def _prepare(program_of: Callable[[int], Callable[[Array], Any]], quick: bool) -> Run:
    n_draws = 1000 if quick else 5000
    program = program_of(n_draws)

    def run(i: int) -> dict[str, float]:
        cost = timed(program, jax.random.split(jax.random.key(i), N_CHAINS))
        return {RATE: n_draws * N_CHAINS / cost.cpu_s}

    return run


def _of_driver(method: str, estimator: Callable[..., Estimator], n_draws: int) -> Callable[[Array], Any]:
    """The package's kernel in the package's driver."""
    dim, scales, estimate = _model().dim, jnp.full(N_CHAINS, SCALE), estimator(_model(), N_IMPORTANCE)

    def build(scale: Array) -> Any:
        return pseudo_marginal_method(method, estimate, scale, dim)

    def initial(key: Array, scale: Array) -> Any:
        position = jax.random.normal(jax.random.fold_in(key, 0), (dim,))
        return build(scale).init(position, key=jax.random.fold_in(key, 1))

    def record(state: Any, info: Any) -> dict[str, Array]:
        accepted = {name: getattr(info, name) for name in ("accepted_position", "accepted_auxiliary")}
        return {"position": state.position} | accepted

    keys = jax.random.split(jax.random.key(0), N_CHAINS)
    sampler = Sampler(build, initial, record)
    program = trace_sampler(sampler, scales, keys, n_draws=n_draws, block_size=n_draws).compile()
    return lambda keys: run_program(program, scales, keys).draws


def _of_plain(method: str, n_draws: int) -> Callable[[Array], Any]:
    model = _model()
    shape = (N_IMPORTANCE, *model.observations.shape)

    def at(x: Array, u: Array) -> tuple[Array, Array, Array]:
        deviations = (jnp.asarray(model.observations) - x - model.sd_latent * u) / model.sd_observation
        exponents = -0.5 * jnp.sum(deviations**2, axis=(1, 2))
        return x, u, -0.5 * jnp.sum(x**2) + jax.nn.logsumexp(exponents)

    def choose(key: Array, current: Any, proposed: Any) -> tuple[Any, Array]:
        accept = jnp.log(jax.random.uniform(key)) < proposed[2] - current[2]
        return jax.tree.map(partial(jnp.where, accept), proposed, current), accept

    def step(state: tuple[Array, Any], _: None) -> Any:
        key, key_x, key_u, *keys = jax.random.split(state[0], 5)
        current, accept_u = state[1], jnp.asarray(True)
        new_u = jax.random.normal(key_u, shape)
        if method != "pm_mh":
            current, accept_u = choose(keys[0], current, at(current[0], new_u))
            new_u = current[1]
        new_x = current[0] + SCALE * jax.random.normal(key_x, current[0].shape)
        current, accept_x = choose(keys[1], current, at(new_x, new_u))
        return (key, current), (current[0], accept_x, accept_u)

    def chain(key: Array) -> Any:
        x = jax.random.normal(jax.random.fold_in(key, 0), (model.dim,))
        u = jax.random.normal(jax.random.fold_in(key, 1), shape)
        return jax.lax.scan(step, (key, at(x, u)), None, length=n_draws)[1]

    program = compiled(jax.vmap(chain), jax.random.split(jax.random.key(0), N_CHAINS))
    return lambda keys: jax.tree.map(np.asarray, program(keys))


PROGRAMS = {
    "auxmc, few numbers": lambda method: partial(_of_driver, method, latent.lumped_estimator),
    "auxmc, all auxiliary variables": lambda method: partial(_of_driver, method, latent.estimator),
    "plain JAX": lambda method: partial(_of_plain, method),
}
PROBLEMS = {
    f"{label}, {N_IMPORTANCE} importance samples": [
        Program(name, partial(_prepare, program_of(method))) for name, program_of in PROGRAMS.items()
    ]
    for method, label in (("pm_mh", "PM MH"), ("apm_mi_mh", "APM MI+MH"))
}
BENCHMARKS = {"gaussian_latent": Benchmark(PROBLEMS, units={RATE: "1/s"}, quick=list(PROBLEMS), repeats=3)}
