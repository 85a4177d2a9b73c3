import jax
import jax.numpy as jnp
import pytest

from experiments.generalised_lambda.model.reference_posterior import (
    differential_evolution,
    independence_metropolis,
)


def test_too_few_walkers_are_rejected():
    with pytest.raises(ValueError, match="even number of at least 8 walkers, got 7"):
        differential_evolution(jax.random.key(0), lambda x: x[0], jnp.zeros((7, 2)), 3)


def test_independence_metropolis_never_keeps_an_impossible_point():
    pilot = jnp.abs(jax.random.normal(jax.random.key(5), (50, 10, 1), dtype=jnp.float64)) + 0.01
    draws, _ = independence_metropolis(
        jax.random.key(6), lambda x: jnp.where(x[0] > 0.0, -x[0], jnp.nan), pilot, 300
    )
    assert bool(jnp.all(draws > 0.0))
