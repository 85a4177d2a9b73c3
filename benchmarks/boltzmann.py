"""Accuracy of tempering on Boltzmann machine relaxations at equal CPU time, beside BlackJAX, and cost of a step.

    python benchmarks/boltzmann.py [--seconds 9] [--systems 0,1,2,3,4,5,6,7,8,9] [--output benchmarks/results]

The ten published systems of 30 units, float64, one core. Every program runs until it has used the given CPU time on a
system, compilation not counted, and makes one estimate from all that it has. Errors are those of the log normaliser in
nats, and of mean and covariance relative to the variational base of the published recipe. Programs:

* auxmc, the published settings of simulated tempering, Gibbs continuous tempering and CT-HMC, 100 chains;
* auxmc, the same Gibbs continuous tempering and AIS with a base of converged mean-field fits;
* blackjax, adaptive tempered sequential Monte Carlo from the published and the converged base, with five Hamiltonian
  moves of 20 steps of 0.5 at each temperature, an effective sample size of 90 %, and as many particles as the time
  allows.

Then the time of a leapfrog step of a chain. Writes boltzmann.csv and boltzmann.md.
"""

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from auxmc.driver.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does
sys.path.insert(0, str(Path(__file__).parents[1]))  # for the studies' own code

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.log_evidence import weighted_moments
from auxmc_pipeline.settings import CaseSettings
from auxmc.models.boltzmann.model import RelaxedMoments
from auxmc.models.bridge import Bridge
from experiments.boltzmann.statistics import annealed_statistics, base_errors, chain_statistics
from experiments.boltzmann.problem import Problem, build_problem
from experiments.boltzmann.programs import annealed_sampler, chain_sampler
from experiments.boltzmann.settings import MethodSettings, method_settings
from auxmc_pipeline.catalogue import load_study

__all__ = ["main"]

COLUMNS = (
    "program",
    "log_z_median",
    "log_z_largest",
    "mean",
    "covariance_median",
    "covariance_largest",
    "cpu_s",
)
N_CHAINS = 100
N_RUNS = 500
N_TEMPERATURES = 1000
PILOT_PARTICLES = 500
TARGET_ESS = 0.9
MOVES = 5


class Estimate(NamedTuple):
    """Errors of the log normaliser, in nats, of mean and covariance, relative, and CPU seconds."""

    log_z: float
    mean: float
    covariance: float
    seconds: float


def run_chains(
    settings: CaseSettings, method: str, variational: str, n_temperatures: int, seconds: float
) -> Estimate:
    """Chains of a method, 200 iterations at a time, until the CPU time is spent."""
    problem = build_problem(settings, variational)
    numbers = method_settings(settings, method)
    sampler = chain_sampler(settings, problem, method, numbers, n_temperatures)
    kernel = sampler.build(None)
    keys = jax.random.split(jax.random.key(1), N_CHAINS)
    states = jax.jit(jax.vmap(lambda key: sampler.initial(key, {})))(keys)
    step = jax.jit(
        jax.vmap(lambda key, i, state: kernel.step(jax.random.fold_in(key, i), state), in_axes=(0, None, 0))
    )
    program = step.lower(keys, jnp.uint32(0), states).compile()
    parts, used, i = [], 0.0, 0
    while used < seconds:
        clock = time.process_time()
        states, summary = jax.block_until_ready(program(keys, jnp.uint32(i), states))
        used += time.process_time() - clock
        parts.append(jax.tree.map(np.asarray, summary))
        i += 1
    draws = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
    found = chain_statistics(draws, problem, method, settings.n_repeats, settings.summary_size)
    return _estimate(found, used)


def run_annealed(settings: CaseSettings, variational: str, seconds: float) -> Estimate:
    """Annealed importance sampling, 500 runs of 1000 temperatures at a time, until the CPU time is spent."""
    problem = build_problem(settings, variational)
    numbers = method_settings(settings, "h_ais")
    sampler = annealed_sampler(settings, problem, numbers, N_TEMPERATURES)
    kernel = sampler.build(None)

    def runs(key: Array) -> Any:
        keys = jax.random.split(key, N_RUNS)
        return jax.vmap(lambda key: sampler.record(*kernel.step(key, kernel.init(key))))(keys)

    program = jax.jit(runs).lower(jax.random.key(0)).compile()
    parts, used = [], 0.0
    while used < seconds:
        clock = time.process_time()
        record = jax.block_until_ready(program(jax.random.key(len(parts))))
        used += time.process_time() - clock
        parts.append(jax.tree.map(np.asarray, record))
    draws = {name: np.concatenate([part[name] for part in parts])[:, None] for name in parts[0]}
    return _estimate(annealed_statistics(draws, problem), used)


