"""Errors of medians, ratios, shares and extremes have the size of their spread over repeated experiments."""

import math

import numpy as np
import pytest

from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import (
    difference,
    jackknife,
    largest,
    median_over_replicates,
    ratio,
    ratio_of_means,
    share_of_replicates,
    share_of_trials,
)

N_EXPERIMENTS, N_REPLICATES = 2000, 50


def test_errors_are_the_spread_over_repeated_experiments() -> None:
    rng = np.random.default_rng(1)
    above = rng.normal(3.0, 0.5, (N_EXPERIMENTS, N_REPLICATES))
    below = rng.normal(-2.0, 0.2, (N_EXPERIMENTS, N_REPLICATES))
    for measured in (
        [median_over_replicates(a) for a in above],
        [ratio_of_means(a, b) for a, b in zip(above, below, strict=True)],
        [share_of_replicates(a > 2.8) for a in above],
    ):
        values, errors = (
            np.array(part) for part in zip(*((m.value, m.error) for m in measured), strict=True)
        )
        assert np.mean(errors) == pytest.approx(np.std(values), rel=0.1)


def test_one_replicate_has_no_error_of_its_own() -> None:
    one, several = np.array([2.0]), np.array([1.0, 2.0, 3.0])
    assert math.isnan(ratio_of_means(one, one).error)
    assert ratio_of_means(one, several).error > 0.0
    assert median_over_replicates(one)[::2] == (2.0, "one run")
    assert math.isnan(median_over_replicates(one).error)


def test_a_share_of_none_or_all_has_an_error_unless_they_are_all_there_is() -> None:
    everywhere = np.array([True, True, True])
    assert share_of_replicates(everywhere).error > 0.1
    assert share_of_replicates(everywhere, exact=True) == (1.0, 0.0, "3 runs")


def test_the_error_of_a_ratio_is_its_spread() -> None:
    rng = np.random.default_rng(1)
    above, below = rng.normal(-6.0, 0.1, 200_000), rng.normal(2.0, 0.02, 200_000)
    found = ratio(Measurement(-6.0, 0.1), Measurement(2.0, 0.02), "why")
    assert found.value == -3.0
    assert found.error == pytest.approx(float(np.std(above / below)), rel=0.02)
    assert found.note == "why"


def test_a_ratio_to_zero_is_unknown_and_one_of_zero_is_not() -> None:
    for undefined in (
        ratio(Measurement(1.0, 0.1), Measurement(0.0, 0.1), "why"),
        ratio_of_means(np.array([1.0, 2.0]), np.zeros(2), "why"),
    ):
        assert np.isnan(undefined[:2]).all()
        assert undefined.note == "the denominator is zero"
    assert ratio_of_means(np.zeros(2), np.array([1.0, 2.0])) == (0.0, 0.0, "")
    assert ratio(Measurement(0.0, 0.1), Measurement(2.0, 0.1))[:2] == (0.0, 0.05)
    assert math.isnan(ratio(Measurement(1.0, math.nan), Measurement(2.0, 0.1)).error)


def test_the_error_of_a_share_is_the_spread_of_shares() -> None:
    shares = np.random.default_rng(2).binomial(50, 0.2, 100_000) / 50
    assert share_of_trials(0.2, 50).error == pytest.approx(float(np.std(shares)), rel=0.02)
    assert share_of_trials(1.0, 50).error == 0.0


def test_the_largest_value_keeps_its_own_error_and_name() -> None:
    assert largest(np.array([0.2, -0.9]), np.array([0.5, 0.1]), ("z1", "z2")) == (0.2, 0.5, "z1")


def test_the_jackknife_of_a_mean_gives_its_standard_error() -> None:
    values = np.array([1.0, 4.0, 2.0, 7.0, 3.0])
    found = jackknife(lambda kept: float(values[kept].mean()), 5)
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(5.0))


def test_errors_of_independent_measurements_add_up_in_a_difference() -> None:
    assert difference(Measurement(1.0, 0.3), Measurement(3.0, 0.4), "nats") == (-2.0, 0.5, "nats")
