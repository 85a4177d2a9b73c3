"""Evidence of growing data sets: time and error in nats of the estimators here, beside dynesty, UltraNest and BlackJAX.

    python benchmarks/streaming_evidence.py [--sizes 1000,10000,100000] [--models linear,softmax,mixture] [--seeds 5]
        [--programs all] [--live 100] [--particles 200] [--limit 1800] [--output benchmarks/results]

Three models of rows with simulated data: linear regression (6 parameters), softmax regression (44) and a mixture of
five separated normals (25). Float64, one core, the same rows and priors for all. Errors are against the exact
evidence of the linear model, and against importance sampling with 20 000 draws at the mode (the best of 40 optima,
times 120 equal modes, for the mixture) of the others; the table gives the standard error of these. Seconds are those
of one run, compilation apart. A program that would take longer than the limit, by its time at the last size, is left
out and named. Programs:

* auxmc, annealed: the published stream estimator, 10 particles, chunks of 500 rows; evidence of every prefix;
* auxmc, running Laplace: particles at first, then a running Gaussian, chunks of 500 rows; evidence of every prefix;
* auxmc, growing data: sequential Monte Carlo over chunks that grow by a quarter, moves where the weights ask for them;
  evidence of every such prefix;
* auxmc, nested sampling: robust settings, five moves a parameter;
* auxmc, Laplace importance sampling: 2000 draws at the best of eight optima (mixture) or at the one from zero;
* dynesty: NestedSampler, slices in random directions (rslice), multi-ellipsoidal bounds, its own stopping rule; the
  likelihood compiled, one point at a time, which is all that it takes;
* UltraNest: ReactiveNestedSampler with a population of simple slice samplers in mixed directions, as many walkers as
  half the live points, five steps a parameter, one round; the likelihood compiled and vectorised over points;
* blackjax: adaptive tempered sequential Monte Carlo with an effective sample size of a half; five Hamiltonian moves of
  a quarter of a period at each temperature, their metric the particles' covariance.

Live points are those of --live, particles those of --particles. Writes streaming_evidence.csv and
streaming_evidence.md.
"""

import argparse
import csv
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from auxmc.engine.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does

import blackjax
import dynesty
import jax
import jax.numpy as jnp
import numpy as np
import ultranest
import ultranest.popstepsampler
from blackjax.smc import extend_params, inner_kernel_tuning
from jax import Array
from numpy.typing import NDArray

from auxmc.approximations.laplace_evidence import laplace_evidence, prior_starts
from auxmc.data.simulated_streams import rows
from auxmc.diagnostics.nested_evidence import nested_evidence
from auxmc.engine.streaming import ChunkSizes, StreamRun, run_stream
from auxmc.kernels.data_tempering import TemperedSettings, tempered_by_data
from auxmc.kernels.nested_sampling import NestedSettings, nested_sampling
from auxmc.kernels.running_laplace import running_laplace
from auxmc.kernels.streaming import Stream, StreamSettings, stream_evidence
from auxmc.models.gaussian_mixture import gaussian_mixture
from auxmc.models.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.row_model import RowModel
from auxmc.models.softmax_regression import softmax_regression
from auxmc.numerics.row_blocks import row_total

__all__ = ["main"]

COLUMNS = (
    "model",
    "rows",
    "program",
    "seconds_median",
    "compile_s",
    "error_median",
    "error_lowest",
    "error_highest",
    "error_per_row",
    "row_evaluations",
    "n_runs",
    "note",
)
MODELS = ("linear", "softmax", "mixture")
N_COMPONENTS = 5
CHUNK = 500
REFERENCE_DRAWS = 20_000
LAPLACE_DRAWS = 2000
N_STARTS = 8
REFERENCE_STARTS = 40
# Programs whose time is that of the first rows, so that the last size says nothing against the next.
NOT_PROPORTIONAL = ("auxmc, running Laplace",)
MOVES = 5

Float64Array = NDArray[np.float64]


