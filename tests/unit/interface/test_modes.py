"""Points apart from draws, and starts apart from each other."""

import numpy as np
import pytest

from auxmc.interface.checks.modes import lie_apart
from auxmc.interface.sampling import spread_starts


@pytest.mark.parametrize("dim", [1, 2, 30])
def test_points_of_the_same_distribution_do_not_lie_apart(dim):
    random = np.random.default_rng(dim)
    draws, points = random.normal(size=(2000, dim)), random.normal(size=(500, dim))
    assert not lie_apart(draws, points).any()


@pytest.mark.parametrize("dim", [1, 2, 30])
def test_points_of_another_mode_lie_apart(dim):
    """Far to one side, and between two modes that were visited."""
    random = np.random.default_rng(dim)
    draws = random.normal(size=(2000, dim))
    shift = np.zeros(dim)
    shift[0] = 12.0
    assert lie_apart(draws, random.normal(size=(50, dim)) + shift).all()
    if dim <= 2:
        both = np.concatenate([draws - 3.0 * shift, draws + 3.0 * shift])
        assert lie_apart(both, 0.1 * random.normal(size=(50, dim))).all()


def test_starts_come_from_every_cluster():
    random = np.random.default_rng(0)
    points = random.normal(size=(16, 3)) * 0.1
    points[:2] += 5.0
    for seed in range(5):
        chosen = spread_starts(points, 4, seed)
        assert len(set(chosen)) == 4
        assert set(chosen) & {0, 1}
        assert set(chosen) - {0, 1}


def test_few_points_are_repeated():
    assert spread_starts(np.zeros((2, 3)), 5, 0).tolist() == [0, 1, 0, 1, 0]
