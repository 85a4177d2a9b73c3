"""Exact quantities of the path between a target and a base on the line, by the trapezoidal rule.

For smooth densities that vanish at both ends of the grid the error falls faster than any power of the step.
"""

from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.truncated_exponential import log_base_weight, log_target_weight

__all__ = ["ExactPath", "exact_path"]


# Compiled as one: on arrays as they come, every operation would be a program of its own.
_log_target_weight, _log_base_weight = jax.jit(log_target_weight), jax.jit(log_base_weight)


class ExactPath(NamedTuple):
    """Target and base as log densities on an equally spaced grid.

    Attributes:
        points: [point].
        log_target: log density of the target over zeta [point], in nats; normalised or not.
        log_base: log density of the normalised base [point], in nats.
    """

    points: FloatArray
    log_target: FloatArray
    log_base: FloatArray

    @property
    def log_ratio(self) -> float:
        """log Z - log zeta."""
        return float(self.log_normaliser([1.0])[0])

    def log_normaliser(self, inverse_temperatures: ArrayLike) -> FloatArray:
        """log z(b), the log normaliser of (target / zeta)^b base^(1 - b), at inverse temperatures [temperature]."""
        b = np.asarray(inverse_temperatures, float)[:, None]
        return self._log_integral(b * self.log_target + (1.0 - b) * self.log_base)

    def log_marginal(self, inverse_temperatures: ArrayLike) -> FloatArray:
        """Log density of the inverse temperature under the joint distribution of continuous tempering [temperature].

        Normalised over [0, 1] by the distribution of x, of which it is the expected conditional density.
        """
        return self.log_normaliser(inverse_temperatures) - self._log_joint_normaliser()

    def probability_hot(self, upper: float) -> float:
        """Probability that the inverse temperature is below `upper`, by Gauss-Legendre quadrature in b."""
        nodes, weights = np.polynomial.legendre.leggauss(200)
        b = 0.5 * upper * (nodes + 1.0)
        return float(0.5 * upper * weights @ np.exp(self.log_marginal(b)))

    def divergence_target_base(self) -> float:
        """KL(P||Q) of the normalised target from the base."""
        log_p = self.log_target - self.log_ratio
        return self._expectation(log_p, log_p - self.log_base)

    def divergence_base_target(self) -> float:
        """KL(Q||P) of the base from the normalised target."""
        log_p = self.log_target - self.log_ratio
        return self._expectation(self.log_base, self.log_base - log_p)

    def weight_ratio(self) -> float:
        """log E[w_1] - log E[w_0] under the distribution of x in the joint distribution of continuous tempering."""
        delta = self.log_base - self.log_target
        log_target, log_base = np.asarray(_log_target_weight(delta)), np.asarray(_log_base_weight(delta))
        # The distribution of x is the base over its weight: the integral of exp(-b delta) over b is exp(-log w_0).
        log_distribution = self.log_base - log_base
        return float(
            self._log_integral(log_distribution + log_target)
            - self._log_integral(log_distribution + log_base)
        )

    def _log_joint_normaliser(self) -> float:
        delta = self.log_base - self.log_target
        return float(self._log_integral(self.log_base - np.asarray(_log_base_weight(delta))))

    def _expectation(self, log_density: FloatArray, values: FloatArray) -> float:
        step = self.points[1] - self.points[0]
        # Where the density underflows to zero the value may be infinite: nothing is missed there.
        inside = log_density > -700.0
        return float(step * np.sum(np.exp(log_density[inside]) * values[inside]))

    def _log_integral(self, log_values: FloatArray) -> FloatArray:
        step = self.points[1] - self.points[0]
        return np.asarray(logsumexp(log_values, axis=-1) + np.log(step), dtype=float)


def exact_path(points: ArrayLike, log_target: ArrayLike, log_base: ArrayLike) -> ExactPath:
    """Makes the exact answer of a path.

    Args:
        points: equally spaced, increasing, so wide that both densities vanish at the ends [point].
        log_target: log density of the target over zeta at the points, in nats.
        log_base: log density of the normalised base at the points, in nats.

    Raises:
        ValueError: the points are not equally spaced and increasing, or shapes differ.
    """
    arrays = [np.asarray(values, float) for values in (points, log_target, log_base)]
    grid = arrays[0]
    if grid.ndim != 1 or grid.size < 3 or any(array.shape != grid.shape for array in arrays):
        raise ValueError(
            f"points and log densities must be vectors of one length, at least 3, got {[a.shape for a in arrays]}"
        )
    steps = np.diff(grid)
    if not (steps[0] > 0.0 and np.allclose(steps, steps[0], rtol=1e-6)):
        raise ValueError("points must be equally spaced and increasing")
    return ExactPath(*arrays)
