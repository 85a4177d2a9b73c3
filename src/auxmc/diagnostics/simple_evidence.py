"""Evidence from plain averages of likelihoods, over draws of the prior or of the posterior.

All functions take log likelihoods [..., draw], in nats, minus infinity where the data cannot be, and raise ValueError
where there is no draw, or a value is NaN or plus infinity. They return a number for each replicate [...], in nats.
"""

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray


def prior_average(log_likelihoods: ArrayLike) -> FloatArray:
    """Log of the mean likelihood over prior draws.

    The mean is unbiased; its distribution is so skewed that nearly all estimates are far below the evidence.

    Returns:
        Log evidence of each replicate [...], in nats; minus infinity where no draw has a likelihood.

    Source: MSc thesis, section 3.1.

    >>> float(prior_average([-1.0, -1.0]))
    -1.0
    """
    return _log_mean(_checked(log_likelihoods))


def log_reciprocal(log_likelihoods: ArrayLike) -> FloatArray:
    """Log of the mean reciprocal likelihood over posterior draws [...]: an estimate of minus the log evidence.

    The mean is unbiased for the reciprocal of the evidence, with a variance that is huge or does not exist. It is
    plus infinity where a draw has no likelihood.

    Source: MSc thesis, Eq. 3.8.
    """
    return _log_mean(-_checked(log_likelihoods))


def harmonic_mean(log_likelihoods: ArrayLike) -> FloatArray:
    """Log of the harmonic mean of likelihoods over posterior draws.

    It overestimates the evidence in expectation, and never exceeds the largest likelihood.

    Returns:
        Log evidence of each replicate [...], in nats; minus infinity where a draw has no likelihood.

    Source: MSc thesis, section 3.1; Newton and Raftery 1994.
    """
    return -log_reciprocal(log_likelihoods)


def _checked(log_likelihoods: ArrayLike) -> FloatArray:
    values = np.asarray(log_likelihoods, dtype=np.float64)
    if values.ndim < 1 or values.shape[-1] < 1:
        raise ValueError(f"log_likelihoods must be [..., draw], got {list(values.shape)}")
    if n_bad := int(np.sum(np.isnan(values) | (values == np.inf))):
        raise ValueError(f"log_likelihoods: {n_bad} of {values.size} are NaN or plus infinity")
    return values


def _log_mean(values: FloatArray) -> FloatArray:
    """Log of the mean of exp(values) over the last axis; infinite values give what their limits give."""
    largest = values.max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        means = np.log(np.mean(np.exp(values - shift), axis=-1))
    return np.asarray(means + shift[..., 0], dtype=np.float64)