def run_blackjax(settings: CaseSettings, variational: str, seconds: float) -> Estimate:
    """Adaptive tempered sequential Monte Carlo with as many particles as a pilot run says the time allows."""
    problem = build_problem(settings, variational)
    _, pilot = _smc(problem, PILOT_PARTICLES, 0)
    n_particles = max(PILOT_PARTICLES, round(PILOT_PARTICLES * seconds / pilot))
    moments, used = _smc(problem, n_particles, 1)
    assert problem.truth is not None
    errors = base_errors(moments, problem.truth)
    relative = errors / base_errors(problem.reference, problem.truth)
    return Estimate(float(errors[0]), float(relative[1]), float(relative[2]), used)


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
    program = jax.jit(smc.step).lower(key, state).compile()
    log_z, used, i = problem.base.log_normaliser, 0.0, 1
    while float(state.tempering_param) < 1.0:
        clock = time.process_time()
        state, info = jax.block_until_ready(program(jax.random.fold_in(key, i), state))
        used += time.process_time() - clock
        log_z += float(info.log_likelihood_increment)
        i += 1
    moments = weighted_moments(np.log(np.asarray(state.weights)), np.asarray(state.particles))
    return RelaxedMoments(log_z, *moments), used


def step_times(settings: CaseSettings) -> list[tuple[str, int, float]]:
    """CPU microseconds of a leapfrog step of a chain, all that an iteration needs included; best of ten."""
    out = []
    for method, n_temperatures in (("gibbs_ct", 0), ("ct_hmc", 0), ("st", N_TEMPERATURES)):
        for n_chains in (N_CHAINS, 2 * N_CHAINS):
            problem = build_problem(settings, "published")
            numbers: MethodSettings = method_settings(settings, method)
            sampler = chain_sampler(settings, problem, method, numbers, n_temperatures)
            kernel = sampler.build(None)
            keys = jax.random.split(jax.random.key(1), n_chains)
            states = jax.jit(jax.vmap(lambda key, s=sampler: s.initial(key, {})))(keys)
            program = jax.jit(jax.vmap(kernel.step)).lower(keys, states).compile()
            seconds = []
            for _ in range(10):
                clock = time.process_time()
                states, _ = jax.block_until_ready(program(keys, states))
                seconds.append(time.process_time() - clock)
            n_steps = n_chains * settings.summary_size * numbers.n_steps
            out.append((method, n_chains, 1e6 * min(seconds) / n_steps))
    return out


def _estimate(found: Any, seconds: float) -> Estimate:
    relative = found["pooled_error"]
    return Estimate(
        float(found["pooled_log_z_error"]),
        float(relative.sel(coordinate="mean")),
        float(relative.sel(coordinate="covariance")),
        seconds,
    )


def _row(program: str, estimates: list[Estimate]) -> dict[str, Any]:
    log_z, mean, covariance, seconds = (np.array(column) for column in zip(*estimates, strict=True))
    values = (
        program,
        f"{np.median(log_z):.3f}",
        f"{log_z.max():.3f}",
        f"{np.median(mean):.3f}",
        f"{np.median(covariance):.3f}",
        f"{covariance.max():.3f}",
        f"{seconds.mean():.1f}",
    )
    row = dict(zip(COLUMNS, values, strict=True))
    print(row, flush=True)
    return row


def main() -> None:
    """Runs all programs and writes the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=9.0, help="CPU seconds of a program on a system")
    parser.add_argument("--systems", default="0,1,2,3,4,5,6,7,8,9", help="numbers of the author's files")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="folder for the tables"
    )
    arguments = parser.parse_args()
    seconds = arguments.seconds
    study = load_study("boltzmann")
    systems = [
        study.settings([f"system={number}", "preset=paper"]) for number in arguments.systems.split(",")
    ]
    programs: dict[str, Callable[[CaseSettings], Estimate]] = {
        "auxmc, simulated tempering": lambda s: run_chains(s, "st", "published", N_TEMPERATURES, seconds),
        "auxmc, Gibbs CT": lambda s: run_chains(s, "gibbs_ct", "published", 0, seconds),
        "auxmc, CT-HMC": lambda s: run_chains(s, "ct_hmc", "published", 0, seconds),
        "auxmc, AIS as drawn": lambda s: run_annealed(s, "published", seconds),
        "auxmc, Gibbs CT, converged base": lambda s: run_chains(s, "tuned", "converged", 0, seconds),
        "auxmc, AIS, converged base": lambda s: run_annealed(s, "converged", seconds),
        "blackjax, tempered SMC": lambda s: run_blackjax(s, "published", seconds),
        "blackjax, tempered SMC, converged base": lambda s: run_blackjax(s, "converged", seconds),
    }
    rows = [_row(name, [run(settings) for settings in systems]) for name, run in programs.items()]
    _write(arguments.output, rows, step_times(systems[0]), len(systems))


def _write(
    folder: Path, rows: list[dict[str, Any]], times: list[tuple[str, int, float]], n_systems: int
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "boltzmann.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [
        "# Boltzmann machine relaxations: errors at equal CPU time",
        "",
        f"{n_systems} systems of 30 units, one core, float64, jax {jax.__version__}, blackjax "
        f"{blackjax.__version__}, load average at the end {os.getloadavg()[0]:.1f}. Compilation is not counted.",
        "",
        "| program | error of log Z, nats, median | largest | mean, relative, median | covariance, relative, median | "
        "largest | CPU, s |",
        "|---|---|---|---|---|---|---|",
        *("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |" for row in rows),
        "",
        "| method | chains | CPU of a leapfrog step of a chain, microseconds |",
        "|---|---|---|",
        *(f"| {method} | {n_chains} | {time_us:.3f} |" for method, n_chains, time_us in times),
        "",
    ]
    (folder / "boltzmann.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
