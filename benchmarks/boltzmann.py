"""Accuracy of tempering on Boltzmann machine relaxations at equal CPU time, next to BlackJAX, and cost of a step.

The ten published systems of 30 units; the number of the seed is that of the system. Every program runs until it has
used the given CPU time, and makes one estimate from all that it has. Errors are those of the log normaliser in nats,
and of mean and covariance relative to the variational base of the published recipe.

* auxmc: published settings of simulated tempering, Gibbs continuous tempering, CT-HMC (100 chains) and AIS; Gibbs
  continuous tempering and AIS with a base of converged mean-field fits;
* BlackJAX: adaptive tempered sequential Monte Carlo from both bases, with five Hamiltonian moves of 20 steps of 0.5 at
  each temperature, an effective sample size of 90 %, and as many particles as the time allows.

Then the time of a leapfrog step of a chain, all that an iteration needs included.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.log_evidence import weighted_moments
from auxmc.models.bridge import Bridge
from auxmc_pipeline.catalogue import load_study
from benchmarks.contract import Benchmark, Program, Run, compiled, timed, until_spent
from experiments.boltzmann.measure import annealed_statistics, base_errors, chain_statistics
from experiments.boltzmann.model.machine import RelaxedMoments
from experiments.boltzmann.problem import Problem, build_problem
from experiments.boltzmann.programs import annealed_sampler, chain_sampler
from experiments.boltzmann.settings import method_settings

__all__ = ["BENCHMARK"]

N_CHAINS = 100
N_RUNS = 500
N_TEMPERATURES = 1000
PILOT_PARTICLES = 500
TARGET_ESS = 0.9
MOVES = 5
LOG_Z, MEAN, COVARIANCE, CPU = "error of log Z", "error of mean", "error of covariance", "CPU time"
STEP = "CPU time of a leapfrog step"
SHORT = {"gibbs_ct": "Gibbs CT", "ct_hmc": "CT-HMC", "st": "simulated tempering"}


def _errors(log_z: Any, mean: Any, covariance: Any, seconds: float) -> dict[str, float]:
    return {LOG_Z: float(log_z), MEAN: float(mean), COVARIANCE: float(covariance), CPU: seconds}


def _pooled(found: Any, seconds: float) -> dict[str, float]:
    mean, covariance = (found["pooled_error"].sel(coordinate=name) for name in ("mean", "covariance"))
    return _errors(found["pooled_log_z_error"], mean, covariance, seconds)


def _settings(system: int) -> Any:
    return load_study("boltzmann").settings([f"system={system}", "preset=paper"])


@cache
def _problem(system: int, variational: str) -> Problem:
    return build_problem(_settings(system), variational)


def _chains(settings: Any, problem: Problem, method: str, n_chains: int) -> tuple[Any, Any, Any]:
    """Program of an iteration block of so many chains, their keys and first states."""
    n_temperatures = N_TEMPERATURES if method == "st" else 0
    sampler = chain_sampler(settings, problem, method, method_settings(settings, method), n_temperatures)
    kernel = sampler.build(None)
    keys = jax.random.split(jax.random.key(1), n_chains)
    states = jax.jit(jax.vmap(lambda key: sampler.initial(key, {})))(keys)

    def step(key: Array, i: Array, state: Any) -> Any:
        return kernel.step(jax.random.fold_in(key, i), state)

    program = compiled(jax.vmap(step, in_axes=(0, None, 0)), keys, jnp.uint32(0), states)
    return program, keys, states


def _run_chains(method: str, variational: str, seconds: float) -> Run:
    """Chains of a method, 200 iterations at a time, until the CPU time is spent."""

    def run(system: int) -> dict[str, float]:
        settings, problem = _settings(system), _problem(system, variational)
        program, keys, states = _chains(settings, problem, method, N_CHAINS)

        def block(i: int) -> Any:
            nonlocal states
            states, summary = program(keys, jnp.uint32(i), states)
            return summary

        parts, used = until_spent(seconds, block)
        draws = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
        found = chain_statistics(draws, problem, method, settings.n_repeats, settings.summary_size)
        return _pooled(found, used)

    return run


def _run_annealed(variational: str, seconds: float) -> Run:
    """Annealed importance sampling, 500 runs of 1000 temperatures at a time, until the CPU time is spent."""

    def run(system: int) -> dict[str, float]:
        settings, problem = _settings(system), _problem(system, variational)
        sampler = annealed_sampler(settings, problem, method_settings(settings, "h_ais"), N_TEMPERATURES)
        kernel = sampler.build(None)

        def runs(key: Array) -> Any:
            keys = jax.random.split(key, N_RUNS)
            return jax.vmap(lambda key: sampler.record(*kernel.step(key, kernel.init(key))))(keys)

        program = compiled(runs, jax.random.key(0))
        parts, used = until_spent(seconds, lambda i: program(jax.random.key(i)))
        draws = {name: np.concatenate([part[name] for part in parts])[:, None] for name in parts[0]}
        return _pooled(annealed_statistics(draws, problem), used)

    return run


def _run_blackjax(variational: str, seconds: float) -> Run:
    """Adaptive tempered sequential Monte Carlo with as many particles as a pilot run says the time allows."""

    def run(system: int) -> dict[str, float]:
        problem = _problem(system, variational)
        _, pilot = _smc(problem, PILOT_PARTICLES, 0)
        n_particles = max(PILOT_PARTICLES, round(PILOT_PARTICLES * seconds / pilot))
        moments, used = _smc(problem, n_particles, 1)
        assert problem.truth is not None
        errors = base_errors(moments, problem.truth)
        relative = errors / base_errors(problem.reference, problem.truth)
        return _errors(errors[0], relative[1], relative[2], used)

    return run


def _smc(problem: Problem, n_particles: int, seed: int) -> tuple[RelaxedMoments, float]:
    bridge: Bridge = problem.bridge
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
        TARGET_ESS,
        num_mcmc_steps=MOVES,
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
    runs = {
        "auxmc, CT-HMC": _run_chains("ct_hmc", "published", seconds),
        "auxmc, Gibbs CT": _run_chains("gibbs_ct", "published", seconds),
        "auxmc, simulated tempering": _run_chains("st", "published", seconds),
        "auxmc, AIS": _run_annealed("published", seconds),
        "BlackJAX, tempered SMC": _run_blackjax("published", seconds),
        "auxmc, Gibbs CT, converged base": _run_chains("tuned", "converged", seconds),
        "auxmc, AIS, converged base": _run_annealed("converged", seconds),
        "BlackJAX, tempered SMC, converged base": _run_blackjax("converged", seconds),
    }
    wanted = [name for name in runs if not quick or "base" not in name]
    packages = {name: "blackjax" if "BlackJAX" in name else "jax" for name in wanted}
    return [Program(name, partial(runs.__getitem__, name), package=packages[name]) for name in wanted]


def _leapfrog(method: str, n_chains: int, quick: bool) -> Sequence[Program]:
    """CPU time of a leapfrog step of a chain, random numbers, records and sums included."""

    def prepare() -> Run:
        settings = _settings(0)
        program, keys, states = _chains(settings, _problem(0, "published"), method, n_chains)
        n_steps = n_chains * settings.summary_size * method_settings(settings, method).n_steps

        def run(i: int) -> dict[str, float]:
            return {STEP: 1e6 * timed(program, keys, jnp.uint32(i), states, calls=3).cpu_s / n_steps}

        return run

    return [Program("auxmc", prepare, "published")]


BENCHMARK = Benchmark(
    problems={"relaxations of 30 units": _relaxations}
    | {f"{SHORT[m]}, {n} chains": partial(_leapfrog, m, n) for m in SHORT for n in (N_CHAINS, 2 * N_CHAINS)},
    units={LOG_Z: "nats", MEAN: "relative", COVARIANCE: "relative", CPU: "s", STEP: "microseconds"},
    page_problems=["relaxations of 30 units"],
    page_quantities=[LOG_Z, MEAN],
    quick=["relaxations of 30 units", "Gibbs CT, 100 chains"],
    seeds=10,
    ratios=False,
)
