"""Confidence sequences: exact coverage by enumeration, width next to closed forms, power, rejections."""

import math

import numpy as np
import pytest

from auxmc.diagnostics.sequential_intervals import confidence_sequence


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.6])
def test_it_ever_misses_the_mean_with_at_most_its_level(alpha):
    """All sequences of eleven zeros and ones, with their probabilities for several means."""
    n = 11
    paths = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    found = confidence_sequence(3.0 * paths - 1.0, -1.0, 2.0, alpha, times=range(1, n + 1))
    for probability in (0.05, 0.3, 0.5, 0.9):
        chances = np.prod(np.where(paths == 1.0, probability, 1.0 - probability), axis=1)
        mean = 3.0 * probability - 1.0
        missed = np.any((found.lower > mean) | (found.upper < mean), axis=1)
        assert chances[missed].sum() <= alpha
        if alpha == 0.6 and probability == 0.5:
            assert chances[missed].sum() > 0.05, "intervals that never miss would make this test empty"


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.45, 0.55)])
def test_its_width_is_the_leading_term_of_the_empirical_bernstein_bound(low, high):
    n, alpha = 100_000, 2e-7
    values = np.random.default_rng(3).uniform(low, high, n)
    found = confidence_sequence(values, 0.0, 1.0, alpha)
    half = 0.5 * float(found.upper[0] - found.lower[0])
    leading = values.std() * math.sqrt(2.0 * math.log(2.0 / alpha) / n)
    assert 0.98 * leading < half < 1.15 * leading
    # Maurer and Pontil's two-sided bound for a fixed number of values.
    log_term = math.log(4.0 / alpha)
    assert half < values.std(ddof=1) * math.sqrt(2.0 * log_term / n) + 7.0 * log_term / (3.0 * (n - 1))
    assert found.lower < 0.5 < found.upper


def test_values_and_ends_scale_the_interval_and_sequences_are_separate():
    values = np.random.default_rng(5).beta(0.5, 2.0, (3, 200))
    together = confidence_sequence(7.0 * values - 2.0, -2.0, 5.0, 0.01, times=(100, 200))
    assert together.lower.shape == (3, 2)
    for row in range(3):
        alone = confidence_sequence(values[row], 0.0, 1.0, 0.01, times=(100, 200))
        np.testing.assert_allclose(together.lower[row], 7.0 * alone.lower - 2.0, atol=1e-12)
        np.testing.assert_allclose(together.upper[row], 7.0 * alone.upper - 2.0, atol=1e-12)


def test_what_comes_later_changes_no_earlier_interval():
    values = np.random.default_rng(6).random(60)
    changed = np.concatenate([values[:40], 1.0 - values[40:]])
    early = [confidence_sequence(v, 0.0, 1.0, 0.1, times=(20, 40)) for v in (values, changed)]
    np.testing.assert_array_equal(early[0].lower, early[1].lower)
    np.testing.assert_array_equal(early[0].upper, early[1].upper)


def test_it_is_inside_the_range_and_constant_values_keep_it_open():
    for constant in (0.0, 0.2, 1.0):
        found = confidence_sequence(np.full(50, constant), 0.0, 1.0, 0.1)
        assert 0.0 <= found.lower[0] <= constant <= found.upper[0] <= 1.0
    few = confidence_sequence([0.4], 0.0, 1.0, 1e-6)
    assert (few.lower[0], few.upper[0]) == (0.0, 1.0)
