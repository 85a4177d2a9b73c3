"""What nested sampling puts in the place of a deleted point has the distribution of the prior above the contour."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr

from auxmc.diagnostics.nested_evidence import nested_evidence
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from tests.statistical.levels import (
    assert_at_least,
    assert_bounded_mean,
    assert_independent,
    assert_uniform,
    key_for,
)

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
    uniforms = np.column_stack([inside, ndtr(along)])
    assert_independent(uniforms, f"{shape}, across and along", detects_mean=0.04)
    moved = np.any(new != draws[rows, 1 - worst], axis=1)
    assert_at_least(moved, 0.9, label=f"{shape}, moves")


@pytest.mark.slow
def test_nested_sampling_is_calibrated_and_says_how_far_off_it_is() -> None:
    """Weights below the truth are uniform; errors of the log evidence in standard errors are seldom above two."""
    n_runs, n_live = 2_000, 100
    settings = NestedSettings(n_live=n_live, n_moves=20, step=0.05, max_iterations=1500)
    log_normal = lambda x: -0.5 * jnp.sum(jnp.square(x))

    def one(key: Array) -> Any:
        keys = jax.random.split(key, 4)
        truth = jax.random.normal(keys[0], (1,))
        y = truth + 0.5 * jax.random.normal(keys[1], (1,))
        sampler = nested_sampling(lambda x: log_normal((y - x) / 0.5), log_normal, settings)
        return truth[0], y[0], sampler(keys[2], jax.random.normal(keys[3], (n_live, 1)))

    keys = jax.random.split(key_for("calibration/nested"), n_runs)
    truths, data, runs = jax.tree.map(
        np.asarray, jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=100))(keys)
    )
    assert runs.finished.all()
    below, scores = np.empty(n_runs), np.empty(n_runs)
    for i in range(n_runs):
        n = int(runs.n_iterations[i])
        found = nested_evidence(runs.log_likelihoods[i, :n], n_live, runs.live_log_likelihoods[i])
        points = np.concatenate([runs.dead[i, :n, 0], runs.live[i, :, 0]])
        below[i] = np.exp(found.log_weights) @ (points < truths[i])
        exact = -0.5 * np.log(1.25) - 0.5 * float(data[i]) ** 2 / 1.25 + np.log(0.5)
        scores[i] = (found.value - exact) / found.standard_error
    assert_uniform(np.clip(below, 0.0, 1.0), detects=0.11, label="weight below the truth")
    # A normal score is above two with probability 0.046, and one whose variance is 1.4 with 0.091.
    assert_bounded_mean(np.abs(scores) > 2.0, 0.0, 1.0, 0.0455, detects=0.12, label="scores above two")
    assert 0.7 < scores.var() < 1.4
