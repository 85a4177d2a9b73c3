"""Accuracy of tempering on Boltzmann machine relaxations at equal CPU time, next to BlackJAX.

The ten published systems of 30 units; the number of the seed is that of the system. Every program makes one estimate
from all that it has when the CPU time is used. Errors are those of the log normaliser in nats, and of the mean relative
to the variational base of the published recipe. Ours have the published settings; BlackJAX has adaptive tempered
sequential Monte Carlo with five Hamiltonian moves of 20 steps of 0.5 at each temperature, an effective sample size of
90 %, and as many particles as the time allows.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.tempered_evidence import weighted_moments
from auxmc_pipeline.catalogue import load_study
from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from benchmarks.peers import tempered_smc
from experiments.boltzmann.measure import annealed_statistics, base_errors, chain_statistics
from experiments.boltzmann.model.machine import RelaxedMoments
from experiments.boltzmann.problem import Problem, build_problem
from experiments.boltzmann.programs import annealed_sampler, chain_sampler
from experiments.boltzmann.settings import method_settings

N_CHAINS, N_RUNS, N_TEMPERATURES, PILOT_PARTICLES = 100, 500, 1000, 500
LOG_Z, MEAN = "error of log Z", "error of mean"


@cache
def _system(number: int) -> tuple[Any, Problem]:
    settings: Any = load_study("boltzmann").settings([f"system={number}", "preset=paper"])
    return settings, build_problem(settings, "published")


def _until_spent(quick: bool, function: Callable[[int], Any]) -> list[Any]:
    """Values of a function of the number of the call, called until it has used its CPU seconds."""
    values: list[Any] = []
    used = 0.0
    while used < _seconds(quick):
        value, cpu, _ = timed(function, len(values))
        used += cpu
        values.append(jax.tree.map(np.asarray, value))
    return values


def _seconds(quick: bool) -> float:
    return 1.5 if quick else 9.0


def _pooled(found: Any) -> dict[str, float]:
    mean = found["pooled_error"].sel(coordinate="mean")
    return {LOG_Z: float(found["pooled_log_z_error"]), MEAN: float(mean)}


def _chains(method: str, quick: bool) -> Run:
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

        parts = _until_spent(quick, block)
        draws = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
        return _pooled(chain_statistics(draws, problem, method, settings.n_repeats, settings.summary_size))

    return run


def _annealed(quick: bool) -> Run:
    """Annealed importance sampling, 500 runs of 1000 temperatures at a time, until the CPU time is spent."""

    def run(system: int) -> dict[str, float]:
        settings, problem = _system(system)
        sampler = annealed_sampler(settings, problem, method_settings(settings, "h_ais"), N_TEMPERATURES)
        kernel = sampler.build(None)

        def runs(key: Array) -> Any:
            keys = jax.random.split(key, N_RUNS)
            return jax.vmap(lambda key: sampler.record(*kernel.step(key, kernel.init(key=key))))(keys)

        program = compiled(runs, jax.random.key(0))
        parts = _until_spent(quick, lambda i: program(jax.random.key(i)))
        draws = {name: np.concatenate([part[name] for part in parts])[:, None] for name in parts[0]}
        return _pooled(annealed_statistics(draws, problem))

    return run


def _smc(problem: Problem, n_particles: int, seed: int) -> tuple[RelaxedMoments, float]:
    """Moments by BlackJAX, and the CPU seconds that they took."""
    bridge = problem.bridge

    def sample(key: Array) -> Any:
        noise = jax.random.normal(jax.random.fold_in(key, 0), (n_particles, bridge.dim))
        prior, target = (lambda x: bridge.log_densities(x)[1]), (lambda x: bridge.log_densities(x)[0])
        particles = jax.vmap(bridge.draw_base)(noise)
        return tempered_smc(key, prior, lambda x: target(x) - prior(x), particles, 0.5, 20, target_ess=0.9)

    program = compiled(sample, jax.random.key(seed))
    found, used, _ = timed(program, jax.random.key(seed))
    moments = weighted_moments(np.log(np.asarray(found.weights)), np.asarray(found.particles))
    return RelaxedMoments(float(found.log_evidence), *moments), used


def _blackjax(quick: bool) -> Run:
    """As many particles as a pilot run says the time allows."""

    def run(system: int) -> dict[str, float]:
        _, problem = _system(system)
        pilot = _smc(problem, PILOT_PARTICLES, 0)[1]
        moments, _ = _smc(problem, round(PILOT_PARTICLES * max(1.0, _seconds(quick) / pilot)), 1)
        assert problem.truth is not None
        errors, base = (base_errors(found, problem.truth) for found in (moments, problem.reference))
        return {LOG_Z: float(errors[0]), MEAN: float(errors[1] / base[1])}

    return run


PROGRAMS = [
    Program("auxmc, CT-HMC", partial(_chains, "ct_hmc")),
    Program("auxmc, Gibbs CT", partial(_chains, "gibbs_ct")),
    Program("auxmc, simulated tempering", partial(_chains, "st")),
    Program("auxmc, AIS", _annealed),
    Program("BlackJAX, tempered SMC", _blackjax),
]
PROBLEMS = {"relaxations of 30 units": PROGRAMS}
UNITS = {LOG_Z: "nats", MEAN: "relative"}
BENCHMARKS = {"boltzmann": Benchmark(PROBLEMS, UNITS, list(PROBLEMS), seeds=10, ratios=False)}