class Problem(NamedTuple):
    """A model and its rows.

    Attributes:
        name: of the model.
        model: of a row.
        rows: float64 [row, column].
        from_cube: maps a point of the unit cube [dim] to parameters with the law of the prior [dim].
        n_copies: equal modes of the posterior.
        truth: log evidence, in nats.
        truth_error: its standard error.
    """

    name: str
    model: RowModel
    rows: Float64Array
    from_cube: Callable[[Array], Array]
    n_copies: int
    truth: float
    truth_error: float


class Outcome(NamedTuple):
    """Log evidence in nats, seconds, and row likelihoods and gradients evaluated where the program counts them."""

    log_evidence: float
    seconds: float
    row_evaluations: float


class Prepared(NamedTuple):
    """A compiled program: seconds of its compilation, and a function of a seed."""

    compile_s: float
    run: Callable[[int], Outcome]


class Sizes(NamedTuple):
    """Live points and particles."""

    n_live: int
    n_particles: int


# --- problems ------------------------------------------------------------------------------------------


def make_problem(name: str, n_rows: int) -> Problem:
    """Model, rows and the evidence to compare with."""
    if name == "linear":
        data, model = rows("linear", n_rows), linear_regression(5)
        truth = extend_evidence(PrefixEvidence.empty(5), data, 1.0).log_evidence(1.0)
        return Problem(name, model, data, jax.scipy.special.ndtri, 1, truth, 0.0)
    if name == "softmax":
        data, model = rows("softmax", n_rows), softmax_regression(10, 4)
        problem = Problem(name, model, data, jax.scipy.special.ndtri, 1, math.nan, math.nan)
    else:
        data, model = rows("mixture_separated", n_rows), gaussian_mixture(N_COMPONENTS)
        problem = Problem(
            name, model, data, mixture_from_cube, math.factorial(N_COMPONENTS), math.nan, math.nan
        )
    found = laplace_importance(problem, 0, REFERENCE_DRAWS, REFERENCE_STARTS)
    return problem._replace(truth=found.log_evidence, truth_error=found.standard_error)


def mixture_from_cube(point: Array) -> Array:
    """Logs of exponential variables for weights, means in units of deviations, logs of their inverses for variances."""
    exponential = -jnp.log1p(-point)
    log_variances = -jnp.log(exponential[-2 * N_COMPONENTS :])
    standard = jax.scipy.special.ndtri(point[N_COMPONENTS : 3 * N_COMPONENTS])
    means = 2.0 * jnp.exp(0.5 * log_variances) * standard
    return jnp.concatenate([jnp.log(exponential[:N_COMPONENTS]), means, log_variances])


def log_likelihood_of(problem: Problem) -> Callable[[Array, Array], Array]:
    """Log likelihood of all rows: maps parameters and rows to a number."""
    total = row_total(problem.model.log_likelihood, problem.model.weighted_gradient)
    return lambda parameters, data: total(parameters, data, None)


# --- programs of this package --------------------------------------------------------------------------


def of_stream(stream: Stream, per_chunk: Callable[[dict[str, np.ndarray]], float]) -> Any:
    """A stream estimator as a program; compilation is repeated, and counted apart, in every run."""

    def prepare(problem: Problem) -> Prepared:
        def read(n_before: int) -> Iterator[Float64Array]:
            yield problem.rows[n_before:]

        def absorb(seed: int, read: Callable[[int], Iterator[Float64Array]]) -> StreamRun:
            return run_stream(
                stream,
                read,
                jax.random.key(seed),
                problem.model.n_columns,
                chunk_sizes=ChunkSizes(later=CHUNK),
                capacity=len(problem.rows),
                dtype=jnp.float64,
            )

        def run(seed: int) -> Outcome:
            record = absorb(seed, read).record
            return Outcome(float(record["log_evidence"][-1]), float(record["seconds"][-1]), per_chunk(record))

        return Prepared(absorb(0, lambda n: iter([problem.rows[n:CHUNK]])).compile_s, run)

    return prepare


