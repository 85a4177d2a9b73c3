"""Resampling: expected counts by exact enumeration, bounds of counts, absent particles, errors."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.sampling.resampling import (
    SCHEMES,
    residual_indices,
    sampling_importance_resampling,
)

N = 40
FRACTIONS = np.array([0.1, 0.02, 0.5, 0.08, 0.3, 0.0])
LOG_WEIGHTS = np.log(FRACTIONS, where=FRACTIONS > 0.0, out=np.full(6, -np.inf))
KEYS = jax.random.split(jax.random.key(1), 20)


@partial(jax.jit, static_argnames="scheme")
def many(scheme, log_weights):
    return jax.vmap(lambda key: SCHEMES[scheme](key, log_weights, N))(KEYS)


def counts(scheme, log_weights):
    """Counts of 20 repetitions [repetition, particle]."""
    indices = many(scheme, log_weights)
    assert indices.shape == (20, N)
    assert indices.dtype == jnp.int32
    return np.stack([np.bincount(row, minlength=6) for row in np.asarray(indices)])


@pytest.mark.parametrize(
    ("scheme", "below", "above"),
    [("multinomial", 40, 40), ("stratified", 2, 2), ("systematic", 1, 1), ("residual", 1, 40)],
)
def test_counts_sum_to_the_number_of_draws_and_stay_near_their_expectation(scheme, below, above):
    found = counts(scheme, LOG_WEIGHTS)
    assert found.shape == (20, 6)
    assert np.all(found.sum(axis=1) == N)
    excess = found - N * FRACTIONS
    assert np.all(excess > -below)
    assert np.all(excess < above)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_absent_particles_are_never_drawn(scheme):
    found = counts(scheme, np.array([-np.inf, 0.0, np.nan, -1.0, np.inf, -np.inf]))
    assert found[:, [0, 2, 4, 5]].sum() == 0
    assert np.all(found.sum(axis=1) == N)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_particle_with_all_the_weight_is_drawn_always(scheme):
    assert np.all(counts(scheme, np.array([-np.inf] * 4 + [-2000.0, -np.inf]))[:, 4] == N)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_without_any_weight_all_particles_count_alike(scheme):
    np.testing.assert_array_equal(counts(scheme, np.full(6, -np.inf)), counts(scheme, np.zeros(6)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_constant_added_to_log_weights_changes_nothing(scheme):
    for shift in (-1024.0, 512.0):
        np.testing.assert_array_equal(many(scheme, LOG_WEIGHTS + shift), many(scheme, LOG_WEIGHTS))


@pytest.mark.parametrize("scheme", ["residual", "stratified", "systematic"])
def test_equal_weights_are_drawn_once_each(scheme):
    # 49 times 1 / 49 is below 1 in floats.
    drawn = SCHEMES[scheme](KEYS[0], jnp.zeros(49), 49)
    np.testing.assert_array_equal(jnp.sort(drawn), np.arange(49))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_compiled_and_batched_draws_are_those_of_single_calls(scheme):
    alone = SCHEMES[scheme](KEYS[3], jnp.asarray(LOG_WEIGHTS), N)
    np.testing.assert_array_equal(alone, many(scheme, LOG_WEIGHTS)[3])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_single_precision_weights_are_accepted(scheme):
    assert np.all(counts(scheme, LOG_WEIGHTS.astype(np.float32)).sum(axis=1) == N)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shapes_and_numbers_out_of_range_are_rejected(scheme):
    with pytest.raises(ValueError, match=r"log_weights must be \[particle\], got shape \(2, 3\)"):
        SCHEMES[scheme](KEYS[0], jnp.zeros((2, 3)), 4)
    with pytest.raises(ValueError, match=r"must be \[particle\], got shape \(0,\)"):
        SCHEMES[scheme](KEYS[0], jnp.zeros(0), 4)
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        SCHEMES[scheme](KEYS[0], jnp.zeros(3), 0)


def test_resampled_points_are_those_of_their_indices():
    positions = jnp.arange(12.0).reshape(6, 2)
    drawn = sampling_importance_resampling(KEYS[0], positions, jnp.asarray(LOG_WEIGHTS), 7)
    np.testing.assert_array_equal(drawn.positions, positions[drawn.indices])
    assert drawn.positions.shape == (7, 2)


def test_points_and_weights_of_different_number_are_rejected():
    with pytest.raises(ValueError, match=r"positions must be \[6, \.\.\.\] as log_weights, got \(4, 2\)"):
        sampling_importance_resampling(KEYS[0], jnp.zeros((4, 2)), jnp.asarray(LOG_WEIGHTS), 7)


def test_a_particle_of_whole_expectation_is_drawn_that_often():
    log_weights = jnp.log(jnp.array([0.5, 0.3, 0.2])) - 40.0
    draw = jax.jit(jax.vmap(lambda key: residual_indices(key, log_weights, 4)))
    draws = np.asarray(draw(jax.random.split(jax.random.key(1), 60)))
    counts = np.stack([np.bincount(drawn, minlength=3) for drawn in draws])
    assert (counts[:, 0] == 2).all()
    assert (counts[:, 1] >= 1).all()
    # The fourth draw is of the second or the third particle.
    assert set(map(tuple, counts)) == {(2, 2, 0), (2, 1, 1)}
