"""Evidence from the likelihoods of nested sampling's dead points: sums, shrinkage factors and errors."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray

ESTIMATORS = ("lower", "lebesgue", "upper", "trapezoid")
"""Riemann sums from below and above, the sum over likelihood levels, and the mean of the first and the third."""

SHRINKAGE = ("exponential", "mean", "unbiased")
"""Prior mass after k steps with M live points: exp(-k / M), its expectation (M / (M + 1))^k, or (1 - 1 / M)^k, with
which the upper sum with the live points' share is an unbiased estimate under exact constrained draws."""


class NestedEvidence(NamedTuple):
    """Evidence and what belongs to it.

    Attributes:
        value: log evidence, in nats.
        standard_error: sqrt(information / live points), in nats.
        information: Kullback-Leibler divergence of the posterior from the prior, in nats.
        log_weights: log posterior weight of each dead point [dead point], live ones after them where they count;
            they sum to 1.
    """

    value: float
    standard_error: float
    information: float
    log_weights: FloatArray


def log_masses(n_dead: int, n_live: int, shrinkage: str = "exponential") -> FloatArray:
    """Log prior mass X_0 = 1, X_1, ..., X_K with a likelihood above that of dead point k [n_dead + 1].

    Source: MSc thesis, Eqs. 3.23 to 3.25; Skilling 2006.
    """
    if shrinkage not in SHRINKAGE:
        raise ValueError(f"shrinkage must be one of {', '.join(SHRINKAGE)}, got {shrinkage!r}")
    if n_live < 1:
        raise ValueError(f"n_live must be at least 1, got {n_live}")
    if shrinkage == "unbiased" and n_live < 2:
        raise ValueError(f"n_live must be at least 2 for unbiased masses, which vanish with {n_live}")
    rate = {
        "exponential": 1.0 / n_live,
        "mean": math.log1p(1.0 / n_live),
        "unbiased": -math.log1p(-1.0 / max(n_live, 2)),
    }[shrinkage]
    return -rate * np.arange(n_dead + 1, dtype=np.float64)


def nested_evidence(
    log_likelihoods: ArrayLike,
    n_live: int,
    live_log_likelihoods: ArrayLike | None = None,
    *,
    estimator: str = "lower",
    shrinkage: str = "exponential",
) -> NestedEvidence:
    """Log evidence from dead points in the order in which they died.

    Args:
        log_likelihoods: of the dead points, increasing [dead point], in nats.
        n_live: live points at every step.
        live_log_likelihoods: of the points alive at the end [live point]; given, they share the mass that is left.
        estimator: one of ESTIMATORS. The published algorithm's listing is the upper sum, its text the lower one;
            they differ by the log of the ratio of successive masses.
        shrinkage: one of SHRINKAGE.

    Raises:
        ValueError: there is no dead point, likelihoods decrease, or there is no such estimator or shrinkage.

    Source: MSc thesis, Eqs. 3.22 and 3.26 and Algorithm 5, with the last term of the difference of the first two
    corrected to the mass after the last point.

    >>> round(nested_evidence([0.0, 0.0], 2, [0.0, 0.0]).value, 12)
    -0.5
    """
    dead = np.asarray(log_likelihoods, dtype=np.float64)
    if dead.ndim != 1 or not dead.size:
        raise ValueError(f"log_likelihoods must be a vector of at least one number, got {list(dead.shape)}")
    if np.any(np.diff(dead) < 0.0):
        raise ValueError("log_likelihoods must not decrease: dead points are in the order of their death")
    live = None if live_log_likelihoods is None else np.asarray(live_log_likelihoods, dtype=np.float64)
    terms = log_terms(dead, n_live, live, estimator=estimator, shrinkage=shrinkage)
    values = dead if live is None else np.concatenate([dead, live])
    total = float(logsumexp(terms))
    log_weights = terms - total
    weights = np.exp(log_weights)
    information = max(float(np.sum(weights[weights > 0.0] * values[weights > 0.0]) - total), 0.0)
    return NestedEvidence(total, math.sqrt(information / n_live), information, log_weights)


def log_terms(
    log_likelihoods: ArrayLike,
    n_live: int,
    live_log_likelihoods: ArrayLike | None = None,
    *,
    estimator: str = "lower",
    shrinkage: str = "exponential",
) -> FloatArray:
    """Logs of the terms whose sum is the evidence, for many runs at once.

    The terms are likelihood times mass [..., dead point], live points after them where they count, in nats; arguments
    are those of `nested_evidence`, with leading axes.

    Must hold: with ideal constrained draws the terms of "upper" and "unbiased", live points included, add up to the
    evidence in expectation, after any number of dead points.
    """
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    dead = np.asarray(log_likelihoods, dtype=np.float64)
    masses = log_masses(dead.shape[-1] + 1, n_live, shrinkage)
    lower = _log_difference(masses[1:-1], masses[2:])
    upper = _log_difference(masses[:-2], masses[1:-1])
    # By parts the sum over levels is the lower sum with the last point's whole mass.
    levels = np.append(lower[:-1], masses[-2])
    widths, left = {
        "lower": (lower, masses[-1]),
        "upper": (upper, masses[-2]),
        "lebesgue": (levels, masses[-2]),
        "trapezoid": (_log_middle(lower, upper), _log_middle(masses[-1], masses[-2])),
    }[estimator]
    terms = np.asarray(dead + widths, dtype=np.float64)
    if live_log_likelihoods is None:
        return terms
    live = np.asarray(live_log_likelihoods, dtype=np.float64)
    return np.concatenate([terms, live + left - math.log(live.shape[-1])], axis=-1)


def _log_middle(first: ArrayLike, second: ArrayLike) -> FloatArray:
    return np.asarray(np.logaddexp(first, second) - math.log(2.0), dtype=np.float64)


def _log_difference(larger: FloatArray, smaller: FloatArray) -> FloatArray:
    return np.asarray(larger + np.log(-np.expm1(smaller - larger)), dtype=np.float64)
