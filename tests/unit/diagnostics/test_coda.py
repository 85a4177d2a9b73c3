"""Agreement of the coda diagnostics with values computed by coda 0.19-4, and with theory."""

import numpy as np
import pytest

from auxmc.diagnostics import coda


def congruential(seed, n_draws, coefficient, offset=0.0):
    """AR(1) series [draw] driven by the uniform numbers of a multiplicative congruential generator."""
    modulus, value, series = 2**31 - 1, 0.0, np.empty(n_draws)
    for index in range(n_draws):
        seed = 16807 * seed % modulus
        value = coefficient * value + seed / modulus - 0.5
        series[index] = value + offset
    return series


def four_chains():
    offsets = [0.0, 0.1, -0.2, 0.3]
    return np.stack([congruential(seed, 500, 0.9, offset) for seed, offset in enumerate(offsets, start=1)])


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (congruential(12345, 2000, 0.9), 106.566101232),
        (congruential(777, 2000, 0.0), 2000.0),
        (np.repeat(congruential(5, 100, 0.5), 20), 38.3461486814),
    ],
    ids=["order_1", "order_0", "order_21"],
)
def test_effective_sample_size_is_that_of_coda(series, expected):
    assert float(coda.effective_sample_size(series)) == pytest.approx(expected, rel=5e-12)


def test_scale_reduction_is_that_of_coda():
    result = coda.potential_scale_reduction(four_chains())
    assert float(result.point) == pytest.approx(1.12351544904, rel=5e-12)
    assert float(result.upper) == pytest.approx(1.33200890660, rel=5e-12)


def test_lanes_do_not_influence_each_other(autoregression):
    lanes = np.stack([autoregression(2, c, (3, 700)) for c in (-0.5, 0.0, 0.9, 0.99)])
    lanes[1, 2] = 0.1
    together = coda.effective_sample_size(lanes)
    alone = [[float(coda.effective_sample_size(series)) for series in row] for row in lanes]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    assert together.shape == (4, 3)
    assert together[1, 2] == 0.0


@pytest.mark.parametrize("value", [0.0, 0.1, -3e300, 1e-300])
def test_constant_series_and_straight_lines_have_no_effective_draws(value):
    assert float(coda.effective_sample_size(np.full(777, value))) == 0.0
    assert float(coda.effective_sample_size(0.1 * np.arange(5000) + 3.0)) == 0.0


@pytest.mark.parametrize(("scale", "offset"), [(1e-200, 0.0), (1e200, 0.0), (1e-3, 1e3), (-7.0, 2.0)])
def test_effective_sample_size_does_not_depend_on_units(scale, offset):
    series = congruential(12345, 2000, 0.9)
    assert float(coda.effective_sample_size(scale * series + offset)) == pytest.approx(
        106.566101232, rel=1e-8
    )


def test_shortest_series_are_handled():
    assert float(coda.effective_sample_size([0.0, 1.0])) == pytest.approx(1.0 * 2 * 0.5 / 0.5)


def test_path_ends_with_the_whole_chains_and_equals_each_prefix():
    chains = np.stack([four_chains(), four_chains()[::-1] ** 3 + 100.0])
    ends = np.array([2, 51, 250, 499, 500])
    path = coda.potential_scale_reduction_path(chains, ends)
    assert path.point.shape == path.upper.shape == (2, 5)
    for index, end in enumerate(ends):
        prefix = coda.potential_scale_reduction(chains[..., :end])
        np.testing.assert_allclose(path.point[:, index], prefix.point, rtol=1e-10)
        np.testing.assert_allclose(path.upper[:, index], prefix.upper, rtol=1e-10)


def test_chains_that_never_move_have_infinite_scale_reduction():
    chains = np.repeat([[0.1], [0.2], [0.7]], 100, axis=1)
    result = coda.potential_scale_reduction(chains)
    assert np.isposinf(result.point)
    assert np.isposinf(result.upper)
    assert np.isnan(coda.potential_scale_reduction(np.full((3, 100), 0.1)).point)


def test_plot_ends_are_those_of_the_published_figure_and_increase_to_the_last_draw():
    assert coda.gelman_plot_ends(10000).tolist() == [*range(51, 9803, 199), 10000]
    for n_draws in (2, 50, 51, 59, 60, 61, 300, 1234, 50000):
        ends = coda.gelman_plot_ends(n_draws)
        assert ends[-1] == n_draws
        assert np.all(np.diff(ends) > 0)
        assert len(ends) <= 51


def test_multivariate_factor_is_the_univariate_one_for_one_coordinate_and_sees_directions():
    rng = np.random.default_rng(6)
    chains = rng.normal(size=(1, 5, 4000)) + 0.1 * rng.normal(size=(1, 5, 1))
    joint = coda.multivariate_scale_reduction(chains)
    single = coda.potential_scale_reduction(chains[0]).point
    # The univariate factor has a correction for degrees of freedom, which is near 1 for long chains.
    assert float(joint) == pytest.approx(float(single), rel=2e-3)
    assert float(joint) > 1.0
    # It sees a difference along a diagonal.
    rng = np.random.default_rng(7)
    common = rng.normal(size=(4, 2000))
    narrow = 0.01 * rng.normal(size=(4, 2000))
    shift = np.array([-1.0, 1.0, -1.0, 1.0])[:, None] * 0.05
    chains = np.stack([common + narrow + shift, common - narrow - shift])
    assert float(coda.multivariate_scale_reduction(chains)) > 3.0
    assert coda.potential_scale_reduction(chains[0]).point < 1.05


def test_there_is_no_multivariate_factor_where_a_combination_never_moves():
    assert np.isnan(coda.multivariate_scale_reduction(np.ones((2, 3, 50))))
    # Singular to rounding only: solving with it would go through.
    chains = np.random.default_rng(8).normal(size=(3, 4, 50))
    chains[2] = chains[0] / 3.0 + chains[1] / 7.0
    assert np.isnan(coda.multivariate_scale_reduction(chains))


def test_multivariate_factors_side_by_side_are_those_alone():
    chains = np.random.default_rng(9).normal(size=(2, 3, 2, 4, 60))
    chains[1, 1] = 0.5
    found = coda.multivariate_scale_reduction(chains)
    alone = [[float(coda.multivariate_scale_reduction(chains[i, j])) for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(found, alone)
    assert np.isnan(found).sum() == 1


def test_scale_reduction_of_moments_is_that_of_the_draws():
    draws = np.random.default_rng(5).normal(size=(3, 4, 60)) + np.arange(4)[:, None]
    found = coda.scale_reduction_of_moments(draws.mean(axis=-1), draws.var(axis=-1, ddof=1), 60)
    expected = coda.potential_scale_reduction(draws)
    np.testing.assert_allclose(found.point, expected.point, rtol=1e-12)
    np.testing.assert_allclose(found.upper, expected.upper, rtol=1e-12)
