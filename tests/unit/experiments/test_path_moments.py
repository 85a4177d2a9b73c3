"""Moments along a path on the line against derivatives of its normaliser and closed forms."""

import numpy as np
import pytest
from scipy import stats

from experiments.foundations.evidence.path_moments import mass_below, ratio_moments
from experiments.tempering_illustration.model.exact_bridge import exact_path

POINTS = np.linspace(-30.0, 30.0, 6001)
PATH = exact_path(POINTS, stats.norm.logpdf(POINTS, 2.0, 0.5) - 0.7, stats.norm.logpdf(POINTS, 0.0, 1.5))
TEMPERATURES = np.array([0.0, 0.3, 1.0])


def test_means_and_variances_are_slope_and_curvature_of_the_normaliser() -> None:
    means, variances = ratio_moments(PATH, TEMPERATURES)
    h = 1e-3
    around = [PATH.log_normaliser(TEMPERATURES + shift) for shift in (-h, 0.0, h)]
    np.testing.assert_allclose(means, (around[2] - around[0]) / (2.0 * h), rtol=1e-3)
    np.testing.assert_allclose(variances, (around[2] - 2.0 * around[1] + around[0]) / h**2, rtol=1e-3)
    assert means[-1] == pytest.approx(PATH.divergence_target_base() + PATH.log_ratio, rel=1e-10)
    assert means[0] == pytest.approx(PATH.log_ratio - PATH.divergence_base_target(), rel=1e-10)


def test_masses_are_those_of_the_gaussians_on_the_path() -> None:
    precision = TEMPERATURES / 0.25 + (1.0 - TEMPERATURES) / 2.25
    mean = TEMPERATURES * 8.0 / precision
    for x in (-1.0, 0.2, 1.703):
        expected = stats.norm.cdf(x, mean, 1.0 / np.sqrt(precision))
        np.testing.assert_allclose(mass_below(PATH, TEMPERATURES, x), expected, atol=1e-5)
    np.testing.assert_allclose(mass_below(PATH, TEMPERATURES, 40.0), 1.0, rtol=1e-12)
