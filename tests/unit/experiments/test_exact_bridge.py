"""The exact path between Gaussians, where closed forms exist."""

import numpy as np
import pytest

from experiments.tempering_illustration.exact import exact_path

POINTS = np.linspace(-40.0, 40.0, 8001)
MEAN, SD, LOG_ZETA = 1.0, 0.7, 0.4
LOG_Z = np.log(SD * np.sqrt(2.0 * np.pi))


def gaussian_path():
    """Unnormalised N(1, 0.7^2) and the standard normal base."""
    target = -0.5 * ((POINTS - MEAN) / SD) ** 2 - LOG_ZETA
    return exact_path(POINTS, target, -0.5 * POINTS**2 - 0.5 * np.log(2.0 * np.pi))


def exact_log_normaliser(b):
    precision = b / SD**2 + 1.0 - b
    linear = b * MEAN / SD**2
    constant = -b * (0.5 * MEAN**2 / SD**2 + LOG_ZETA) - (1.0 - b) * 0.5 * np.log(2.0 * np.pi)
    return constant + 0.5 * linear**2 / precision + 0.5 * np.log(2.0 * np.pi / precision)


def test_normalisers_and_divergences_have_their_closed_forms():
    path, b = gaussian_path(), np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(path.log_normaliser(b), exact_log_normaliser(b), atol=1e-12)
    assert path.log_ratio == pytest.approx(LOG_Z - LOG_ZETA, abs=1e-12)
    forward = np.log(1.0 / SD) + 0.5 * (SD**2 + MEAN**2) - 0.5
    backward = np.log(SD) + 0.5 * (1.0 + MEAN**2) / SD**2 - 0.5
    assert path.divergence_target_base() == pytest.approx(forward, abs=1e-12)
    assert path.divergence_base_target() == pytest.approx(backward, abs=1e-12)


def test_the_marginal_is_normalised_and_weights_give_the_ratio():
    path = gaussian_path()
    assert path.probability_hot(1.0) == pytest.approx(1.0, abs=1e-12)
    assert 0.0 < path.probability_hot(0.5) < 1.0
    assert path.weight_ratio() == pytest.approx(path.log_ratio, abs=1e-12)


def test_grids_that_are_no_grids_are_rejected():
    with pytest.raises(ValueError, match="equally spaced"):
        exact_path([0.0, 1.0, 3.0], np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="vectors of one length"):
        exact_path([0.0, 1.0, 2.0], np.zeros(2), np.zeros(3))
