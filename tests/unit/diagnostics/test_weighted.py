"""Weighted estimates: values by hand, errors by repetition; running sums against sums of all states."""

import numpy as np
import pytest

from auxmc.diagnostics.tempered_evidence import weighted_moments
from auxmc.diagnostics.weighted import WeightedSums, in_batches, pooled, running, weighted_estimates

RNG = np.random.default_rng(1)
N_CHAINS, N_BLOCKS, SIZE, DIM = 5, 4, 3, 2
LOGS = 300.0 * RNG.normal(size=(N_CHAINS, N_BLOCKS, SIZE))
POSITIONS = RNG.normal(size=(N_CHAINS, N_BLOCKS, SIZE, DIM))
GROUPS = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0, 1.0]])


def test_values_are_self_normalised_averages():
    log_weights = np.log([[1.0, 2.0], [3.0, 4.0]]) + 700.0
    values = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    found = weighted_estimates(log_weights, values)
    assert found.mean[0] == pytest.approx(3.0)
    assert found.sd[0] == pytest.approx(1.0)
    # Influences of the two chains: 2 (0.1 (-2) + 0.2 (-1)) = -0.8 and 2 (0 + 0.4) = 0.8.
    assert found.mean_error[0] == pytest.approx(np.std([-0.8, 0.8], ddof=1) / np.sqrt(2.0))
    assert found.scores([2.0])[0] == pytest.approx(1.0 / found.mean_error[0])


def test_errors_are_those_of_repetitions():
    """The mean of 4000 estimated squared errors agrees with the variance of the estimates within six of its errors."""
    rng = np.random.default_rng(0)
    estimates = []
    for _ in range(4000):
        x = rng.normal(size=(20, 5, 1))
        found = weighted_estimates(0.5 * x[..., 0], x)
        estimates.append([found.mean[0], found.mean_error[0], found.sd[0], found.sd_error[0]])
    mean, mean_error, sd, sd_error = np.array(estimates).T
    for value, error in ((mean, mean_error), (sd, sd_error)):
        assert np.mean(error**2) / np.var(value) == pytest.approx(1.0, abs=0.25)


def test_a_single_unit_has_no_error():
    found = weighted_estimates(np.zeros((1, 4)), np.arange(4.0).reshape(1, 4, 1))
    assert found.mean[0] == 1.5
    assert np.isnan([found.mean_error[0], found.sd_error[0]]).all()


def test_batches_are_consecutive_and_drop_the_first_draws():
    found = in_batches(np.arange(14.0).reshape(2, 7), 3)
    np.testing.assert_array_equal(found, [[1, 2], [3, 4], [5, 6], [8, 9], [10, 11], [12, 13]])


def _sums(logs, positions):
    top = logs.max(axis=-1)
    finite = np.where(np.isneginf(top), 0.0, top)
    weights = np.exp(logs - finite[..., None])
    second = np.einsum("...s,...si,...sj->...ij", weights, positions, positions)
    return WeightedSums(top, weights.sum(-1), np.einsum("...s,...si->...i", weights, positions), second)


BLOCKS = _sums(LOGS, POSITIONS)
FIRST = _sums(LOGS[:, :, :1], POSITIONS[:, :, :1])


def test_running_sums_are_those_of_all_draws_so_far():
    points = list(running(BLOCKS, FIRST, GROUPS, SIZE))
    assert [point.n_draws for point in points] == [1, 4, 7, 10, 12]
    for point in points:
        sums = point.sums
        for group, chains in enumerate(GROUPS > 0):
            logs = LOGS[chains].reshape(chains.sum(), -1)[:, : point.n_draws]
            positions = POSITIONS[chains].reshape(chains.sum(), -1, DIM)[:, : point.n_draws]
            expected = weighted_moments(logs, positions)
            np.testing.assert_allclose(sums.log_total[group], np.logaddexp.reduce(logs.ravel()), rtol=1e-13)
            np.testing.assert_allclose(sums.mean[group], expected.mean, rtol=1e-11)
            np.testing.assert_allclose(sums.covariance[group], expected.covariance, atol=1e-11)
    # Blocks of one draw have no point of their own at the end.
    assert [p.n_draws for p in running(FIRST, FIRST, GROUPS, 1)] == [1, 2, 3, 4]


def test_chains_without_weight_add_nothing_and_groups_without_any_are_missing():
    logs = np.full((2, 3), -np.inf)
    logs[1] = 0.0
    sums = _sums(logs, np.ones((2, 3, DIM)))
    found = pooled(sums, np.array([[1.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(found.mean[0], 1.0)
    assert found.log_total[0] == np.log(3.0)
    assert found.log_total[1] == -np.inf
    assert np.all(np.isnan(found.mean[1]))
