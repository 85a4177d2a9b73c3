"""Nested sampling with exact draws under the constraint: shrinkage, and the bias of its sums."""

import math
from fractions import Fraction

import numpy as np
import xarray as xr
from scipy import integrate
from scipy.special import logsumexp, ndtr, ndtri

from auxmc.diagnostics.dead_points import SHRINKAGE, log_masses, log_terms
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import estimate, mean
from experiments.estimator_illustrations import model as gaussian_mean
from experiments.foundations.topic import Arrays, Lines, Topic, Work

_WIDTHS = 40.0  # Beyond this many standard deviations of the likelihood nothing contributes.


def expected_nested_ratio(model: gaussian_mean.GaussianMean, n_live: int, factor: float) -> float:
    """Expected upper sum over the evidence, with exact draws to the end.

    This is ours, of MSc thesis, section 3.2. The sum of factor^(k-1) (1 - factor) L_k has as expectation the
    integral of P(L > l)^(M (1 - factor)): dead points with a mass above x are Poisson in number, with mean -M
    log x. The lower sum is factor times it.
    """
    return _integral_of_mass(model, n_live * (1.0 - factor))


def expected_upper_bound_ratio(model: gaussian_mean.GaussianMean, n_live: int) -> float:
    """Expected upper sum with the true masses over the evidence.

    This is ours, of MSc thesis, section 3.2. The steps of -log X are exponential with mean 1/M: it is M/(M-1)
    times the integral of L (1 - X^(M-1)) over X.
    """
    # By parts, the integral of L X^(M-1) over X is that of P(L > l)^M / M over l.
    return n_live / (n_live - 1.0) * (1.0 - _integral_of_mass(model, float(n_live)) / n_live)


def _integral_of_mass(model: gaussian_mean.GaussianMean, power: float) -> float:
    """Integral of P(L > l)^power over l, over the evidence."""
    sd, n = math.sqrt(model.prior_variance), model.n_rows
    log_scale = model.log_largest_likelihood - model.log_evidence

    # Over the distance of contours from the sample mean: -dL/dd = n d L.
    def integrand(width: float) -> float:
        distance = width / math.sqrt(n)
        below, above = (model.sample_mean - distance) / sd, (model.sample_mean + distance) / sd
        mass = float(ndtr(above) - ndtr(below))
        return mass**power * width * math.exp(log_scale - 0.5 * width**2)

    value, _ = integrate.quad(integrand, 0.0, _WIDTHS, epsabs=0.0, epsrel=1e-12, limit=500)
    return float(value)


TOPIC = Topic()

_MODEL = gaussian_mean.HUNDRED_OBSERVATIONS
_FACTORS = {"mean": "M/(M+1)", "exponential": "exp(-1/M)", "unbiased": "1-1/M"}
_SIZES = (3, 5, 10, 20, 50, 100)
# Dead points for each live one: the mass that is left is exp(-17), less than a millionth of the evidence.
_DEAD = 17
_SHORT = 20
_N_BLOCKS = 50


