"""Moves of nested sampling that meet the contour are mirrored there, which keeps their energy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling

NORMAL = np.array([0.6, 0.8])
ALONG = np.array([-0.8, 0.6])


@pytest.mark.parametrize("metropolis", [True, False])
def test_at_a_plane_contour_every_move_is_made_and_its_part_across_is_turned_round(metropolis: bool) -> None:
    """Under a flat prior: a move ahead through the plane is followed by one back, both as far along the plane."""
    settings = NestedSettings(
        n_live=2, n_moves=1, step=1.0, adapt=False, metropolis=metropolis, max_iterations=1
    )
    run = nested_sampling(lambda x: jnp.sum(jnp.asarray(NORMAL) * x), lambda x: 0.0 * jnp.sum(x), settings)

    def replica(key: Array) -> tuple[Array, ...]:
        draws = jax.random.normal(jax.random.fold_in(key, 0), (2, 2))
        found = run(jax.random.fold_in(key, 1), draws)
        return draws, found.live, found.n_stuck, found.log_likelihoods

    keys = jax.random.split(jax.random.key(3), 300)
    draws, live, n_stuck, thresholds = map(np.asarray, jax.jit(jax.vmap(replica))(keys))
    assert (n_stuck == 0).all()
    rows, worst = np.arange(300), np.argmin(draws @ NORMAL, axis=1)
    start, end = draws[rows, 1 - worst], live[rows, worst]
    assert (end @ NORMAL > thresholds[:, 0]).all()
    mirrored = np.abs((end - start) @ NORMAL) < 1e-12
    assert 30 < mirrored.sum() < 270
    assert (np.abs((end - start) @ ALONG)[mirrored] > 1e-6).all()
