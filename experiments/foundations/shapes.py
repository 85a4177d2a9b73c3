"""The skewed density of figure 2.12, a generalised logistic law."""

import math

import numpy as np

SHAPE = 0.4
"""Its shape alpha."""


def log_skewed(x: float) -> float:
    """Its log at a point, with NumPy: hundreds of calls of a compiled program would take longer than an integral."""
    return math.log(SHAPE) - SHAPE * x - (1.0 + SHAPE) * float(np.logaddexp(0.0, -x))
