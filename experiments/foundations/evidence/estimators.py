"""Estimators of the evidence of Gaussian observations with a Gaussian mean, where all is known in closed form."""

import math

import numpy as np
import xarray as xr
from scipy.special import logsumexp, ndtr

from auxmc.diagnostics.simple_evidence import harmonic_mean, prior_average
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.error_rules import (
    distance_in_errors,
    fraction_of_replicates,
    mean_over_replicates,
    quantile_over_replicates,
)
from experiments.estimator_illustrations.model import (
    FOUR_OBSERVATIONS,
    HUNDRED_OBSERVATIONS,
    log_evidence_distribution,
)
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

_MODEL = HUNDRED_OBSERVATIONS
_DECADE = math.log(10.0)
_N_SAMPLES = 10
_BLOCK = 100_000
_SIZES = (3, 10, 30, 100, 300, 1000, 3000, 10_000)
_SHOWN_SIZES = (10, 100, 1000, 10_000)
# Half the smallest positive number: likelihoods below round to zero.
_LOG_UNDERFLOW = -1075.0 * math.log(2.0)


@TOPIC.claim("FN-EV-01")
def canonical_evidence(work: Work) -> Lines:
    """Evidence of data like the canonical ones."""
    return {"decimal log, mean over data sets": log_evidence_distribution(100, 2.0).mean / _DECADE}


@TOPIC.claim("FN-EV-02", numbers=["standard deviation of the log", "within half a decade of 1e-64"])
def data_sets(work: Work) -> Lines:
    """Distribution of the evidence over data sets of the same size."""
    distribution = log_evidence_distribution(100, 2.0)
    return {
        "standard deviation of the log": distribution.sd,
        "within half a decade of 1e-64": distribution.cdf(-63.5 * _DECADE)
        - distribution.cdf(-64.5 * _DECADE),
    }


@TOPIC.claim("FN-EV-03")
def entropy_bound(work: Work) -> Lines:
    """The bound by the entropy of the data holds on average only."""
    distribution = log_evidence_distribution(100, 2.0)
    bound = -100.0 * 0.5 * math.log(2.0 * math.pi * math.e)
    return {
        "as printed": 1.0 - distribution.cdf(bound),
        "mean of the log less bound": distribution.mean - bound,
    }


def prior_averages(work: Work) -> FloatArray:
    """Log ratios of averages of ten likelihoods of prior draws to the evidence [replicate]."""
    rng, n = work.rng("evidence", "prior"), work.replicates(2_000_000)
    parts = [
        prior_average(_MODEL.log_likelihood(rng.standard_normal((size, _N_SAMPLES))))
        for size in _block_sizes(n, _BLOCK)
    ]
    return np.concatenate(parts) - _MODEL.log_evidence


def harmonic_means(work: Work) -> FloatArray:
    """Log ratios of harmonic means of ten likelihoods of posterior draws to the evidence [replicate]."""
    n = work.replicates(2_000_000)
    return _harmonic_ratios(work.rng("evidence", "harmonic"), n, _N_SAMPLES, _BLOCK)


@TOPIC.claim("FN-EV-04")
def prior_averaging(work: Work) -> Lines:
    """Averages of ten likelihoods: unbiased, and nearly always far too low."""
    logs = work.once(prior_averages)
    mean_ratio = mean_over_replicates(np.exp(logs))
    return {
        "share below a tenth of the evidence": fraction_of_replicates(logs < -_DECADE),
        "mean ratio, distance in standard errors": distance_in_errors(mean_ratio, 1.0),
    }


@TOPIC.claim("FN-EV-05", numbers=["one likelihood in double precision"])
def underflow(work: Work) -> Lines:
    """Likelihoods that are zero in a computer's numbers."""
    distance = math.sqrt(2.0 * (_MODEL.log_largest_likelihood - _LOG_UNDERFLOW) / _MODEL.n_rows)
    one = float(ndtr(_MODEL.sample_mean - distance) + ndtr(-_MODEL.sample_mean - distance))
    with np.errstate(under="ignore"):
        largest = np.exp(np.float32(_MODEL.log_largest_likelihood))
    # In single precision even the largest likelihood is zero, and so is every estimate; in double precision an
    # estimate is zero where all ten likelihoods are.
    return {
        "as printed, single precision": largest == 0.0,
        "as printed, double precision": one**_N_SAMPLES,
        "one likelihood in double precision": one,
    }


