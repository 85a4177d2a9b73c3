"""Starts of chains that differ, for models on unconstrained variables."""

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.checks.densities import first_finite

_TRIES = 100


def spread_around(
    centre: np.ndarray, width: float, log_density: Callable[[Array], Array]
) -> Callable[[Array], np.ndarray]:
    """Maps a key to a point [dim] near another one, where a log density and its gradient are finite.

    Args:
        centre: of the points [dim], returned where none of a hundred draws is finite.
        width: largest distance in every direction; points are uniform in this cube.
        log_density: maps a vector [dim] to nats.
    """

    def start(key: Array) -> np.ndarray:
        def points() -> Iterator[np.ndarray]:
            for attempt in range(_TRIES):
                own = jax.random.fold_in(key, attempt)
                yield np.asarray(
                    centre + jax.random.uniform(own, centre.shape, jnp.float64, minval=-width, maxval=width)
                )

        found = first_finite(log_density, points())
        return centre if found is None else found

    return start
