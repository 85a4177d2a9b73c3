"""Weighted estimates: values by hand, errors by repetition."""

import numpy as np
import pytest

from auxmc.diagnostics.weighted import in_batches, weighted_estimates


def test_values_are_self_normalised_averages() -> None:
    log_weights = np.log([[1.0, 2.0], [3.0, 4.0]]) + 700.0
    values = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    found = weighted_estimates(log_weights, values)
    assert found.mean[0] == pytest.approx(3.0)
    assert found.sd[0] == pytest.approx(1.0)
    # Influences of the two chains: 2 (0.1 (-2) + 0.2 (-1)) = -0.8 and 2 (0 + 0.4) = 0.8.
    assert found.mean_error[0] == pytest.approx(np.std([-0.8, 0.8], ddof=1) / np.sqrt(2.0))
    assert found.scores([2.0])[0] == pytest.approx(1.0 / found.mean_error[0])


def test_errors_are_those_of_repetitions() -> None:
    """The mean of 4000 estimated squared errors agrees with the variance of the estimates within six of its errors."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(4000):
        x = rng.normal(size=(20, 5, 1))
        found = weighted_estimates(0.5 * x[..., 0], x)
        estimates.append([found.mean[0], found.mean_error[0], found.sd[0], found.sd_error[0]])
    mean, mean_error, sd, sd_error = np.array(estimates).T
    for value, error in ((mean, mean_error), (sd, sd_error)):
        ratio = np.mean(error**2) / np.var(value)
        assert ratio == pytest.approx(1.0, abs=0.25)


def test_a_single_unit_has_no_error() -> None:
    found = weighted_estimates(np.zeros((1, 4)), np.arange(4.0).reshape(1, 4, 1))
    assert found.mean[0] == 1.5
    assert np.isnan(found.mean_error[0])
    assert np.isnan(found.sd_error[0])


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match=r"log_weights must be \[unit, draw\]"):
        weighted_estimates(np.zeros(3), np.zeros((3, 1)))


def test_batches_are_consecutive_and_drop_the_first_draws() -> None:
    found = in_batches(np.arange(14.0).reshape(2, 7), 3)
    np.testing.assert_array_equal(found, [[1, 2], [3, 4], [5, 6], [8, 9], [10, 11], [12, 13]])
    with pytest.raises(ValueError, match="2 draws cannot be cut into 3 batches"):
        in_batches(np.zeros((1, 2)), 3)
