"""How often estimates of evidence are within one and two of their standard errors of the truth.

Densities with exact integrals: a correlated normal law in ten dimensions whose widths differ a hundredfold, two
Gaussian shells, a linear regression with unknown noise; 16 chains of 2000 draws, bases found automatically.
Rows with exact evidences: a linear regression with known noise, counts with a Poisson rate, labels by a logistic
regression; by the estimators of rows with their defaults. One standard error should hold 68 % of the repeats, two 95 %.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

import auxmc
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.interface.tempered.evidence import METHODS
from benchmarks.contract import Benchmark, Program, timed

__all__ = ["BENCHMARK"]

OFF, ERROR, CPU, WARNINGS = "off", "standard error", "CPU time", "warnings"


class Problem(NamedTuple):
    """A density with a start and the log of its integral, in nats."""

    log_density: Callable[[Any], jax.Array]
    start: Any
    exact: float


def normal() -> Problem:
    """Ten dimensions, neighbours correlated by 0.8, standard deviations from 0.1 to 10."""
    scales = np.geomspace(0.1, 10.0, 10)
    covariance = scales[:, None] * scales * 0.8 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    precision = jnp.asarray(np.linalg.inv(covariance))
    exact = 5.0 * math.log(2.0 * math.pi) + 0.5 * float(np.linalg.slogdet(covariance)[1])
    return Problem(lambda p: -0.5 * p["x"] @ precision @ p["x"], {"x": np.ones(10)}, exact)


def shells() -> Problem:
    """Two circles of radius 2 and width 0.1, 7 apart."""
    centres = jnp.array([[3.5, 0.0], [-3.5, 0.0]])

    def log_density(p: Any) -> jax.Array:
        radii = jnp.linalg.norm(p["x"] - centres, axis=1)
        return jax.nn.logsumexp(-0.5 * ((radii - 2.0) / 0.1) ** 2)

    mass = quad(lambda r: r * math.exp(-0.5 * ((r - 2.0) / 0.1) ** 2), 1.0, 3.0)[0]
    return Problem(log_density, {"x": [5.5, 0.0]}, math.log(2.0 * 2.0 * math.pi * mass))


def regression() -> Problem:
    """Thirty rows, three coefficients and the log of the noise's variance; prior conjugate, hence the exact value."""
    random = np.random.default_rng(7)
    x = np.column_stack([np.ones(30), random.normal(size=(30, 2))])
    y = x @ [0.5, 1.0, -1.0] + 0.7 * random.normal(size=30)
    shape, rate, precision = 3.0, 2.0, 0.25

    def log_density(p: Any) -> jax.Array:
        log_variance, coefficients = p["log_variance"], p["coefficients"]
        variance = jnp.exp(log_variance)
        likelihood = jax.scipy.stats.norm.logpdf(y, x @ coefficients, jnp.sqrt(variance))
        prior = jax.scipy.stats.norm.logpdf(coefficients, 0.0, jnp.sqrt(variance / precision))
        # The inverse gamma density of the variance, times the derivative of the variance by its log.
        of_variance = shape * math.log(rate) - gammaln(shape) - shape * log_variance - rate / variance
        return jnp.sum(likelihood) + jnp.sum(prior) + of_variance

    after = precision * np.eye(3) + x.T @ x
    mean = np.linalg.solve(after, x.T @ y)
    shape_after, rate_after = shape + 15.0, rate + 0.5 * (y @ y - mean @ after @ mean)
    exact = (
        -15.0 * math.log(2.0 * math.pi)
        + 1.5 * math.log(precision)
        - 0.5 * float(np.linalg.slogdet(after)[1])
        + shape * math.log(rate)
        - shape_after * math.log(rate_after)
        + float(gammaln(shape_after) - gammaln(shape))
    )
    return Problem(log_density, {"coefficients": np.zeros(3), "log_variance": 0.0}, exact)


