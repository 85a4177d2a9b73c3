"""Ladders of inverse temperatures from the base, at 0, to the target, at 1."""

import math

import numpy as np

from auxmc.numerics.array_types import FloatArray


def sigmoidal_schedule(n_intervals: int, slope: float = 4.0) -> FloatArray:
    """Inverse temperatures [K + 1] that lie closer together at both ends, exactly 0 first and 1 last.

    They are (t_k - t_0) / (t_K - t_0) with t_k the logistic function of slope (2 k / K - 1); the limit of slope 0 is
    `linear_schedule`. An n_intervals K or a slope that is not positive is rejected (ValueError).

    Source: PhD thesis, section 5.6.1.

    >>> sigmoidal_schedule(4).round(3)
    array([0.   , 0.105, 0.5  , 0.895, 1.   ])
    """
    _check(n_intervals)
    if not (math.isfinite(slope) and slope > 0.0):
        raise ValueError(f"slope must be positive, got {slope!r}")
    # The logistic function is the hyperbolic tangent of half its argument, up to a map that the ends undo.
    curve = np.tanh(0.5 * slope * np.linspace(-1.0, 1.0, n_intervals + 1)) / math.tanh(0.5 * slope)
    schedule: FloatArray = 0.5 * (1.0 + curve)
    schedule[0], schedule[-1] = 0.0, 1.0
    return schedule


def linear_schedule(n_intervals: int) -> FloatArray:
    """Equally spaced inverse temperatures k / K [K + 1]; an n_intervals K below 1 is rejected (ValueError)."""
    _check(n_intervals)
    return np.linspace(0.0, 1.0, n_intervals + 1)


def _check(n_intervals: int) -> None:
    if isinstance(n_intervals, bool) or not isinstance(n_intervals, (int, np.integer)) or n_intervals < 1:
        raise ValueError(f"n_intervals must be a positive integer, got {n_intervals!r}")
