"""Evidence and posterior moments of the grouped regression, by quadrature over its three scales.

Given the scales everything else is linear and Gaussian, so that the evidence is a three-dimensional integral of an
explicit function. With the group statistics, the part that depends on sigma_a and epsilon is a sum over the distinct
group sizes, and sigma_b enters through one small factorisation: a point of the grid costs microseconds.
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from auxmc.numerics.array_types import FloatArray

if TYPE_CHECKING:
    from experiments.radon.model import GroupedRegression

_START_POINTS = (33, 41, 33)
_MOST_POINTS = 2_000_000
_CHUNK = 20_000
_DEPTH = 20.0  # the tail left out of the heaviest prior, exp(-|t|) in t = log sigma, is below 1e-8
_FURTHEST = 60.0


class Evidence(NamedTuple):
    """Evidence and moments of the posterior."""

    log_evidence: float  # in nats
    error: float  # summed changes when each axis's step is halved, in nats; infinite for a single grid
    mean: FloatArray  # posterior means of the effects (see `GroupedRegression.effects`) [effect]
    sd: FloatArray  # posterior standard deviations of the effects [effect]


def exact_evidence(model: "GroupedRegression", tolerance: float = 1e-4) -> Evidence:
    """Halves the step along each axis of the grid until that changes the log evidence by less than `tolerance` nats."""
    grid = quadrature_grid(model, _START_POINTS)
    found = evidence_on_grid(model, grid)
    changes = np.full(3, np.inf)
    while changes.max() >= tolerance:
        axis = int(np.argmax(changes))
        points = grid[axis]
        finer = [*grid[:axis], np.linspace(points[0], points[-1], 2 * points.size - 1), *grid[axis + 1 :]]
        if np.prod([part.size for part in finer]) > _MOST_POINTS:
            raise ValueError(
                f"the log evidence still changes by {changes.max():.2g} nats: the posterior of the scales is too "
                "narrow for its box; take a larger tolerance"
            )
        refined = evidence_on_grid(model, finer)
        changes[axis] = abs(refined.log_evidence - found.log_evidence)
        # A step that was fine enough already is kept: refining the other axes costs half as much.
        if changes[axis] >= tolerance:
            grid, found = finer, refined
    return found._replace(error=float(changes.sum()))


def quadrature_grid(model: "GroupedRegression", n_points: Sequence[int]) -> list[FloatArray]:
    """Points of log sigma_a, log sigma_b and log epsilon, from the mode to where a profile has fallen by exp(-20)."""
    degrees = max(1.0, float(model.n_rows) - len(model.counts))
    noise = 0.5 * np.log(max(model.scatter[0, 0] / degrees, 1e-300))
    between = np.log(max(float(np.std(model.mean_outcome)), 1e-300))
    start = np.array([between, np.log(model.prior_scale), noise])
    # The slope of the prior ends where the likelihood takes over: any descent finds the one maximum near it.
    mode = minimize(lambda logs: -log_marginal(model, logs[None])[0], start, method="Nelder-Mead", tol=1e-6).x
    ends = [[_reach(model, mode, axis, sign) for sign in (-1.0, 1.0)] for axis in range(3)]
    return [np.linspace(low, high, n) for (low, high), n in zip(ends, n_points, strict=True)]


def evidence_on_grid(model: "GroupedRegression", grid: list[FloatArray]) -> Evidence:
    """Trapezoidal rule on one grid."""
    logs = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 3)
    parts = [_conditional(model, logs[start : start + _CHUNK]) for start in range(0, len(logs), _CHUNK)]
    log_density, mean, variance = map(np.concatenate, zip(*parts, strict=True))
    steps = [np.full(points.size, points[1] - points[0]) for points in grid]
    for step in steps:
        step[[0, -1]] *= 0.5
    top = log_density.max()
    masses = functools.reduce(np.multiply.outer, steps).ravel() * np.exp(log_density - top)
    total = masses.sum()
    pooled = masses @ mean / total
    spread = masses @ (mean**2 + variance) / total - pooled**2
    return Evidence(float(np.log(total) + top), np.inf, pooled, np.sqrt(spread))


def log_marginal(model: "GroupedRegression", log_scales: FloatArray) -> FloatArray:
    """Log density of the data and of the log scales [point, 3], all else integrated out, in nats [point]."""
    return _conditional(model, log_scales)[0]


def _conditional(
    model: "GroupedRegression", log_scales: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log marginal density [point], and conditional means and variances of the effects [point, effect].

    Given the scales, y = X F w + (intercepts of groups and noise) with w = (mu_a, n_b, mu_b) standard normal and
    b = mu_b + sigma_b n_b. The rows of a group have covariance V = epsilon^2 I + sigma_a^2 1 1', whose inverse and
    determinant are explicit. With A = X' V^-1 X, B = I + F' A F is positive definite however small the scales are.
    """
    log_a, log_b, log_noise = log_scales.T
    n_groups, n_regressors = model.mean_regressors.shape
    noise = np.exp(2.0 * log_noise)
    # Products of (1, regressors, outcome) under V^-1, [point, 2 + regressor, 2 + regressor].
    moments = np.column_stack([np.ones(n_groups), model.mean_regressors, model.mean_outcome])
    sizes, size_of = np.unique(model.counts, return_inverse=True)
    by_size = np.zeros((sizes.size, n_regressors + 2, n_regressors + 2))
    np.add.at(by_size, size_of, moments[:, :, None] * moments[:, None, :])
    spread = noise[:, None] + np.exp(2.0 * log_a)[:, None] * sizes
    products = np.einsum("ps,sij->pij", sizes / spread, by_size)
    order = [*range(1, n_regressors + 1), 0]
    products[:, 1:, 1:] += model.scatter[np.ix_(order, order)] / noise[:, None, None]
    log_det = (model.n_rows - n_groups) * 2.0 * log_noise + np.log(spread) @ np.bincount(size_of)
    precision, linear, square = products[:, :-1, :-1], products[:, :-1, -1], products[:, -1, -1]
    factor = np.zeros((len(log_scales), n_regressors + 1, n_regressors + 2))
    factor[:, 0, 0] = 1.0
    factor[:, 1:, -1] = 1.0
    diagonal = np.arange(1, n_regressors + 1)
    factor[:, diagonal, diagonal] = np.exp(log_b)[:, None]
    transposed = factor.transpose(0, 2, 1)
    whole = np.eye(n_regressors + 2) + transposed @ precision @ factor
    reduced = (transposed @ linear[:, :, None])[..., 0]
    covariance = np.linalg.inv(whole)
    solution = (covariance @ reduced[:, :, None])[..., 0]
    log_det_whole = 2.0 * np.log(np.diagonal(np.linalg.cholesky(whole), axis1=1, axis2=2)).sum(axis=1)
    explained = np.einsum("pi,pi->p", reduced, solution)
    energy = model.n_rows * np.log(2.0 * np.pi) + log_det + log_det_whole + square - explained
    log_density = -0.5 * energy
    ratio = log_scales - np.log(model.prior_scale)
    log_density -= (np.logaddexp(0.0, 2.0 * ratio) - ratio - np.log(2.0 / np.pi)).sum(axis=1)
    # Effects: log sigma_a, mu_a, log sigma_b, mu_b, log epsilon, b.
    zero, b_rows = np.zeros_like(log_a), factor[:, 1:]
    means = [log_a, solution[:, 0], log_b, solution[:, -1], log_noise]
    variances = [zero, covariance[:, 0, 0], zero, covariance[:, -1, -1], zero]
    b_mean = np.einsum("pki,pi->pk", b_rows, solution)
    b_variance = np.einsum("pki,pij,pkj->pk", b_rows, covariance, b_rows)
    return log_density, np.column_stack([*means, b_mean]), np.column_stack([*variances, b_variance])


def _reach(model: "GroupedRegression", mode: FloatArray, axis: int, sign: float) -> float:
    """End of the box along one axis: where the profile of the integrand has fallen by exp(-20)."""
    top = float(log_marginal(model, mode[None])[0])
    steps = np.concatenate([np.linspace(-1.0, 1.0, 21), np.linspace(-12.0, 12.0, 25)])
    grid = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    points = mode + np.insert(grid, axis, 0.0, axis=1)
    distance = 2.0**-8
    while distance < _FURTHEST:
        points[:, axis] = mode[axis] + sign * distance
        if float(log_marginal(model, points).max()) < top - _DEPTH:
            break
        distance *= 2.0**0.5
    return float(mode[axis] + sign * distance)
