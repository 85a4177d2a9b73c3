"""Stochastic-gradient dynamics and the estimators of a stream's evidence."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.streams.contract import Chunk, ChunkRecord, PastRows, Stream, StreamSettings, Target
from auxmc.kernels.streams.gradient_noise import evidence_loss_per_row, particle_variance_ratio
from auxmc.kernels.streams.published_estimators import bias_per_row, particle_evidence
from auxmc.kernels.streams.replicates import replicated
from auxmc.kernels.streams.stochastic_gradient import injected_noise, sghmc_step, sgld_step, sgnht_step
from auxmc.kernels.streams.stochastic_gradient_chain import ChainState, stochastic_gradient_chain
from auxmc.kernels.streams.stochastic_gradient_moves import (
    no_anchors,
    renewed_anchors,
    stochastic_gradient_moves,
)
from auxmc.models.regression.linear_regression import linear_regression
from experiments.streaming_evidence.model import rows
from tests.exact_posteriors import linear_log_evidence, standardised, tempered_posterior
from tests.unit.kernels.toys import chain

MODEL = linear_regression(5)
DATA = rows("linear", 5000)
EXACT = linear_log_evidence(DATA)
NO_PAST = PastRows(jnp.zeros((1, 6)), jnp.zeros((), jnp.int32))


# --- dynamics ------------------------------------------------------------------------------------------


def test_full_friction_is_first_order_dynamics():
    position, gradient, normal = (jnp.asarray(np.random.default_rng(i).normal(size=4)) for i in range(3))
    full, _ = sghmc_step(position, 7.0 + position, gradient, normal, 0.03, 1.0, 2.0)
    np.testing.assert_allclose(full, sgld_step(position, gradient, normal, 0.03, 2.0), rtol=0.0, atol=1e-15)


def test_more_gradient_noise_than_friction_is_no_number():
    """Where no added noise can make the distribution right, the particle is lost and counted, not clipped."""
    assert float(injected_noise(0.2, 0.1, 2.0)) == 0.0
    assert np.isnan(float(injected_noise(0.2, 0.1, 2.1)))
    step = sghmc_step(jnp.ones(2), jnp.zeros(2), jnp.zeros(2), jnp.ones(2), 0.1, 0.2, 2.1)
    assert np.isnan(step[0]).all()


@pytest.mark.parametrize(("dynamics", "low", "high"), [("sghmc", 2.4, 4.5), ("nose_hoover", 0.7, 1.4)])
def test_a_thermostat_keeps_particles_as_wide_as_the_posterior(dynamics, low, high):
    """Where the noise of gradients makes the variance 1 + lr n / (2 alpha B) = 3.5 times as large."""
    settings = StreamSettings(n_moves=200, batch_size=100, learning_rate=0.02, dynamics=dynamics)
    mean, covariance = tempered_posterior(DATA, np.ones(len(DATA)))
    draws = mean + np.random.default_rng(3).standard_normal((60, 6)) @ np.linalg.cholesky(covariance).T
    past = PastRows(jnp.asarray(DATA), jnp.int32(5000))
    target = Target(whole(jnp.asarray(DATA[:100])), jnp.ones(()), past, jnp.int64(4900))
    moved = jax.jit(stochastic_gradient_moves(MODEL, settings))(jax.random.key(4), jnp.asarray(draws), target)
    assert low < np.mean(np.square(standardised(moved, DATA))) < high


# --- evidence ------------------------------------------------------------------------------------------


def whole(rows):
    return Chunk(rows, jnp.full((), rows.shape[0], jnp.int32))


def absorb_all(stream, data, start):
    """Absorbs rows in chunks of 500; the rows before a chunk are its past."""
    everything = jnp.asarray(data, start.particles.dtype)

    def one(state, number):
        chunk = jax.lax.dynamic_slice_in_dim(everything, number * 500, 500)
        past = PastRows(everything, (number * 500).astype(jnp.int32))
        return stream.absorb(jax.random.fold_in(jax.random.key(1), number), state, whole(chunk), past)

    numbers = jnp.arange(len(data) // 500)
    return jax.jit(lambda s: jax.lax.scan(one, s, numbers))(start)


@pytest.fixture(scope="module")
def default_run():
    stream = particle_evidence(MODEL)
    return absorb_all(stream, DATA, stream.init(jax.random.key(2), jnp.float32))


def test_published_settings_come_near_the_exact_evidence(default_run):
    state, record = default_run
    assert state.particles.dtype == jnp.float32
    assert state.log_weights.dtype == jnp.float64
    assert int(record.n_rows[-1]) == 5000
    # The published estimator starts some tens of nats low and stays there.
    assert -120.0 < float(record.log_evidence[-1]) - EXACT < 0.0
    assert int(record.n_annealing_steps[0]) > 5
    assert float(record.smallest_size.min()) > 4.999
    assert int(record.n_unfinished.sum()) == 0
    assert int(record.n_not_finite[-1]) == 0


def test_the_sequential_estimator_scores_chunks_before_it_sees_them():
    stream = particle_evidence(MODEL, StreamSettings(estimator="sequential"))
    start = stream.init(jax.random.key(2), jnp.float64)
    _, record = stream.absorb(jax.random.key(1), start, whole(jnp.asarray(DATA[:20])), NO_PAST)
    scores = jax.vmap(lambda p: jnp.sum(MODEL.log_likelihood(p, jnp.asarray(DATA[:20]))))(start.particles)
    expected = float(jax.nn.logsumexp(scores)) - math.log(10)
    assert float(record.log_evidence) == pytest.approx(expected, rel=1e-12)
    assert int(record.n_annealing_steps) == 1


def test_rows_that_only_fill_up_a_chunk_do_not_count():
    stream = particle_evidence(MODEL)
    start = stream.init(jax.random.key(2), jnp.float64)
    absorb = jax.jit(stream.absorb)
    found = []
    for filling in (np.zeros((30, 6)), np.full((30, 6), 1e3)):
        rows_and_filling = jnp.asarray(np.concatenate([DATA[:20], filling]))
        chunk = Chunk(rows_and_filling, jnp.full((), 20, jnp.int32))
        found.append(absorb(jax.random.key(1), start, chunk, NO_PAST))
    jax.tree.map(np.testing.assert_array_equal, *found)
    assert int(found[0][0].n_rows) == 20


def test_lost_particles_are_counted_and_do_not_spoil_the_estimate():
    stream = particle_evidence(MODEL)
    start = stream.init(jax.random.key(2), jnp.float32)
    broken = start._replace(particles=start.particles.at[0, 0].set(jnp.nan))
    _, record = absorb_all(stream, DATA[:1000], broken)
    assert int(record.n_not_finite[-1]) == 1
    assert math.isfinite(float(record.log_evidence[-1]))


def test_anchors_add_up_the_gradients_of_chunks_and_follow_the_particles_when_rows_have_doubled():
    data = jnp.asarray(DATA[:60])
    first = jnp.zeros((2, 6))
    anchors = no_anchors(first)
    for begin, end, particles in ((0, 20, first + 0.1), (20, 30, first + 0.2), (30, 60, first + 0.3)):
        chunk, past = whole(data[begin:end]), PastRows(data, jnp.int32(begin))
        anchors = renewed_anchors(MODEL, anchors, particles, chunk, past, jnp.int64(begin))
        # 20 rows: renewed at the first chunk; 30: kept; 60: renewed.
        where = first + (0.3 if end == 60 else 0.1)
        np.testing.assert_allclose(anchors.points, where)
        expected = jax.vmap(lambda p, n=end: MODEL.weighted_gradient(p, data[:n], jnp.ones(n)))(where)
        np.testing.assert_allclose(anchors.gradients, expected, rtol=1e-11)


def test_resampled_particles_fraction_the_mean_of_the_weights():
    """Without moves, so that nothing forgets which particles were drawn."""
    settings = StreamSettings(n_particles=8, target_size=1.0, resampling="always")
    stream = particle_evidence(linear_regression(1), settings, lambda key, particles, target: particles)
    data = jnp.asarray(np.random.default_rng(5).normal(size=(6, 2)))
    state, log_evidence = stream.init(jax.random.key(3), jnp.float64), 0.0
    for begin in (0, 3):
        before = np.asarray(state.particles)
        chunk, past = whole(data[begin : begin + 3]), PastRows(data, jnp.int32(begin))
        state, record = stream.absorb(jax.random.key(begin), state, chunk, past)
        design = np.column_stack([np.asarray(chunk.rows)[:, 0], np.ones(3)])
        residuals = np.asarray(chunk.rows)[:, 1] - before @ design.T
        likelihoods = np.exp(-0.5 * np.sum(residuals**2, axis=1)) / (2.0 * np.pi) ** 1.5
        log_evidence += np.log(likelihoods.mean())
        assert float(record.log_evidence) == pytest.approx(log_evidence, rel=1e-10)
        np.testing.assert_allclose(state.log_weights, log_evidence, rtol=1e-10)
        # Copies of a particle stand side by side and share their part of the weights.
        places, copies = np.unique(before, axis=0, return_inverse=True)
        expected = 8.0 * np.bincount(copies.ravel(), likelihoods) / likelihoods.sum()
        counts = (np.asarray(state.particles)[:, None] == places).all(axis=2).sum(axis=0)
        assert counts.sum() == 8
        assert (np.abs(counts - expected) < 1.0).all()


def test_the_published_settings_fall_short_by_the_known_amount():
    data, noise_scale = DATA[:500], 0.5
    model, key = linear_regression(5, noise_scale), jax.random.key(1)
    trace = np.sum(np.column_stack([data[:, :-1], np.ones(500)]) ** 2) / 500 / noise_scale**2
    found = bias_per_row(model, StreamSettings(), data, key)
    assert found == pytest.approx(0.1 * trace / (4.0 * 0.2 * 500))
    others = {"resampling": "always", "control_variates": True, "cooling_rows": 9, "estimator": "sequential"}
    for name, value in others.items():
        assert bias_per_row(model, StreamSettings(**{name: value}), data, key) is None


CURVATURES = jnp.array([1.0, 4.0])


def test_chains_that_leave_the_finite_numbers_are_counted():
    """On a quadratic, with a noise that is added to the gradient."""
    draw = lambda key: 3.0 * jax.random.normal(key, (2,))
    kernel = stochastic_gradient_chain(lambda x, noise: CURVATURES * x + noise, draw, 4.0, 0.2, 2)
    start = ChainState(jnp.array([1.0, -2.0]), jnp.array([0.3, 0.1]))
    keys = jax.random.split(jax.random.key(2), 2000)
    _, (_, infos) = jax.jit(lambda state: chain(kernel, state, keys))(start)
    # Sixteen is past the bound of stability, 2 (2 - alpha), so that the numbers grow until they overflow.
    assert int(infos.n_not_finite[0]) == 0
    assert int(infos.n_not_finite[-1]) == 1


def test_predicted_loss_is_a_thousandth_of_the_log_evidence():
    assert evidence_loss_per_row(0.1, 500, 0.2, 6.0) == pytest.approx(-1.5e-3 / (1.0 - 0.1 / 3.6))
    assert evidence_loss_per_row(1.0, 500, 0.2, 6.0) == pytest.approx(-0.0208, rel=2e-3)


def test_particles_are_twice_as_wide_where_noise_and_posterior_are_of_one_size():
    assert particle_variance_ratio(0.1, 500, 0.2, 0.0) == 1.0
    assert particle_variance_ratio(0.1, 500, 0.2, 2000.0) == pytest.approx(2.0)


# Step, friction, and standard deviation of the gradient: a friction of 0.3 balances its noise.
NOISY = (0.02, 0.1, math.sqrt(20.0))


def thermal_widths(rate, step_of=sgnht_step):
    """Variances of 500 particles over those of the posterior [coordinate], and mean friction."""
    step, friction, sd = NOISY

    def one(state, key):
        slope, normal = jax.random.normal(key, (2, *state[0].shape))
        state = step_of(*state, CURVATURES[None] * state[0] + sd * slope, normal, step, friction, rate)
        return state, (jnp.mean(jnp.square(state[0]), 0), jnp.mean(state[2]))

    begin = (jnp.ones((500, 2)), jnp.zeros((500, 2)), jnp.full(500, friction))
    keys = jax.random.split(jax.random.key(5), 2000)
    variance, alpha = (found[500:].mean(axis=0) for found in jax.lax.scan(one, begin, keys)[1])
    return np.asarray(variance * CURVATURES), float(alpha)


def test_a_thermostat_removes_the_noise_of_gradients_that_friction_leaves():
    """Within 3 % of the width of the posterior, where SGHMC has three times its variance."""
    widths, friction = thermal_widths(0.01)
    np.testing.assert_allclose(widths, 1.0, atol=0.03)
    assert friction == pytest.approx(0.3, abs=0.015)
    # Broken twins: a thermostat that stands still, and one that compares with velocities of no friction.
    still, _ = thermal_widths(0.0)
    assert np.all(still > 2.5)

    def uncorrected(position, velocity, thermostat, *given):
        moved, fast, _ = sgnht_step(position, velocity, thermostat, *given)
        return moved, fast, thermostat + given[-1] * (jnp.mean(fast**2, axis=-1) / given[2] - 1.0)

    assert np.all(thermal_widths(0.01, step_of=uncorrected)[0] < 0.9)


def test_a_thermostat_that_stands_still_is_the_published_step():
    dtype = jnp.float32
    x, v, slope, normal = jax.random.normal(jax.random.key(3), (4, 3, 2), dtype)
    found = sgnht_step(x, v, jnp.full(3, 0.2, dtype), slope, normal, 0.1, 0.2, 0.0)
    for own, other in zip(found[:2], sghmc_step(x, v, slope, normal, 0.1, 0.2), strict=True):
        np.testing.assert_array_equal(own, other)
        assert own.dtype == dtype
    hot = sgnht_step(x, 100.0 * v, found[2], slope, normal, 0.1, 0.2, 0.1)
    np.testing.assert_array_equal(hot[2], jnp.ones(3, dtype))


def absorbed(record, n_halved=0, n_chunks=1):
    """Random numbers of four replicates, and records of their chunks, which are made of these numbers."""
    draw = lambda key, dtype: jax.random.uniform(key, dtype=jnp.float64)
    stream = Stream(draw, lambda key, number, chunk, past: (number, record(number)))
    stream = replicated(stream, 4, n_halved)
    state, records = stream.init(jax.random.key(0), jnp.float64), []
    for _ in range(n_chunks):
        state, found = stream.absorb(jax.random.key(1), state, whole(jnp.zeros((1, 6))), NO_PAST)
        records.append(found)
    return np.asarray(state.inner), records


def test_the_record_has_the_least_sizes_the_mean_work_and_all_losses():
    n_rows, count = jnp.int64(1), jnp.int32(1)
    of = lambda x: ChunkRecord(n_rows, x, count, 10.0 * x, 20.0 * x, 30.0 * x, count, 2 * count)
    numbers, (record,) = absorbed(of)
    assert len(set(numbers)) == 4
    np.testing.assert_allclose(record.smallest_size, 10.0 * numbers.min())
    np.testing.assert_allclose(record.weight_size, 20.0 * numbers.min())
    np.testing.assert_allclose(record.first_increment, 30.0 * numbers.mean())
    assert (int(record.n_unfinished), int(record.n_not_finite)) == (4, 8)
    assert float(record.n_annealing_steps) == 1.0
    assert float(record.expected_sd) == 0.0


def test_the_expected_spread_follows_from_how_often_particles_were_halved():
    """Ten particles: two halvings so far, two in this chunk, and weights that leave five in effect at its end."""
    size, none = jnp.full((), 5.0), jnp.int32(0)
    of = lambda x: ChunkRecord(jnp.int64(1), x, jnp.int32(3), size, size, size, none, none)
    _, records = absorbed(of, 10, n_chunks=2)
    expected = [np.sqrt(n_halvings / 10 + 1 / 5 - 1 / 10) for n_halvings in (2, 4)]
    np.testing.assert_allclose([record.expected_sd for record in records], expected)