class RowProblem(NamedTuple):
    """A model of rows [row, column] with the log evidence of all of them, in nats."""

    model: Any
    rows: np.ndarray
    exact: float


def linear_rows() -> RowProblem:
    """500 rows, three coefficients with standard normal priors, noise of standard deviation 0.5."""
    random = np.random.default_rng(8)
    x = random.normal(size=(500, 3))
    y = x @ [0.5, 1.0, -1.0] + 0.5 * random.normal(size=500)
    model = auxmc.row_model(
        lambda p, rows: jax.scipy.stats.norm.logpdf(rows[:, 3], rows[:, :3] @ p, 0.5),
        lambda p: jnp.sum(jax.scipy.stats.norm.logpdf(p)),
        lambda key: jax.random.normal(key, (3,)),
    )
    covariance = 0.25 * np.eye(500) + x @ x.T
    return RowProblem(model, np.column_stack([x, y]), float(multivariate_normal.logpdf(y, cov=covariance)))


def count_rows() -> RowProblem:
    """300 counts whose rate has a gamma prior; the parameter is the log of the rate."""
    counts = np.random.default_rng(9).poisson(3.0, size=300).astype(float)
    shape, scale = 2.0, 1.0
    model = auxmc.row_model(
        lambda p, rows: rows[:, 0] * p - jnp.exp(p) - jax.scipy.special.gammaln(rows[:, 0] + 1.0),
        lambda p: shape * p - jnp.exp(p) / scale,
        lambda key: jnp.log(scale * jax.random.gamma(key, shape)),
    )
    total, precision = shape + counts.sum(), 1.0 / scale + len(counts)
    constant = shape * math.log(scale) + gammaln(shape) + gammaln(counts + 1.0).sum()
    return RowProblem(model, counts[:, None], float(gammaln(total) - total * math.log(precision) - constant))


def label_rows() -> RowProblem:
    """300 labels of two classes, an intercept and a slope with standard normal priors; exact by quadrature."""
    random = np.random.default_rng(10)
    x = random.normal(size=300)
    signs = np.where(random.random(300) < 1.0 / (1.0 + np.exp(-(0.5 + 1.5 * x))), 1.0, -1.0)
    model = auxmc.row_model(
        lambda p, rows: jax.nn.log_sigmoid(rows[:, 1] * (p[0] + p[1] * rows[:, 0])),
        lambda p: jnp.sum(jax.scipy.stats.norm.logpdf(p)),
        lambda key: jax.random.normal(key, (2,)),
    )
    # A trapezoidal rule on smooth densities that vanish at its ends converges faster than any power of its step.
    grid = np.linspace(-3.0, 5.0, 401)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    values = -np.logaddexp(0.0, -signs * (a[..., None] + b[..., None] * x)).sum(-1) - 0.5 * (a**2 + b**2)
    exact = logsumexp(values) - math.log(2.0 * math.pi) + 2.0 * math.log(grid[1] - grid[0])
    return RowProblem(model, np.column_stack([x, signs]), float(exact))


PROBLEMS = {"normal": normal, "shells": shells, "regression": regression}
ROW_PROBLEMS = {"linear rows": linear_rows, "counts": count_rows, "labels": label_rows}
_REPLICATES, _GROUPS = 8, 20


class Estimate(NamedTuple):
    """What a call says, with the CPU seconds that it took."""

    log_evidence: float
    standard_error: float
    warnings: Sequence[str]
    cpu_s: float


def _called(function: Callable[[], Any]) -> Estimate:
    found, seconds, _ = timed(function)
    return Estimate(found.log_evidence, found.standard_error, found.warnings, seconds)


