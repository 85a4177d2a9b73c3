"""Rejection: decisions, bounds, failures that are marked, conditioning on what is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.sampling.rejection import (
    Envelope,
    condition_by_rejection,
    rejection_draw,
    rejection_proposal,
    rejection_sample,
)

LOG_2 = float(np.log(2.0))


def triangle(log_bound=LOG_2):
    """Density 2 x on [0, 1] below twice the uniform one."""
    return Envelope(lambda x: jnp.log(2.0 * x), jax.random.uniform, lambda x: jnp.zeros_like(x), log_bound)


ENVELOPE = triangle()


def nothing():
    return Envelope(lambda x: jnp.asarray(-jnp.inf), jax.random.uniform, lambda x: jnp.zeros_like(x), 0.0)


@jax.jit
def propose(keys):
    return jax.vmap(lambda key: rejection_proposal(key, ENVELOPE))(keys)


def test_a_proposal_is_accepted_if_its_height_is_at_most_the_target():
    made = propose(jax.random.split(jax.random.key(1), 500))
    np.testing.assert_array_equal(made.accepted, made.log_height <= np.log(2.0 * made.position))
    np.testing.assert_allclose(made.log_ratio, np.log(made.position), rtol=1e-12)
    assert np.all(made.log_height <= np.log(2.0))
    assert 0 < int(made.accepted.sum()) < 500


def test_a_draw_is_the_first_accepted_of_its_proposals():
    keys = jax.random.split(jax.random.key(2), 25)
    drawn = jax.jit(jax.vmap(lambda key: rejection_draw(key, ENVELOPE)))(keys)
    tries = jax.vmap(lambda key: jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(20)))(keys)
    made = jax.jit(jax.vmap(propose))(tries)
    first = np.argmax(made.accepted, axis=1)
    rows = np.arange(25)
    np.testing.assert_array_equal(drawn.n_proposals, first + 1)
    np.testing.assert_array_equal(drawn.position, np.asarray(made.position)[rows, first])
    np.testing.assert_array_equal(drawn.log_height, np.asarray(made.log_height)[rows, first])
    largest = np.maximum.accumulate(made.log_ratio, axis=1)[rows, first]
    np.testing.assert_array_equal(drawn.largest_log_ratio, largest)


def test_adding_a_constant_to_target_and_bound_changes_nothing():
    key = jax.random.key(4)
    # A power of two, which rounds no log differently by more than its last digits.
    raised = Envelope(lambda x: jnp.log(2.0 * x) + 700.0, jax.random.uniform, lambda x: jnp.zeros_like(x),
                      float(np.log(2.0)) + 700.0)  # fmt: skip
    plain, shifted = (rejection_sample(key, envelope, 50) for envelope in (ENVELOPE, raised))
    np.testing.assert_array_equal(plain.position, shifted.position)


def test_a_loop_that_ends_without_acceptance_gives_no_number():
    drawn = rejection_sample(jax.random.key(0), nothing(), 3, max_proposals=7)
    assert not np.any(drawn.accepted)
    assert np.all(np.isnan(drawn.position))
    assert np.all(np.isnan(drawn.log_height))
    assert np.all(np.asarray(drawn.n_proposals) == 7)


def test_a_bound_that_does_not_hold_is_found_and_corrected_in_the_message():
    with pytest.raises(ValueError, match=r"log_bound: expected at least 0.69\d* at a proposal, got 0.5"):
        rejection_sample(jax.random.key(0), triangle(0.5), 1000)


def test_densities_that_are_not_numbers_are_rejected():
    bad = Envelope(
        lambda x: jnp.where(x > 0.5, jnp.nan, 0.0), jax.random.uniform, lambda x: jnp.zeros_like(x), 1.0
    )
    with pytest.raises(ValueError, match="must be numbers at every proposal, got NaN"):
        rejection_sample(jax.random.key(0), bad, 100)


def test_numbers_out_of_range_are_rejected():
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        rejection_sample(jax.random.key(0), triangle(), 0)
    with pytest.raises(ValueError, match="max_proposals must be a positive integer, got 0"):
        rejection_sample(jax.random.key(0), triangle(), 1, 0)
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        condition_by_rejection(jax.random.key(0), jax.random.uniform, lambda x: x > 0.5, 0)


def test_kept_draws_match_and_none_that_match_is_lost():
    key = jax.random.key(7)
    draw = lambda one: jax.random.uniform(one, (2,))
    found = condition_by_rejection(key, draw, lambda x: x[0] > x[1], 300)
    every = np.asarray(jax.vmap(draw)(jax.random.split(key, 300)))
    np.testing.assert_array_equal(found.draws, every[every[:, 0] > every[:, 1]])
    assert found.n_drawn == 300
