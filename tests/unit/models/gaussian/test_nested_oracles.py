"""Expected sums of nested sampling: known values, the unbiased factor, limits."""

import math

import pytest

from auxmc.models.gaussian.mean import FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS, GaussianMean
from auxmc.models.gaussian.nested_oracles import expected_nested_ratio

pytestmark = [
    pytest.mark.layer("nested_sampling", "L9"),
    pytest.mark.layer("nested_sampling", "L11"),
]


@pytest.mark.parametrize(
    ("n_live", "factor", "expected"),
    [
        (10, 10 / 11, 1.458963),
        (10, math.exp(-0.1), 1.222305),
        (100, 100 / 101, 1.041893),
        (100, math.exp(-0.01), 1.020868),
    ],
)
def test_values_on_the_canonical_example(n_live: int, factor: float, expected: float) -> None:
    assert expected_nested_ratio(HUNDRED_OBSERVATIONS, n_live, factor) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n_live", [2, 10, 1000])
@pytest.mark.parametrize("model", [FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS._replace(prior_variance=9.0)])
def test_one_less_one_over_the_live_points_is_unbiased(n_live: int, model: GaussianMean) -> None:
    assert expected_nested_ratio(model, n_live, 1.0 - 1.0 / n_live) == pytest.approx(1.0, abs=1e-10)


def test_biases_fall_with_the_live_points_and_with_the_factor() -> None:
    for factor in (lambda m: m / (m + 1.0), lambda m: math.exp(-1.0 / m)):
        ratios = [expected_nested_ratio(FOUR_OBSERVATIONS, m, factor(m)) for m in (2, 8, 64, 4096)]
        assert ratios == sorted(ratios, reverse=True)
        assert 1.0 < ratios[-1] < 1.001


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(ValueError, match="n_live must be at least 1, got 0"):
        expected_nested_ratio(FOUR_OBSERVATIONS, 0, 0.5)
    with pytest.raises(ValueError, match=r"factor must be above 0 and below 1, got 1\.0"):
        expected_nested_ratio(FOUR_OBSERVATIONS, 2, 1.0)
