"""Exact posterior of the Lotka-Volterra rates by quadrature: what a correct sampler must reproduce. NumPy only.

Given the data, prey increments are Gaussian with means linear in (z1, z2) and predator increments with means linear
in (z3, z4), so that the posterior of the log rates is a product of two densities in the plane, under either scheme.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from experiments.lotka_volterra.model.generator import LotkaVolterraModel, step_design

_HALF_WIDTH_SD = 8.0
_MAX_PASSES = 60


class LogRatePosterior(NamedTuple):
    """Exact posterior of the log rates."""

    points: FloatArray  # values of each log rate, increasing and equally spaced [4, point]
    density: FloatArray  # marginal posterior density at them [4, point]
    mean: FloatArray  # posterior means [4]
    sd: FloatArray  # posterior standard deviations [4]

    def cumulative(self, values: ArrayLike, rate: int) -> FloatArray:
        """Posterior probability that log rate number `rate` (0 to 3) is at most each of the values, in their shape."""
        spacing = self.points[rate, 1] - self.points[rate, 0]
        # A density that vanishes at both ends: half of each point's mass lies on either side of it.
        mass = np.cumsum(self.density[rate]) * spacing
        middle = np.concatenate([[0.0], mass])
        edges = np.append(self.points[rate] - 0.5 * spacing, self.points[rate, -1] + 0.5 * spacing)
        return np.asarray(np.interp(np.asarray(values, np.float64), edges, middle / middle[-1]))


def exact_posterior(model: LotkaVolterraModel, n_points: int = 800) -> LogRatePosterior:
    """Integrates the posterior over 8 sds on either side, on a grid that moves from the prior's moments to its own."""
    if n_points < 50:
        raise ValueError(f"n_points must be at least 50, got {n_points}")
    design = step_design(model)
    increments = model.observations - model.previous_states
    pairs = [
        _pair_posterior(
            design[:, population, 2 * population : 2 * population + 2],
            increments[:, population],
            model.step_sd[population],
            (model.prior_mean, model.prior_sd),
            n_points,
        )
        for population in range(2)
    ]
    return LogRatePosterior(*(np.concatenate(parts) for parts in zip(*pairs, strict=True)))


def _pair_posterior(
    design: FloatArray, increments: FloatArray, sd: float, prior: tuple[float, float], n_points: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Points [2, point], densities [2, point], means [2] and sds [2] of one pair of log rates."""
    gram = design.T @ design / sd**2
    projection = design.T @ increments / sd**2
    mean = np.full(2, prior[0])
    half = np.full(2, _HALF_WIDTH_SD * prior[1])
    unit = np.linspace(-1.0, 1.0, n_points)
    for _ in range(_MAX_PASSES):
        points = mean[:, None] + half[:, None] * unit[None, :]
        first, second = np.exp(points)
        quadratic = (
            0.5 * gram[0, 0] * first[:, None] ** 2
            + 0.5 * gram[1, 1] * second[None, :] ** 2
            + gram[0, 1] * first[:, None] * second[None, :]
        )
        linear = projection[0] * first[:, None] + projection[1] * second[None, :]
        log_prior = -0.5 * ((points - prior[0]) / prior[1]) ** 2
        log_density = linear - quadratic + log_prior[0][:, None] + log_prior[1][None, :]
        weights = np.exp(log_density - log_density.max())
        weights /= weights.sum()
        marginals = np.stack([weights.sum(axis=1), weights.sum(axis=0)])
        new_mean = np.sum(marginals * points, axis=1)
        deviations = points - new_mean[:, None]
        new_sd = np.sqrt(np.sum(marginals * deviations**2, axis=1))
        spacing = points[:, 1] - points[:, 0]
        # A mass that falls between few points of a wide grid has no standard deviation to speak of yet.
        new_half = _HALF_WIDTH_SD * np.maximum(new_sd, 2.0 * spacing)
        if np.all(np.abs([new_half - half, new_mean - mean]) <= 1e-4 * half):
            return points, marginals / spacing[:, None], new_mean, new_sd
        mean, half = new_mean, new_half
    raise ValueError(
        f"the grid of the exact posterior did not settle in {_MAX_PASSES} passes: the posterior is too narrow or "
        "too long-tailed for a grid; check the data and the noise scales"
    )
