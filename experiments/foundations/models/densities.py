"""Densities of Tables A.1 to A.3 of the PhD thesis that Table D.1 maps inputs to, as distributions of SciPy."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

DENSITIES: Mapping[str, tuple[Any, tuple[float, ...]]] = {
    "normal": (stats.norm(0.7, 1.3), (0.7, 1.3)),
    "log-normal": (stats.lognorm(s=1.3, scale=np.exp(0.7)), (0.7, 1.3)),
    "exponential": (stats.expon(scale=1.0 / 2.5), (2.5,)),
    "uniform": (stats.uniform(-1.0, 3.0), (-1.0, 2.0)),
    "half-Cauchy": (stats.halfcauchy(scale=0.8), (0.8,)),
}
"""For each family by name an example: its distribution, and its parameters in the order of the thesis."""
