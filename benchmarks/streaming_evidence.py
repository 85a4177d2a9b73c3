"""Evidence of data sets that grow: time and error in nats, next to dynesty, UltraNest and BlackJAX.

Linear regression (6 parameters) and a mixture of five separated normals (25), with simulated data. Float64, the same
rows and priors for all. Errors are against the exact evidence of the linear model, and against importance sampling with
20 000 draws at the best of 40 optima, times 120 equal modes, of the mixture. Programs of one kind are compared:

* nested sampling: ours with five moves a parameter; dynesty with slices and multi-ellipsoidal bounds; UltraNest with a
  population of slice samplers, as many walkers as half the live points, five steps a parameter, one round;
* sequential Monte Carlo: ours over growing chunks, with the evidence of every such prefix; BlackJAX's adaptive tempered
  one with an effective sample size of a half, five Hamiltonian moves of a quarter of a period at each temperature;
* streams, which give the evidence of every prefix, with ten particles and chunks of 500 rows; and importance sampling
  with 2000 draws at the best of eight optima (mixture) or at the one from zero.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.approximations.laplace_evidence import laplace_evidence, prior_starts
from auxmc.diagnostics.dead_points import nested_evidence
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.kernels.streams.contract import Stream, StreamSettings
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.row_blocks import row_total
from benchmarks import peers
from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from benchmarks.streaming_speed import absorb, exact_evidence
from experiments.streaming_evidence.model import rows

CPU, ERROR = "CPU time", "error of log evidence"
N_COMPONENTS = 5


class Problem(NamedTuple):
    """A model and its rows."""

    name: str  # of the model
    model: RowModel  # of a row
    rows: FloatArray  # float64 [row, column]
    # Maps a point of the unit cube [dim] to parameters with the distribution of the prior [dim].
    from_cube: Callable[[Array], Array]
    truth: float = math.nan  # log evidence, in nats

    def log_likelihood(self, parameters: Array) -> Array:
        """Of all rows, in nats."""
        total = row_total(self.model.log_likelihood, self.model.weighted_gradient)
        return total(parameters, jnp.asarray(self.rows), None)

    def finite(self, parameters: Array) -> Array:
        """The same for peers, which reject minus infinity or take it for an error."""
        value = self.log_likelihood(parameters)
        return jnp.where(jnp.isfinite(value), value, -1e300)

    def draw_priors(self, key: Array, n: int) -> Array:
        """So many draws of the prior [draw, dim]."""
        return jax.vmap(self.model.draw_prior)(jax.random.split(key, n))

    def laplace(self, seed: int, n_draws: int, n_starts: int) -> float:
        """Log evidence by importance sampling at the best optimum found from so many starts (mixture)."""
        key, starts, n_copies = jax.random.key(seed), np.zeros((1, self.model.dim)), 1
        if self.name == "mixture":
            starts = prior_starts(self.model, self.rows, jax.random.fold_in(key, 1), n_starts)
            n_copies = math.factorial(N_COMPONENTS)
        return laplace_evidence(self.model, self.rows, starts, n_draws, key, n_copies).log_evidence


@cache
def make_problem(name: str, n_rows: int) -> Problem:
    """Model, rows and the evidence to compare with: exact, or by importance sampling with 20 000 draws."""
    if name == "linear":
        data, from_cube = rows("linear", n_rows), jax.scipy.special.ndtri
        return Problem(name, linear_regression(5), data, from_cube, exact_evidence(n_rows))
    data = rows("mixture_separated", n_rows)
    problem = Problem(name, gaussian_mixture(N_COMPONENTS), data, mixture_from_cube)
    return problem._replace(truth=problem.laplace(0, 20_000, 40))


def mixture_from_cube(point: Array) -> Array:
    """Logs of exponential variables for weights, means in units of deviations, logs of their inverses for variances."""
    exponential = -jnp.log1p(-point)
    log_variances = -jnp.log(exponential[-2 * N_COMPONENTS :])
    standard = jax.scipy.special.ndtri(point[N_COMPONENTS : 3 * N_COMPONENTS])
    means = 2.0 * jnp.exp(0.5 * log_variances) * standard
    return jnp.concatenate([jnp.log(exponential[:N_COMPONENTS]), means, log_variances])


Estimate = Callable[[int], Any]
"""Maps a seed to the log evidence, in nats. It is made for a problem and a number of points."""


def nested(problem: Problem, size: int) -> Estimate:
    """Nested sampling with robust settings."""
    settings = NestedSettings(n_live=size, n_moves=5 * problem.model.dim, max_iterations=400 * size)

    def sample(key: Array) -> Any:
        draw_key, run_key = jax.random.split(key)
        run = nested_sampling(problem.log_likelihood, problem.model.log_prior, settings)
        return run(run_key, problem.draw_priors(draw_key, size))

    program = compiled(sample, jax.random.key(0))

    def run(seed: int) -> float:
        found = program(jax.random.key(seed))
        if not bool(found.finished):
            raise RuntimeError(f"not at the end after {settings.max_iterations} iterations")
        dead = found.log_likelihoods[: int(found.n_iterations)]
        return nested_evidence(dead, size, found.live_log_likelihoods).value

    return run


def nested_by_dynesty(problem: Problem, size: int) -> Estimate:
    """Static nested sampling, one point at a time, which is all that it takes."""
    dim = problem.model.dim
    from_cube, value_of = (compiled(part, np.full(dim, 0.5)) for part in (problem.from_cube, problem.finite))
    functions = (lambda p: float(value_of(p))), (lambda u: np.array(from_cube(_inside(u))))
    return lambda seed: peers.dynesty(*functions, dim, seed, nlive=size, sample="rslice").logz[-1]


def nested_by_ultranest(problem: Problem, size: int) -> Estimate:
    """Nested sampling with a population of slice samplers, vectorised over points."""
    from ultranest import popstepsampler

    dim, many = problem.model.dim, jax.jit(jax.vmap(problem.finite))
    from_cube = jax.jit(jax.vmap(problem.from_cube))

    def in_powers_of_two(function: Callable[[Array], Array], points: FloatArray) -> FloatArray:
        # Every number of points would be compiled again.
        n = len(points)
        filled = np.concatenate([points, np.repeat(points[:1], 2 ** math.ceil(math.log2(n)) - n, axis=0)])
        return np.array(function(jnp.asarray(filled)))[:n]

    def transform(points: FloatArray) -> FloatArray:
        return in_powers_of_two(from_cube, _inside(points))

    value_of = partial(in_powers_of_two, many)
    for power in range(math.ceil(math.log2(size)) + 1):
        value_of(transform(np.full((2**power, dim), 0.5)))  # compiles
    direction = popstepsampler.generate_mixture_random_direction
    options: dict[str, float] = {"min_num_live_points": size, "cluster_num_live_points": min(40, size)}
    options |= {"dlogz": math.inf, "dKL": math.inf, "max_num_improvement_loops": 0, "min_ess": 0}

    def run(seed: int) -> float:
        walkers = popstepsampler.PopulationSimpleSliceSampler(max(2, size // 2), 5 * dim, direction)
        return peers.ultranest(value_of, transform, dim, seed, walkers, **options)["logz"]

    return run


def _inside(point: FloatArray) -> FloatArray:
    """Points of the unit cube at which the inverse of a distribution function is finite."""
    return np.clip(point, 1e-300, 1.0 - 1e-16)


def growing(problem: Problem, size: int) -> Estimate:
    """Sequential Monte Carlo over growing data."""
    settings = GrowingDataSettings(size, own_pilot=False, largest_chunk=len(problem.rows), move_always=False)
    program = compiled(growing_data_evidence(problem.model, settings), jax.random.key(0), problem.rows)
    return lambda seed: program(jax.random.key(seed), problem.rows).log_evidence


def tempered_by_blackjax(problem: Problem, size: int) -> Estimate:
    """Adaptive tempered sequential Monte Carlo."""
    step_size = problem.model.dim**-0.25
    n_steps = peers.quarter_period(step_size)

    def sample(key: Array) -> Any:
        draws = problem.draw_priors(jax.random.fold_in(key, 0), size)
        functions = problem.model.log_prior, problem.finite
        return peers.tempered_smc(key, *functions, draws, step_size, n_steps, adapted=True)

    program = compiled(sample, jax.random.key(0))
    return lambda seed: program(jax.random.key(seed)).log_evidence


def streamed(stream_of: Callable[[RowModel], Stream], problem: Problem, size: int) -> Estimate:
    """A stream estimator, which compiles in every run, before its time begins: also returns that time."""
    sizes, options = ChunkSizes(later=500), {"capacity": len(problem.rows), "dtype": jnp.float64}

    def run(seed: int) -> tuple[float, float]:
        def read(n_before: int) -> Any:
            return iter([problem.rows[n_before:]])

        key, stream, n_columns = jax.random.key(seed), stream_of(problem.model), problem.model.n_columns
        record, seconds = absorb(stream, read, key, n_columns, chunk_sizes=sizes, **options)
        return record["log_evidence"][-1], seconds

    return run


def at_the_mode(problem: Problem, size: int) -> Estimate:
    """Importance sampling at the mode."""
    problem.laplace(0, 2000, 8)  # compiles
    return lambda seed: problem.laplace(seed + 1, 2000, 8)


KINDS: dict[str, dict[str, Callable[[Problem, int], Estimate]]] = {
    "nested sampling": {
        "auxmc, nested sampling": nested,
        "dynesty": nested_by_dynesty,
        "UltraNest": nested_by_ultranest,
    },
    "sequential Monte Carlo": {
        "auxmc, growing data": growing,
        "BlackJAX, tempered SMC": tempered_by_blackjax,
    },
    "streams": {
        "auxmc, running Laplace": partial(streamed, running_laplace),
        "auxmc, annealed": partial(streamed, lambda model: particle_evidence(model, StreamSettings())),
        "auxmc, Laplace importance sampling": at_the_mode,
    },
}
CASES = [
    ("nested sampling", "linear", 1000),
    ("nested sampling", "mixture", 1000),
    ("sequential Monte Carlo", "linear", 100_000),
    ("sequential Monte Carlo", "mixture", 10_000),
    ("streams", "linear", 10_000),
    ("streams", "mixture", 100_000),
]


def _prepare(
    make: Callable[[Problem, int], Estimate], kind: str, model: str, n_rows: int, quick: bool
) -> Run:
    problem = make_problem(model, n_rows)
    estimate = make(problem, 200 if kind != "nested sampling" else 50 if quick else 100)

    def run(seed: int) -> dict[str, float]:
        found, seconds, _ = timed(estimate, seed)
        found, seconds = found if isinstance(found, tuple) else (found, seconds)
        return {CPU: seconds, ERROR: float(found) - problem.truth}

    return run


PROBLEMS = {
    f"{model}, {n:,} rows, {kind}": [
        Program(name, partial(_prepare, make, kind, model, n)) for name, make in KINDS[kind].items()
    ]
    for kind, model, n in CASES
}
BENCHMARKS = {
    "streaming_evidence": Benchmark(
        PROBLEMS,
        units={CPU: "s", ERROR: "nats"},
        quick=["linear, 1,000 rows, nested sampling", "linear, 10,000 rows, streams"],
        of_other_quality=["auxmc, annealed"],
    )
}
