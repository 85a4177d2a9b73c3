"""The linear congruential generator: published states, errors."""

import numpy as np
import pytest

from experiments.foundations.numbers.congruential import (
    bit_rows,
    congruential_states,
    smallest_period,
)


def test_states_of_the_published_example() -> None:
    states = congruential_states(37, 61, 128, 37, 129)
    assert states[:8].tolist() == [37, 22, 107, 52, 65, 34, 39, 96]
    assert sorted(states[:128].tolist()) == list(range(128))
    assert states[128] == states[0]


def test_generators_side_by_side_are_those_run_alone() -> None:
    together = congruential_states([[5], [9]], [1, 3, 7], 64, 2, 20)
    assert together.shape == (20, 2, 3)
    np.testing.assert_array_equal(together[:, 1, 2], congruential_states(9, 7, 64, 2, 20))


def test_products_near_the_largest_modulus_do_not_overflow() -> None:
    m = 2**31 - 1
    assert congruential_states(m - 1, m - 1, m, m - 1, 2)[1] == ((m - 1) * (m - 1) + m - 1) % m


def test_bits_make_up_their_state() -> None:
    states = np.arange(128)
    rows = bit_rows(states, 7)
    assert set(np.unique(rows)) == {0, 1}
    np.testing.assert_array_equal(2 ** np.arange(7) @ rows, states)


@pytest.mark.parametrize(
    ("sequence", "period"),
    [([7], 1), ([1, 1, 1], 1), ([1, 2, 3], 3), ([1, 2, 1, 2, 1], 2), ([0, 0, 1, 0, 0], 3)],
)
def test_periods_of_short_sequences(sequence: list[int], period: int) -> None:
    assert smallest_period(sequence) == period
