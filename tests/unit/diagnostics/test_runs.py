"""Runs of identical states."""

import numpy as np
import pytest

from auxmc.diagnostics.runs import longest_constant_run, longest_rejection_run, n_distinct_states


@pytest.mark.parametrize(
    ("chain", "longest", "n_distinct"),
    [
        ([1.0, 1.0, 1.0, 2.0, 2.0], 3, 2),
        ([1.0, 1.0, 2.0, 2.0, 2.0], 3, 2),
        (np.arange(20.0), 1, 20),
        (np.zeros((20, 3)), 20, 1),
        ([4.0], 1, 1),
        ([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [2.0, 1.0]], 2, 3),
        ([[0, 1], [2, 3], [0, 1]], 1, 2),
        ([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [-0.0, 1.0]], 2, 2),
    ],
)
def test_states_that_stay_and_states_that_differ_are_counted(chain, longest, n_distinct):
    assert longest_constant_run(chain) == longest
    assert n_distinct_states(chain) == n_distinct


@pytest.mark.parametrize("function", [longest_constant_run, n_distinct_states])
def test_unusable_chains_are_rejected(function):
    with pytest.raises(ValueError, match=r"must be \[draw, dim\] or \[draw\]"):
        function(np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"got shape \(2, 3, 4\)"):
        function(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="at draw 1 "):
        function([[0.0, 1.0], [0.0, np.nan]])


def test_longest_rejection_run_is_the_longest_constant_run_of_the_chain():
    moved = np.random.default_rng(1).random((5, 3, 400)) < 0.1
    states = np.cumsum(moved, axis=-1)
    expected = [[longest_constant_run(chain) for chain in point] for point in states]
    assert longest_rejection_run(moved).tolist() == expected
