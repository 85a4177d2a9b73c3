"""Distances and roughness of histograms."""

import numpy as np
import pytest
from scipy import stats

from auxmc.diagnostics.distributions import (
    bin_probabilities,
    histogram_roughness,
    sample_frequencies,
    total_variation,
)

EDGES = np.linspace(-3.0, 3.0, 61)


def test_frequencies_count_both_tails():
    np.testing.assert_allclose(
        sample_frequencies([-4.0, -3.0, 2.99, 3.0, 9.0], [-3.0, 0.0, 3.0]), [0.2] * 2 + [0.2, 0.4]
    )


def test_distance_of_two_normals_is_the_closed_form():
    edges = np.linspace(-10.0, 10.0, 2001)
    first = bin_probabilities(stats.norm(0.0).cdf, edges)
    second = bin_probabilities(stats.norm(1.0).cdf, edges)
    assert total_variation(first, second) == pytest.approx(2.0 * stats.norm.cdf(0.5) - 1.0, abs=1e-6)


def test_distance_is_zero_for_the_same_and_one_for_disjoint():
    assert total_variation([1, 2, 3], [2, 4, 6]) == pytest.approx(0.0, abs=1e-15)
    assert total_variation([1, 0], [0, 5]) == 1.0


def test_spurious_peak_is_rougher():
    smooth = bin_probabilities(stats.norm.cdf, EDGES)
    assert smooth.shape == (62,)
    assert np.sum(smooth) == pytest.approx(1.0)
    assert smooth[0] == pytest.approx(stats.norm.cdf(-3.0))
    peaked = smooth.copy()
    peaked[20] += 0.02
    assert histogram_roughness(peaked) > 10.0 * histogram_roughness(smooth)


def test_roughness_does_not_depend_on_the_number_of_draws():
    assert histogram_roughness([10, 30, 20]) == pytest.approx(histogram_roughness([1, 3, 2]))


def test_unusable_input_is_rejected():
    with pytest.raises(ValueError, match="share bins"):
        total_variation([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="not all zero"):
        total_variation([0, 0], [1, 1])
    with pytest.raises(ValueError, match="at least 3 bins"):
        histogram_roughness([1, 2])
    with pytest.raises(ValueError, match="strictly increasing"):
        sample_frequencies([1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="samples must be finite"):
        sample_frequencies([np.nan], [0.0, 1.0])
    with pytest.raises(ValueError, match="increasing probabilities"):
        bin_probabilities(lambda x: -x, [0.0, 1.0])
