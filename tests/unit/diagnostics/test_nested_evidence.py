"""Sums of nested sampling against their definitions."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from auxmc.diagnostics.dead_points import log_masses, log_terms, nested_evidence

LEVELS = np.sort(np.random.default_rng(1).normal(scale=3.0, size=12))
N_LIVE = 4


@pytest.mark.parametrize("shrinkage", ["exponential", "mean", "unbiased"])
def test_the_three_sums_are_those_of_their_definitions(shrinkage):
    likelihoods = np.exp(LEVELS)
    ratio = {"exponential": math.exp(-0.25), "mean": 0.8, "unbiased": 0.75}[shrinkage]
    mass = ratio ** np.arange(14)
    np.testing.assert_allclose(np.exp(log_masses(13, N_LIVE, shrinkage)), mass)
    expected = {
        "lower": np.sum(likelihoods * (mass[1:13] - mass[2:14])),
        "upper": np.sum(likelihoods * (mass[:12] - mass[1:13])),
        "lebesgue": np.sum(np.diff(likelihoods, prepend=0.0) * mass[1:13]),
        "trapezoid": np.sum(likelihoods * 0.5 * (mass[:12] - mass[2:14])),
    }
    found = {
        name: nested_evidence(LEVELS, N_LIVE, estimator=name, shrinkage=shrinkage).value for name in expected
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(math.log(value), rel=1e-12), name
    # The sum from above is the one from below with every mass one step earlier.
    assert found["upper"] - found["lower"] == pytest.approx(-math.log(ratio), rel=1e-10)
    assert expected["lebesgue"] - expected["lower"] == pytest.approx(likelihoods[-1] * mass[13], rel=1e-10)


def test_live_points_fraction_the_mass_that_is_left():
    live = LEVELS[-1] + np.array([0.1, 0.5, 1.0, 2.0])
    found = nested_evidence(LEVELS, N_LIVE, live, estimator="upper")
    dead = nested_evidence(LEVELS, N_LIVE, estimator="upper").value
    expected = logsumexp([dead, logsumexp(live) - math.log(4.0) - 12 / 4])
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert len(found.log_weights) == 16
    assert logsumexp(found.log_weights) == pytest.approx(0.0, abs=1e-12)


def test_runs_side_by_side_are_those_one_by_one():
    rng = np.random.default_rng(2)
    dead, live = np.sort(rng.normal(size=(3, 9)), axis=1), 4.0 + rng.random((3, N_LIVE))
    terms = log_terms(dead, N_LIVE, live, estimator="trapezoid", shrinkage="unbiased")
    for row in range(3):
        alone = nested_evidence(dead[row], N_LIVE, live[row], estimator="trapezoid", shrinkage="unbiased")
        assert logsumexp(terms[row]) == pytest.approx(alone.value, abs=1e-13)


def test_information_of_a_flat_likelihood_is_nothing():
    flat = nested_evidence(np.zeros(400), 20, np.zeros(20), estimator="upper")
    assert flat.value == pytest.approx(0.0, abs=1e-12)
    assert flat.information == pytest.approx(0.0, abs=1e-9)
    assert flat.standard_error == pytest.approx(0.0, abs=1e-4)


def test_huge_likelihoods_do_not_overflow():
    shifted = nested_evidence(LEVELS - 1.4e6, N_LIVE)
    assert shifted.value + 1.4e6 == pytest.approx(nested_evidence(LEVELS, N_LIVE).value, abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 0.0], 4), "must not decrease"),
        (([], 4), "at least one number"),
        (([1.0], 0), "n_live must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_summed_is_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        nested_evidence(*arguments)


def test_wrong_options_are_rejected():
    with pytest.raises(ValueError, match="estimator must be one of lower, lebesgue, upper, trapezoid, got"):
        nested_evidence([1.0], 4, estimator="middle")
    with pytest.raises(ValueError, match="n_live must be at least 2 for unbiased masses, which vanish with"):
        log_masses(3, 1, "unbiased")