def runs(work: Work) -> dict[int, gaussian_mean.IdealNestedRuns]:
    """Runs to the end for each number of live points."""
    n_runs = {n_live: work.replicates(max(2000, 100_000 // n_live)) for n_live in _SIZES}
    return {n_live: _ideal(work, "whole", n_live, _DEAD * n_live, n) for n_live, n in n_runs.items()}


def log_ratios(work: Work) -> dict[tuple[int, str], FloatArray]:
    """Log ratios of upper sums to the evidence [run], by number of live points and shrinkage."""
    found = {}
    for n_live, run in work.once(runs).items():
        dead, live = _MODEL.log_likelihood(run.dead), _MODEL.log_likelihood(run.live)
        for shrinkage in SHRINKAGE:
            terms = log_terms(dead, n_live, live, estimator="upper", shrinkage=shrinkage)
            found[n_live, shrinkage] = logsumexp(terms, axis=1) - _MODEL.log_evidence
    return found


def true_upper_sums(work: Work) -> FloatArray:
    """Log ratios to the evidence of upper sums with true in place of expected masses, ten live points [run]."""
    run = work.once(runs)[10]
    shells = -np.diff(run.masses, axis=1, prepend=1.0)
    logs = _MODEL.log_likelihood(run.dead) + np.log(shells)
    # The mass that is left at the end counts with the largest likelihood, as its part of an upper sum.
    rest = _MODEL.log_largest_likelihood + np.log(run.masses[:, -1])
    return np.asarray(np.logaddexp(logsumexp(logs, axis=1), rest) - _MODEL.log_evidence)


@TOPIC.claim("FN-NS-01")
def shrinkage(work: Work) -> Lines:
    """Ratios of successive masses have the distribution Beta(M, 1)."""
    n_live = 100
    run = _ideal(work, "short", n_live, _SHORT, work.replicates(20_000))
    logs = np.diff(np.log(run.masses), axis=1, prepend=0.0)
    lost = mean(-np.expm1(logs).ravel() * (n_live + 1))
    return {"mean of one less the ratio, times M + 1, 100 live points": lost}


@TOPIC.claim("FN-NS-03", numbers=[f"{name}, 10 live points" for name in _FACTORS.values()])
def biases(work: Work) -> Lines:
    """Expected sums with the three shrinkage factors."""
    true_sums = np.exp(work.once(true_upper_sums))
    expected_sums = np.exp(work.once(log_ratios)[10, "mean"])
    bound = expected_upper_bound_ratio(_MODEL, 10)
    blocks = _block_means(expected_sums), _block_means(true_sums)
    return {
        "as printed": _expected(10, "mean") / bound,
        "as printed, simulated": estimate(lambda a, b: a.mean() / b.mean(), *blocks, method="paired"),
        **{f"{name}, 10 live points": _expected(10, shrinkage) for shrinkage, name in _FACTORS.items()},
    }


@TOPIC.claim("FN-NS-05", numbers=["listing over the upper sum"])
def listing(work: Work) -> Lines:
    """The listing of Algorithm 5 against the sum of the text, whose expected masses are those of equation 3.24."""
    run = work.once(runs)[10]
    likelihoods = np.exp(_MODEL.log_likelihood(run.dead[0]) - _MODEL.log_evidence)
    weight, listed = 1.0 - 10.0 / 11.0, 0.0
    for likelihood in likelihoods:
        listed += float(likelihood) * weight
        weight *= 10.0 / 11.0
    shells = -np.diff((10.0 / 11.0) ** np.arange(likelihoods.size + 2))
    # E[X_k - X_(k+1)] begins with the mass of the first dead point, E[X_(k-1) - X_k] with all of it.
    return {
        "as printed": listed / float(likelihoods @ shells[1:]),
        "listing over the upper sum": listed / float(likelihoods @ shells[:-1]),
    }


@TOPIC.claim("FN-NS-06")
def by_parts(work: Work) -> Lines:
    """The sum over levels and the sum over points differ by a boundary term, in exact fractions."""
    shorter = longer = Fraction(0)
    for n_live, n_dead in ((2, 10), (10, 60)):
        levels = [Fraction(k**2, n_dead**2) for k in range(n_dead + 1)]
        masses = [Fraction(n_live, n_live + 1) ** k for k in range(n_dead + 2)]
        over_levels = sum((levels[k] - levels[k - 1]) * masses[k] for k in range(1, n_dead + 1))
        terms = [levels[k] * (masses[k] - masses[k + 1]) for k in range(1, n_dead + 1)]
        # The boundary term as printed, where the sum over points ends before the last one or with it.
        boundary = levels[-1] * masses[n_dead]
        shorter = max(shorter, abs(over_levels - sum(terms[:-1]) - boundary) / over_levels)
        longer = max(longer, abs(over_levels - sum(terms) - boundary) / over_levels)
    return {
        "in exact fractions, sum to the last but one": float(shorter),
        "in exact fractions, sum to the last": float(longer),
    }


@TOPIC.figure("nested_bias")
def curves(work: Work) -> Arrays:
    """Expected ratios against the number of live points, with simulated means."""
    ratios, fine = work.once(log_ratios), np.unique(np.round(np.geomspace(2.0, 200.0, 40)).astype(int))
    simulated = [[mean(np.exp(ratios[n, shrinkage]))[:2] for n in _SIZES] for shrinkage in _FACTORS]
    exact = [[_expected(int(n), shrinkage) for n in fine] for shrinkage in _FACTORS]
    factor = {"factor": list(_FACTORS.values())}
    parts = {"live": list(_SIZES), "part": ["mean", "error"]}
    return {
        "exact": xr.DataArray(exact, {**factor, "fine_live": fine}),
        "simulated": xr.DataArray(simulated, {**factor, **parts}),
    }


def _block_means(values: FloatArray) -> FloatArray:
    """Means of blocks of runs [block, ...] from values of runs [run, ...]."""
    return np.array([block.mean(axis=0) for block in np.array_split(values, _N_BLOCKS)])


def _ideal(work: Work, name: str, n_live: int, n_dead: int, n_runs: int) -> gaussian_mean.IdealNestedRuns:
    rng, draw = work.rng("nested", name, n_live), gaussian_mean.ideal_nested_sampling
    return draw(rng, ndtr, ndtri, _MODEL.sample_mean, n_live=n_live, n_dead=n_dead, n_runs=n_runs)


def _expected(n_live: int, shrinkage: str) -> float:
    return expected_nested_ratio(_MODEL, n_live, math.exp(log_masses(1, n_live, shrinkage)[1]))
