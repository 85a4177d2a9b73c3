"""Starts of chains that differ, for models on unconstrained variables."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.checks.densities import first_finite

_TRIES = 100


def spread_around(
    centre: np.ndarray, width: float, log_density: Callable[[Array], Array]
) -> Callable[[Array], np.ndarray]:
    """Maps a key to a point [dim] where a log density and its gradient are finite; the centre where none is found.

    Points are uniform in the cube around the centre with half the side `width`.
    """

    def start(key: Array) -> np.ndarray:
        keys = (jax.random.fold_in(key, attempt) for attempt in range(_TRIES))
        draw = partial(jax.random.uniform, minval=-width, maxval=width)
        points = (centre + draw(own, centre.shape, jnp.float64) for own in keys)
        found = first_finite(log_density, map(np.asarray, points))
        return centre if found is None else found

    return start