def annealed(problem: Problem, sizes: Sizes) -> Prepared:
    """The published stream estimator."""
    settings = StreamSettings()

    def evaluations(record: dict[str, np.ndarray]) -> float:
        batch = np.where(record["n_rows"] > CHUNK, settings.batch_size, 0)
        moves = settings.n_moves * settings.n_particles * (CHUNK + batch)
        return float(np.sum(record["n_annealing_steps"] * (settings.n_particles * CHUNK + moves)))

    return of_stream(stream_evidence(problem.model, settings), evaluations)(problem)


def running(problem: Problem, sizes: Sizes) -> Prepared:
    """Particles at first, then a running Gaussian."""
    return of_stream(running_laplace(problem.model), lambda record: math.nan)(problem)


def growing(problem: Problem, sizes: Sizes) -> Prepared:
    """Sequential Monte Carlo over growing data."""
    settings = TemperedSettings(sizes.n_particles, largest_chunk=len(problem.rows), move_always=False)
    compile_s, program = _compiled(tempered_by_data(problem.model, settings), jax.random.key(0), problem.rows)

    def run(seed: int) -> Outcome:
        found, seconds = _timed(program, jax.random.key(seed), problem.rows)
        work = found.record.n_likelihood_rows.sum() + found.record.n_gradient_rows.sum()
        return Outcome(float(found.log_evidence), seconds, float(work))

    return Prepared(compile_s, run)


def nested(problem: Problem, sizes: Sizes) -> Prepared:
    """Nested sampling with robust settings."""
    model, log_likelihood = problem.model, log_likelihood_of(problem)
    settings = NestedSettings(n_live=sizes.n_live, n_moves=5 * model.dim, max_iterations=400 * sizes.n_live)

    def sample(key: Array, data: Array) -> Any:
        draw_key, run_key = jax.random.split(key)
        draws = jax.vmap(model.draw_prior)(jax.random.split(draw_key, sizes.n_live))
        run = nested_sampling(lambda point: log_likelihood(point, data), model.log_prior, settings)
        return run(run_key, draws)

    compile_s, program = _compiled(sample, jax.random.key(0), problem.rows)

    def run(seed: int) -> Outcome:
        found, seconds = _timed(program, jax.random.key(seed), problem.rows)
        n_dead = int(found.n_iterations)
        value = nested_evidence(
            found.log_likelihoods[:n_dead], sizes.n_live, found.live_log_likelihoods
        ).value
        return Outcome(
            value if bool(found.finished) else math.nan,
            seconds,
            float(found.n_evaluations) * len(problem.rows),
        )

    return Prepared(compile_s, run)


def laplace_importance(problem: Problem, seed: int, n_draws: int, n_starts: int = N_STARTS) -> Any:
    """Importance sampling at the best optimum found from so many starts (mixture)."""
    key = jax.random.key(seed)
    if problem.name == "mixture":
        starts = prior_starts(problem.model, problem.rows, jax.random.fold_in(key, 1), n_starts)
    else:
        starts = np.zeros((1, problem.model.dim))
    return laplace_evidence(problem.model, problem.rows, starts, n_draws, key, problem.n_copies)


def laplace(problem: Problem, sizes: Sizes) -> Prepared:
    """Importance sampling at the mode. What a second run does not need again is compilation."""
    jax.clear_caches()
    seconds = []
    for _ in range(2):
        begin = time.perf_counter()
        laplace_importance(problem, 0, 2)
        seconds.append(time.perf_counter() - begin)
    compile_s = seconds[0] - seconds[1]

    def run(seed: int) -> Outcome:
        begin = time.perf_counter()
        found = laplace_importance(problem, seed + 1, LAPLACE_DRAWS)
        return Outcome(found.log_evidence, time.perf_counter() - begin, math.nan)

    return Prepared(compile_s, run)


# --- peers ---------------------------------------------------------------------------------------------


