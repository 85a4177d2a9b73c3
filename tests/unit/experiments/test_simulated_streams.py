"""Streams are those of the recipe, whatever part of them is asked for."""

import numpy as np
import pytest

from experiments.streaming_evidence.model import BLOCK_ROWS, NON_STATIONARY_PHASES, blocks, rows


# Sums computed once by an independent program from the same recipe: first column of 100 000 rows, last of 1000.
@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("linear", 405.1720149, 1440.591157),
        ("softmax", -166.8680284, 1650.0),
        ("softmax_sharp", 46.02623577, 1692.0),
        ("mixture", 4574.87882, 127.4284238),
        ("mixture_separated", 11884.72386, 202.5404963),
        ("mixture_intermediate", 14981.8101, 84.90356344),
        ("non_stationary", 9731.217036, -108.6371786),
    ],
)
def test_rows_have_the_known_sums(name, first, last):
    drawn = rows(name, 100_000)
    assert drawn.dtype == np.float64
    assert drawn[:, 0].sum() == pytest.approx(first, rel=1e-9)
    assert drawn[:1000, -1].sum() == pytest.approx(last, rel=1e-9)


def test_a_prefix_does_not_depend_on_how_many_rows_follow():
    short, long = rows("mixture", 1000), rows("mixture", BLOCK_ROWS + 10)
    np.testing.assert_array_equal(short, long[:1000])
    sizes = [len(block) for block in blocks("mixture", BLOCK_ROWS + 10)]
    assert sizes == [BLOCK_ROWS, 10]


def test_shuffled_rows_are_the_same_rows_in_another_order():
    total = sum(n for n, _ in NON_STATIONARY_PHASES)
    plain, shuffled = rows("non_stationary", total), rows("shuffled", total)
    assert not np.array_equal(plain, shuffled)
    np.testing.assert_array_equal(np.sort(plain[:, 0]), np.sort(shuffled[:, 0]))


def test_rows_that_are_not_there_are_rejected():
    with pytest.raises(ValueError, match="stream normal has 100 rows, 101 were asked for"):
        rows("normal", 101)
    with pytest.raises(ValueError, match="unknown stream 'linea': expected one of linear, softmax"):
        rows("linea", 5)
    with pytest.raises(ValueError, match="n_rows must be at least 1, got 0"):
        rows("linear", 0)
