"""Mixtures of two normal distributions on the line, and the target with two modes next to its base."""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtr, ndtri

from auxmc.models.bridge import Bridge, GaussianBase, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray


class ScalarMixture(NamedTuple):
    """Normalised mixture of Gaussians on the line."""

    weights: tuple[float, ...]  # of the components, positive with sum 1
    means: tuple[float, ...]  # of the components
    sds: tuple[float, ...]  # standard deviations of the components

    @property
    def mean(self) -> float:
        """Mean of the mixture."""
        return sum(w * m for w, m in zip(self.weights, self.means, strict=True))

    @property
    def sd(self) -> float:
        """Standard deviation of the mixture."""
        second = sum(w * (s**2 + m**2) for w, m, s in zip(*self, strict=True))
        return math.sqrt(second - self.mean**2)

    def log_density(self, x: Array) -> Array:
        """Log density at any array of points, elementwise, in nats."""
        along = (*(1,) * x.ndim, len(self.weights))
        weights, means, sds = (jnp.asarray(values, float).reshape(along) for values in self)
        standard = (x[..., None] - means) / sds
        terms = jnp.log(weights) - 0.5 * standard**2 - jnp.log(sds) - 0.5 * math.log(2.0 * math.pi)
        return jax.nn.logsumexp(terms, axis=-1)

    def log_density_at(self, position: Array) -> Array:
        """Log density at a position [1], scalar, in nats."""
        return self.log_density(position)[0]

    def mass_below(self, x: float) -> float:
        """Probability of values below x."""
        return sum(float(w * ndtr((x - m) / s)) for w, m, s in zip(*self, strict=True))

    def from_normal(self, noise: Array) -> Array:
        """Maps standard normal numbers, elementwise, to exact draws.

        The number's distribution function is cut at the cumulated weights: the part chooses the component,
        the place inside the part the value.
        """
        uniform = ndtr(noise)
        ends = list(itertools.accumulate(self.weights, initial=0.0))
        out = jnp.zeros_like(noise)
        for i, (weight, mean, sd) in enumerate(zip(*self, strict=True)):
            inside = jnp.clip((uniform - ends[i]) / weight, 1e-300, 1.0 - 1e-16)
            last = i + 1 == len(self.weights)
            here = (uniform >= ends[i]) & (last | (uniform < ends[i + 1]))
            out = jnp.where(here, mean + sd * ndtri(inside), out)
        return out


TWO_MODES = ScalarMixture((0.6, 0.4), (-8.0, 8.0), (1.0, 2.0))
"""Two well separated modes of different widths, the target of figure 2.13.

Source: PhD thesis, figure 2.13.
"""

NARROW_AND_BROAD = ScalarMixture((0.2, 0.8), (-4.8, 1.2), (0.25, 2.0))
"""A narrow mode next to a broad one, the target of figure C.2.

Source: PhD thesis, figure C.2; parameters recovered from its curve.
"""

OVERLAPPING = ScalarMixture((0.6, 0.4), (0.5, -0.5), (0.5, 0.25))
"""Two overlapping modes, the target of figures 2.3, 2.5 (times 0.75) and 2.10.

Source: PhD thesis, section 2.1; parameters recovered from its curves.
"""

NARROW_LEFT = ScalarMixture((0.5, 0.5), (0.5, -0.5), (0.4, 0.2))
"""Two modes of equal mass, the left one narrow: the target of figure 2.7.

Source: PhD thesis, figure 2.7; parameters recovered from its curve.
"""

POINTS: FloatArray = np.linspace(-100.0, 100.0, 4_001)
"""Grid of the quadratures: over twelve standard deviations of the base on either side."""


def base() -> GaussianBase:
    """Gaussian with the mean and the variance of the target."""
    return gaussian_base(jnp.array([TWO_MODES.mean]), jnp.array([TWO_MODES.sd]))


def joined(log_zeta: Array | float = 0.0) -> Bridge:
    """Target and base as kernels want them."""
    return bridge(TWO_MODES.log_density_at, base(), log_zeta)
