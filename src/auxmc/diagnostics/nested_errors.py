"""Error of nested sampling's evidence from simulated shrinkage, right where the information is small too."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.diagnostics.tempered_evidence import Evidence
from auxmc.numerics.array_types import FloatArray


def simulated_nested_evidence(
    log_likelihoods: ArrayLike,
    n_live: int,
    live_log_likelihoods: ArrayLike,
    n_draws: int = 400,
    seed: int = 0,
) -> Evidence:
    """Log evidence and its error over what the prior masses can have been.

    sqrt(information / live points) misses the spread of the masses where the information is small, and that of the
    points alive at the end. Here the masses are drawn many times.

    Args:
        log_likelihoods: of the dead points in the order of their death [dead point], in nats.
        n_live: live points at every step.
        live_log_likelihoods: of the points alive at the end, in any order [n_live].
        n_draws: draws of the masses, at least 2.
        seed: of these.

    Returns:
        Mean and standard deviation of the log evidence over the draws, in nats. Draws within a contour that are not
        independent make the true error larger.

    Raises:
        ValueError: dead points are not in order, there are not n_live points at the end, or fewer than 2 draws.

    Source: Skilling 2006, section 9.2.

    >>> found = simulated_nested_evidence(np.zeros(3), 5, np.zeros(5))
    >>> abs(round(found.value, 12)), round(found.standard_error, 12)
    (0.0, 0.0)
    """
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}")
    values = simulated_log_evidences(log_likelihoods, n_live, live_log_likelihoods, n_draws, seed)
    return Evidence(float(np.mean(values)), float(np.std(values, ddof=1)))


def simulated_log_evidences(
    log_likelihoods: ArrayLike, n_live: int, live_log_likelihoods: ArrayLike, n_draws: int, seed: int
) -> FloatArray:
    """Log evidences [draw] for drawn prior masses; arguments and errors as for `simulated_nested_evidence`."""
    dead = np.asarray(log_likelihoods, dtype=np.float64)
    live = np.sort(np.asarray(live_log_likelihoods, dtype=np.float64))
    if dead.ndim != 1 or np.any(np.diff(dead) < 0.0):
        raise ValueError("log_likelihoods must be a vector that does not decrease")
    if n_live < 1 or live.shape != (n_live,):
        raise ValueError(f"live_log_likelihoods must be [{n_live}], as many as live points, got {live.shape}")
    # The points alive at the end die one after the other, without being replaced.
    n_alive = np.concatenate([np.full(len(dead), n_live), np.arange(n_live, 0, -1)])
    levels = np.concatenate([dead, live])
    random = np.random.default_rng(seed)
    # Of k uniform numbers the largest has the distribution of a uniform number to the power 1 / k.
    log_masses = np.cumsum(-random.exponential(size=(n_draws, len(levels))) / n_alive, axis=1)
    before = np.concatenate([np.zeros((n_draws, 1)), log_masses[:, :-1]], axis=1)
    log_widths = before + np.log(-np.expm1(log_masses - before))
    # Between two levels the likelihood is the mean of both; beyond the last it is that of the last.
    lower = np.concatenate([levels[:1], levels[:-1]])
    heights = np.logaddexp(lower, levels) - math.log(2.0)
    terms = np.concatenate([heights + log_widths, levels[-1] + log_masses[:, -1:]], axis=1)
    return np.asarray(logsumexp(terms, axis=1))
