"""Ladders of inverse temperatures."""

import itertools

import numpy as np
import pytest

from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule


@pytest.mark.parametrize("n_intervals", [1, 2, 5, 1000, 10_000])
def test_sigmoidal_ladder_is_the_rescaled_logistic_curve(n_intervals):
    k = np.arange(n_intervals + 1)
    t = 1.0 / (1.0 + np.exp(-4.0 * (2.0 * k - n_intervals) / n_intervals))
    expected = (t - t[0]) / (t[-1] - t[0])
    found = sigmoidal_schedule(n_intervals)
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert found[0] == 0.0
    assert found[-1] == 1.0
    assert np.all(np.diff(found) > 0.0)
    np.testing.assert_allclose(found + found[::-1], 1.0, atol=1e-15)


def test_a_gentle_slope_is_nearly_linear():
    np.testing.assert_allclose(sigmoidal_schedule(10, 1e-3), linear_schedule(10), atol=1e-6)


def test_numbers_of_intervals_and_slopes_are_checked():
    for schedule, n_intervals in itertools.product((sigmoidal_schedule, linear_schedule), (0, -1, 2.5, True)):
        with pytest.raises(ValueError, match="n_intervals must be a positive integer"):
            schedule(n_intervals)
    for slope in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="slope must be positive"):
            sigmoidal_schedule(3, slope)
