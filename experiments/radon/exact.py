"""Evidence and posterior moments of the grouped regression, by quadrature over its three scales.

Given the scales everything else is linear and Gaussian, so that the evidence is a three-dimensional integral of an
explicit function. With the group statistics, the part that depends on sigma_a and epsilon is a sum over the distinct
group sizes, and sigma_b enters through one small factorisation: a point of the grid costs microseconds.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from auxmc.numerics.array_types import FloatArray

if TYPE_CHECKING:
    from experiments.radon.model import GroupedRegression

_START_POINTS = (33, 41, 33)
_MOST_POINTS = 2_000_000
_CHUNK = 20_000
# The tail left out of the heaviest prior, which falls as exp(-|t|) in t = log sigma, is below 1e-8 of the whole.
_DEPTH = 20.0
_FURTHEST = 60.0


class Grid(NamedTuple):
    """Equally spaced points in the logs of the scales, in log units of the outcome.

    Attributes:
        log_sigma_a: points [a].
        log_sigma_b: points [b].
        log_noise: points of log epsilon [noise].
    """

    log_sigma_a: FloatArray
    log_sigma_b: FloatArray
    log_noise: FloatArray


class Evidence(NamedTuple):
    """Evidence and moments of the posterior.

    Attributes:
        log_evidence: in nats.
        error: sum of its changes when the step along each axis is halved, in nats.
        mean: posterior means of the effects (see `model.effects`) [effect].
        sd: posterior standard deviations of the effects [effect].
        n_points: points of the grid.
    """

    log_evidence: float
    error: float
    mean: FloatArray
    sd: FloatArray
    n_points: int


def exact_evidence(model: "GroupedRegression", tolerance: float = 1e-4) -> Evidence:
    """Halves the step along each axis of the grid until the log evidence settles.

    Args:
        model: the model with its data.
        tolerance: change of the log evidence when the step along an axis is halved, in nats, at which that axis is
            fine enough.

    Raises:
        ValueError: the evidence has not settled on the finest grid that is tried.
    """
    grid = quadrature_grid(model, _START_POINTS)
    found = evidence_on_grid(model, grid)
    changes = np.full(3, np.inf)
    while changes.max() >= tolerance:
        axis = int(np.argmax(changes))
        points = grid[axis]
        halved = np.linspace(points[0], points[-1], 2 * points.size - 1)
        finer = grid._replace(**{grid._fields[axis]: halved})
        if _size(finer) > _MOST_POINTS:
            raise ValueError(
                f"the log evidence still changes by {changes.max():.2g} nats along {grid._fields[axis]} on a grid of "
                f"{_size(grid)} points: the posterior of the scales is too narrow for its box; take a larger tolerance"
            )
        refined = evidence_on_grid(model, finer)
        changes[axis] = abs(refined.log_evidence - found.log_evidence)
        # A step that was fine enough already is kept: refining the other axes costs half as much.
        if changes[axis] >= tolerance:
            grid, found = finer, refined
    return found._replace(error=float(changes.sum()))


def quadrature_grid(model: "GroupedRegression", n_points: tuple[int, int, int]) -> Grid:
    """Box around all of the posterior of the scales that matters.

    Each axis reaches from the mode to where the integrand, maximised over the other two, has fallen by exp(-20).

    Args:
        model: the model with its data.
        n_points: points along each axis.
    """
    mode = _mode(model)
    ends = [[_reach(model, mode, axis, sign) for sign in (-1.0, 1.0)] for axis in range(3)]
    return Grid(*(np.linspace(low, high, n) for (low, high), n in zip(ends, n_points, strict=True)))


def evidence_on_grid(model: "GroupedRegression", grid: Grid) -> Evidence:
    """Trapezoidal rule on one grid; `error` is infinite, since one grid cannot know it."""
    shape = tuple(axis.size for axis in grid)
    logs = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 3)
    n_effects = 5 + model.n_regressors
    log_density = np.empty(len(logs))
    first, second = np.empty((len(logs), n_effects)), np.empty((len(logs), n_effects))
    for start in range(0, len(logs), _CHUNK):
        part = slice(start, start + _CHUNK)
        log_density[part], mean, variance = _conditional(model, logs[part])
        first[part], second[part] = mean, mean**2 + variance
    weights = np.ones(shape)
    for axis, points in enumerate(grid):
        ends = np.full(points.size, points[1] - points[0])
        ends[[0, -1]] *= 0.5
        weights *= np.expand_dims(ends, tuple(i for i in range(3) if i != axis))
    top = log_density.max()
    masses = weights.ravel() * np.exp(log_density - top)
    total = masses.sum()
    mean = masses @ first / total
    variance = masses @ second / total - mean**2
    return Evidence(float(np.log(total) + top), np.inf, mean, np.sqrt(variance), len(logs))


def log_marginal(model: "GroupedRegression", log_scales: FloatArray) -> FloatArray:
    """Log density of the data and of (log sigma_a, log sigma_b, log epsilon), all else integrated out.

    Args:
        model: the model with its data.
        log_scales: points [point, 3].

    Returns:
        Log densities [point], in nats.
    """
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
    data, n_effects = model.statistics, model.n_regressors
    noise = np.exp(2.0 * log_noise)
    # Products of (1, regressors, outcome) under V^-1, [point, 2 + regressor, 2 + regressor].
    moments = np.column_stack([np.ones(model.n_groups), data.mean_regressors, data.mean_outcome])
    sizes, size_of = np.unique(data.counts, return_inverse=True)
    by_size = np.zeros((sizes.size, n_effects + 2, n_effects + 2))
    np.add.at(by_size, size_of, moments[:, :, None] * moments[:, None, :])
    spread = noise[:, None] + np.exp(2.0 * log_a)[:, None] * sizes
    products = np.einsum("ps,sij->pij", sizes / spread, by_size)
    order = [*range(1, n_effects + 1), 0]
    within = data.scatter[np.ix_(order, order)]
    products[:, 1:, 1:] += within / noise[:, None, None]
    n_of_size = np.bincount(size_of, minlength=sizes.size)
    log_det = (data.n_rows - model.n_groups) * 2.0 * log_noise + np.log(spread) @ n_of_size
    precision, linear, square = products[:, :-1, :-1], products[:, :-1, -1], products[:, -1, -1]
    factor = np.zeros((len(log_scales), n_effects + 1, n_effects + 2))
    factor[:, 0, 0] = 1.0
    factor[:, 1:, -1] = 1.0
    diagonal = np.arange(1, n_effects + 1)
    factor[:, diagonal, diagonal] = np.exp(log_b)[:, None]
    transposed = factor.transpose(0, 2, 1)
    whole = np.eye(n_effects + 2) + transposed @ precision @ factor
    cholesky = np.linalg.cholesky(whole)
    reduced = (transposed @ linear[:, :, None])[..., 0]
    covariance = np.linalg.inv(whole)
    solution = (covariance @ reduced[:, :, None])[..., 0]
    log_det_whole = 2.0 * np.log(np.diagonal(cholesky, axis1=1, axis2=2)).sum(axis=1)
    log_density = -0.5 * (
        data.n_rows * np.log(2.0 * np.pi)
        + log_det
        + log_det_whole
        + square
        - np.einsum("pi,pi->p", reduced, solution)
    )
    log_density -= sum(_half_cauchy_energy(log, model.prior_scale) for log in log_scales.T)
    # Effects: log sigma_a, mu_a, log sigma_b, mu_b, log epsilon, b.
    means = np.column_stack([log_a, solution[:, 0], log_b, solution[:, -1], log_noise])
    zero = np.zeros_like(log_a)
    variances = np.column_stack([zero, covariance[:, 0, 0], zero, covariance[:, -1, -1], zero])
    b_rows = factor[:, 1:]
    b_mean = np.einsum("pki,pi->pk", b_rows, solution)
    b_variance = np.einsum("pki,pij,pkj->pk", b_rows, covariance, b_rows)
    return log_density, np.hstack([means, b_mean]), np.hstack([variances, b_variance])


def _mode(model: "GroupedRegression") -> FloatArray:
    data = model.statistics
    degrees = max(1.0, float(data.n_rows) - model.n_groups)
    noise = 0.5 * np.log(max(data.scatter[0, 0] / degrees, 1e-300))
    between = np.log(max(float(np.std(data.mean_outcome)), 1e-300))
    start = np.array([between, np.log(model.prior_scale), noise])
    # The slope of the prior ends where the likelihood takes over: any descent finds the one maximum near it.
    found = minimize(
        lambda logs: -float(log_marginal(model, logs[None])[0]), start, method="Nelder-Mead", tol=1e-6
    )
    mode: FloatArray = found.x
    return mode


def _reach(model: "GroupedRegression", mode: FloatArray, axis: int, sign: float) -> float:
    """End of the box along one axis: where the profile of the integrand has fallen by exp(-20)."""
    top = float(log_marginal(model, mode[None])[0])
    others = [i for i in range(3) if i != axis]
    steps = np.concatenate([np.linspace(-1.0, 1.0, 21), np.linspace(-12.0, 12.0, 25)])
    grid = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)

    def fallen(distance: float) -> bool:
        points = np.tile(mode, (len(grid), 1))
        points[:, others] += grid
        points[:, axis] = mode[axis] + sign * distance
        return float(log_marginal(model, points).max()) < top - _DEPTH

    distance = 2.0**-8
    while not fallen(distance) and distance < _FURTHEST:
        distance *= 2.0**0.5
    return float(mode[axis] + sign * distance)


def _half_cauchy_energy(log_value: FloatArray, scale: float) -> FloatArray:
    ratio = log_value - np.log(scale)
    energy: FloatArray = np.logaddexp(0.0, 2.0 * ratio) - ratio - np.log(2.0 / np.pi)
    return energy


def _size(grid: Grid) -> int:
    return grid.log_sigma_a.size * grid.log_sigma_b.size * grid.log_noise.size
