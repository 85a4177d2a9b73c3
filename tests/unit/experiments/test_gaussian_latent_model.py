"""Tests of the Gaussian latent variable model and of both forms of its density estimate."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from experiments.gaussian_latent import model as glv


@pytest.fixture(scope="module")
def data():
    return glv.simulate_data(1)


@pytest.fixture(scope="module")
def small_model():
    return glv.gaussian_latent_model(
        [[0.3, -1.0], [1.2, 0.4], [-0.5, 0.8]], sd_latent=0.7, sd_observation=1.5
    )


def _log_estimates(estimator, position, seed, n_draws):
    cache = estimator.prepare(jnp.asarray(position))
    keys = jax.random.split(jax.random.key(seed), n_draws)
    return np.asarray(
        jax.jit(jax.vmap(lambda key: estimator.log_estimate(cache, estimator.draw_auxiliary(key))))(keys)
    )


def test_calibrated_data_give_the_published_noise_of_the_log_estimate(data):
    assert np.sum((data.observations - data.position) ** 2) == pytest.approx(157.0, rel=1e-12)
    # The log estimate is a shrunk noncentral chi-squared variable: half of sigma^2 / eps^2 of it.
    assert math.sqrt(stats.ncx2(100, 157.0).var()) / 8.0 == pytest.approx(3.597, abs=5e-4)
    estimator = glv.lumped_estimator(glv.gaussian_latent_model(data.observations), 1)
    found = _log_estimates(estimator, data.position, 5, 20_000).std()
    assert found == pytest.approx(3.597, abs=0.1)


def test_calibrated_data_are_the_plain_draw_with_scaled_residuals(data):
    plain = glv.simulate_data(1, "as_stated")
    np.testing.assert_array_equal(plain.position, data.position)
    ratio = (plain.observations - plain.position) / (data.observations - data.position)
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-12)
    assert ratio[0, 0] > 1.3


def test_calibration_is_in_proportion_for_other_sizes():
    data = glv.simulate_data(5, n_observations=4, dim=3, sd_latent=0.5, sd_observation=1.0)
    residuals = np.sum((data.observations - data.position) ** 2)
    assert residuals == pytest.approx(157.0 / 500.0 * 12.0 * 1.25, rel=1e-12)


def test_same_seed_gives_same_data_and_another_seed_other_data(data):
    np.testing.assert_array_equal(glv.simulate_data(1).observations, data.observations)
    assert np.all(glv.simulate_data(2).observations != data.observations)


def test_estimate_with_many_importance_samples_is_the_direct_formula(small_model):
    estimator = glv.estimator(small_model, 5)
    auxiliary = np.random.default_rng(0).standard_normal((5, 3, 2))
    position = np.array([0.1, 0.9])
    latent = position + small_model.sd_latent * auxiliary
    terms = np.prod(stats.norm.pdf(small_model.observations, latent, small_model.sd_observation), axis=(1, 2))
    expected = math.log(np.prod(stats.norm.pdf(position)) * terms.mean())
    value = estimator.log_estimate(estimator.prepare(jnp.asarray(position)), jnp.asarray(auxiliary))
    assert float(value) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_importance", [1, 8])
def test_lumped_statistics_of_given_auxiliaries_give_the_same_estimate_at_every_position(data, n_importance):
    model = glv.gaussian_latent_model(data.observations)
    full, lumped = glv.estimator(model, n_importance), glv.lumped_estimator(model, n_importance)
    auxiliary = full.draw_auxiliary(jax.random.key(5))
    points = jnp.asarray(model.observations)[None] - model.sd_latent * auxiliary
    centre = points.mean(axis=1)
    scatter = jnp.sum(jnp.square(points - centre[:, None, :]), axis=(1, 2))
    statistics = jnp.concatenate([centre, scatter[:, None]], axis=1)
    assert statistics.shape == jax.eval_shape(lumped.draw_auxiliary, jax.random.key(5)).shape
    for position in jax.random.normal(jax.random.key(1), (5, model.dim)):
        value = full.log_estimate(full.prepare(position), auxiliary)
        np.testing.assert_allclose(
            lumped.log_estimate(lumped.prepare(position), statistics), value, rtol=1e-12
        )


def test_noise_falls_with_importance_samples_as_published(data):
    model = glv.gaussian_latent_model(data.observations)
    for n_importance, published in ((8, 1.8), (32, 1.2)):
        sd = _log_estimates(glv.lumped_estimator(model, n_importance), data.position, 7, 20_000).std()
        assert sd == pytest.approx(published, abs=0.15)


@pytest.mark.parametrize("build", [glv.estimator, glv.lumped_estimator])
def test_estimates_side_by_side_equal_single_ones_and_count_nothing(small_model, build):
    estimator = build(small_model, 3)
    positions = jax.random.normal(jax.random.key(1), (6, 2))
    keys = jax.random.split(jax.random.key(2), 6)

    def value(position, key):
        return estimator.log_estimate(estimator.prepare(position), estimator.draw_auxiliary(key))

    together = jax.jit(jax.vmap(value))(positions, keys)
    one = jax.jit(value)
    single = [float(one(position, key)) for position, key in zip(positions, keys, strict=True)]
    np.testing.assert_allclose(together, single, rtol=1e-12)
    cache = estimator.prepare(positions[0])
    for count in (estimator.n_cubic(cache), estimator.n_failures(cache)):
        assert count.dtype == jnp.int32
        assert int(count) == 0
