"""The statistical assertions themselves, their seeds, and the sum of their levels."""

import numpy as np
import pytest

from tests.statistical import levels

N = 100_000


def test_uniform_draws_pass_and_the_declared_discrepancies_fail():
    uniforms = levels.rng_for("levels/uniform").uniform(size=N)
    levels.assert_uniform(uniforms)
    levels.assert_standard_mean(levels.legendre(uniforms))
    levels.assert_at_least(uniforms, 0.5)
    with levels.expecting_failure("exceeds"):
        levels.assert_uniform(np.where(uniforms < 0.02, 0.02, uniforms))
    with levels.expecting_failure("exceeds"):
        levels.assert_standard_mean(levels.legendre(uniforms)[:, 0] + 0.03)
    with levels.expecting_failure("exceeds"):
        levels.assert_at_least(uniforms, 0.52)


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1])
def test_impossible_values_fail(bad):
    uniforms = levels.rng_for("levels/bad").uniform(size=N)
    uniforms[7] = bad
    with levels.expecting_failure():
        levels.assert_uniform(uniforms)
    with levels.expecting_failure():
        levels.assert_standard_mean(np.where(np.arange(N) == 3, np.nan, 0.0))


def test_a_sample_too_small_for_its_promise_is_rejected():
    with pytest.raises(ValueError, match="draw more"):
        levels.assert_uniform(np.linspace(0.0, 1.0, 10_000), detects=0.02)
    with pytest.raises(ValueError, match="draw more"):
        levels.assert_standard_mean(np.zeros(10_000), detects=0.02)
    with pytest.raises(ValueError, match="10000 draws"):
        levels.assert_standard_mean(np.zeros(100))


def test_legendre_functions_are_orthonormal():
    values = levels.legendre((np.arange(20_000) + 0.5) / 20_000, 7)
    np.testing.assert_allclose(values.T @ values / 20_000, np.eye(7), atol=1e-6)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)


def test_means_of_bounded_values_pass_and_the_declared_difference_fails():
    rare = levels.rng_for("levels/bounded").uniform(size=N) < 0.01
    levels.assert_bounded_mean(rare, 0.0, 1.0, 0.01, detects=0.006)
    with levels.expecting_failure("exceeds"):
        levels.assert_bounded_mean(rare, 0.0, 1.0, 0.016, detects=0.006)
    with levels.expecting_failure("outside of its bounds"):
        levels.assert_bounded_mean(rare, 0.0, 0.5, 0.01, detects=0.006)
    with pytest.raises(ValueError, match="draw more"):
        levels.assert_bounded_mean(rare[:1000], 0.0, 1.0, 0.01, detects=0.001)


# --- seeds and levels ----------------------------------------------------------------------------------------


def test_fresh_seeds_differ_and_are_those_of_their_text(monkeypatch):
    seeds = []
    for text in ("", "first", "second", "first"):
        monkeypatch.setenv("AUXMC_STATISTICAL_SEED", text)
        seeds.append(levels.seed_for("name"))
    assert seeds[1] == seeds[3]
    assert len(set(seeds)) == 3


def test_assertions_are_counted_where_a_failure_would_be_an_alarm():
    evenly = (np.arange(N) + 0.5) / N
    before = levels.n_assertions
    levels.assert_uniform(evenly)
    with levels.expecting_failure():
        levels.assert_uniform(np.zeros(N))
    assert levels.n_assertions == before + 1
