"""Time of one density estimate of the Gaussian process probit model, next to a textbook program.

All complete rows of the breast cancer data, 50 importance samples: a full estimate at a new x (Newton iteration,
factorisations, importance samples), and one with new auxiliary variables at the same x. Ours has one latent value for
each distinct row (collapsed, as in the studies), or for each row. The textbook program is each formula as printed, one
latent value a row. LAPACK does the Cholesky factorisations of a collapsed estimate and nothing else, on ready matrices:
no program of the same algorithm can undercut it with this LAPACK.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular
from jax.scipy.special import log_ndtr, logsumexp
from scipy.linalg.lapack import dpotrf

from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from experiments.gp_probit.model import GPProbitModel, estimator, gp_probit_model, load_biopsy, standardise

POSTERIOR_REGION = (2.1, 1.0, 1.2, 1.1, 1.4, 1.3, 0.9, 1.2, 1.1, 1.3)
N_IMPORTANCE = 50
COST = "CPU time"


def textbook_estimate(features: Array, labels: Array, x: Array, u: Array) -> Array:
    """Log estimate, in nats, by the printed formulae, at x = (log s, log l_1, ...); u is [row, importance]."""
    n_rows, n_features = features.shape
    lengths = jnp.exp(x[1:])
    differences = (features[:, None, :] - features[None, :, :]) / lengths
    covariance = jnp.exp(x[0]) * jnp.exp(-0.5 * jnp.sum(differences**2, axis=-1)) + 1e-8 * jnp.eye(n_rows)

    def newton_step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        z = state[0]
        v = jnp.exp(-0.5 * z**2 - log_ndtr(labels * z) - 0.5 * jnp.log(2.0 * jnp.pi))
        w = jnp.maximum(v**2 + labels * z * v, 0.0)
        root = jnp.sqrt(w)
        factor = jnp.linalg.cholesky(jnp.eye(n_rows) + root[:, None] * covariance * root[None, :])
        b = w * z + labels * v
        a = b - root * cho_solve((factor, True), root * (covariance @ b))
        z_new = covariance @ a
        return z_new, root, factor, jnp.mean((z_new - z) ** 2)

    zeros = jnp.zeros(n_rows)
    start = (zeros, zeros, jnp.eye(n_rows), jnp.asarray(jnp.inf))
    mode, root, factor, _ = jax.lax.while_loop(lambda state: state[3] >= 1e-4, newton_step, start)
    half = solve_triangular(factor, root[:, None] * covariance, lower=True)
    posterior_factor = jnp.linalg.cholesky(covariance - half.T @ half)
    prior_factor = jnp.linalg.cholesky(covariance)
    z = mode[:, None] + posterior_factor @ u
    log_weights = (
        jnp.sum(log_ndtr(labels[:, None] * z), axis=0)
        - 0.5 * jnp.sum(solve_triangular(prior_factor, z, lower=True) ** 2, axis=0)
        - jnp.sum(jnp.log(jnp.diagonal(prior_factor)))
        + 0.5 * jnp.sum(u**2, axis=0)
        + jnp.sum(jnp.log(jnp.diagonal(posterior_factor)))
    )
    rate = n_features**-0.5
    log_prior = 1.1 * x[0] - 0.1 * jnp.exp(x[0]) + jnp.sum(x[1:] - rate * lengths)
    log_prior += 1.1 * jnp.log(0.1) - jax.lax.lgamma(1.1) + n_features * jnp.log(rate)
    return log_prior + logsumexp(log_weights) - jnp.log(u.shape[1])


@cache
def _model(collapse: bool = True) -> GPProbitModel:
    data = load_biopsy()
    return gp_probit_model(standardise(data.features), data.labels, collapse)


def position(i: int) -> Array:
    """A point of the posterior region, another for each call: none can reuse the result of the one before."""
    return jnp.asarray(POSTERIOR_REGION + np.random.default_rng(i).normal(0.0, 0.1, len(POSTERIOR_REGION)))


def _measured(call: Callable[[Array], Any]) -> Run:
    def run(i: int) -> dict[str, float]:
        cost = timed(call, position(i))
        if not np.isfinite(float(cost.value)):
            raise FloatingPointError("the density estimate is not finite: nothing to time")
        return {COST: 1e3 * cost.cpu_s}

    return run


def estimates(model: GPProbitModel) -> Callable[[Array], Array]:
    """Compiled full estimate of a position."""
    density = estimator(model, N_IMPORTANCE)
    u = density.draw_auxiliary(jax.random.key(1))
    full = compiled(lambda x, u: density.log_estimate(density.prepare(x), u), position(0), u)
    return lambda x: full(x, u)


def _new_auxiliary_variables(model: GPProbitModel) -> Run:
    density = estimator(model, N_IMPORTANCE)
    u, cache = density.draw_auxiliary(jax.random.key(1)), jax.jit(density.prepare)(position(0))
    again = compiled(density.log_estimate, cache, u)
    return _measured(lambda x: again(cache, u))


def _textbook(quick: bool) -> Run:
    """The textbook program, after it has given the same number as ours on the first rows."""
    data = load_biopsy()
    features, labels, x = jnp.asarray(standardise(data.features)), jnp.asarray(data.labels), position(0)
    u = jax.random.normal(jax.random.key(1), (len(labels), N_IMPORTANCE), jnp.float64)
    few = gp_probit_model(standardise(data.features)[:120], data.labels[:120], collapse_duplicates=False)
    density = estimator(few, N_IMPORTANCE)
    ours = jax.jit(lambda x: density.log_estimate(density.prepare(x), u[:120].T))(x)
    theirs = jax.jit(textbook_estimate)(features[:120], labels[:120], x, u[:120])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    program = compiled(textbook_estimate, features, labels, x, u)
    return _measured(lambda x: program(features, labels, x, u))


def _factorisations(quick: bool) -> Run:
    """As many factorisations as the estimate at each position makes, of matrices of its size."""
    model = _model()
    prepare = compiled(estimator(model, 1).prepare, position(0))
    matrix = np.asfortranarray(np.asarray(model.covariance(position(0))) + np.eye(len(model.inputs)))

    def factorise(count: int) -> None:
        # One each Newton step, one of the prior covariance, and one of the importance distribution's precision.
        if any(dpotrf(matrix, lower=1, clean=0)[1] for _ in range(count)):
            raise FloatingPointError("a Cholesky factorisation failed: nothing to time")

    return lambda i: {COST: 1e3 * timed(factorise, int(prepare(position(i)).n_newton) + 2).cpu_s}


PROBLEMS = {
    "full estimate": [
        Program("auxmc, collapsed", lambda quick: _measured(estimates(_model()))),
        Program("auxmc, rows", lambda quick: _measured(estimates(_model(False)))),
        Program("textbook", _textbook),
        Program("LAPACK, factorisations alone", _factorisations),
    ],
    "new auxiliary variables": [
        Program("auxmc, collapsed", lambda quick: _new_auxiliary_variables(_model())),
        Program("auxmc, rows", lambda quick: _new_auxiliary_variables(_model(False))),
    ],
}
BENCHMARKS = {"gp_probit": Benchmark(PROBLEMS, units={COST: "ms"}, quick=list(PROBLEMS), repeats=7)}
