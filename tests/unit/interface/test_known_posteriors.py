"""Problems with published or exact answers through the public names alone: moments, a classifier, evidences.

The problems and the measures are those of `benchmarks/posterior_accuracy.py`, which prints them.
"""

import math

import numpy as np
import pytest

from benchmarks import posterior_problems
from benchmarks.posterior_accuracy import largest_z, told_apart
from benchmarks.posterior_problems import PROBLEMS, Found

# Two and four modes, bounds, ten parameters, an estimated likelihood, evidences; the others are warned of.
RIGHT = [
    posterior_problems.two_moons_jumps,
    posterior_problems.slcp_jumps,
    posterior_problems.slcp_likelihood,
    posterior_problems.gaussian_linear,
    posterior_problems.gaussian_linear_uniform,
    posterior_problems.latent_mean,
    posterior_problems.regression,
    posterior_problems.two_modes,
]


@pytest.mark.slow
@pytest.mark.parametrize("problem", RIGHT, ids=lambda problem: problem.__name__)
def test_draws_are_those_of_the_posterior(problem):
    """Nothing is warned of, and neither moments, nor neighbours, nor the evidence tell draws from exact ones."""
    assert problem in PROBLEMS.values()
    found = problem(np.random.default_rng(0))
    assert not found.warnings
    # Of twenty scores at most the largest is above 4 in one of 800 cases.
    assert max(largest_z(found)) < 4.0
    right, n = told_apart(found)
    # Votes of neighbours are alike: the fraction varies a quarter more than that of independent guesses.
    assert abs(right - 0.5) < 4.0 * 1.25 * math.sqrt(0.25 / (2 * n))
    if found.log_evidence is not None:
        value, error, exact = found.log_evidence
        assert abs(value - exact) < 3.0 * error
        assert error < 0.2


def test_a_classifier_tells_draws_of_another_distribution():
    """The measure sees a shift of a third of a standard deviation, and one mode of two."""
    random = np.random.default_rng(1)
    same, other = random.normal(size=(2, 1, 2000, 2))
    exact = random.normal(size=(2000, 2))
    right, n = told_apart(Found(same, exact, []))
    # The smallest of four estimates of two thousand.
    assert n > 1500
    assert abs(right - 0.5) < 0.03
    assert told_apart(Found(other + 0.33, exact, []))[0] > 0.55
    assert told_apart(Found(np.abs(other), exact, []))[0] > 0.6
