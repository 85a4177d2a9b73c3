"""Weights and what is computed from them, against closed forms on a few numbers."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from auxmc.sampling.importance import (
    effective_size,
    importance_draws,
    log_mean_weight,
    pareto_index,
    self_normalised_mean,
)

COMPILED = jax.jit(
    lambda logs, f: (effective_size(logs), log_mean_weight(logs), self_normalised_mean(logs, f))
)
LOG_WEIGHT_SETS = arrays.arrays(np.float64, st.just(6), elements=st.floats(-300.0, 300.0))


def test_sets_of_weights_are_treated_one_by_one():
    rng = np.random.default_rng(0)
    logs, values = jnp.asarray(rng.normal(size=(2, 3, 5))), jnp.asarray(rng.normal(size=(2, 3, 5)))
    weights = np.exp(np.asarray(logs))
    sizes, means, averages = COMPILED(logs, values)
    np.testing.assert_allclose(sizes, weights.sum(-1) ** 2 / (weights**2).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(np.exp(means), weights.mean(-1), rtol=1e-12)
    np.testing.assert_allclose(averages, np.average(values, axis=-1, weights=weights), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(LOG_WEIGHT_SETS, st.floats(-300.0, 300.0))
def test_effective_sizes_lie_between_one_and_the_number_of_draws(logs, shift):
    sizes, means, average = COMPILED(np.stack([logs, logs + shift]), np.full((2, 6), 7.0))
    assert 1.0 - 1e-12 <= float(sizes[0]) <= 6.0 * (1.0 + 1e-12)
    assert float(sizes[1]) == pytest.approx(float(sizes[0]), rel=1e-9)
    assert float(means[1]) == pytest.approx(float(means[0]) + shift, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(average, 7.0, rtol=1e-12)


def test_weights_of_zero_count_as_absent():
    sizes, log_means, _ = COMPILED(
        np.array([[0.0, -np.inf, 0.0], [-np.inf, -np.inf, -np.inf]]), np.zeros((2, 3))
    )
    np.testing.assert_allclose(sizes, [2.0, 0.0])
    np.testing.assert_allclose(np.exp(log_means), [2.0 / 3.0, 0.0])


def test_weights_beyond_the_range_of_floats_are_never_exponentiated():
    logs = np.array([-1e5, -1e5 + math.log(3.0)] + [-1e5] * 18)
    assert float(log_mean_weight(logs)) == pytest.approx(-1e5 + math.log(22.0 / 20.0), abs=1e-9)
    assert effective_size(jnp.asarray(logs, jnp.float32)).dtype == jnp.float32


def test_draws_carry_the_ratio_of_the_densities():
    draws = importance_draws(
        jax.random.key(0), lambda x: -(x**2), jax.random.normal, lambda x: -0.5 * x**2, 100
    )
    np.testing.assert_allclose(draws.log_weights, -0.5 * np.asarray(draws.positions) ** 2, rtol=1e-12)


@pytest.mark.parametrize("index", [0.3, 0.6, 0.9])
def test_the_index_of_pareto_weights_is_found(index):
    # Quantiles in place of draws: no chance in the test.
    levels = (np.arange(100_000) + 0.5) / 100_000
    found = float(pareto_index(-index * np.log(1.0 - levels)))
    assert found == pytest.approx(index, abs=0.05)
    assert float(pareto_index(-index * np.log(1.0 - levels) - 700.0)) == pytest.approx(found, abs=1e-6)


def test_bounded_weights_have_a_negative_index():
    levels = (np.arange(10_000) + 0.5) / 10_000
    assert float(pareto_index(np.log(levels))) < 0.0
    np.testing.assert_array_equal(pareto_index(np.zeros((2, 50))), [-np.inf, -np.inf])


def test_indices_of_several_sets_are_those_of_each():
    logs = np.random.default_rng(1).normal(size=(3, 200)) * np.array([[0.5], [2.0], [4.0]])
    found = pareto_index(logs)
    np.testing.assert_allclose(found, [float(pareto_index(row)) for row in logs], rtol=1e-12)
    assert found[0] < found[2]


def test_weights_that_mean_nothing_are_rejected():
    with pytest.raises(ValueError, match=r"with at least 25, got shape \(24,\)"):
        pareto_index(np.zeros(24))
    with pytest.raises(ValueError, match="log_weights must be finite"):
        pareto_index([*np.zeros(30), np.inf])
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        importance_draws(jax.random.key(0), lambda x: x, jax.random.normal, lambda x: x, 0)
