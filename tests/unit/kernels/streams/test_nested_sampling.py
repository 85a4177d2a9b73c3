"""Nested sampling on models with known evidence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.diagnostics.dead_points import nested_evidence
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.models.regression.linear_regression import linear_regression
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence, tempered_posterior

MODEL = linear_regression(5)
DATA = rows("linear", 100)
EXACT = linear_log_evidence(DATA)


def log_likelihood(parameters):
    return jnp.sum(MODEL.log_likelihood(parameters, jnp.asarray(DATA)))


def side_by_side(settings, n_runs=4):
    """Runs with seeds 0, 1, ... [run]."""
    sampler = nested_sampling(log_likelihood, MODEL.log_prior, settings)
    draw = lambda seed: jax.vmap(MODEL.draw_prior)(jax.random.split(jax.random.key(seed), settings.n_live))
    one = lambda seed: sampler(jax.random.key(seed + 100), draw(seed))
    return jax.jit(jax.vmap(one))(jnp.arange(n_runs))


def run(settings):
    return jax.tree.map(lambda leaf: leaf[0], side_by_side(settings, 1))


def distance(runs, n_live):
    """Of the mean log evidence from the exact one, in standard errors sqrt(information / live points / runs)."""
    assert np.all(runs.finished)
    parts = zip(runs.n_iterations, runs.log_likelihoods, runs.live_log_likelihoods, strict=True)
    found = [nested_evidence(dead[: int(n)], n_live, live) for n, dead, live in parts]
    error = float(np.sqrt(np.mean([one.standard_error**2 for one in found]) / len(found)))
    assert 0.1 < error < 0.3
    return float(np.mean([one.value for one in found]) - EXACT) / error


@pytest.fixture(scope="module")
def four():
    return side_by_side(NestedSettings())


@pytest.fixture(scope="module")
def robust(four):
    return jax.tree.map(lambda leaf: leaf[0], four)


def test_the_evidence_of_a_linear_model_is_met(four):
    # Four standard errors are 0.8 nats.
    assert abs(distance(four, NestedSettings().n_live)) < 4.0


def test_dead_points_die_in_order_and_the_living_are_above_them(robust):
    n = int(robust.n_iterations)
    values = np.asarray(robust.log_likelihoods[:n])
    assert (np.diff(values) >= 0.0).all()
    assert (np.asarray(robust.live_log_likelihoods) >= values[-1]).all()
    np.testing.assert_allclose(jax.vmap(log_likelihood)(robust.dead[:n]), values, rtol=1e-12)
    assert int(robust.n_evaluations) >= 100 + n * 30


def test_posterior_moments_come_with_the_evidence(robust):
    n = int(robust.n_iterations)
    found = nested_evidence(robust.log_likelihoods[:n], 100, robust.live_log_likelihoods)
    mean = np.exp(found.log_weights) @ np.concatenate([robust.dead[:n], robust.live])
    exact, covariance = tempered_posterior(DATA, np.ones(100))
    # About 300 effective draws.
    assert np.abs((mean - exact) / np.sqrt(covariance.diagonal())).max() < 0.6


def test_the_published_rule_stops_too_early_with_many_live_points():
    # Near the peak a term is one part in 300 of the sum: below the fraction at which the rule stops.
    early = run(NestedSettings(n_live=300, n_moves=10, stopping_rule="additive_term"))
    value = nested_evidence(early.log_likelihoods[: int(early.n_iterations)], 300).value
    assert bool(early.finished)
    assert value < EXACT - 1.5


@pytest.mark.slow
def test_moves_without_an_accept_step_overestimate_the_evidence():
    settings = NestedSettings(metropolis=False, step=0.1)
    assert distance(side_by_side(settings), settings.n_live) > 4.0


def test_a_run_that_does_not_finish_says_so_and_still_points_are_counted():
    cut = run(NestedSettings(max_iterations=30, step=1e6, adapt=False))
    assert not bool(cut.finished)
    assert int(cut.n_iterations) == 30
    assert int(cut.n_stuck) > 20


@pytest.mark.parametrize("metropolis", [True, False])
def test_at_a_plane_contour_every_move_is_made_and_its_part_across_is_turned_round(metropolis):
    """Under a flat prior: a move ahead through the plane is followed by one back, both as far along the plane."""
    normal, along = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
    settings = NestedSettings(
        n_live=2, n_moves=1, step=1.0, adapt=False, metropolis=metropolis, max_iterations=1
    )
    run = nested_sampling(lambda x: jnp.sum(jnp.asarray(normal) * x), lambda x: 0.0 * jnp.sum(x), settings)

    def replica(key):
        draws = jax.random.normal(jax.random.fold_in(key, 0), (2, 2))
        found = run(jax.random.fold_in(key, 1), draws)
        return draws, found.live, found.n_stuck, found.log_likelihoods

    keys = jax.random.split(jax.random.key(3), 300)
    draws, live, n_stuck, thresholds = map(np.asarray, jax.jit(jax.vmap(replica))(keys))
    assert (n_stuck == 0).all()
    rows, worst = np.arange(300), np.argmin(draws @ normal, axis=1)
    start, end = draws[rows, 1 - worst], live[rows, worst]
    assert (end @ normal > thresholds[:, 0]).all()
    mirrored = np.abs((end - start) @ normal) < 1e-12
    assert 30 < mirrored.sum() < 270
    assert (np.abs((end - start) @ along)[mirrored] > 1e-6).all()
