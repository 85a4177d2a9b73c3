"""Running sums against sums of all states."""

import numpy as np

from auxmc.diagnostics.log_evidence import weighted_moments
from auxmc.diagnostics.weighted_sums import WeightedSums, pooled, running

RNG = np.random.default_rng(1)
N_CHAINS, N_BLOCKS, SIZE, DIM = 5, 4, 3, 2
LOGS = 300.0 * RNG.normal(size=(N_CHAINS, N_BLOCKS, SIZE))
POSITIONS = RNG.normal(size=(N_CHAINS, N_BLOCKS, SIZE, DIM))
GROUPS = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0, 1.0]])


def _sums(logs: np.ndarray, positions: np.ndarray) -> WeightedSums:
    top = logs.max(axis=-1)
    finite = np.where(np.isneginf(top), 0.0, top)
    weights = np.exp(logs - finite[..., None])
    second = np.einsum("...s,...si,...sj->...ij", weights, positions, positions)
    return WeightedSums(top, weights.sum(-1), np.einsum("...s,...si->...i", weights, positions), second)


BLOCKS = _sums(LOGS, POSITIONS)
FIRST = _sums(LOGS[:, :, :1], POSITIONS[:, :, :1])


def _agree(sums: WeightedSums, group: int, n_draws: int) -> None:
    chains = GROUPS[group] > 0
    logs = LOGS[chains].reshape(chains.sum(), -1)[:, :n_draws]
    points = POSITIONS[chains].reshape(chains.sum(), -1, DIM)[:, :n_draws]
    expected = weighted_moments(logs, points)
    np.testing.assert_allclose(sums.log_total[group], np.logaddexp.reduce(logs.ravel()), rtol=1e-13)
    np.testing.assert_allclose(sums.mean[group], expected.mean, rtol=1e-11)
    np.testing.assert_allclose(sums.covariance[group], expected.covariance, atol=1e-11)


def test_running_sums_are_those_of_all_draws_so_far() -> None:
    points = list(running(BLOCKS, FIRST, GROUPS, SIZE))
    assert [point.n_draws for point in points] == [1, 4, 7, 10, 12]
    for point in points:
        for group in range(2):
            _agree(point.sums, group, point.n_draws)


def test_blocks_of_one_draw_have_no_point_of_their_own_at_the_end() -> None:
    assert [p.n_draws for p in running(FIRST, FIRST, GROUPS, 1)] == [1, 2, 3, 4]


def test_chains_without_weight_add_nothing_and_groups_without_any_are_missing() -> None:
    logs = np.full((2, 3), -np.inf)
    logs[1] = 0.0
    sums = _sums(logs, np.ones((2, 3, DIM)))
    found = pooled(sums, np.array([[1.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(found.mean[0], 1.0)
    assert found.log_total[0] == np.log(3.0)
    assert found.log_total[1] == -np.inf
    assert np.all(np.isnan(found.mean[1]))
