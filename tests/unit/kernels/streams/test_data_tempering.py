"""Sequential Monte Carlo over growing data, on linear models with known evidence of every prefix."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.growing_data import GrowingDataSettings, chunk_boundaries, growing_data_evidence
from auxmc.models.regression.linear_regression import linear_regression
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence, standardised

MODEL = linear_regression(5)
DATA = rows("linear", 300)


def exact(data, boundaries):
    return np.array([linear_log_evidence(data[:n]) for n in boundaries])


def run(settings, dtype=jnp.float64):
    return jax.jit(growing_data_evidence(MODEL, settings))(jax.random.key(1), jnp.asarray(DATA, dtype))


@pytest.fixture(scope="module")
def default_run():
    return run(GrowingDataSettings(n_particles=400))


def test_the_evidence_of_every_prefix_is_met(default_run):
    record = default_run.record
    boundaries = chunk_boundaries(300, GrowingDataSettings())
    np.testing.assert_array_equal(record.n_rows, boundaries)
    errors = np.asarray(record.log_evidence) - exact(DATA, boundaries)
    # Over seeds the last error has a standard deviation of 0.5.
    assert np.abs(errors).max() < 3.0
    np.testing.assert_allclose(np.cumsum(record.log_predictive), record.log_evidence, rtol=1e-10)
    assert float(default_run.log_evidence) == float(record.log_evidence[-1])


def test_particles_follow_the_posterior(default_run):
    standard = standardised(default_run.particles, DATA)
    # 400 draws, moved three times since they were last drawn from one another.
    assert np.abs(standard.mean(axis=0)).max() < 0.4
    assert 0.6 < standard.var(axis=0).min() < standard.var(axis=0).max() < 1.5


def test_work_and_acceptance_are_recorded(default_run):
    record, settings = default_run.record, GrowingDataSettings()
    sizes = np.diff(record.n_rows, prepend=0)
    # The pilot does as much.
    n_steps = np.asarray(record.n_annealing_steps)
    np.testing.assert_array_equal(record.n_likelihood_rows, 2 * 400 * sizes * n_steps)
    per_row = 2 * 400 * (1 + settings.n_moves * settings.n_leapfrog)
    np.testing.assert_array_equal(record.n_gradient_rows, per_row * n_steps * np.asarray(record.n_rows))
    np.testing.assert_array_equal(record.n_moves, settings.n_moves * n_steps)
    # What the moves start from: half of the particles count, up to how the weights of the pilot differ.
    weight_sizes = np.asarray(record.weight_size)
    assert weight_sizes.min() > 0.4 * 400
    assert (np.asarray(record.acceptance) > 0.7).all()
    # Weights are even again after the last step of a chunk where particles were drawn again at it too.
    np.testing.assert_allclose(weight_sizes[np.asarray(record.n_resampled) == n_steps], 400.0)
    assert 0 < int(record.n_resampled.sum()) < n_steps.sum()
    assert int(record.n_not_finite.max()) == 0


@pytest.mark.slow
def test_particles_may_rest_while_their_weights_are_even(default_run):
    settings = GrowingDataSettings(n_particles=400, move_always=False, largest_chunk=1000)
    record = run(settings, jnp.float32).record
    moved = np.asarray(record.n_moves) > 0
    np.testing.assert_array_equal(moved, np.asarray(record.n_resampled) > 0)
    assert moved.sum() < len(moved)
    assert int(record.n_gradient_rows.sum()) < int(default_run.record.n_gradient_rows.sum())
    assert (np.asarray(record.n_gradient_rows)[~moved] == 0).all()
    assert abs(float(record.log_evidence[-1]) - exact(DATA, (300,))[0]) < 3.0


@pytest.mark.slow
def test_inputs_on_scales_far_from_one_keep_the_evidence():
    """The first row narrows the posterior by a thousand: taken whole, it left one particle and errors of 1e5 nats."""
    scaled = np.random.default_rng(0).normal(size=(60, 3)) * np.array([1e-3, 1.0, 1e3])
    response = scaled @ np.array([0.5, -1.0, 0.7]) + np.random.default_rng(1).normal(size=60)
    data = jnp.asarray(np.column_stack([scaled, response]))
    settings = GrowingDataSettings(n_particles=200)
    evidence = jax.jit(jax.vmap(lambda key: growing_data_evidence(linear_regression(3), settings)(key, data)))
    found = evidence(jax.random.split(jax.random.key(2), 3))
    # Over seeds one run has a standard deviation near 0.4.
    np.testing.assert_allclose(found.log_evidence, exact(np.asarray(data), (60,))[0], atol=2.0)
    assert int(found.record.n_annealing_steps[:, 0].min()) > 5


def test_rows_that_no_particle_explains_come_in_at_once():
    model = MODEL._replace(log_likelihood=lambda p, rows: jnp.full(rows.shape[0], -jnp.inf))
    settings = GrowingDataSettings(n_particles=4, n_moves=1, n_leapfrog=1)
    found = jax.jit(growing_data_evidence(model, settings))(jax.random.key(1), jnp.asarray(DATA[:3]))
    assert found.log_evidence == -jnp.inf
    assert (np.asarray(found.record.n_annealing_steps) == 1).all()


def test_chunks_cover_all_rows_once():
    for n_rows, changes in product((1, 7, 500, 12_345), ({}, {"first_chunk": 500}, {"growth": 0.0})):
        boundaries = chunk_boundaries(n_rows, GrowingDataSettings(**changes))
        sizes = np.diff(boundaries, prepend=0)
        assert boundaries[-1] == n_rows
        assert (sizes >= 1).all()
        assert sizes.max() <= 500
