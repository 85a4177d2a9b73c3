"""Replacements in nested sampling start at survivors: where nothing can move, copies of them are what is left."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling

N_LIVE = 6


@pytest.mark.parametrize("metropolis", [True, False])
def test_points_that_cannot_move_are_copies_of_survivors(metropolis: bool) -> None:
    """Steps too short for floating point: the deleted point is gone, and a survivor takes its place."""
    settings = NestedSettings(
        n_live=N_LIVE, n_moves=3, step=1e-300, adapt=False, metropolis=metropolis, max_iterations=1
    )
    run = jax.jit(nested_sampling(lambda x: x[0], lambda x: -0.5 * jnp.sum(x**2), settings))
    for seed in range(20):
        draws = jax.random.normal(jax.random.key(seed), (N_LIVE, 2))
        found = run(jax.random.key(seed + 100), draws)
        values = np.sort(np.asarray(draws)[:, 0])
        assert float(found.log_likelihoods[0]) == values[0]
        assert int(found.n_stuck) == 0
        alive = np.asarray(found.live_log_likelihoods)
        assert (alive > values[0]).all()
        assert set(alive) == set(values[1:])
