"""Nested sampling chunk by chunk, and the weighted reservoirs between chunks."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.diagnostics.dead_points import nested_evidence
from auxmc.driver.row_chunks import ChunkSizes
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams.nested_sampling import NestedSettings, nested_sampling
from auxmc.kernels.streams.nested_updating import UpdatingSettings, nested_updating
from auxmc.kernels.streams.weighted_reservoir import weighted_reservoirs
from auxmc.models.regression.linear_regression import linear_regression
from tests.exact_posteriors import linear_log_evidence, standardised

MODEL = linear_regression(2)
DATA = np.random.default_rng(8).normal(size=(500, 3)) @ np.array([[1, 0, 0.8], [0, 1, -0.5], [0, 0, 1.0]])
RUN_KEY = jax.random.key(3)
SETTINGS = UpdatingSettings(n_live=40, max_iterations=800)


def run(settings, data, sizes):
    read = lambda n, checksum: iter([data[n:]])
    options = {"chunk_sizes": ChunkSizes(sizes, 100), "dtype": jnp.float64}
    return run_stream(nested_updating(MODEL, settings), read, RUN_KEY, 3, **options)


@pytest.fixture(scope="module")
def updated():
    return run(SETTINGS, DATA, (60, 40))


def test_the_evidence_of_every_prefix_is_met(updated):
    record = updated.record
    errors = record["log_evidence"] - [linear_log_evidence(DATA[:n]) for n in record["n_rows"]]
    deviations = np.sqrt(np.cumsum(record["variance"]))
    assert (deviations < 0.8).all()
    # Six standard deviations, and a nat for live points that are not quite draws of the posterior.
    assert (np.abs(errors) < 6.0 * deviations + 1.0).all()
    np.testing.assert_allclose(np.cumsum(record["log_predictive"]), record["log_evidence"], rtol=1e-12)
    assert record["n_unfinished"].sum() == record["n_not_finite"].sum() == 0


def test_every_lost_point_is_counted():
    lost = run(SETTINGS._replace(learning_rate=1e300, first_step=1e-3), DATA[:60], (60,))
    assert lost.record["n_not_finite"].tolist() == [40]


def test_live_points_follow_the_posterior(updated):
    standard = standardised(updated.state.particles, DATA)
    assert len(np.unique(np.asarray(updated.state.particles), axis=0)) == 40
    # Forty draws; gradients from batches widen them by a quarter.
    assert np.abs(standard.mean(axis=0)).max() < 1.2
    assert 0.3 < standard.var(axis=0).mean() < 2.5
    np.testing.assert_array_equal(updated.state.log_weights, updated.record["log_evidence"][-1])


def test_later_chunks_need_fewer_dead_points_than_the_first(updated):
    record = updated.record
    n_dead, n_moves = record["n_annealing_steps"].astype(int), SETTINGS.n_moves
    assert (n_dead[1:] < n_dead[0]).all()
    sizes = np.diff(record["n_rows"], prepend=0)
    # Each move evaluates the chunk at least once, each live point and each free particle once.
    assert (record["n_likelihood_rows"] >= sizes * (n_dead * n_moves + 2 * 40)).all()
    n_batch = np.where(record["n_rows"] > 60, 500, 0)
    n_gradients = n_dead * n_moves * n_batch + SETTINGS.n_free_moves * 40 * (sizes + n_batch)
    np.testing.assert_array_equal(record["n_gradient_rows"], n_gradients)


def test_the_first_chunk_is_a_run_of_nested_sampling(updated):
    # The same program by hand, without rows that only fill up the chunk, its sum by the other implementation.
    # Sums in another order differ in their last digit, which ten thousand moves amplify to the seventh.
    log_likelihood = lambda point: jnp.sum(MODEL.log_likelihood(point, jnp.asarray(DATA[:60])))
    settings = NestedSettings(
        n_live=40, n_moves=20, step=1e-3, friction=0.1, metropolis=False, max_iterations=800
    )
    draws = nested_updating(MODEL, SETTINGS).init(jax.random.fold_in(RUN_KEY, 0), jnp.float64).particles
    chunk_key = jax.random.fold_in(jax.random.fold_in(RUN_KEY, 1), 0)
    nested = jax.jit(nested_sampling(log_likelihood, MODEL.log_prior, settings))
    run = nested(jax.random.split(chunk_key, 4)[1], draws)
    n = int(run.n_iterations)
    found = nested_evidence(run.log_likelihoods[:n], 40, run.live_log_likelihoods)
    record = {name: values[0] for name, values in updated.record.items()}
    assert record["n_annealing_steps"] == n
    assert record["log_evidence"] == pytest.approx(found.value, abs=1e-3)
    assert math.sqrt(record["variance"]) == pytest.approx(found.standard_error, abs=1e-3)


def test_a_reservoir_does_not_depend_on_what_comes_later():
    log_weights = jnp.asarray(np.random.default_rng(1).normal(size=30))
    # Items without weight are passed over.
    cut = jnp.where(jnp.arange(30) < 12, log_weights, -jnp.inf)
    draw = jax.jit(weighted_reservoirs, static_argnums=2)
    key = jax.random.key(4)
    np.testing.assert_array_equal(draw(key, cut, 50), draw(key, log_weights[:12], 50))
