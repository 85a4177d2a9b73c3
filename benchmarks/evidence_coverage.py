"""How often estimates of evidence are within one and two of their standard errors of the truth.

Normalised targets in 2 to 100 dimensions as posteriors of a prior: Student-t, skewed, ill-conditioned, bounded, two
modes; by every method of `auxmc.evidence` with its defaults. The ten problems of `evidence_set` by its default method.
Rows with exact evidences: a linear regression with known noise, counts with a Poisson rate, labels by a logistic
regression; by the estimators of rows with their defaults. One standard error should cover 68 % of the repeats, two
95 %.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax import Array
from jax.scipy.stats import norm
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

import auxmc
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.interface.densities import Density
from auxmc.interface.tempered.evidence import METHODS
from auxmc_pipeline.readme_tables import markdown
from benchmarks import evidence_problems, peers
from benchmarks.evidence_problems import student, student_parts
from benchmarks.harness import Benchmark, Program, Run
from benchmarks.pages import shown

WITHIN_ONE, WITHIN_TWO, WARNED = "within one error", "within two errors", "warned of"
OFF = "mean error"
UNITS = {WITHIN_ONE: "", WITHIN_TWO: "", WARNED: "", OFF: "nats"}
N_REPEATS = 20  # estimates of a block, which is one run of a program
_PRIOR_SD, _REPLICATES = 4.0, 8
_FEW = "1 to 5"


def _posterior(log_target: Callable[[Array], Array], dim: int) -> Density:
    """A normalised target as the posterior of a normal prior: its log evidence is zero."""

    def log_prior(v: Any) -> Array:
        return jnp.sum(norm.logpdf(v["x"], 0.0, _PRIOR_SD))

    return auxmc.density(
        lambda v: log_target(v["x"]) - log_prior(v),
        prior=(log_prior, lambda key: {"x": _PRIOR_SD * jax.random.normal(key, (dim,))}),
    )


def _student(dim: int, degrees: float, shift: float, seed: int) -> Callable[[Array], Array]:
    mean, root = student_parts(dim, shift, seed)
    return lambda x: student(x, jnp, degrees, mean, root)


def heavy_tails(dim: int, degrees: float) -> Density:
    """Correlated Student-t."""
    return _posterior(_student(dim, degrees, 0.0, 3), dim)


def two_modes(dim: int) -> Density:
    """Two correlated Student-t modes with 5 degrees of freedom, masses 0.3 and 0.7, two apart in each coordinate."""
    first, second = _student(dim, 5.0, 1.0, 3), _student(dim, 5.0, -1.0, 4)
    return _posterior(lambda x: jnp.logaddexp(math.log(0.3) + first(x), math.log(0.7) + second(x)), dim)


def log_gamma(dim: int) -> Density:
    """Independent logs of gamma variables of shape 2: skewed."""
    return _posterior(lambda x: jnp.sum(2.0 * x - jnp.exp(x)), dim)


def correlated(dim: int) -> Density:
    """A normal distribution whose covariance has the condition number 1e4."""
    axes = np.linalg.qr(np.random.default_rng(5).normal(size=(dim, dim)))[0]
    variances = np.geomspace(1e-4, 1.0, dim)
    precision = jnp.asarray((axes / variances) @ axes.T)
    constant = -0.5 * dim * math.log(2.0 * math.pi) - 0.5 * float(np.sum(np.log(variances)))
    return _posterior(lambda x: constant - 0.5 * x @ precision @ x, dim)


def half_bounded(dim: int) -> Density:
    """Exponential variables with a declared bound at zero, whose prior is exponential and wider."""

    def log_prior(v: Any) -> Array:
        return jnp.sum(math.log(0.2) - 0.2 * v["x"])

    return auxmc.density(
        lambda v: jnp.sum(-v["x"]) - log_prior(v),
        prior=(log_prior, lambda key: {"x": 5.0 * jax.random.exponential(key, (dim,))}),
        bounds={"x": (0.0, None)},
    )


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
        lambda p, rows: norm.logpdf(rows[:, 3], rows[:, :3] @ p, 0.5),
        lambda p: jnp.sum(norm.logpdf(p)),
        lambda key: jax.random.normal(key, (3,)),
    )
    covariance = 0.25 * np.eye(500) + x @ x.T
    return RowProblem(model, np.column_stack([x, y]), float(multivariate_normal.logpdf(y, cov=covariance)))


def count_rows() -> RowProblem:
    """300 counts whose rate has a gamma prior of shape 2 and scale 1; the parameter is the log of the rate."""
    counts = np.random.default_rng(9).poisson(3.0, size=300).astype(float)
    model = auxmc.row_model(
        lambda p, rows: rows[:, 0] * p - jnp.exp(p) - jax.scipy.special.gammaln(rows[:, 0] + 1.0),
        lambda p: 2.0 * p - jnp.exp(p),
        lambda key: jnp.log(jax.random.gamma(key, 2.0)),
    )
    total, precision = 2.0 + counts.sum(), 1.0 + len(counts)
    exact = gammaln(total) - total * math.log(precision) - gammaln(2.0) - gammaln(counts + 1.0).sum()
    return RowProblem(model, counts[:, None], float(exact))


def label_rows() -> RowProblem:
    """300 labels of two classes, an intercept and a slope with standard normal priors; exact by quadrature."""
    random = np.random.default_rng(10)
    x = random.normal(size=300)
    signs = np.where(random.random(300) < 1.0 / (1.0 + np.exp(-(0.5 + 1.5 * x))), 1.0, -1.0)
    model = auxmc.row_model(
        lambda p, rows: jax.nn.log_sigmoid(rows[:, 1] * (p[0] + p[1] * rows[:, 0])),
        lambda p: jnp.sum(norm.logpdf(p)),
        lambda key: jax.random.normal(key, (2,)),
    )
    # A trapezoidal rule on smooth densities that vanish at its ends converges faster than any power of its step.
    grid = np.linspace(-3.0, 5.0, 401)
    a, b = np.meshgrid(grid, grid, indexing="ij")
    values = -np.logaddexp(0.0, -signs * (a[..., None] + b[..., None] * x)).sum(-1) - 0.5 * (a**2 + b**2)
    exact = logsumexp(values) - math.log(2.0 * math.pi) + 2.0 * math.log(grid[1] - grid[0])
    return RowProblem(model, np.column_stack([x, signs]), float(exact))


_SHAPES: dict[str, Callable[[int], Density]] = {
    "Student-t, 3 degrees": partial(heavy_tails, degrees=3.0),
    "Student-t, 5 degrees": partial(heavy_tails, degrees=5.0),
    "Student-t, 10 degrees": partial(heavy_tails, degrees=10.0),
    "log-gamma": log_gamma,
    "correlated normal": correlated,
    "half-bounded": half_bounded,
    "two modes": two_modes,
}
# Made once for all seeds: programs are compiled once.
TARGETS = {
    f"{name} in {dim}": cache(partial(make, dim))
    for name, make in _SHAPES.items()
    for dim in (2, 10, 30, 100)
}
"""Targets by name and dimension, each with log evidence zero."""


def _of_known_evidence(name: str) -> Density:
    problem = evidence_problems.PROBLEMS[name]()
    return peers.density_of(problem, problem.log_evidence())


TEN = {
    f"`{name}` in {make().dim}": cache(partial(_of_known_evidence, name))
    for name, make in evidence_problems.PROBLEMS.items()
}
"""The problems of `evidence_set`, divided by their evidences."""
ROWS = {"linear rows": cache(linear_rows), "counts": cache(count_rows), "labels": cache(label_rows)}


def _streamed(make: Callable[[], RowProblem], block: int) -> Iterator[tuple[float, float, int]]:
    """As `auxmc.stream_evidence` takes value and error from its replicates, all from one call, compiled once."""
    model, rows, _ = make()
    n = _REPLICATES * N_REPEATS
    found = auxmc.stream_evidence(model, rows, chunk=100, replicates=n, seed=block, progress=False)
    for own in found.replicates.reshape(N_REPEATS, _REPLICATES):
        error = float(replicated_evidence_error(own.std(ddof=1), _REPLICATES))
        yield float(logsumexp(own) - math.log(_REPLICATES)), error, len(found.warnings)


def _one_by_one(
    estimate: Callable[..., Any], make: Callable[[], Any], block: int
) -> Iterator[tuple[float, float, int]]:
    for seed in range(N_REPEATS * block, N_REPEATS * (block + 1)):
        found = estimate(make(), seed)
        yield found.log_evidence, found.standard_error, len(found.warnings)


def _prepare(estimate: Callable[..., Any], make: Callable[[], Any], quick: bool) -> Run:
    def run(block: int) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", auxmc.SamplingWarning)
            values, errors, n_warnings = np.array(list(estimate(make, block))).T
        off = values - (make().exact if make in ROWS.values() else 0.0)
        # A base that is the target itself gives the value without an error, up to rounding; an error that is not
        # stated covers nothing.
        score = np.abs(off) / np.maximum(errors, 1e-9)
        counts = np.sum([score < 1.0, score < 2.0, n_warnings > 0], axis=1)
        return dict(zip(UNITS, [*map(float, counts), float(off.mean())], strict=True))

    return run


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown: coverage and mean error of each method on each target by dimension, then of the estimators of rows."""
    wide = shown(rows).pivot(index=["problem", "seed"], columns="quantity", values="value").reset_index()
    wide[["shape", "dim", "method"]] = wide["problem"].str.extract(r"(.*?)(?: in (\d+))?, (\w+)$")
    wide["shape"] = wide["shape"].where(wide["dim"].notna(), "rows")
    wide["dim"] = wide["dim"].where(wide["dim"].isin(["10", "30", "100"]), _FEW)
    dims = [dim for dim in (_FEW, "10", "30", "100") if (wide["dim"] == dim).any()]
    lines = [["method", "target", *dims]]
    for (method, shape), own in wide.groupby(["method", "shape"], sort=False):
        lines.append([f"`{method}`", str(shape), *(_cell(own[own["dim"] == dim]) for dim in dims)])
    return markdown(lines)


