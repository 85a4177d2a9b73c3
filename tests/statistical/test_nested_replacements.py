"""What nested sampling puts in the place of a deleted point has the distribution of the prior above the contour."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr

from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from tests.statistical.levels import assert_at_least, assert_standard_mean, assert_uniform, key_for, legendre

N = 60_000


def one_replacement(name: str, log_likelihood: Any, settings: NestedSettings) -> tuple[Any, np.ndarray]:
    """Runs with one dead point each, from exact draws of a standard normal prior in the plane, and those draws."""
    run = nested_sampling(log_likelihood, lambda x: -0.5 * jnp.sum(jnp.square(x)), settings)

    def replica(key: Array) -> tuple[Any, Array]:
        draws = jax.random.normal(jax.random.fold_in(key, 0), (settings.n_live, 2))
        return run(jax.random.fold_in(key, 1), draws), draws

    found, draws = jax.jit(jax.vmap(replica))(jax.random.split(key_for(name), N))
    return jax.tree.map(np.asarray, found), np.asarray(draws)


def test_survivors_are_drawn_uniformly() -> None:
    """Points that do not move are copies: of which survivor, counted from the deleted one, is uniform."""
    n_live = 6
    settings = NestedSettings(n_live=n_live, n_moves=1, step=1e-300, adapt=False, max_iterations=1)
    found, draws = one_replacement("nested/survivors", lambda x: x[0], settings)
    rows = np.arange(N)
    worst = np.argmin(draws[:, :, 0], axis=1)
    new = found.live[rows, worst]
    source = np.argmax(np.all(draws == new[:, None, :], axis=2), axis=1)
    place = (source - worst) % n_live - 1
    fresh = np.asarray(jax.random.uniform(key_for("nested/survivors/fresh"), (N,)))
    assert_uniform((place + fresh) / (n_live - 1), label="survivor")


@pytest.mark.parametrize("shape", ["half plane", "band"])
def test_replacements_have_the_distribution_of_the_prior_above_the_contour(shape: str) -> None:
    """Two live points: the threshold is high, so that moves meet the contour often.

    The half plane is x_1 + x_2 / 2 above a value; the band holds that sum between two values of the same size.
    """
    normal = jnp.array([1.0, 0.5]) / jnp.sqrt(1.25)

    def log_likelihood(x: Array) -> Array:
        across = jnp.sum(normal * x)
        return across if shape == "half plane" else -0.5 * jnp.square(across)

    settings = NestedSettings(n_live=2, n_moves=4, step=0.5, friction=0.3, adapt=False, max_iterations=1)
    found, draws = one_replacement(f"nested/{shape}", log_likelihood, settings)
    start = np.asarray(draws) @ np.asarray(normal)
    values = start if shape == "half plane" else -0.5 * start**2
    worst = np.argmin(values, axis=1)
    rows = np.arange(N)
    edge, new = start[rows, worst], found.live[rows, worst]
    across, along = new @ np.asarray(normal), new @ np.array([-0.5, 1.0]) / np.sqrt(1.25)
    if shape == "half plane":
        low, high = np.asarray(ndtr(edge)), np.ones(N)
    else:
        low, high = np.asarray(ndtr(-np.abs(edge))), np.asarray(ndtr(np.abs(edge)))
    inside = (np.asarray(ndtr(across)) - low) / (high - low)
    place = np.asarray(ndtr(along))
    assert_uniform(inside, label=f"{shape}, across")
    assert_uniform(place, label=f"{shape}, along")
    assert_standard_mean(legendre(inside), detects=0.04, label=f"{shape}, across, Legendre")
    assert_standard_mean(legendre(place), detects=0.04, label=f"{shape}, along, Legendre")
    moved = np.any(new != draws[rows, 1 - worst], axis=1)
    assert_at_least(moved, 0.9, label=f"{shape}, moves")
