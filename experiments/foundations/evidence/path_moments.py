"""Moments along the path between a target and a base on the line, from the log densities on a grid."""

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from experiments.tempering_illustration.model.exact_bridge import ExactPath

__all__ = ["mass_below", "ratio_moments"]


def ratio_moments(path: ExactPath, inverse_temperatures: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the log ratio of target and base at inverse temperatures [temperature].

    Args:
        path: target and base on a grid.
        inverse_temperatures: in [0, 1] [temperature].

    Returns:
        Means and variances, both [temperature]; in nats and squared nats. The means are the slope of the log
        normaliser, and the variances its curvature.

    Must hold: both agree with differences of `ExactPath.log_normaliser`.

    Source: PhD thesis, Eq. 5.16 (thermodynamic integration).

    """
    ratio = path.log_target - path.log_base
    weights = _weights(path, inverse_temperatures)
    means = weights @ ratio
    return means, np.asarray(weights @ np.square(ratio) - np.square(means))


def mass_below(path: ExactPath, inverse_temperatures: ArrayLike, x: float) -> FloatArray:
    """Probability of points below x at inverse temperatures [temperature].

    The last cell of the grid is shared in proportion where x falls inside it.

    """
    weights = _weights(path, inverse_temperatures)
    step = path.points[1] - path.points[0]
    # Each point stands for the cell around it.
    fractions = np.clip((x - path.points) / step + 0.5, 0.0, 1.0)
    return np.asarray(weights @ fractions)


def _weights(path: ExactPath, inverse_temperatures: ArrayLike) -> FloatArray:
    b = np.asarray(inverse_temperatures, np.float64)[:, None]
    log_density = b * path.log_target + (1.0 - b) * path.log_base
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return np.asarray(density / density.sum(axis=1, keepdims=True))
