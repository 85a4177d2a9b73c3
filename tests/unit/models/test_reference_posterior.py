import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.models.reference_posterior import differential_evolution, independence_metropolis


def test_differential_evolution_keeps_a_correlated_normal_law() -> None:
    precision = jnp.array([[2.0, 1.2], [1.2, 1.0]])
    starts = 3.0 + jax.random.normal(jax.random.key(1), (40, 2), dtype=jnp.float64)
    draws, rate = jax.jit(
        lambda key: differential_evolution(key, lambda x: -0.5 * x @ precision @ x, starts, 2500)
    )(jax.random.key(2))
    kept = np.asarray(draws[200:]).reshape(-1, 2)
    covariance = np.linalg.inv(np.asarray(precision))
    # 92 000 draws with an autocorrelation time of about 20 iterations: standard errors near 2 %.
    np.testing.assert_allclose(kept.mean(axis=0) / np.sqrt(covariance.diagonal()), 0.0, atol=0.1)
    np.testing.assert_allclose(np.cov(kept.T), covariance, rtol=0.1)
    assert 0.15 < float(rate) < 0.6
    with pytest.raises(ValueError, match="even number of at least 8 walkers, got 7"):
        differential_evolution(jax.random.key(0), lambda x: x[0], jnp.zeros((7, 2)), 3)


def test_independence_metropolis_corrects_a_pilot_that_is_off() -> None:
    precision = jnp.array([[2.0, 1.2], [1.2, 1.0]])
    covariance = np.linalg.inv(np.asarray(precision))
    # The pilot has no correlation, another scale and another centre than the law.
    pilot = 0.7 + 2.5 * jax.random.normal(jax.random.key(3), (50, 40, 2), dtype=jnp.float64)
    draws, rate = jax.jit(
        lambda key: independence_metropolis(key, lambda x: -0.5 * x @ precision @ x, pilot, 1500)
    )(jax.random.key(4))
    assert draws.shape == (1500, 40, 2)
    kept = np.asarray(draws[100:]).reshape(-1, 2)
    # 56 000 draws with an autocorrelation time of about 8 iterations: standard errors near 1.3 %.
    np.testing.assert_allclose(kept.mean(axis=0) / np.sqrt(covariance.diagonal()), 0.0, atol=0.07)
    np.testing.assert_allclose(np.cov(kept.T), covariance, rtol=0.08)
    assert 0.1 < float(rate) < 0.6


def test_independence_metropolis_never_keeps_an_impossible_point() -> None:
    pilot = jnp.abs(jax.random.normal(jax.random.key(5), (50, 10, 1), dtype=jnp.float64)) + 0.01
    draws, _ = independence_metropolis(
        jax.random.key(6), lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan), pilot, 300
    )
    assert bool(jnp.all(draws > 0.0))
    assert float(draws.mean()) == pytest.approx(1.0, abs=0.15)
