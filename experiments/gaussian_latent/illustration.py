"""Figure 3.2: one update of reflective slice sampling in the unit square."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import stream
from auxmc.kernels.slices.reflective_slice import reflect, reflective_slice

_TRIES = 5000
_GRID_SIDE = 61
_PATH_POINTS = 401


def reflective_update(context: RunContext) -> xr.Dataset:
    """One reflective slice update with a rejected proposal, an accepted one and a line that meets the walls."""
    kernel = reflective_slice(_square_log_density, 2)
    current = np.array([0.42, 0.22])
    state = kernel.init(jnp.asarray(current), key=jax.random.key(0))
    keys = jax.random.split(stream(context.seed, context.study, "illustration"), _TRIES)
    noises = jax.vmap(kernel.draw)(keys)
    new, info = jax.jit(jax.vmap(lambda noise: kernel.apply(noise, state)))(noises)
    lower = -np.asarray(noises.bracket_uniform)
    rejected = lower + np.asarray(noises.offset_uniform)
    direction = np.asarray(noises.direction)
    ends = current + np.stack([lower, lower + 1.0])[:, :, None] * direction
    n_outside = ((ends < 0.0) | (ends > 1.0)).sum(axis=(0, 2))
    height = np.asarray(info.log_height)
    level = float(state.log_density)
    apart = np.abs(np.asarray(info.offset) - rejected) * np.linalg.norm(direction, axis=1)
    reached = current + np.asarray(info.offset)[:, None] * direction
    past_wall = ((reached < -0.15) | (reached > 1.15)).any(axis=1)
    good = (np.asarray(info.n_evaluations) == 2) & past_wall & (n_outside >= 2) & (apart > 0.3)
    good &= (
        (np.linalg.norm(ends[1] - ends[0], axis=-1) < 2.2) & (height > level - 2.5) & (height < level - 0.5)
    )
    chosen = int(np.argmax(good))
    offsets = np.linspace(lower[chosen], lower[chosen] + 1.0, _PATH_POINTS)
    path = np.asarray(reflect(jnp.asarray(current + offsets[:, None] * direction[chosen])))
    proposed = np.asarray(reflect(jnp.asarray(current + rejected[chosen] * direction[chosen])))
    marks = np.stack([current, proposed, np.asarray(new.position)[chosen]])
    side = np.linspace(0.0, 1.0, _GRID_SIDE)
    grid = jnp.asarray(np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1))
    on_slice = jax.vmap(jax.vmap(_square_log_density))(grid) - height[chosen]
    return xr.Dataset(
        {
            "reflective_log_density_above_slice": (
                ("grid_1", "grid_2"),
                np.asarray(on_slice),
                {"units": "nats"},
            ),
            "reflective_path_1": (("offset",), path[:, 0]),
            "reflective_path_2": (("offset",), path[:, 1]),
            "reflective_mark_1": (("mark",), marks[:, 0]),
            "reflective_mark_2": (("mark",), marks[:, 1]),
        },
        coords={
            "grid_1": side,
            "grid_2": side,
            "offset": offsets,
            "mark": ["current", "rejected", "accepted"],
        },
    )


def _square_log_density(point: Array) -> Array:
    """Test density on the unit square, with a ridge that runs into the walls; not normalised, in nats."""
    return 2.0 * jnp.cos(math.pi * point[0]) + 2.5 * jnp.cos(math.pi * (point[0] - point[1]))
