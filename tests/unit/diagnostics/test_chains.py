"""Runs of equal states, distances of distributions, checks, chains on few states."""

import numpy as np
import pytest
from scipy import stats

from auxmc.diagnostics import finite_chains
from auxmc.diagnostics.checks import finite_series
from auxmc.diagnostics.distributions import (
    bin_probabilities,
    histogram_roughness,
    sample_frequencies,
    total_variation,
)
from auxmc.diagnostics.runs import longest_constant_run, longest_rejection_run, n_distinct_states


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_first_bad_draw_and_its_chain_are_named(bad):
    chains = np.zeros((3, 10))
    chains[1, 4] = chains[1, 7] = bad
    with pytest.raises(ValueError, match=rf"got {bad} at chain 1, draw 4 .*; 2 of 10 draws"):
        finite_series(chains)


def test_sums_that_overflow_and_integers_are_taken():
    large = np.full(10, 1e308)
    assert finite_series(large) is large
    assert finite_series([1, 2, 3]).dtype == np.float64


def test_frequencies_count_both_tails():
    found = sample_frequencies([-4.0, -3.0, 2.99, 3.0, 9.0], [-3.0, 0.0, 3.0])
    np.testing.assert_allclose(found, [0.2, 0.2, 0.2, 0.4])


def test_distance_of_two_normals_is_the_closed_form():
    edges = np.linspace(-10.0, 10.0, 2001)
    first = bin_probabilities(stats.norm(0.0).cdf, edges)
    second = bin_probabilities(stats.norm(1.0).cdf, edges)
    assert total_variation(first, second) == pytest.approx(2.0 * stats.norm.cdf(0.5) - 1.0, abs=1e-6)
    assert total_variation([1, 2, 3], [2, 4, 6]) == pytest.approx(0.0, abs=1e-15)
    assert total_variation([1, 0], [0, 5]) == 1.0


def test_spurious_peak_is_rougher():
    smooth = bin_probabilities(stats.norm.cdf, np.linspace(-3.0, 3.0, 61))
    assert smooth.shape == (62,)
    assert np.sum(smooth) == pytest.approx(1.0)
    assert smooth[0] == pytest.approx(stats.norm.cdf(-3.0))
    peaked = smooth.copy()
    peaked[20] += 0.02
    assert histogram_roughness(peaked) > 10.0 * histogram_roughness(smooth)
    # The number of draws does not matter.
    assert histogram_roughness([10, 30, 20]) == pytest.approx(histogram_roughness([1, 3, 2]))


def test_a_metropolis_matrix_is_invariant_and_reversible():
    """Metropolis with a uniform proposal over all states."""
    distribution = np.array([0.1, 0.2, 0.3, 0.4])
    matrix = np.minimum(1.0, distribution[None, :] / distribution[:, None]) / 4
    np.fill_diagonal(matrix, 0.0)
    matrix += np.diag(1.0 - matrix.sum(axis=1))
    assert finite_chains.invariance_residual(matrix, distribution) < 1e-15
    assert finite_chains.detailed_balance_residual(matrix, distribution) < 1e-15
    assert finite_chains.invariance_residual(matrix, distribution[::-1]) > 0.01
    np.testing.assert_allclose(finite_chains.stationary_distribution(matrix), distribution, atol=1e-14)


def test_a_rotation_is_invariant_but_not_reversible():
    matrix = np.roll(np.eye(3), 1, axis=1)
    distribution = np.full(3, 1.0 / 3.0)
    assert finite_chains.invariance_residual(matrix, distribution) == 0.0
    assert finite_chains.detailed_balance_residual(matrix, distribution) == pytest.approx(1.0 / 3.0)
    assert finite_chains.second_eigenvalue(matrix) == pytest.approx(1.0)


def test_boxes_of_uniform_numbers_integrate_comparisons_exactly():
    points, volumes = finite_chains.uniform_cells([[0.2, 0.7, 0.7], [0.5], []])
    assert points.shape == (6, 3)
    assert volumes.sum() == pytest.approx(1.0, abs=1e-15)
    below = (points[:, 0] < 0.7) & (points[:, 1] >= 0.5)
    assert volumes[below].sum() == pytest.approx(0.35, abs=1e-15)
    assert not set(points[:, 0]) & {0.0, 0.2, 0.7, 1.0}


def test_maps_of_states_give_their_matrix():
    matrix = finite_chains.transition_matrix([[0, 0], [1, 1], [1, 0]], [0.2, 0.3, 0.5])
    np.testing.assert_allclose(matrix, [[0.2, 0.8], [0.7, 0.3]])


def test_a_bad_draw_among_many_chains_and_a_falling_distribution_function_are_named():
    chains = np.zeros((2, 5, 3, 10))
    chains[1, 4, 2, 9] = np.nan
    with pytest.raises(ValueError, match=r"leading index \[1, 4\], chain 2, draw 9"):
        finite_series(chains)
    with pytest.raises(ValueError, match="increasing probabilities"):
        bin_probabilities(lambda x: -x, [0.0, 1.0])


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


def test_longest_rejection_run_is_the_longest_constant_run_of_the_chain():
    moved = np.random.default_rng(1).random((5, 3, 400)) < 0.1
    states = np.cumsum(moved, axis=-1)
    expected = [[longest_constant_run(chain) for chain in point] for point in states]
    assert longest_rejection_run(moved).tolist() == expected
