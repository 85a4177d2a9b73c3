"""Expected sums of nested sampling: known values, the unbiased factor, limits."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from experiments.estimator_illustrations.model import (
    FOUR_OBSERVATIONS,
    HUNDRED_OBSERVATIONS,
    GaussianMean,
)
from experiments.foundations.evidence.nested_exact import expected_nested_ratio, expected_upper_bound_ratio
from experiments.foundations.sampling.ideal_nested_sampling import ideal_nested_sampling


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


def test_the_upper_sum_with_true_masses_is_that_of_simulated_runs() -> None:
    model, n_live = FOUR_OBSERVATIONS, 3
    found = ideal_nested_sampling(
        np.random.default_rng(4), ndtr, ndtri, model.sample_mean, n_live=n_live, n_dead=60, n_runs=20_000
    )
    shells = -np.diff(found.masses, axis=1, prepend=1.0)
    sums = np.sum(np.exp(model.log_likelihood(found.dead) - model.log_evidence) * shells, axis=1)
    error = sums.std() / math.sqrt(sums.size)
    assert error < 0.01
    assert abs(sums.mean() - expected_upper_bound_ratio(model, n_live)) < 4.0 * error


def test_a_narrow_likelihood_has_the_bound_of_small_masses() -> None:
    narrow = HUNDRED_OBSERVATIONS._replace(prior_variance=1e6)
    assert expected_upper_bound_ratio(narrow, 10) == pytest.approx(10.0 / 9.0, abs=1e-9)
