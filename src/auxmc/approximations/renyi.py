"""Renyi divergences and bounds, and the Gaussians that minimise them: by quadrature on the line, by draws elsewhere."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray

# Nearer to 1 the order's own formula loses more digits to cancellation than the limit is wrong.
_ORDER_NEAR_ONE = 1e-9
# Densities below exp(-700) are zero in double precision: their log times zero is left out.
_LOG_TINY = -700.0
# An integrand that is smaller than this at the ends of the grid, next to its maximum, counts as vanishing there.
_LOG_NEGLIGIBLE = math.log(1e-12)


class GaussianFit(NamedTuple):
    """A Gaussian that minimises a divergence, which is the objective, in nats.

    Other local minima that were found are in `local`, as (mean, sd, objective), best first.
    """

    mean: float
    sd: float
    objective: float
    local: tuple[tuple[float, float, float], ...]


def renyi_divergence(points: ArrayLike, log_p: ArrayLike, log_q: ArrayLike, order: float) -> float:
    """D_alpha[P||Q] = log(integral of p^alpha q^(1 - alpha)) / (alpha - 1) in nats, and KL(P||Q) at alpha = 1.

    Both log densities are normalised, at equally spaced points so wide that the integrand vanishes at the ends [point].
    Infinite where the integral of an order above 1 diverges.

    Raises:
        ValueError: the order is not positive, or the grid is too narrow.

    Source: PhD thesis, appendix C.2; van Erven and Harremoes 2014.
    """
    if not order > 0.0:
        raise ValueError(f"order must be positive, got {order}")
    x, p, q = (np.asarray(values, float) for values in (points, log_p, log_q))
    if abs(order - 1.0) < _ORDER_NEAR_ONE:
        inside = p > _LOG_TINY
        return float(np.sum(np.exp(p[inside]) * (p - q)[inside]) * (x[1] - x[0]))
    return _log_integral(x, order * p + (1.0 - order) * q, order > 1.0) / (order - 1.0)


def renyi_bound(points: ArrayLike, log_joint: ArrayLike, log_q: ArrayLike, order: float) -> float:
    """Variational Renyi bound L_alpha = log(integral of q (p~/q)^(1 - alpha)) / (1 - alpha), alpha being any number.

    It is log Z - D_alpha[q||p] for the unnormalised density p~ = Z p: below log Z for a positive order, above it for a
    negative one, falling in the order, and the evidence lower bound at alpha = 1. Where its integral diverges, which it
    may for orders outside [0, 1], it is infinite. Points are equally spaced [point]. ValueError if the grid is so
    narrow that the integrand does not vanish at its ends.

    Source: PhD thesis, equation C.15; Li and Turner 2016.
    """
    x, p, q = (np.asarray(values, float) for values in (points, log_joint, log_q))
    if abs(order - 1.0) < _ORDER_NEAR_ONE:
        inside = q > _LOG_TINY
        return float(np.sum(np.exp(q[inside]) * (p - q)[inside]) * (x[1] - x[0]))
    may_diverge = not 0.0 <= order <= 1.0
    return _log_integral(x, order * q + (1.0 - order) * p, may_diverge) / (1.0 - order)


def gaussian_log_density(points: ArrayLike, mean: float, sd: float) -> FloatArray:
    """Log density of N(mean, sd^2) at points."""
    standard = (np.asarray(points, float) - mean) / sd
    return -0.5 * standard**2 - math.log(sd) - 0.5 * math.log(2.0 * math.pi)


def fit_gaussian(
    points: ArrayLike, divergence: Callable[[FloatArray], float], starts: Sequence[tuple[float, float]]
) -> GaussianFit:
    """Minimises a divergence over Gaussians, from several starts, since there may be a minimum at every mode.

    The divergence is a function of the log density of a Gaussian at the points [point], starts are means and standard
    deviations. Two minima count as one where mean and log standard deviation differ by less than 1e-3. ValueError if
    no start is given, or no minimum is finite.
    """
    x = np.asarray(points, float)

    def objective(parameters: FloatArray) -> float:
        value = divergence(gaussian_log_density(x, float(parameters[0]), math.exp(float(parameters[1]))))
        return value if math.isfinite(value) else math.inf

    found: list[tuple[float, float, float]] = []
    for mean, sd in starts:
        options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
        end = minimize(objective, [mean, math.log(sd)], method="Nelder-Mead", options=options)
        fit = (float(end.x[0]), math.exp(float(end.x[1])), float(end.fun))
        is_new = all(max(abs(fit[0] - m), abs(math.log(fit[1] / s))) > 1e-3 for m, s, _ in found)
        if math.isfinite(fit[2]) and is_new:
            found.append(fit)
    if not found:
        raise ValueError(f"no minimum with a finite divergence was found from the starts {list(starts)}")
    found.sort(key=lambda fit: fit[2])
    return GaussianFit(*found[0], tuple(found[1:]))


def match_renyi_moments(
    log_density: Callable[[FloatArray], ArrayLike],
    mean: ArrayLike,
    covariance: ArrayLike,
    order: float,
    noise: ArrayLike,
    n_sweeps: int = 100,
    damping: float = 0.3,
) -> tuple[FloatArray, FloatArray, float]:
    """Gaussian q with the moments of the density q^alpha p^(1 - alpha), at which the bound L_alpha is stationary.

    Each sweep weights the same draws of q by (p~/q)^(1 - alpha). A small order covers the modes of p, order 1 seeks one
    of them; which stationary point is found depends on the start.

    Args:
        log_density: of the unnormalised density p~ at points [draw, dim], in nats [draw].
        mean: at the start [dim].
        covariance: at the start [dim, dim], positive definite.
        order: alpha, in [0, 1).
        noise: standard normal numbers [draw, dim].
        n_sweeps: passes, at least 1.
        damping: fraction of the way that a sweep goes, in (0, 1].

    Returns:
        Mean [dim], covariance [dim, dim] and estimate of L_alpha, in nats.

    Raises:
        ValueError: the order is out of its range.

    Source: PhD thesis, equation C.15; Li and Turner 2016.
    """
    if not 0.0 <= order < 1.0:
        raise ValueError(f"order must be in [0, 1), got {order}")
    m, v, z = (np.asarray(values, float) for values in (mean, covariance, noise))
    constant = 0.5 * m.size * math.log(2.0 * math.pi)
    bound = math.nan
    for _ in range(n_sweeps):
        root = np.linalg.cholesky(v)
        x = m + z @ root.T
        log_q = -0.5 * np.sum(z**2, axis=1) - float(np.sum(np.log(np.diag(root)))) - constant
        logs = (1.0 - order) * (np.asarray(log_density(x), float) - log_q)
        total = float(logsumexp(logs))
        bound = (total - math.log(len(z))) / (1.0 - order)
        weights = np.exp(logs - total)
        change = weights @ x - m
        centred = x - m - change
        wanted = (centred * weights[:, None]).T @ centred
        # Moments of the mixture of both: the covariance stays positive definite.
        v = (1.0 - damping) * (v + damping * np.outer(change, change)) + damping * wanted
        m = m + damping * change
    return m, v, bound


def _log_integral(points: FloatArray, log_values: FloatArray, may_diverge: bool) -> float:
    """Log of an integral; infinite, where it may diverge, if the integrand does not vanish at the ends of the grid."""
    end, top = max(log_values[0], log_values[-1]), log_values.max()
    if end > top + _LOG_NEGLIGIBLE:
        if may_diverge:
            return math.inf
        grid = f"the grid [{points[0]:g}, {points[-1]:g}]"
        raise ValueError(f"the integrand at the ends of {grid} is exp({end - top:.2g}) of its top: widen it")
    return float(logsumexp(log_values) + math.log(points[1] - points[0]))
