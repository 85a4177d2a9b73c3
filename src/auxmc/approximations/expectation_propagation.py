"""Expectation propagation for a Gaussian prior and factors that each depend on one projection of the unknowns.

The posterior is proportional to N(x | m, V) times a product of f_i(a_i^T x). Each factor is replaced by a site
exp(nu_i t - tau_i t^2 / 2) of its projection t, chosen so that the approximation has the mean and variance of t that it
has with the factor itself in place of its site. NumPy only.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from auxmc.numerics.array_types import FloatArray


class TiltedMoments(NamedTuple):
    """Moments of a factor times a Gaussian of its projection: log of the integral, mean and variance."""

    log_normaliser: float
    mean: float
    variance: float


Tilted = Callable[[float, float], TiltedMoments]
"""A factor: maps mean and variance of the cavity, the approximation without its site, to tilted moments."""


class EPFit(NamedTuple):
    """A Gaussian approximation of the posterior."""

    mean: FloatArray  # [dim]
    covariance: FloatArray  # [dim, dim]
    log_normaliser: float  # approximation of the log of the integral of prior times factors, in nats
    site_precisions: FloatArray  # tau [factor]
    site_shifts: FloatArray  # nu [factor]
    largest_change: float  # of any site parameter in the last sweep; 0 at a fixed point
    n_skipped: int  # updates left out because the cavity had no positive variance


def expectation_propagation(
    prior_mean: ArrayLike,
    prior_covariance: ArrayLike,
    projections: ArrayLike,
    factors: Sequence[Tilted],
    n_sweeps: int = 20,
    damping: float = 1.0,
) -> EPFit:
    """Updates the sites in turn.

    Args:
        prior_mean: m [dim].
        prior_covariance: V [dim, dim], positive definite.
        projections: a_i as rows [factor, dim].
        factors: f_i, each as the tilted moments of `gaussian_factor`, `probit_factor` or of the caller.
        n_sweeps: passes over all factors, at least 1.
        damping: fraction of the way that a site goes to its new natural parameters, in (0, 1].

    Raises:
        ValueError: shapes do not belong together, or a number is out of its range.

    Source: PhD thesis, Eqs. C.11 to C.13; Minka 2001.
    Must hold: exact after one sweep with Gaussian factors, a fixed point with those of any kind.

    >>> fit = expectation_propagation([0.0], [[1.0]], [[1.0], [1.0]], [gaussian_factor(1.0, 1.0)] * 2, n_sweeps=1)
    >>> round(float(fit.mean[0]), 9), round(float(fit.covariance[0, 0]), 9)
    (0.666666667, 0.333333333)
    """
    m, v, a = (np.asarray(values, float) for values in (prior_mean, prior_covariance, projections))
    if m.ndim != 1 or v.shape != (m.size, m.size) or a.shape != (len(factors), m.size):
        expected = "prior_mean [dim], prior_covariance [dim, dim], projections [factor, dim]"
        raise ValueError(
            f"expected {expected}, got {m.shape}, {v.shape}, {a.shape} and {len(factors)} factors"
        )
    if n_sweeps < 1 or not 0.0 < damping <= 1.0:
        raise ValueError(f"n_sweeps must be at least 1 and damping in (0, 1], got {n_sweeps} and {damping}")
    tau, nu = np.zeros(len(factors)), np.zeros(len(factors))
    log_scales = np.zeros(len(factors))
    mean, covariance = m.copy(), v.copy()
    largest, n_skipped = 0.0, 0
    for _ in range(n_sweeps):
        largest = 0.0
        for i, factor in enumerate(factors):
            along = covariance @ a[i]
            here, spread = float(a[i] @ mean), float(a[i] @ along)
            cavity_precision = 1.0 / spread - tau[i]
            if cavity_precision <= 0.0:
                n_skipped += 1
                continue
            cavity = ((here / spread - nu[i]) / cavity_precision, 1.0 / cavity_precision)
            tilted = factor(*cavity)
            new_tau = tau[i] + damping * (1.0 / tilted.variance - cavity_precision - tau[i])
            wanted = tilted.mean / tilted.variance - cavity[0] * cavity_precision
            new_nu = nu[i] + damping * (wanted - nu[i])
            largest = max(largest, abs(new_tau - tau[i]), abs(new_nu - nu[i]))
            change = new_tau - tau[i]
            tau[i], nu[i] = new_tau, new_nu
            log_scales[i] = tilted.log_normaliser - _log_site_integral(*cavity, new_nu, new_tau)
            covariance = covariance - np.outer(along, along) * (change / (1.0 + change * spread))
            mean = covariance @ (np.linalg.solve(v, m) + a.T @ nu)
    # The prior times all sites, afresh, so that no rounding is carried on.
    prior_precision = np.linalg.inv(v)
    precision = prior_precision + (a.T * tau) @ a
    covariance = np.linalg.inv(precision)
    shift = prior_precision @ m + a.T @ nu
    mean = covariance @ shift
    log_det = float(np.linalg.slogdet(v)[1] + np.linalg.slogdet(precision)[1])
    log_integral = 0.5 * float(shift @ mean - m @ prior_precision @ m - log_det)
    log_normaliser = float(np.sum(log_scales)) + log_integral
    return EPFit(mean, covariance, log_normaliser, tau, nu, largest, n_skipped)


def gaussian_factor(observation: float, variance: float) -> Tilted:
    """The factor N(observation | t, variance) of a projection t."""

    def tilted(mean: float, cavity_variance: float) -> TiltedMoments:
        total = cavity_variance + variance
        gain = cavity_variance / total
        residual = observation - mean
        log_normaliser = -0.5 * (math.log(2.0 * math.pi * total) + residual**2 / total)
        return TiltedMoments(log_normaliser, mean + gain * residual, gain * variance)

    return tilted


def probit_factor(label: float) -> Tilted:
    """The factor Phi(label t) of a projection t, label -1 or +1; its moments are known in closed form.

    ValueError for another label.

    Source: Rasmussen and Williams 2006, Eqs. 3.58 and 3.82.
    """
    if label not in (-1.0, 1.0):
        raise ValueError(f"label must be -1 or +1, got {label}")

    def tilted(mean: float, variance: float) -> TiltedMoments:
        root = math.sqrt(1.0 + variance)
        z = label * mean / root
        log_normaliser = float(log_ndtr(z))
        ratio = math.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log_normaliser)
        new_mean = mean + label * variance * ratio / root
        new_variance = variance - variance**2 * ratio * (z + ratio) / (1.0 + variance)
        return TiltedMoments(log_normaliser, new_mean, new_variance)

    return tilted


def _log_site_integral(mean: float, variance: float, nu: float, tau: float) -> float:
    """Log of the integral of N(t | mean, variance) exp(nu t - tau t^2 / 2)."""
    precision = 1.0 / variance + tau
    shift = mean / variance + nu
    return -0.5 * (math.log(variance * precision) + mean**2 / variance - shift**2 / precision)
