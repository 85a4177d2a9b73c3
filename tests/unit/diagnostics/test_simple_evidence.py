"""Averages of likelihoods on a model with a discrete parameter, where every expectation is a sum."""

import math

import numpy as np
import pytest

from auxmc.diagnostics.simple_evidence import harmonic_mean, log_reciprocal, prior_average

PRIOR = np.array([0.5, 0.3, 0.2])
LIKELIHOOD = np.array([1e-3, 2e-3, 1e-2])
EVIDENCE = float(PRIOR @ LIKELIHOOD)


def pairs(probabilities):
    """All pairs of draws [pair, draw] and their probabilities [pair]."""
    draws = np.array([(i, j) for i in range(3) for j in range(3)])
    return np.log(LIKELIHOOD)[draws], probabilities[draws].prod(axis=1)


def test_expectation_of_the_prior_average_is_the_evidence():
    values, weights = pairs(PRIOR)
    assert weights @ np.exp(prior_average(values)) == pytest.approx(EVIDENCE, rel=1e-12)


def test_expectation_of_the_reciprocal_is_that_of_the_evidence():
    posterior = PRIOR * LIKELIHOOD / EVIDENCE
    values, weights = pairs(posterior)
    assert weights @ np.exp(log_reciprocal(values)) == pytest.approx(1.0 / EVIDENCE, rel=1e-12)
    assert weights @ np.exp(harmonic_mean(values)) > EVIDENCE


def test_replicates_keep_their_shape_and_large_numbers_their_digits():
    values = -1e6 + np.log(np.arange(1.0, 25.0)).reshape(2, 3, 4)
    found = prior_average(values)
    assert found.shape == (2, 3)
    np.testing.assert_allclose(
        found + 1e6, np.log(np.arange(1.0, 25.0).reshape(2, 3, 4).mean(axis=2)), rtol=1e-9
    )


def test_draws_without_a_likelihood_count_as_zero():
    values = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    assert prior_average(values).tolist() == [-math.log(2.0), -math.inf]
    assert harmonic_mean(values).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize("function", [prior_average, harmonic_mean, log_reciprocal])
def test_what_is_no_log_likelihood_is_rejected(function):
    assert callable(function)
    with pytest.raises(ValueError, match="2 of 3 are NaN or plus infinity"):
        function([0.0, np.nan, np.inf])
    with pytest.raises(ValueError, match=r"must be \[..., draw\], got \[3, 0\]"):
        function(np.zeros((3, 0)))
    with pytest.raises(ValueError, match=r"must be \[\.\.\., draw\], got \[\]"):
        function(1.0)
