"""Models, rows and reference evidence of the comparison in streaming_evidence.py, and what a program there is."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.approximations.laplace_evidence import laplace_evidence, prior_starts
from auxmc.models.mixtures.gaussian_mixture import gaussian_mixture
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.row_blocks import row_total
from experiments.streaming_evidence.model import rows

__all__ = ["Prepare", "Problem", "laplace_importance", "log_likelihood_of", "make_problem"]

N_COMPONENTS = 5


class Problem(NamedTuple):
    """A model and its rows.

    Attributes:
        name: of the model.
        model: of a row.
        rows: float64 [row, column].
        from_cube: maps a point of the unit cube [dim] to parameters with the distribution of the prior [dim].
        n_copies: equal modes of the posterior.
        truth: log evidence, in nats.
    """

    name: str
    model: RowModel
    rows: FloatArray
    from_cube: Callable[[Array], Array]
    n_copies: int
    truth: float


Prepare = Callable[[Problem, int], Callable[[int], tuple[float, float]]]
"""Compiles a program for a problem and so many live points or particles.

It is a function of a seed that returns log evidence, in nats, and CPU seconds.
"""


@cache
def make_problem(name: str, n_rows: int) -> Problem:
    """Model, rows and the evidence to compare with: exact, or by importance sampling with 20 000 draws."""
    if name == "linear":
        data = rows("linear", n_rows)
        truth = extend_evidence(PrefixEvidence.empty(5), data, 1.0).log_evidence(1.0)
        return Problem(name, linear_regression(5), data, jax.scipy.special.ndtri, 1, truth)
    data, n_copies = rows("mixture_separated", n_rows), math.factorial(N_COMPONENTS)
    problem = Problem(name, gaussian_mixture(N_COMPONENTS), data, mixture_from_cube, n_copies, math.nan)
    return problem._replace(truth=laplace_importance(problem, 0, 20_000, 40).log_evidence)


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


def laplace_importance(problem: Problem, seed: int, n_draws: int, n_starts: int) -> Any:
    """Importance sampling at the best optimum found from so many starts (mixture)."""
    key = jax.random.key(seed)
    starts: Any = np.zeros((1, problem.model.dim))
    if problem.name == "mixture":
        starts = prior_starts(problem.model, problem.rows, jax.random.fold_in(key, 1), n_starts)
    return laplace_evidence(problem.model, problem.rows, starts, n_draws, key, problem.n_copies)
