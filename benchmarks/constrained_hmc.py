"""Speed of constrained HMC beside Mici, and its cost against the number of observations.

    python benchmarks/constrained_hmc.py [--iterations 1000] [--mici-iterations 200] [--output benchmarks/results]

Lotka-Volterra and generalised lambda, published data, one chain on one core, float64. For each the smallest bulk
effective sample size over the four parameters is divided by the CPU time of the sampling alone: compilation and
warm-up are not counted. Programs:

* auxmc, published settings: constraint, step size, steps and inner steps of the thesis;
* auxmc, best found: the same target with other step sizes, a Newton solver and, for Lotka-Volterra, the teacher-forced
  constraint;
* mici, published settings, and mici with dynamic trajectories and adapted step size, both with its JAX backend. They
  are left out where Mici is not installed (extra `bench`).

Then the time of one integrator step with 250 to 100 000 observations of the generalised lambda distribution. Writes
constrained_hmc.csv and constrained_hmc.md.
"""

import argparse
import csv
import importlib.metadata
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from auxmc.driver.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.convergence import bulk_ess
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.generalised_lambda import fibre as generalised_lambda_fibre
from auxmc.models.generalised_lambda import model as generalised_lambda
from auxmc.models.lotka_volterra import model as lotka_volterra
from auxmc.models.conditioned import ConditionedModel
from auxmc.models.lotka_volterra.conditioning import conditioned_model as condition_lotka_volterra

__all__ = ["main"]

N_PARAMETERS = 4
SIZES = (250, 1_000, 10_000, 100_000)
COLUMNS = ("model", "program", "settings", "ess", "cpu_s", "ess_per_s", "acceptance")


class Settings(NamedTuple):
    """Step size, smallest and largest number of steps, inner steps, projection solver."""

    step_size: float
    n_steps: tuple[int, int]
    n_inner_steps: int
    solver: str = "quasi_newton"

    def text(self) -> str:
        """The settings for a table."""
        low, high = self.n_steps
        return f"dt {self.step_size:g}, {low}-{high} steps, {self.n_inner_steps} inner, {self.solver}"


class Problem(NamedTuple):
    """A conditioned model, a point on its manifold in the bulk of the posterior, and settings to run."""

    name: str
    model: ConditionedModel
    start: Array
    label: str
    settings: Settings


def lotka_volterra_problems() -> list[Problem]:
    """Thesis settings with its own constraint, and the best found with the teacher-forced one."""
    model = lotka_volterra.published_model()
    start = lotka_volterra.initial_inputs(model, jax.random.key(0))
    thesis = Settings(0.25, (4, 8), 3)
    generator = condition_lotka_volterra(model, "generator")
    forced = condition_lotka_volterra(model, "teacher_forced")
    bulk = _warmed(forced, start, thesis, 100)
    name = "Lotka-Volterra"
    return [
        Problem(name, generator, bulk, "published settings", thesis),
        Problem(name, forced, bulk, "published settings, teacher-forced", thesis),
        Problem(name, forced, bulk, "best found", Settings(1.0, (1, 3), 1, "newton")),
    ]


def generalised_lambda_problems() -> list[Problem]:
    """Thesis settings, and the best found."""
    model = generalised_lambda.generalised_lambda_model(generalised_lambda.published_observations())
    start = generalised_lambda_fibre.initial_inputs(jax.random.key(3), model).inputs
    conditioned = generalised_lambda.conditioned_model(model)
    bulk = _warmed(conditioned, start, Settings(0.05, (2, 2), 4), 300)
    name = "generalised lambda"
    return [
        Problem(name, conditioned, bulk, "published settings", Settings(0.6, (5, 10), 4)),
        Problem(name, conditioned, bulk, "best found", Settings(0.4, (5, 10), 1, "newton")),
    ]


def _kernel(model: ConditionedModel, settings: Settings, dim: int) -> Any:
    return constrained_hmc(
        model,
        settings.step_size,
        settings.n_steps,
        dim,
        n_inner_steps=settings.n_inner_steps,
        projection=ProjectionSettings(settings.solver),
    )


def _chain(model: ConditionedModel, settings: Settings, n: int) -> Callable[[Array, Array], Any]:
    def run(key: Array, start: Array) -> Any:
        kernel = _kernel(model, settings, start.shape[0])

        def one(state: Any, key: Array) -> Any:
            state, info = kernel.step(key, state)
            return state, (state.position[:N_PARAMETERS], info.accepted)

        end, kept = jax.lax.scan(one, kernel.init(jax.random.key(0), start), jax.random.split(key, n))
        return end.position, kept

    return run


def _warmed(model: ConditionedModel, start: Array, settings: Settings, n: int) -> Array:
    end, _ = jax.jit(_chain(model, settings, n))(jax.random.key(7), start)
    return end


def run_auxmc(problem: Problem, n: int, repetitions: int) -> dict[str, Any]:
    """Median over chains of ESS per CPU second."""
    program = (
        jax.jit(_chain(problem.model, problem.settings, n)).lower(jax.random.key(0), problem.start).compile()
    )
    rows = []
    for seed in range(repetitions):
        clock = time.process_time()
        _, (draws, accepted) = jax.block_until_ready(program(jax.random.key(seed), problem.start))
        seconds = time.process_time() - clock
        rows.append((_smallest_ess(np.asarray(draws)), seconds, float(np.mean(accepted))))
    return _row(problem.name, f"auxmc, {problem.label}", problem.settings.text(), rows)