@cache
def _stream(name: str, block: int) -> tuple[np.ndarray, Sequence[str], float]:
    """Log evidences of so many groups of replicates [group, replicate], which are independent, from one call."""
    problem = ROW_PROBLEMS[name]()
    n = _REPLICATES * _GROUPS
    found, seconds, _ = timed(
        lambda: auxmc.stream_evidence(
            problem.model, problem.rows, chunk=100, replicates=n, seed=block, progress=False
        )
    )
    return found.replicates.reshape(_GROUPS, _REPLICATES), found.warnings, seconds / _GROUPS


def _streamed(name: str, seed: int) -> Estimate:
    """As `auxmc.stream_evidence` takes value and error from its replicates; compilation is shared by the groups."""
    groups, warned, seconds = _stream(name, seed // _GROUPS)
    own = groups[seed % _GROUPS]
    error = float(replicated_evidence_error(own.std(ddof=1), _REPLICATES))
    return Estimate(float(logsumexp(own) - math.log(_REPLICATES)), error, warned, seconds)


def _grown(name: str, seed: int) -> Estimate:
    problem = ROW_PROBLEMS[name]()
    return _called(lambda: auxmc.growing_data(problem.model, problem.rows, seed=seed))


def _at_the_mode(name: str, seed: int) -> Estimate:
    problem = ROW_PROBLEMS[name]()
    return _called(lambda: auxmc.laplace_evidence(problem.model, problem.rows, seed=seed))


ROW_METHODS: dict[str, Callable[[str, int], Estimate]] = {
    "stream_evidence": _streamed,
    "growing_data": _grown,
    "laplace_evidence": _at_the_mode,
}


def _tempered(method: str, name: str, seed: int) -> Estimate:
    log_density, start, _ = PROBLEMS[name]()
    return _called(lambda: auxmc.evidence(log_density, start, method=method, seed=seed, progress=False))


def _programs(
    estimate: Callable[[str, int], Estimate], name: str, problem: Callable[[], Any], quick: bool
) -> Sequence[Program]:
    def run(seed: int) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", auxmc.SamplingWarning)
            found = estimate(name, seed)
        off = found.log_evidence - problem().exact
        return {OFF: off, ERROR: found.standard_error, CPU: found.cpu_s, WARNINGS: len(found.warnings)}

    return [Program("auxmc", lambda: run)]


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown: a line for each problem and method; answers that were warned of are counted, not left out."""
    text = [
        "| problem | method | repeats | in 1 error | in 2 | score | error | off | warned | CPU s |",
        "|---" * 10 + "|",
    ]
    # A row for each seed, of the whole form before the quick one, which is the same run.
    wide = rows.sort_values("form").pivot_table("value", ["problem", "seed"], "quantity", "first")
    for problem in benchmark.problems:
        if problem not in wide.index:
            continue
        own = wide.loc[problem]
        # A base that is the target itself gives the value without an error, up to rounding.
        scores = own[OFF] / np.maximum(own[ERROR], 1e-9)
        name, method = problem.split(", ")
        text.append(
            f"| {name} | `{method}` | {len(own)} | {100 * np.mean(np.abs(scores) < 1):.0f} % | "
            f"{100 * np.mean(np.abs(scores) < 2):.0f} % | {np.mean(scores):+.2f} | {own[ERROR].median():.3f} | "
            f"{np.sqrt(np.mean(own[OFF] ** 2)):.3f} | {(own[WARNINGS] > 0).sum()} | {own[CPU].median():.1f} |"
        )
    return "\n".join(text) + "\n"


BENCHMARK = Benchmark(
    problems={
        f"{name}, {method}": partial(_programs, estimate, name, problem)
        for problems, methods in (
            (PROBLEMS, {method: partial(_tempered, method) for method in METHODS}),
            (ROW_PROBLEMS, ROW_METHODS),
        )
        for name, problem in problems.items()
        for method, estimate in methods.items()
    },
    units={OFF: "nats", ERROR: "nats", CPU: "s", WARNINGS: ""},
    quick=["normal, simulated_tempering"],
    seeds=100,
    timed=False,
    page="docs/library/evidence.md",
    table=table,
)
