"""Accuracy of tempering on Boltzmann machine relaxations at equal CPU time, next to BlackJAX.

The ten published systems of 30 units; the number of the seed is that of the system. Every program runs until it has
used the given CPU time, and makes one estimate from all that it has. Errors are those of the log normaliser in nats,
and of the mean relative to the variational base of the published recipe.

* auxmc: published settings of simulated tempering, Gibbs continuous tempering, CT-HMC (100 chains) and AIS;
* BlackJAX: adaptive tempered sequential Monte Carlo with five Hamiltonian moves of 20 steps of 0.5 at each temperature,
  an effective sample size of 90 %, and as many particles as the time allows.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.tempered_evidence import weighted_moments
from auxmc_pipeline.catalogue import load_study
from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from experiments.boltzmann.measure import annealed_statistics, base_errors, chain_statistics
from experiments.boltzmann.model.machine import RelaxedMoments
from experiments.boltzmann.problem import Problem, build_problem
from experiments.boltzmann.programs import annealed_sampler, chain_sampler
from experiments.boltzmann.settings import method_settings

N_CHAINS = 100
N_RUNS = 500
N_TEMPERATURES = 1000
PILOT_PARTICLES = 500
LOG_Z, MEAN = "error of log Z", "error of mean"


@cache
def _system(number: int) -> tuple[Any, Problem]:
    settings: Any = load_study("boltzmann").settings([f"system={number}", "preset=paper"])
    return settings, build_problem(settings, "published")


def _until_spent(seconds: float, function: Callable[[int], Any]) -> list[Any]:
    """Values of a function of the number of the call, called until it has used so many CPU seconds."""
    values: list[Any] = []
    used = 0.0
    while used < seconds:
        value, cpu, _ = timed(function, len(values))
        used += cpu
        values.append(jax.tree.map(np.asarray, value))
    return values


def _pooled(found: Any) -> dict[str, float]:
    return {
        LOG_Z: float(found["pooled_log_z_error"]),
        MEAN: float(found["pooled_error"].sel(coordinate="mean")),
    }


def _run_chains(method: str, seconds: float) -> Run:
    """Chains of a method, a block of iterations at a time, until the CPU time is spent."""

    def run(system: int) -> dict[str, float]:
        settings, problem = _system(system)
        n_temperatures = N_TEMPERATURES if method == "st" else 0
        sampler = chain_sampler(settings, problem, method, method_settings(settings, method), n_temperatures)
        kernel = sampler.build(None)
        keys = jax.random.split(jax.random.key(1), N_CHAINS)
        states = jax.jit(jax.vmap(lambda key: sampler.initial(key, {})))(keys)

        def step(key: Array, i: Array, state: Any) -> Any:
            return kernel.step(jax.random.fold_in(key, i), state)

        program = compiled(jax.vmap(step, in_axes=(0, None, 0)), keys, jnp.uint32(0), states)

        def block(i: int) -> Any:
            nonlocal states
            states, summary = program(keys, jnp.uint32(i), states)
            return summary

        parts = _until_spent(seconds, block)
        draws = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
        return _pooled(chain_statistics(draws, problem, method, settings.n_repeats, settings.summary_size))

    return run


def _run_annealed(seconds: float) -> Run:
    """Annealed importance sampling, 500 runs of 1000 temperatures at a time, until the CPU time is spent."""

    def run(system: int) -> dict[str, float]:
        settings, problem = _system(system)
        sampler = annealed_sampler(settings, problem, method_settings(settings, "h_ais"), N_TEMPERATURES)
        kernel = sampler.build(None)

        def runs(key: Array) -> Any:
            keys = jax.random.split(key, N_RUNS)
            return jax.vmap(lambda key: sampler.record(*kernel.step(key, kernel.init(key=key))))(keys)

        program = compiled(runs, jax.random.key(0))
        parts = _until_spent(seconds, lambda i: program(jax.random.key(i)))
        draws = {name: np.concatenate([part[name] for part in parts])[:, None] for name in parts[0]}
        return _pooled(annealed_statistics(draws, problem))

    return run


def _run_blackjax(seconds: float) -> Run:
    """Adaptive tempered sequential Monte Carlo with as many particles as a pilot run says the time allows."""

    def run(system: int) -> dict[str, float]:
        _, problem = _system(system)
        _, pilot = _smc(problem, PILOT_PARTICLES, 0)
        moments, _ = _smc(problem, max(PILOT_PARTICLES, round(PILOT_PARTICLES * seconds / pilot)), 1)
        assert problem.truth is not None
        errors, base = (base_errors(found, problem.truth) for found in (moments, problem.reference))
        return {LOG_Z: float(errors[0]), MEAN: float(errors[1] / base[1])}

    return run


def _smc(problem: Problem, n_particles: int, seed: int) -> tuple[RelaxedMoments, float]:
    """Moments, and the CPU seconds that they took."""
    bridge = problem.bridge
    kernel = blackjax.hmc.build_kernel()

    def step(key: Array, state: Any, log_density: Callable[[Array], Array], **parameters: Any) -> Any:
        return kernel(key, state, log_density, num_integration_steps=20, **parameters)

    smc = blackjax.adaptive_tempered_smc(
        lambda x: bridge.log_densities(x)[1],
        lambda x: bridge.log_densities(x)[0] - bridge.log_densities(x)[1],
        step,
        blackjax.hmc.init,
        {"step_size": jnp.full((1,), 0.5), "inverse_mass_matrix": jnp.ones((1, bridge.dim))},
        blackjax.smc.resampling.systematic,
        0.9,
        num_mcmc_steps=5,
    )
    key = jax.random.key(seed)
    noise = jax.random.normal(jax.random.fold_in(key, 0), (n_particles, bridge.dim))
    state = smc.init(jax.vmap(bridge.draw_base)(noise))
    program = compiled(smc.step, key, state)
    log_z, used, i = 0.0, 0.0, 1
    while float(state.tempering_param) < 1.0:
        (state, info), cpu_s, _ = timed(program, jax.random.fold_in(key, i), state)
        log_z, used, i = log_z + float(info.log_likelihood_increment), used + cpu_s, i + 1
    moments = weighted_moments(np.log(np.asarray(state.weights)), np.asarray(state.particles))
    return RelaxedMoments(log_z, *moments), used


def _relaxations(quick: bool) -> Sequence[Program]:
    seconds = 1.5 if quick else 9.0
    chains = {"CT-HMC": "ct_hmc", "Gibbs CT": "gibbs_ct", "simulated tempering": "st"}
    return [
        *(Program(f"auxmc, {name}", partial(_run_chains, m, seconds)) for name, m in chains.items()),
        Program("auxmc, AIS", partial(_run_annealed, seconds)),
        Program("BlackJAX, tempered SMC", partial(_run_blackjax, seconds), package="blackjax"),
    ]


BENCHMARK = Benchmark(
    problems={"relaxations of 30 units": _relaxations},
    units={LOG_Z: "nats", MEAN: "relative"},
    quick=["relaxations of 30 units"],
    seeds=10,
    ratios=False,
)
