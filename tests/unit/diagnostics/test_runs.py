"""Runs of identical states."""

import numpy as np
import pytest

from auxmc.diagnostics.runs import longest_constant_run, longest_rejection_run, n_distinct_states


def test_run_at_either_end_counts():
    assert longest_constant_run([1.0, 1.0, 1.0, 2.0, 2.0]) == 3
    assert longest_constant_run([1.0, 1.0, 2.0, 2.0, 2.0]) == 3


def test_chain_that_always_or_never_moves():
    assert longest_constant_run(np.arange(20.0)) == 1
    assert longest_constant_run(np.zeros((20, 3))) == 20
    assert longest_constant_run([4.0]) == 1


def test_state_moves_when_any_coordinate_does():
    chain = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    assert longest_constant_run(chain) == 2
    assert n_distinct_states(chain) == 3


def test_state_visited_twice_counts_once():
    chain = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [-0.0, 1.0]])
    assert n_distinct_states(chain) == 2


def test_integer_chain_agrees_with_a_set():
    chain = np.random.default_rng(1).integers(0, 4, size=(500, 3))
    assert n_distinct_states(chain) == len({tuple(state) for state in chain.tolist()})


@pytest.mark.parametrize("function", [longest_constant_run, n_distinct_states])
def test_unusable_chains_are_rejected(function):
    with pytest.raises(ValueError, match="at least 1 draw"):
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