def _cell(blocks: pd.DataFrame) -> str:
    if blocks.empty:
        return ""
    n, sums = N_REPEATS * len(blocks), blocks[list(UNITS)].sum()
    covered = "/".join(f"{100 * sums[name] / n:.0f}" for name in (WITHIN_ONE, WITHIN_TWO))
    return f"{covered};{blocks[OFF].mean():+.3f};{n}" + f";{sums[WARNED]:.0f}w" * bool(sums[WARNED])


def _tempered(method: str, model: Density, seed: int) -> Any:
    return auxmc.evidence(model, method=method, seed=seed, progress=False)


def _of_rows(estimate: Callable[..., Any], problem: RowProblem, seed: int) -> Any:
    return estimate(problem.model, problem.rows, seed=seed)


Estimate = Callable[..., Iterator[tuple[float, float, int]]]
"""Maps a function that makes a problem, and a block, to log evidence, standard error and warnings of each repeat."""
_TEMPERED: dict[str, Estimate] = {m: partial(_one_by_one, partial(_tempered, m)) for m in METHODS}
_DEFAULT = "annealed_importance"
_OF_ROWS: dict[str, Estimate] = {
    "stream_evidence": _streamed,
    "growing_data": partial(_one_by_one, partial(_of_rows, auxmc.growing_data)),
    "laplace_evidence": partial(_one_by_one, partial(_of_rows, auxmc.laplace_evidence)),
}
PROBLEMS = {
    f"{name}, {method}": [Program("auxmc", partial(_prepare, estimate, make))]
    for targets, methods in ((TARGETS, _TEMPERED), (TEN, {_DEFAULT: _TEMPERED[_DEFAULT]}), (ROWS, _OF_ROWS))
    for method, estimate in methods.items()
    for name, make in targets.items()
}
QUICK = ["log-gamma in 2, annealed_importance"]
BENCHMARKS = {
    "evidence_coverage": Benchmark(PROBLEMS, UNITS, QUICK, seeds=5, ratios=False, timed=False, table=table)
}
