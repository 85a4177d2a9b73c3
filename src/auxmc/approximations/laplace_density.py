"""Laplace's approximation of any smooth density: a Gaussian at its mode, and the normaliser that follows."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import jit_short

# Largest entry of a Newton step at which the mode counts as found.
_TOLERANCE = 1e-10
_MAX_HALVINGS = 50
# Along a direction without any curvature a step is long, but finite.
_LEAST_CURVATURE = 1e-100


class LaplaceDensity(NamedTuple):
    """Gaussian approximation at a mode."""

    mode: FloatArray  # [dim]
    hessian: FloatArray  # second derivatives of the log density at the mode [dim, dim], negative definite
    log_density: float  # at the mode, in nats
    log_normaliser: float  # approximation of the log of the density's integral, in nats
    n_newton: int  # Newton steps made

    @property
    def covariance(self) -> FloatArray:
        """Inverse of minus the second derivatives [dim, dim]."""
        return np.asarray(np.linalg.inv(-self.hessian), float)


def laplace_density(
    log_density: Callable[[Array], Array], start: ArrayLike, max_newton: int = 100
) -> LaplaceDensity:
    """Newton's method with halved steps from a start [dim], then the Gaussian integral.

    Raises:
        ValueError: the steps do not settle, or end where the density is not at a maximum.

    Source: PhD thesis, appendix C.1.

    >>> fit = laplace_density(lambda x: -((x[0] - 3.0) ** 2), [0.0])
    >>> round(float(fit.mode[0]), 9), round(fit.log_normaliser, 9)
    (3.0, 0.572364943)
    """
    value, slope, curvature = _programs(log_density)
    x = np.asarray(start, float)
    n_newton, largest = 0, math.inf
    while largest >= _TOLERANCE:
        if n_newton == max_newton:
            where = f"from {list(np.ravel(start))}"
            raise ValueError(f"Newton's method has not settled after {max_newton} steps {where}")
        n_newton += 1
        gradient, hessian = np.asarray(slope(x)), np.asarray(curvature(x))
        # Where the density is not concave, its curvatures' sizes still give a direction that goes up.
        curvatures, axes = np.linalg.eigh(hessian)
        size = np.maximum(np.abs(curvatures), max(1e-12 * float(np.abs(curvatures).max()), _LEAST_CURVATURE))
        step = axes @ ((axes.T @ gradient) / size)
        for _ in range(_MAX_HALVINGS):
            if float(value(x + step)) >= float(value(x)) or np.abs(step).max() < _TOLERANCE:
                break
            step = 0.5 * step
        x = x + step
        largest = float(np.abs(step).max())
    hessian = np.asarray(curvature(x))
    sign, log_det = np.linalg.slogdet(-hessian)
    if not (np.all(np.linalg.eigvalsh(hessian) < 0.0) and sign > 0.0):
        raise ValueError(f"the density has no maximum at {list(x)}, where Newton's method ended")
    top = float(value(x))
    log_normaliser = top + 0.5 * x.size * math.log(2.0 * math.pi) - 0.5 * float(log_det)
    return LaplaceDensity(x, hessian, top, log_normaliser, n_newton)


@lru_cache(maxsize=32)
def _programs(log_density: Callable[[Array], Array]) -> tuple[Callable[[ArrayLike], Array], ...]:
    """Value, gradient and second derivatives, compiled once for all starts."""
    return jit_short(log_density), jit_short(jax.grad(log_density)), jit_short(jax.hessian(log_density))
