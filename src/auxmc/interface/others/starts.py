"""Starts of chains that differ, for models on unconstrained variables."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

__all__ = ["spread_around"]

_TRIES = 100


def spread_around(
    centre: np.ndarray, width: float, log_density: Callable[[Array], Array]
) -> Callable[[Array], np.ndarray]:
    """Points about another one at which a log density and its gradient are finite.

    Args:
        centre: of the points [dim].
        width: largest distance in every direction.
        log_density: maps a vector [dim] to nats.

    Returns:
        Maps a key to a point [dim], uniform in a cube, or to the centre where no draw of many can be used.
    """
    evaluate = jax.jit(jax.value_and_grad(log_density))

    def start(key: Array) -> np.ndarray:
        for attempt in range(_TRIES):
            draw = jax.random.uniform(
                jax.random.fold_in(key, attempt), centre.shape, jnp.float64, minval=-width, maxval=width
            )
            value, gradient = evaluate(centre + draw)
            if bool(jnp.isfinite(value)) and bool(jnp.all(jnp.isfinite(gradient))):
                return np.asarray(centre + draw)
        return centre

    return start
