"""The statistical assertions themselves, their seeds, and the sum of their levels."""

import numpy as np
import pytest

from tests.statistical import levels
from tests.statistical.levels import (
    assert_at_least,
    assert_bounded_mean,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    legendre,
    rng_for,
    seed_for,
)

N = 100_000


def test_uniform_draws_pass_and_the_declared_discrepancies_fail():
    uniforms = rng_for("levels/uniform").uniform(size=N)
    assert_uniform(uniforms)
    assert_standard_mean(legendre(uniforms))
    assert_at_least(uniforms, 0.5)
    with expecting_failure("exceeds"):
        assert_uniform(np.where(uniforms < 0.02, 0.02, uniforms))
    with expecting_failure("exceeds"):
        assert_standard_mean(legendre(uniforms)[:, 0] + 0.03)
    with expecting_failure("exceeds"):
        assert_at_least(uniforms, 0.52)


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1])
def test_impossible_values_fail(bad):
    uniforms = rng_for("levels/bad").uniform(size=N)
    uniforms[7] = bad
    with expecting_failure():
        assert_uniform(uniforms)
    with expecting_failure():
        assert_standard_mean(np.where(np.arange(N) == 3, np.nan, 0.0))


def test_a_sample_too_small_for_its_promise_is_rejected():
    with pytest.raises(ValueError, match="draw more"):
        assert_uniform(np.linspace(0.0, 1.0, 10_000), detects=0.02)
    with pytest.raises(ValueError, match="draw more"):
        assert_standard_mean(np.zeros(10_000), detects=0.02)
    with pytest.raises(ValueError, match="10000 draws"):
        assert_standard_mean(np.zeros(100))


def test_legendre_functions_are_orthonormal():
    midpoints = (np.arange(20_000) + 0.5) / 20_000
    values = legendre(midpoints, 7)
    np.testing.assert_allclose(values.T @ values / 20_000, np.eye(7), atol=1e-6)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)


def test_means_of_bounded_values_pass_and_the_declared_difference_fails():
    rare = rng_for("levels/bounded").uniform(size=N) < 0.01
    assert_bounded_mean(rare, 0.0, 1.0, 0.01, detects=0.006)
    with expecting_failure("exceeds"):
        assert_bounded_mean(rare, 0.0, 1.0, 0.016, detects=0.006)
    with expecting_failure("outside of its bounds"):
        assert_bounded_mean(rare, 0.0, 0.5, 0.01, detects=0.006)
    with pytest.raises(ValueError, match="draw more"):
        assert_bounded_mean(rare[:1000], 0.0, 1.0, 0.01, detects=0.001)


# --- seeds and levels ----------------------------------------------------------------------------------------


def test_fresh_seeds_differ_and_are_those_of_their_text(monkeypatch):
    seeds = []
    for text in ("", "first", "second", "first"):
        monkeypatch.setenv("AUXMC_STATISTICAL_SEED", text)
        seeds.append(seed_for("name"))
    assert seeds[1] == seeds[3]
    assert len(set(seeds)) == 3


def test_assertions_are_counted_where_a_failure_would_be_an_alarm():
    evenly = (np.arange(N) + 0.5) / N
    before = levels.n_assertions
    assert_uniform(evenly)
    with expecting_failure():
        assert_uniform(np.zeros(N))
    assert levels.n_assertions == before + 1
