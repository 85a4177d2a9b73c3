"""Rejection of input that no diagnostic can use."""

import numpy as np
import pytest

from auxmc.diagnostics.checks import finite_series


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_first_bad_draw_and_its_chain_are_named(bad):
    chains = np.zeros((3, 10))
    chains[1, 4] = chains[1, 7] = bad
    with pytest.raises(ValueError, match=rf"got {bad} at chain 1, draw 4 .*; 2 of 10 draws"):
        finite_series(chains)


def test_leading_indices_are_named():
    chains = np.zeros((2, 5, 3, 10))
    chains[1, 4, 2, 9] = np.nan
    with pytest.raises(ValueError, match=r"leading index \[1, 4\], chain 2, draw 9"):
        finite_series(chains)


def test_sum_that_overflows_is_not_mistaken_for_a_bad_value():
    large = np.full(10, 1e308)
    assert finite_series(large) is large


def test_integers_become_floating_point():
    assert finite_series([1, 2, 3]).dtype == np.float64


def test_a_missing_axis_is_rejected():
    with pytest.raises(ValueError, match=r"axes \[..., chain, draw\], got shape \(10,\)"):
        finite_series(np.zeros(10), chain_axis=True)
