"""A mixture of two unit Gaussians in the plane, at -distance and distance on the first axis."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from experiments.two_modes.settings import Settings


class Problem(NamedTuple):
    """Log density of x [2] in nats, and the exact density of x_1 at some values, or None."""

    log_density: Callable[[Array], Array]
    known: Callable[[FloatArray], FloatArray] | None


def problem(settings: Settings) -> Problem:
    """The mixture of a case."""
    centres = np.array([-settings.distance, settings.distance])
    weights = np.array([settings.weight, 1.0 - settings.weight])

    def log_density(x: Array) -> Array:
        parts = jnp.log(weights) - 0.5 * jnp.square(x[0] - centres)
        return jnp.logaddexp(parts[0], parts[1]) - 0.5 * jnp.square(x[1])

    def density(values: FloatArray) -> FloatArray:
        return np.asarray(stats.norm.pdf(values[:, None], centres) @ weights)

    return Problem(log_density, density)
