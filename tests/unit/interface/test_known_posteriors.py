"""Problems with published or exact answers through the public names alone: moments, a classifier, evidences.

The measures are those of `benchmarks/posterior_accuracy.py`, which measures some of the problems, too.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import auxmc
from benchmarks import posterior_problems
from benchmarks.posterior_accuracy import largest_z, told_apart
from benchmarks.posterior_problems import N_EXACT, Found, as_array, linear_method, sampled, tempered


def gaussian_linear_uniform(random):
    """Ten parameters, each seen once with noise, and a uniform prior, whose ends cut the posterior off."""
    data, sd = random.uniform(-1.0, 1.0, 10), math.sqrt(0.1)
    low, high = (-1.0 - data) / sd, (1.0 - data) / sd
    exact = stats.truncnorm.rvs(low, high, data, sd, size=(N_EXACT, 10), random_state=random)
    return sampled(linear_method(data, auxmc.prior.uniform(10, low=-1.0, high=1.0)), "theta", exact, random)


def latent_mean(random):
    """A mean with a standard normal prior; 20 data of variance 1 around latent values of variance 1 around it."""
    data = random.normal(0.7, math.sqrt(2.0), 20)

    def log_estimate(v, u):
        terms = jax.scipy.stats.norm.logpdf(data[None, :], v["mean"] + u)
        return jnp.sum(jax.nn.logsumexp(terms, axis=0) - math.log(len(u)))

    model = auxmc.estimated(lambda v: -0.5 * v["mean"] ** 2, log_estimate, (8, 20), {"mean": 0.0})
    precision = 1.0 + 20.0 / 2.0
    exact = np.sum(data) / 2.0 / precision + random.normal(size=(N_EXACT, 1)) / math.sqrt(precision)
    return sampled(auxmc.auxiliary_pseudo_marginal(model), "mean", exact, random)


def regression(random):
    """Two coefficients and the log of the noise's variance, conjugate: a draw of the variance, then of the others."""
    x = np.column_stack([np.ones(30), random.normal(size=30)])
    y = x @ [0.5, -1.0] + 0.7 * random.normal(size=30)
    shape, rate, precision = 3.0, 2.0, 0.25

    def log_density(v):
        sd = jnp.exp(0.5 * v["log_variance"])
        of_rows = jax.scipy.stats.norm.logpdf(y, x @ v["slope"], sd)
        of_slope = jax.scipy.stats.norm.logpdf(v["slope"], 0.0, sd / math.sqrt(precision))
        # Of the inverse gamma distribution, with the derivative of the variance by its log.
        of_variance = shape * (math.log(rate) - v["log_variance"]) - math.lgamma(shape) - rate / sd**2
        return jnp.sum(of_rows) + jnp.sum(of_slope) + of_variance

    start, seed = {"slope": np.zeros(2), "log_variance": 0.0}, int(random.integers(2**31))
    found = auxmc.evidence(log_density, start, seed=seed, progress=False)
    after = precision * np.eye(2) + x.T @ x
    mean = np.linalg.solve(after, x.T @ y)
    shape_after, rate_after = shape + 15.0, rate + 0.5 * (y @ y - mean @ after @ mean)
    scale = rate / shape * (np.eye(30) + x @ x.T / precision)
    log_evidence = float(stats.multivariate_t.logpdf(y, np.zeros(30), scale, df=2.0 * shape))
    variance = rate_after / random.gamma(shape_after, size=N_EXACT)
    slopes = random.normal(size=(N_EXACT, 2)) @ np.linalg.inv(np.linalg.cholesky(after))
    exact = np.column_stack([mean + np.sqrt(variance)[:, None] * slopes, np.log(variance)])
    draws = np.concatenate([as_array(found.posterior, name) for name in ("slope", "log_variance")], axis=-1)
    return tempered(found, draws, exact, log_evidence)


# Two and four modes, bounds, ten parameters, an estimated likelihood, evidences; the others are warned of.
RIGHT = [
    posterior_problems.two_moons_jumps,
    posterior_problems.slcp_jumps,
    posterior_problems.slcp_likelihood,
    posterior_problems.gaussian_linear,
    gaussian_linear_uniform,
    latent_mean,
    regression,
    posterior_problems.two_modes,
]


@pytest.mark.slow
@pytest.mark.parametrize("problem", RIGHT, ids=lambda problem: problem.__name__)
def test_draws_are_those_of_the_posterior(problem):
    """Nothing is warned of, and neither moments, nor neighbours, nor the evidence tell draws from exact ones."""
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
