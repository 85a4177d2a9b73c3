"""The target with two modes, its base, and the exact path between them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.models.bridge import Bridge, GaussianBase, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray
from experiments.tempering_illustration.model.exact_bridge import ExactPath, exact_path
from experiments.tempering_illustration.model.scalar_mixture import TWO_MODES

POINTS: FloatArray = np.linspace(-100.0, 100.0, 4_001)
"""Grid of the quadratures: over twelve standard deviations of the base on either side."""


def base() -> GaussianBase:
    """Gaussian with the mean and the variance of the target."""
    return gaussian_base(jnp.array([TWO_MODES.mean]), jnp.array([TWO_MODES.sd]))


def joined(log_zeta: Array | float = 0.0) -> Bridge:
    """Target and base as kernels want them."""
    return bridge(TWO_MODES.log_density_at, base(), log_zeta)


@functools.cache
def known_path(log_zeta: float = 0.0) -> ExactPath:
    """Exact quantities of the path."""
    target = np.asarray(jax.jit(TWO_MODES.log_density)(POINTS)) - log_zeta
    standard = (POINTS - TWO_MODES.mean) / TWO_MODES.sd
    reference = -(0.5 * standard**2 + np.log(TWO_MODES.sd) + 0.5 * np.log(2.0 * np.pi))
    return exact_path(POINTS, target, reference)