def run_dynesty(problem: Problem, sizes: Sizes) -> Prepared:
    """Static nested sampling by dynesty."""
    data, log_likelihood = jnp.asarray(problem.rows), log_likelihood_of(problem)
    begin = time.perf_counter()
    point = np.full(problem.model.dim, 0.5)
    from_cube = jax.jit(problem.from_cube).lower(point).compile()
    value_of = jax.jit(lambda p, d: _finite(log_likelihood(p, d))).lower(point, data).compile()
    compile_s = time.perf_counter() - begin

    def run(seed: int) -> Outcome:
        begin = time.perf_counter()
        sampler = dynesty.NestedSampler(
            lambda p: float(value_of(p, data)),
            lambda u: np.array(from_cube(_inside(u))),
            problem.model.dim,
            nlive=sizes.n_live,
            sample="rslice",
            rstate=np.random.default_rng(seed),
        )
        sampler.run_nested(print_progress=False)
        found = sampler.results
        return Outcome(
            float(found.logz[-1]), time.perf_counter() - begin, float(np.sum(found.ncall)) * len(problem.rows)
        )

    return Prepared(compile_s, run)


def run_ultranest(problem: Problem, sizes: Sizes) -> Prepared:
    """Nested sampling by UltraNest with a population of slice samplers."""
    data, log_likelihood = jnp.asarray(problem.rows), log_likelihood_of(problem)
    dim = problem.model.dim
    many = jax.jit(jax.vmap(lambda p, d: _finite(log_likelihood(p, d)), (0, None)))
    from_cube = jax.jit(jax.vmap(problem.from_cube))

    def in_powers_of_two(function: Callable[[Array], Array], points: Float64Array) -> Float64Array:
        # Every number of points would be compiled anew.
        n = len(points)
        filled = np.concatenate([points, np.repeat(points[:1], 2 ** math.ceil(math.log2(n)) - n, axis=0)])
        return np.array(function(jnp.asarray(filled)))[:n]

    def transform(points: Float64Array) -> Float64Array:
        return in_powers_of_two(from_cube, _inside(points))

    def value_of(points: Float64Array) -> Float64Array:
        return in_powers_of_two(lambda p: many(p, data), points)

    begin = time.perf_counter()
    for power in range(math.ceil(math.log2(sizes.n_live)) + 1):
        value_of(transform(np.full((2**power, dim), 0.5)))
    compile_s = time.perf_counter() - begin

    def run(seed: int) -> Outcome:
        np.random.seed(seed)  # noqa: NPY002 UltraNest has no other
        begin = time.perf_counter()
        names = [f"p{i}" for i in range(dim)]
        sampler = ultranest.ReactiveNestedSampler(names, value_of, transform, vectorized=True)
        sampler.stepsampler = ultranest.popstepsampler.PopulationSimpleSliceSampler(
            popsize=max(2, sizes.n_live // 2),
            nsteps=5 * dim,
            generate_direction=ultranest.popstepsampler.generate_mixture_random_direction,
        )
        found = sampler.run(
            min_num_live_points=sizes.n_live,
            cluster_num_live_points=min(40, sizes.n_live),
            min_ess=0,
            dlogz=math.inf,
            dKL=math.inf,
            max_num_improvement_loops=0,
            show_status=False,
            viz_callback=False,
        )
        return Outcome(
            float(found["logz"]), time.perf_counter() - begin, float(found["ncall"]) * len(problem.rows)
        )

    return Prepared(compile_s, run)


def run_blackjax(problem: Problem, sizes: Sizes) -> Prepared:
    """Adaptive tempered sequential Monte Carlo by BlackJAX."""
    model, log_likelihood = problem.model, log_likelihood_of(problem)
    n_particles, dim = sizes.n_particles, model.dim
    step_size = dim**-0.25
    n_leapfrog = max(1, round(0.5 * math.pi / step_size))
    kernel = blackjax.hmc.build_kernel()

    def move(key: Array, state: Any, log_density: Callable[[Array], Array], **parameters: Any) -> Any:
        return kernel(key, state, log_density, num_integration_steps=n_leapfrog, **parameters)

    def parameters_of(particles: Array) -> dict[str, Array]:
        covariance = jnp.cov(particles, rowvar=False)
        diagonal = jnp.diag(jnp.diagonal(covariance))
        share = dim / (dim + n_particles)
        metric = (1.0 - share) * covariance + share * diagonal
        return extend_params({"step_size": jnp.asarray(step_size), "inverse_mass_matrix": metric})

    def algorithm(data: Array) -> Any:
        return inner_kernel_tuning.as_top_level_api(
            blackjax.adaptive_tempered_smc,
            model.log_prior,
            lambda p: _finite(log_likelihood(p, data)),
            move,
            blackjax.hmc.init,
            blackjax.smc.resampling.systematic,
            mcmc_parameter_update_fn=lambda key, state, info: parameters_of(state.particles),
            initial_parameter_value=parameters_of(jnp.zeros((n_particles, dim))),
            num_mcmc_steps=MOVES,
            target_ess=0.5,
        )

    def init(key: Array, data: Array) -> Any:
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, n_particles))
        state = algorithm(data).init(draws)
        return state._replace(parameter_override=parameters_of(draws))

    data = jnp.asarray(problem.rows)
    begin = time.perf_counter()
    start = jax.jit(init).lower(jax.random.key(0), data).compile()
    first = start(jax.random.key(0), data)
    step = jax.jit(lambda key, state, data: algorithm(data).step(key, state))
    step = step.lower(jax.random.key(0), first, data).compile()
    compile_s = time.perf_counter() - begin

    def run(seed: int) -> Outcome:
        key = jax.random.key(seed)
        begin = time.perf_counter()
        state, log_evidence, n_steps = start(jax.random.fold_in(key, 0), data), 0.0, 0
        while float(state.sampler_state.tempering_param) < 1.0:
            n_steps += 1
            state, info = step(jax.random.fold_in(key, n_steps), state, data)
            log_evidence += float(info.log_likelihood_increment)
        per_particle = n_steps * (MOVES * (n_leapfrog + 1) + 2)
        work = float(per_particle * n_particles * len(problem.rows))
        return Outcome(log_evidence, time.perf_counter() - begin, work)

    return Prepared(compile_s, run)


