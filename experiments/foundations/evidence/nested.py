"""Nested sampling with exact draws under the constraint: shrinkage, and the bias of its sums."""

import math
from fractions import Fraction

import numpy as np
import xarray as xr
from scipy.special import logsumexp, ndtr, ndtri

from auxmc.diagnostics.nested_evidence import SHRINKAGE, log_masses, log_terms
from auxmc.models.gaussian.mean import HUNDRED_OBSERVATIONS
from auxmc.models.gaussian.nested_oracles import expected_nested_ratio
from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.ideal_nested_sampling import IdealNestedRuns, ideal_nested_sampling
from auxmc_pipeline.claims import Measurement
from experiments.foundations.measurements import distance_from, mean_of
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

_MODEL = HUNDRED_OBSERVATIONS
_FACTORS = {"mean": "M/(M+1)", "exponential": "exp(-1/M)", "unbiased": "1-1/M"}
_SIZES = (3, 5, 10, 20, 50, 100)
# Dead points for each live one: the mass that is left is exp(-17), less than a millionth of the evidence.
_DEAD = 17
_SHORT = 20


def runs(work: Work) -> dict[int, IdealNestedRuns]:
    """Runs to the end for each number of live points."""
    found = {}
    for n_live in _SIZES:
        n_runs = work.replicates(max(2000, 100_000 // n_live))
        found[n_live] = _ideal(work, "whole", n_live, _DEAD * n_live, n_runs)
    return found


def log_ratios(work: Work) -> dict[tuple[int, str], FloatArray]:
    """Log ratios of upper sums to the evidence [run], by number of live points and shrinkage."""
    found = {}
    for n_live, run in work.once(runs).items():
        dead, live = _MODEL.log_likelihood(run.dead), _MODEL.log_likelihood(run.live)
        for shrinkage in SHRINKAGE:
            terms = log_terms(dead, n_live, live, estimator="upper", shrinkage=shrinkage)
            found[n_live, shrinkage] = logsumexp(terms, axis=1) - _MODEL.log_evidence
    return found


@TOPIC.claim("FN-NS-01")
def shrinkage(work: Work) -> Lines:
    """Ratios of successive masses have the law Beta(M, 1)."""
    found = {}
    for n_live in (10, 100):
        run = _ideal(work, "short", n_live, _SHORT, work.replicates(20_000))
        logs = np.diff(np.log(run.masses), axis=1, prepend=0.0).ravel()
        # Minus the log is exponential, whose standard deviation has the relative error sqrt(2 / n).
        spread = Measurement(float(logs.std()), float(logs.std()) * math.sqrt(2.0 / logs.size))
        for name, measured, exact in (
            ("mean ratio", mean_of(np.exp(logs)), n_live / (n_live + 1.0)),
            ("mean log ratio", mean_of(logs), -1.0 / n_live),
            ("standard deviation of the log ratio", spread, 1.0 / n_live),
        ):
            away = distance_from(measured, exact)
            found[f"{name}, {n_live} live points, distance in standard errors"] = away
    return found


@TOPIC.claim("FN-NS-02")
def factor_difference(work: Work) -> Lines:
    """M/(M+1) - exp(-1/M)."""
    # Both less 1, which they have in common.
    return {f"{n} live points": -1.0 / (n + 1.0) - math.expm1(-1.0 / n) for n in (10, 100, 1000)}


@TOPIC.claim("FN-NS-03")
def biases(work: Work) -> Lines:
    """Expected sums with the three shrinkage factors."""
    simulated, found = work.once(log_ratios), {}
    found["as printed"] = expected_nested_ratio(_MODEL, 10, _factor(10, "mean"))
    for n_live in (10, 100):
        for shrinkage, name in _FACTORS.items():
            exact = expected_nested_ratio(_MODEL, n_live, _factor(n_live, shrinkage))
            found[f"{name}, {n_live} live points"] = exact
            mean = mean_of(np.exp(simulated[n_live, shrinkage]))
            label = f"{name}, {n_live} live points, simulated, distance in standard errors"
            found[label] = distance_from(mean, exact)
    run = work.once(runs)[10]
    dead, live = _MODEL.log_likelihood(run.dead[:100]), _MODEL.log_likelihood(run.live[:100])
    errors = []
    for shrinkage in SHRINKAGE:
        lower, upper = (
            logsumexp(log_terms(dead, 10, live, estimator=name, shrinkage=shrinkage), axis=1)
            for name in ("lower", "upper")
        )
        errors.append(np.max(np.abs(np.expm1(lower - upper - math.log(_factor(10, shrinkage))))))
    found["lower sum over upper sum and factor less 1"] = max(errors)
    return found


@TOPIC.claim("FN-NS-04")
def spread(work: Work) -> Lines:
    """Spread of the log estimate and the information behind it."""
    logs = work.once(log_ratios)[100, "exponential"]
    sd = float(logs.std(ddof=1))
    return {
        "information": _MODEL.information,
        "square root of information over 100": math.sqrt(_MODEL.information / 100.0),
        "standard deviation with 100 live points": Measurement(sd, sd / math.sqrt(2.0 * logs.size)),
    }


@TOPIC.claim("FN-NS-05")
def listing(work: Work) -> Lines:
    """The listing of Algorithm 5 against the sum of the text."""
    dead = _MODEL.log_likelihood(work.once(runs)[10].dead[0])
    lower, upper = (
        float(logsumexp(log_terms(dead, 10, estimator=name, shrinkage="mean"))) for name in ("lower", "upper")
    )
    # The listing: a weight of 1 - M/(M+1), times M/(M+1) after each point.
    listed = float(logsumexp(dead + math.log(1.0 / 11.0) + np.arange(dead.size) * math.log(10.0 / 11.0)))
    return {
        "as printed": math.exp(listed - lower),
        "listing over sum of the text": math.exp(listed - lower),
        "listing over upper sum less 1": math.expm1(listed - upper),
    }


@TOPIC.claim("FN-NS-06")
def by_parts(work: Work) -> Lines:
    """The sum over levels and the sum over points differ by a boundary term, in exact fractions."""
    rng = work.rng("nested", "by parts")
    largest = Fraction(0)
    for n_live, n_dead in ((2, 10), (10, 60)):
        levels = [Fraction(0), *(Fraction(float(v)) for v in np.sort(rng.random(n_dead)))]
        masses = [Fraction(n_live, n_live + 1) ** k for k in range(n_dead + 2)]
        over_levels = sum((levels[k] - levels[k - 1]) * masses[k] for k in range(1, n_dead + 1))
        over_points = sum(levels[k] * (masses[k] - masses[k + 1]) for k in range(1, n_dead + 1))
        error = abs(over_levels - over_points - levels[-1] * masses[n_dead + 1]) / over_levels
        largest = max(largest, error)
    dead = _MODEL.log_likelihood(work.once(runs)[10].dead[0])
    lower, lebesgue = (logsumexp(log_terms(dead, 10, estimator=name)) for name in ("lower", "lebesgue"))
    both = np.logaddexp(lower, dead[-1] + log_masses(dead.size + 1, 10)[-1])
    return {
        "in exact fractions, relative error": float(largest),
        "in double precision, relative error": abs(math.expm1(float(lebesgue) - float(both))),
    }


@TOPIC.figure("nested_bias")
def curves(work: Work) -> Arrays:
    """Expected ratios against the number of live points, with simulated means."""
    ratios, fine = work.once(log_ratios), np.unique(np.round(np.geomspace(2.0, 200.0, 40)).astype(int))
    simulated = [[mean_of(np.exp(ratios[n, shrinkage]))[:2] for n in _SIZES] for shrinkage in _FACTORS]
    exact = [
        [expected_nested_ratio(_MODEL, int(n), _factor(int(n), shrinkage)) for n in fine]
        for shrinkage in _FACTORS
    ]
    factor = {"nested_bias_factor": list(_FACTORS.values())}
    parts = {"nested_bias_live": list(_SIZES), "nested_bias_part": ["mean", "error"]}
    return {
        "nested_bias_exact": xr.DataArray(exact, {**factor, "nested_bias_fine_live": fine}),
        "nested_bias_simulated": xr.DataArray(simulated, {**factor, **parts}),
    }


def _ideal(work: Work, name: str, n_live: int, n_dead: int, n_runs: int) -> IdealNestedRuns:
    rng, centre = work.rng("nested", name, n_live), _MODEL.sample_mean
    return ideal_nested_sampling(rng, ndtr, ndtri, centre, n_live=n_live, n_dead=n_dead, n_runs=n_runs)


def _factor(n_live: int, shrinkage: str) -> float:
    return math.exp(log_masses(1, n_live, shrinkage)[1])
