"""Errors of means from the spread between independent chains, which sees what no chain sees of itself.

A standard error from within a chain rests on correlations over the lags that its estimator looks at: about 60 for the
autoregression of `diagnostics.coda`, however long the chain. Where something is held for thousands of iterations and
moves the target little, like the auxiliary variables of pseudo-marginal methods, that error is too small and nothing
in the chain says so.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.numerics.array_types import FloatArray

__all__ = ["error_between_chains", "few_replicates", "score_between_chains"]


def few_replicates(n_replicates: int) -> float:
    """Factor that widens an error from few replicates, so that two of it hold what two of a normal law hold.

    Args:
        n_replicates: chains or repetitions from which a spread is taken, at least 2.

    Returns:
        A two-sigma quantile of Student's t over 2; 7.0 for two replicates, 1.4 for five, near 1 for many.

    >>> [round(few_replicates(n), 2) for n in (2, 5, 100)]
    [6.98, 1.43, 1.01]
    """
    return float(stats.t.ppf(stats.norm.cdf(2.0), n_replicates - 1)) / 2.0


def error_between_chains(values: ArrayLike) -> FloatArray:
    """Standard error of a mean over independent chains, widened for few by `few_replicates`.

    Args:
        values: an estimate from each chain [..., chain], at least one.

    Returns:
        Standard errors [...] in units of the values; NaN for a single chain, whose error cannot be known this way.

    >>> float(error_between_chains([1.0]))
    nan
    """
    array = np.asarray(values, dtype=np.float64)
    n_chains = array.shape[-1]
    if n_chains < 2:
        return np.full(array.shape[:-1], np.nan)
    return np.asarray(np.std(array, axis=-1, ddof=1) / math.sqrt(n_chains) * few_replicates(n_chains))


def score_between_chains(values: ArrayLike, exact: ArrayLike) -> FloatArray:
    """How far a mean over independent chains is from its exact value, as the score of a standard normal law.

    The score has the tail probability of Student's statistic of the chains. So it can be compared with any number of
    standard errors, also with four, where an error widened for two would give far too many false alarms.

    Args:
        values: an estimate from each chain [..., chain], at least one.
        exact: exact values [...], or one for all.

    Returns:
        Scores [...], positive where the mean is too large; NaN for a single chain.

    >>> round(float(score_between_chains([0.0, 1.0, 2.0, 3.0], 0.0)), 2)  # Student's statistic is 2.32
    1.63
    """
    array = np.asarray(values, dtype=np.float64)
    n_chains = array.shape[-1]
    if n_chains < 2:
        return np.full(array.shape[:-1], np.nan)
    error = np.std(array, axis=-1, ddof=1) / math.sqrt(n_chains)
    with np.errstate(divide="ignore", invalid="ignore"):
        student = (np.mean(array, axis=-1) - np.asarray(exact)) / error
    return np.asarray(np.sign(student) * stats.norm.isf(stats.t.sf(np.abs(student), n_chains - 1)))
