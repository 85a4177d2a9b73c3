"""How often estimates of evidence are within one and two of their standard errors of the truth.

Normalised targets in 2 to 100 dimensions as posteriors of a prior: Student-t, skewed, ill-conditioned, bounded, two
modes; by every method of `auxmc.evidence` with its defaults. Rows with exact evidences: a linear regression with known
noise, counts with a Poisson rate, labels by a logistic regression; by the estimators of rows with their defaults. One
standard error should cover 68 % of the repeats, two 95 %.
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
from jax import Array
from jax.scipy.stats import norm
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal

import auxmc
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.interface.densities import Density
from auxmc.interface.tempered.evidence import METHODS
from benchmarks.evidence_problems import student, student_parts
from benchmarks.harness import Benchmark, Program, Run

OFF, ERROR, WARNINGS = "off", "standard error", "warnings"
_PRIOR_SD, _REPLICATES, _GROUPS = 4.0, 8, 20


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
ROWS = {"linear rows": cache(linear_rows), "counts": cache(count_rows), "labels": cache(label_rows)}


class _Streamed(NamedTuple):
    log_evidence: float
    standard_error: float
    warnings: Sequence[str]


@cache
def _stream(make: Callable[[], RowProblem], block: int) -> Any:
    n = _REPLICATES * _GROUPS
    model, rows, _ = make()
    return auxmc.stream_evidence(model, rows, chunk=100, replicates=n, seed=block, progress=False)


def _streamed(make: Callable[[], RowProblem], seed: int) -> _Streamed:
    """As `auxmc.stream_evidence` takes value and error from its replicates.

    So many groups of replicates, which are independent, come from one call, which is compiled once.
    """
    found = _stream(make, seed // _GROUPS)
    own = found.replicates.reshape(_GROUPS, _REPLICATES)[seed % _GROUPS]
    error = float(replicated_evidence_error(own.std(ddof=1), _REPLICATES))
    return _Streamed(float(logsumexp(own) - math.log(_REPLICATES)), error, found.warnings)


def _of_rows(estimate: Callable[..., Any], make: Callable[[], RowProblem], seed: int) -> Any:
    return estimate(make().model, make().rows, seed=seed)


def _tempered(method: str, make: Callable[[], Density], seed: int) -> Any:
    return auxmc.evidence(make(), method=method, seed=seed, progress=False)


ROW_METHODS: dict[str, Callable[[Any, int], Any]] = {
    "stream_evidence": _streamed,
    "growing_data": partial(_of_rows, auxmc.growing_data),
    "laplace_evidence": partial(_of_rows, auxmc.laplace_evidence),
}


def _prepare(estimate: Callable[[Any, int], Any], make: Callable[[], Any], quick: bool) -> Run:
    def run(seed: int) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", auxmc.SamplingWarning)
            found = estimate(make, seed)
        exact = make().exact if make in ROWS.values() else 0.0
        return {OFF: found.log_evidence - exact, ERROR: found.standard_error, WARNINGS: len(found.warnings)}

    return run


def table(rows: pd.DataFrame, benchmark: Benchmark) -> str:
    """Markdown: coverage and mean error of each method on each target by dimension, then of the estimators of rows."""
    # A row for each seed, of the whole form before the quick one, which is the same run.
    wide = (
        rows.sort_values("form").pivot_table("value", ["problem", "seed"], "quantity", "first").reset_index()
    )
    wide[["target", "method"]] = wide["problem"].str.rsplit(", ", n=1, expand=True)
    # A base that is the target itself gives the value without an error, up to rounding; an error that is not stated
    # covers nothing.
    wide["score"] = (wide[OFF] / np.maximum(wide[ERROR], 1e-9)).abs()
    wide[["shape", "dim"]] = wide["target"].str.extract(r"(.*?)(?: in (\d+))?$")
    wide.loc[wide["dim"].isna(), ["shape", "dim"]] = "rows"
    dims = [dim for dim in ("2", "10", "30", "100", "rows") if (wide["dim"] == dim).any()]
    text = [f"| method | target | {' | '.join(dims)} |", "|---" * (2 + len(dims)) + "|"]
    for (method, shape), own in wide.groupby(["method", "shape"], sort=False):
        cells = [_cell(own[own["dim"] == dim]) for dim in dims]
        text.append(f"| `{method}` | {shape} | {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def _cell(rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    covered = "/".join(f"{100 * (rows['score'] < limit).mean():.0f}" for limit in (1.0, 2.0))
    warned = (rows[WARNINGS] > 0).sum()
    return f"{covered};{rows[OFF].mean():+.3f};{len(rows)}" + f";{warned}w" * bool(warned)


PROBLEMS = {
    f"{name}, {method}": [Program("auxmc", partial(_prepare, estimate, make))]
    for targets, methods in ((TARGETS, {m: partial(_tempered, m) for m in METHODS}), (ROWS, ROW_METHODS))
    for method, estimate in methods.items()
    for name, make in targets.items()
}
BENCHMARKS = {
    "evidence_coverage": Benchmark(
        PROBLEMS,
        units={OFF: "nats", ERROR: "nats", WARNINGS: ""},
        quick=["log-gamma in 2, annealed_importance"],
        seeds=100,
        timed=False,
        table=table,
    )
}