@TOPIC.claim(
    "FN-EV-06",
    numbers=[
        "95 % quantile of the decimal log ratio",
        "largest likelihood over evidence",
        "data sets whose bound is a hundred or more",
    ],
)
def harmonic(work: Work) -> Lines:
    """Harmonic means of ten likelihoods overestimate, with a hard bound."""
    logs = work.once(harmonic_means)
    largest = math.exp(_MODEL.log_largest_likelihood - _MODEL.log_evidence)
    beyond = log_evidence_distribution(100, 2.0).probability_of_range_above(2.0 * _DECADE)
    return {
        "95 % quantile of the decimal log ratio": quantile_over_replicates(logs / _DECADE, 0.95),
        "largest likelihood over evidence": largest,
        "data sets whose bound is a hundred or more": beyond,
    }


def harmonic_by_size(work: Work) -> dict[int, FloatArray]:
    """Ratios of harmonic means to the evidence [replicate] for each number of draws."""
    found = {}
    for size in _SIZES:
        rng, n = work.rng("evidence", "harmonic", size), work.replicates(max(2000, 200_000 // size), 50)
        found[size] = np.exp(_harmonic_ratios(rng, n, size, max(1, 1_000_000 // size)))
    return found


@TOPIC.claim("FN-EV-07", numbers=[f"{size} draws" for size in _SHOWN_SIZES])
def harmonic_convergence(work: Work) -> Lines:
    """The overestimate hardly falls with the number of draws."""
    ratios = work.once(harmonic_by_size)
    return {f"{size} draws": quantile_over_replicates(ratios[size], 0.5) for size in _SHOWN_SIZES}


@TOPIC.claim("FN-EV-08")
def reciprocal_identity(work: Work) -> Lines:
    """The posterior mean of the reciprocal likelihood is one over the evidence, by quadrature."""
    mean, variance = (float(part) for part in _MODEL.posterior())
    grid = np.linspace(-15.0, 15.0, 30_001)
    log_posterior = -0.5 * (np.square(grid - mean) / variance + math.log(2.0 * math.pi * variance))
    log_mean = logsumexp(log_posterior - _MODEL.log_likelihood(grid)) + math.log(grid[1] - grid[0])
    return {"relative error": abs(math.expm1(float(log_mean) + _MODEL.log_evidence))}


@TOPIC.claim("FN-EV-09")
def markov_bound(work: Work) -> Lines:
    """Unbiased estimates seldom exceed the evidence by much."""
    logs = work.once(prior_averages)
    return {f"bound at {nats} nats": fraction_of_replicates(logs > nats) for nats in (1, 2, 3)}


@TOPIC.claim("FN-EV-14", numbers=["largest likelihood over evidence"])
def small_fixture(work: Work) -> Lines:
    """Four observations."""
    model = FOUR_OBSERVATIONS
    return {"largest likelihood over evidence": math.exp(model.log_largest_likelihood - model.log_evidence)}


@TOPIC.figure("harmonic")
def harmonic_curves(work: Work) -> Arrays:
    """Quantiles of the harmonic mean over the evidence against the number of draws."""
    ratios = work.once(harmonic_by_size)
    levels = (0.05, 0.5, 0.95)
    table = np.array([np.quantile(ratios[size], levels) for size in _SIZES]).T
    cap = math.exp(_MODEL.log_largest_likelihood - _MODEL.log_evidence)
    along = {"harmonic_level": list(levels), "harmonic_size": list(_SIZES)}
    return {"harmonic_quantile": xr.DataArray(table, along), "harmonic_cap": xr.DataArray(cap)}


def _harmonic_ratios(rng: np.random.Generator, n: int, n_samples: int, block: int) -> FloatArray:
    """Log ratios of harmonic means to the evidence [replicate]."""
    parts = [
        harmonic_mean(_MODEL.log_likelihood(_MODEL.draw(rng, (size, n_samples))))
        for size in _block_sizes(n, block)
    ]
    return np.concatenate(parts) - _MODEL.log_evidence


def _block_sizes(n: int, block: int) -> list[int]:
    return [min(block, n - begin) for begin in range(0, n, block)]
