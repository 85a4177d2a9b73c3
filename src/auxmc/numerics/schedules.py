"""Ladders of inverse temperatures from the base, at 0, to the target, at 1."""

import math

import numpy as np

from auxmc.numerics.array_types import FloatArray


def sigmoidal_schedule(n_intervals: int, slope: float = 4.0) -> FloatArray:
    """Inverse temperatures that lie closer together at both ends.

    Args:
        n_intervals: K, at least 1.
        slope: how much closer, positive; the limit 0 is `linear_schedule`.

    Returns:
        [K + 1], strictly increasing, exactly 0 first and 1 last: (t_k - t_0) / (t_K - t_0) with t_k the logistic
        function of slope (2 k / K - 1).

    Raises:
        ValueError: n_intervals or slope is not positive.

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
    """Equally spaced inverse temperatures k / K.

    Args:
        n_intervals: K, at least 1.

    Raises:
        ValueError: n_intervals is not positive.
    """
    _check(n_intervals)
    return np.linspace(0.0, 1.0, n_intervals + 1)


def _check(n_intervals: int) -> None:
    if isinstance(n_intervals, bool) or not isinstance(n_intervals, (int, np.integer)) or n_intervals < 1:
        raise ValueError(f"n_intervals must be a positive integer, got {n_intervals!r}")