PROGRAMS: dict[str, Callable[[Problem, Sizes], Prepared]] = {
    "auxmc, annealed": annealed,
    "auxmc, running Laplace": running,
    "auxmc, growing data": growing,
    "auxmc, nested sampling": nested,
    "auxmc, Laplace importance sampling": laplace,
    "dynesty": run_dynesty,
    "UltraNest": run_ultranest,
    "blackjax, tempered SMC": run_blackjax,
}


# --- table ---------------------------------------------------------------------------------------------


def _compiled(function: Callable[..., Any], *arguments: Any) -> tuple[float, Callable[..., Any]]:
    begin = time.perf_counter()
    program = jax.jit(function).lower(*arguments).compile()
    return time.perf_counter() - begin, program


def _timed(program: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    begin = time.perf_counter()
    found = jax.block_until_ready(program(*arguments))
    return found, time.perf_counter() - begin


def _finite(value: Array) -> Array:
    # Peers refuse minus infinity or take it for an error.
    return jnp.where(jnp.isfinite(value), value, -1e300)


def _inside(point: Float64Array) -> Float64Array:
    """Points of the unit cube at which the inverse of a distribution function is finite."""
    return np.clip(point, 1e-300, 1.0 - 1e-16)


def _row(problem: Problem, program: str, prepared: Prepared, outcomes: list[Outcome]) -> dict[str, Any]:
    errors = np.array([outcome.log_evidence - problem.truth for outcome in outcomes])
    finite = errors[np.isfinite(errors)]
    work = float(np.median([outcome.row_evaluations for outcome in outcomes]))
    lost = len(errors) - len(finite)
    numbers = (np.median(finite), finite.min(), finite.max()) if len(finite) else (math.nan,) * 3
    return {
        "model": problem.name,
        "rows": len(problem.rows),
        "program": program,
        "seconds_median": f"{np.median([outcome.seconds for outcome in outcomes]):.3g}",
        "compile_s": f"{prepared.compile_s:.1f}",
        "error_median": f"{numbers[0]:.2f}",
        "error_lowest": f"{numbers[1]:.2f}",
        "error_highest": f"{numbers[2]:.2f}",
        "error_per_row": f"{numbers[0] / len(problem.rows):.1e}",
        "row_evaluations": f"{work:.2e}" if math.isfinite(work) else "",
        "n_runs": len(outcomes),
        "note": f"{lost} runs without result" if lost else "",
    }


def compare(arguments: argparse.Namespace, sizes: Sizes) -> tuple[list[dict[str, Any]], list[str]]:
    """Runs all programs on all problems; rows of the table, and what the truth is known to."""
    table, truths = [], []
    last_seconds: dict[tuple[str, str], tuple[int, float]] = {}
    for name in arguments.models:
        for n_rows in sorted(arguments.sizes):
            problem = make_problem(name, n_rows)
            truths.append(
                f"{name}, {n_rows} rows: {problem.truth:.3f}, standard error {problem.truth_error:.3f}"
            )
            print(truths[-1], flush=True)
            for program in arguments.programs:
                before = last_seconds.get((name, program))
                too_long = before is not None and before[1] * n_rows / before[0] > arguments.limit
                if before is not None and too_long and program not in NOT_PROPORTIONAL:
                    row = dict.fromkeys(COLUMNS, "") | {"model": name, "rows": n_rows, "program": program}
                    row["note"] = f"left out: above {before[1] * n_rows / before[0]:.0f} s a run"
                else:
                    prepared = PROGRAMS[program](problem, sizes)
                    outcomes = [prepared.run(seed) for seed in range(arguments.seeds)]
                    seconds = max(outcome.seconds for outcome in outcomes)
                    last_seconds[name, program] = (n_rows, seconds)
                    row = _row(problem, program, prepared, outcomes)
                print(row, flush=True)
                table.append(row)
    return table, truths


def main() -> None:
    """Runs all programs and writes the tables."""

    def choices(allowed: tuple[str, ...]) -> Callable[[str], list[str]]:
        def parse(text: str) -> list[str]:
            names = list(allowed) if text == "all" else [name.strip() for name in text.split(";")]
            wrong = [name for name in names if name not in allowed]
            if wrong:
                raise argparse.ArgumentTypeError(
                    f"{', '.join(wrong)} not among {'; '.join(allowed)} (separate several by semicolons)"
                )
            return names

        return parse

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[1000, 10_000, 100_000],
        help="numbers of rows",
    )
    parser.add_argument(
        "--models",
        type=lambda text: choices(MODELS)(text.replace(",", ";")),
        default=list(MODELS),
        help="models, separated by commas",
    )
    parser.add_argument(
        "--programs",
        type=choices(tuple(PROGRAMS)),
        default=list(PROGRAMS),
        help="names, separated by semicolons",
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of each program")
    parser.add_argument("--live", type=int, default=100, help="live points of nested sampling")
    parser.add_argument("--particles", type=int, default=200, help="particles of sequential Monte Carlo")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds above which a run is not begun")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="folder for the tables"
    )
    arguments = parser.parse_args()
    table, truths = compare(arguments, Sizes(arguments.live, arguments.particles))
    _write(arguments, table, truths)


def _write(arguments: argparse.Namespace, table: list[dict[str, Any]], truths: list[str]) -> None:
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "streaming_evidence.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    lines = [
        "# Evidence of growing data sets: time and error",
        "",
        f"{arguments.seeds} runs of each program, {arguments.live} live points, {arguments.particles} particles, one "
        f"core, float64, jax {jax.__version__}, blackjax {blackjax.__version__}, dynesty {dynesty.__version__}, "
        f"UltraNest {ultranest.__version__}, load average at the end {os.getloadavg()[0]:.1f}. Seconds of a run "
        "without compilation. The streams of the first two programs, and the third, give the evidence of prefixes too.",
        "",
        "| model | rows | program | seconds, median | compile, s | error, nats, median | lowest | highest | per row | "
        "row evaluations | runs | note |",
        "|" + "---|" * len(COLUMNS),
        *("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |" for row in table),
        "",
        "Log evidence that errors are against:",
        "",
        *(f"* {truth}" for truth in truths),
        "",
    ]
    (folder / "streaming_evidence.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