def run_mici(problem: Problem, n: int, dynamic: bool) -> dict[str, Any]:
    """The same model in Mici, with a dense Jacobian and derivatives by JAX."""
    import mici

    system = mici.systems.DenseConstrainedEuclideanMetricSystem(
        lambda q: -problem.model.log_prior(q),
        problem.model.constraint,
        dens_wrt_hausdorff=False,
        backend="jax",
    )
    settings = problem.settings
    integrator = mici.integrators.ConstrainedLeapfrogIntegrator(
        system, step_size=settings.step_size, n_inner_step=settings.n_inner_steps
    )
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"display_progress": False, "n_worker": 1}
    start = np.array(problem.start)
    if dynamic:
        sampler: Any = mici.samplers.DynamicMultinomialHMC(system, integrator, rng)
        adapter = mici.adapters.DualAveragingStepSizeAdapter(0.8)
        warm = sampler.sample_chains(n, 1, [start], adapters=[adapter], **options)
        start = np.array(warm.final_states[0].pos)
    else:
        sampler = mici.samplers.RandomMetropolisHMC(system, integrator, rng, n_step_range=settings.n_steps)
        sampler.sample_chains(0, 5, [start], **options)  # compiles
    clock = time.process_time()
    result = sampler.sample_chains(0, n, [start], trace_funcs=[_trace], **options)
    seconds = time.process_time() - clock
    ess = _smallest_ess(result.traces["parameters"][0])
    acceptance = float(np.mean(result.statistics["accept_stat"][0]))
    label = "mici, dynamic trajectories" if dynamic else f"mici, {problem.label}"
    text = f"dt {integrator.step_size:.3g}, {settings.n_inner_steps} inner" if dynamic else settings.text()
    return _row(problem.name, label, text, [(ess, seconds, acceptance)])


def _trace(state: Any) -> dict[str, Any]:
    return {"parameters": state.pos[:N_PARAMETERS]}


def step_times(repetitions: int) -> list[tuple[int, float]]:
    """Seconds of one geodesic sub-step with its reversibility check, for growing data."""
    out = []
    for size in SIZES:
        values = generalised_lambda.simulate_observations(0, size)
        model = generalised_lambda.generalised_lambda_model(values)
        conditioned = generalised_lambda.conditioned_model(model)
        truth = jnp.asarray(generalised_lambda.GENERATING_PARAMETERS)
        inputs = generalised_lambda_fibre.inputs_of_parameters(truth, model)
        start = generalised_lambda_fibre.fibre_point(inputs, model).inputs
        settings = Settings(0.6 / np.sqrt(size / 250), (5, 5), 1, "newton")
        kernel = _kernel(conditioned, settings, start.shape[0])
        step = jax.jit(lambda key, state, kernel=kernel: kernel.step(key, state))
        state = kernel.init(jax.random.key(0), start)
        seconds = []
        for seed in range(repetitions + 1):
            clock = time.process_time()
            _, info = jax.block_until_ready(step(jax.random.key(seed), state))
            seconds.append((time.process_time() - clock) / max(1, int(info.errors.n_projections) // 2))
        out.append((size, float(np.median(seconds[1:]))))
    return out


def _smallest_ess(draws: np.ndarray) -> float:
    """Smallest bulk ESS over the parameters of one chain [draw, parameter]."""
    return float(np.min(bulk_ess(draws.T[:, None, :])))


def _row(model: str, program: str, settings: str, rows: list[tuple[float, float, float]]) -> dict[str, Any]:
    ess, seconds, acceptance = (float(np.median(column)) for column in zip(*rows, strict=True))
    rate = float(np.median([e / s for e, s, _ in rows]))
    values = (model, program, settings, f"{ess:.0f}", f"{seconds:.2f}", f"{rate:.3g}", f"{acceptance:.2f}")
    row = dict(zip(COLUMNS, values, strict=True))
    print(row, flush=True)
    return row


def main() -> None:
    """Runs all programs and writes the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--iterations", type=int, default=1000, help="iterations of a chain")
    parser.add_argument("--repetitions", type=int, default=3, help="chains; their median counts")
    parser.add_argument("--mici-iterations", type=int, default=200, help="iterations of a chain of Mici")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="folder for the tables"
    )
    arguments = parser.parse_args()
    problems = [*lotka_volterra_problems(), *generalised_lambda_problems()]
    rows = [run_auxmc(problem, arguments.iterations, arguments.repetitions) for problem in problems]
    try:
        version = importlib.metadata.version("mici")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    if version:
        for problem in (problems[0], problems[3]):
            for dynamic in (False, True):
                rows.append(run_mici(problem, arguments.mici_iterations, dynamic))
    _write(arguments.output, rows, step_times(arguments.repetitions), version)


def _write(folder: Path, rows: list[dict[str, Any]], times: list[tuple[int, float]], version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "constrained_hmc.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    beside = f"Mici {version}" if version else "Mici not installed"
    lines = [
        "# Constrained HMC: smallest bulk ESS of four parameters per CPU second",
        "",
        f"One chain on one core, float64, jax {jax.__version__}, {beside}, load average at the end "
        f"{os.getloadavg()[0]:.1f}. Compilation and warm-up are not counted.",
        "",
        "| model | program | settings | ESS | CPU, s | ESS per s | acceptance |",
        "|---|---|---|---|---|---|---|",
        *("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |" for row in rows),
        "",
        "| observations | CPU of a geodesic sub-step with its check, microseconds | per observation, ns |",
        "|---|---|---|",
        *(f"| {size} | {1e6 * seconds:.0f} | {1e9 * seconds / size:.0f} |" for size, seconds in times),
        "",
    ]
    (folder / "constrained_hmc.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
