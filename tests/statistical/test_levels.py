"""The statistical assertions themselves, and the sum of their levels."""

import numpy as np
import pytest

from tests.statistical.levels import (
    ALPHA,
    DECLARED,
    TOTAL_LEVEL,
    assert_at_least,
    assert_standard_mean,
    assert_uniform,
    dkw_half_width,
    expecting_failure,
    legendre,
    seed_for,
)

N = 100_000


def _rng(name: str) -> np.random.Generator:
    return np.random.default_rng(seed_for(name))


def test_the_sum_of_all_levels_is_within_the_allowance_of_a_run() -> None:
    assert sum(DECLARED.values()) * ALPHA <= TOTAL_LEVEL


def test_half_widths_are_those_of_the_specification() -> None:
    assert dkw_half_width(10_000, 2.5e-7) == pytest.approx(0.0282, abs=5e-5)
    assert dkw_half_width(100_000, 2.5e-7) == pytest.approx(0.0089, abs=5e-5)


def test_uniform_draws_pass_and_the_declared_discrepancies_fail() -> None:
    uniforms = _rng("levels/uniform").uniform(size=N)
    assert_uniform(uniforms)
    assert_standard_mean(legendre(uniforms))
    assert_at_least(uniforms, 0.5)
    with expecting_failure():
        with pytest.raises(AssertionError, match="exceeds"):
            assert_uniform(np.where(uniforms < 0.02, 0.02, uniforms))
        with pytest.raises(AssertionError, match="exceeds"):
            assert_standard_mean(legendre(uniforms)[:, 0] + 0.03)
        with pytest.raises(AssertionError, match="exceeds"):
            assert_at_least(uniforms, 0.52)


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1])
def test_impossible_values_fail(bad: float) -> None:
    uniforms = _rng("levels/bad").uniform(size=N)
    uniforms[7] = bad
    with expecting_failure(), pytest.raises(AssertionError):
        assert_uniform(uniforms)


def test_not_a_number_fails_the_mean() -> None:
    values = np.zeros(N)
    values[3] = np.nan
    with expecting_failure(), pytest.raises(AssertionError):
        assert_standard_mean(values)


def test_a_sample_too_small_for_its_promise_is_refused() -> None:
    with pytest.raises(ValueError, match="draw more"):
        assert_uniform(np.linspace(0.0, 1.0, 10_000), detects=0.02)
    with pytest.raises(ValueError, match="draw more"):
        assert_standard_mean(np.zeros(10_000), detects=0.02)
    with pytest.raises(ValueError, match="10000 draws"):
        assert_standard_mean(np.zeros(100))


def test_legendre_functions_are_orthonormal() -> None:
    midpoints = (np.arange(20_000) + 0.5) / 20_000
    values = legendre(midpoints, 7)
    np.testing.assert_allclose(values.T @ values / 20_000, np.eye(7), atol=1e-6)
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-6)
