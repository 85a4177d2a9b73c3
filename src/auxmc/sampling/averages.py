"""Averages over independent draws and their errors, conditional expectations included."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray

__all__ = [
    "Average",
    "conditional_average",
    "simple_average",
]


class Average(NamedTuple):
    """A Monte Carlo average.

    Attributes:
        mean: [...].
        standard_error: of the mean [...]; NaN for a single draw.
    """

    mean: FloatArray
    standard_error: FloatArray


def simple_average(values: ArrayLike) -> Average:
    """Mean over independent draws with its standard error, in which the dimension of a draw does not appear.

    Args:
        values: a function at each draw [draw, ...].

    Raises:
        ValueError: there are no draws.

    Must hold: the square of the standard error is the variance over the number of draws. Tested in
    tests/unit/sampling/test_averages.py.

    Source: PhD thesis, Eqs. 2.2 to 2.5.

    >>> simple_average([1.0, 3.0]).mean.tolist()
    2.0
    """
    array = np.asarray(values, np.float64)
    if array.ndim == 0 or len(array) == 0:
        raise ValueError(f"values must be [draw, ...] with at least one draw, got shape {array.shape}")
    mean = np.asarray(array.mean(axis=0))
    if len(array) < 2:
        return Average(mean, np.full(mean.shape, math.nan))
    return Average(mean, np.asarray(array.std(axis=0, ddof=1) / math.sqrt(len(array))))


def conditional_average(conditional_mean: Callable[[FloatArray], ArrayLike], given: ArrayLike) -> Average:
    """Average of E[f | y] in place of f over independent draws of y (Rao and Blackwell).

    Args:
        conditional_mean: maps the draws of y [draw, ...] to E[f | y] at each [draw].
        given: independent draws of y [draw, ...].

    Raises:
        ValueError: as in `simple_average`.

    Must hold: the mean is that of f, and the variance is never larger: Var f = Var E[f | y] + E Var(f | y). For
    draws of a Markov chain the second does not hold in general. Tested in tests/unit/sampling/test_averages.py.

    Source: lecture slides on Monte Carlo methods; PhD thesis, section 2.3.3.
    """
    return simple_average(conditional_mean(np.asarray(given, np.float64)))
