"""Estimators of the evidence and annealing on Gaussian observations with a Gaussian mean, and on eight states."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.polynomial import Polynomial
from scipy import stats
from scipy.special import logsumexp, ndtr

from auxmc.diagnostics.path_integrals import thermodynamic_integration
from auxmc.diagnostics.simple_evidence import harmonic_mean, prior_average
from auxmc.numerics.annealing import annealing_increment
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.schedules import linear_schedule
from auxmc_pipeline.measuring import mean, proportion_of, quantile
from experiments.boltzmann.model.enumeration import sign_table
from experiments.estimator_illustrations import model as gaussian_mean
from experiments.foundations.models.machines import log_weights, three_units
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

_MODEL, _LOG_EVIDENCE = gaussian_mean.HUNDRED_OBSERVATIONS, gaussian_mean.LogEvidenceDistribution(100, 2.0)
_DECADE = math.log(10.0)
_N_SAMPLES = 10
_BLOCK = 100_000
_SIZES = (3, 10, 30, 100, 300, 1000, 3000, 10_000)
_SHOWN_SIZES = (10, 10_000)
# Half the smallest positive number: likelihoods below round to zero.
_LOG_UNDERFLOW = -1075.0 * math.log(2.0)


@TOPIC.claim("FN-EV-02", numbers=["within half a decade of 1e-64"])
def data_sets(work: Work) -> Lines:
    """Distribution of the evidence over data sets of the same size."""
    within = _LOG_EVIDENCE.cdf(-63.5 * _DECADE) - _LOG_EVIDENCE.cdf(-64.5 * _DECADE)
    return {"within half a decade of 1e-64": within}


@TOPIC.claim("FN-EV-03")
def entropy_bound(work: Work) -> Lines:
    """The bound by the entropy of the data, which some data sets exceed."""
    n, true_mean = _LOG_EVIDENCE
    bound = -0.5 * n * math.log(2.0 * math.pi * math.e)
    # With z the standardised sample mean and S, chi-squared, the sum of squares about it, the logs of the true density
    # and of the evidence exceed the bound by (n - z^2 - S) / 2 and (n - shrunk(z) - S) / 2.
    shrunk = Polynomial([math.sqrt(n) * true_mean, 1.0]) ** 2 / (n + 1.0) + math.log(n + 1.0)
    z, below = np.linspace(-9.0, 9.0, 18_001), stats.chi2(n - 1).cdf
    ends = [n - z**2 + 2.0 * side * _DECADE for side in (-1.0, 1.0)]
    tops = (np.clip(n - shrunk(z), *ends), ends[1])
    weights = stats.norm.pdf(z) * (z[1] - z[0])
    above, typical = (weights @ (below(top) - below(ends[0])) for top in tops)
    low, high = np.sort((Polynomial([0.0, 0.0, 1.0]) - shrunk).roots())
    return {
        "as printed": 1.0 - _LOG_EVIDENCE.cdf(bound),
        "typical set": above / typical,
        "typical density": typical,
        "evidence above the true density": ndtr(low) + ndtr(-high),
        "mean of the log less bound": _LOG_EVIDENCE.mean - bound,
    }


@TOPIC.claim("FN-EV-04")
def prior_averaging(work: Work) -> Lines:
    """Averages of ten likelihoods are nearly always far too low."""
    rng, n = work.rng("evidence", "prior"), work.replicates(2_000_000)
    logs = _log_ratios(prior_average, lambda size: rng.standard_normal((size, _N_SAMPLES)), n, _BLOCK)
    return {"share below a tenth of the evidence": proportion_of(logs < -_DECADE)}


@TOPIC.claim("FN-EV-05")
def underflow(work: Work) -> Lines:
    """Likelihoods that are zero in a computer's numbers."""
    distance = math.sqrt(2.0 * (_MODEL.log_largest_likelihood - _LOG_UNDERFLOW) / _MODEL.n_rows)
    one = float(ndtr(_MODEL.sample_mean - distance) + ndtr(-_MODEL.sample_mean - distance))
    with np.errstate(under="ignore"):
        largest = np.exp(np.float32(_MODEL.log_largest_likelihood))
    # In single precision even the largest likelihood is zero; in double an estimate is where all ten are.
    return {"as printed, single precision": largest == 0.0, "as printed, double precision": one**_N_SAMPLES}


@TOPIC.claim("FN-EV-06", ["largest likelihood over evidence", "data sets whose bound is a hundred or more"])
def harmonic(work: Work) -> Lines:
    """Harmonic means have a hard bound."""
    largest = math.exp(_MODEL.log_largest_likelihood - _MODEL.log_evidence)
    beyond = _LOG_EVIDENCE.probability_of_range_above(2.0 * _DECADE)
    return {"largest likelihood over evidence": largest, "data sets whose bound is a hundred or more": beyond}


def harmonic_by_size(work: Work) -> dict[int, FloatArray]:
    """Ratios of harmonic means to the evidence [replicate] for each number of draws."""
    found = {}
    for size in _SIZES:
        rng, n = work.rng("evidence", "harmonic", size), work.replicates(max(2000, 200_000 // size), 50)
        draw = partial(lambda n, rng, size: _MODEL.draw(rng, (n, size)), rng=rng, size=size)
        found[size] = np.exp(_log_ratios(harmonic_mean, draw, n, max(1, 1_000_000 // size)))
    return found


@TOPIC.claim("FN-EV-07", numbers=[f"{size} draws" for size in _SHOWN_SIZES])
def harmonic_convergence(work: Work) -> Lines:
    """The overestimate hardly falls with the number of draws."""
    ratios = work.once(harmonic_by_size)
    return {f"{size} draws": quantile(ratios[size], 0.5) for size in _SHOWN_SIZES}


@TOPIC.claim("FN-EV-08")
def reciprocal_identity(work: Work) -> Lines:
    """The posterior mean of the reciprocal likelihood is one over the evidence, by quadrature."""
    mean, variance = (float(part) for part in _MODEL.posterior())
    grid = np.linspace(-15.0, 15.0, 30_001)
    log_posterior = -0.5 * (np.square(grid - mean) / variance + math.log(2.0 * math.pi * variance))
    log_mean = logsumexp(log_posterior - _MODEL.log_likelihood(grid)) + math.log(grid[1] - grid[0])
    return {"relative error": abs(math.expm1(float(log_mean) + _MODEL.log_evidence))}


@TOPIC.claim("FN-EV-14", numbers=["largest likelihood over evidence"])
def small_fixture(work: Work) -> Lines:
    """Four observations."""
    model = gaussian_mean.FOUR_OBSERVATIONS
    return {"largest likelihood over evidence": math.exp(model.log_largest_likelihood - model.log_evidence)}


@TOPIC.figure("harmonic")
def harmonic_curves(work: Work) -> Arrays:
    """Quantiles of the harmonic mean over the evidence against the number of draws."""
    ratios = work.once(harmonic_by_size)
    levels = (0.05, 0.5, 0.95)
    table = np.array([np.quantile(ratios[size], levels) for size in _SIZES]).T
    cap = math.exp(_MODEL.log_largest_likelihood - _MODEL.log_evidence)
    along = {"level": list(levels), "size": list(_SIZES)}
    return {"quantile": xr.DataArray(table, along), "cap": xr.DataArray(cap)}


def _log_ratios(
    estimator: Callable[[FloatArray], FloatArray], draw: Callable[[int], FloatArray], n: int, block: int
) -> FloatArray:
    """Log ratios of estimates from log likelihoods of draws to the evidence [replicate], block by block."""
    sizes = (min(block, n - begin) for begin in range(0, n, block))
    parts = [estimator(_MODEL.log_likelihood(draw(size))) for size in sizes]
    return np.concatenate(parts) - _MODEL.log_evidence


_STEPS = (1, 3, 10, 30, 100, 300, 1000)
_FRACTIONS = (0.5, 0.9, 0.99)
_LADDER_PARTICLES = 2000


def annealed_runs(work: Work) -> dict[tuple[int, bool], FloatArray]:
    """Log weights less the log evidence [run], by number of steps and whether runs are reversed."""
    n, found = work.replicates(2000), {}
    for steps, reverse in itertools.product(_STEPS, (False, True)):
        rng = work.rng("evidence", "annealed", steps, int(reverse))
        logs = _MODEL.annealed_log_weights(rng, linear_schedule(steps), n, reverse=reverse)
        found[steps, reverse] = logs + (_MODEL.log_evidence if reverse else -_MODEL.log_evidence)
    return found


@TOPIC.claim("FN-EV-10")
def annealing(work: Work) -> Lines:
    """The integral over inverse temperature, by the trapezium rule."""
    ladder = linear_schedule(1000)
    means, variances = _MODEL.log_likelihood_moments(ladder)
    integral = thermodynamic_integration(ladder, means, variances=variances)
    return {"thermodynamic integration with 1000 steps, error": integral.value - _MODEL.log_evidence}


@TOPIC.claim("FN-EV-15")
def enumerated_annealing(work: Work) -> Lines:
    """Annealed importance sampling on eight states, all paths summed."""
    machine = three_units()
    states = sign_table(3)
    log_target, log_base = log_weights(machine, states), np.zeros(8)
    logs = [b * log_target + (1.0 - b) * log_base for b in linear_schedule(3)]
    kernels = [_heat_bath(states, log_density) for log_density in logs[1:-1]]
    # Path (x_0, x_1, x_2): x_{k+1} moves from x_k at b_{k+1}; increments stand next to the state they are taken at.
    gains = [np.exp(after - before) for before, after in itertools.pairwise(logs)]
    steps = (gains[0], kernels[0], gains[1], kernels[1], gains[2])
    forward = np.einsum("a,a,ab,b,bc,c->", np.full(8, 0.125), *steps)
    ratio = float(np.exp(logsumexp(log_target) - logsumexp(log_base)))
    return {"sum over all paths, relative error": abs(float(forward) / ratio - 1.0)}


@TOPIC.figure("bounds")
def bounds_curves(work: Work) -> Arrays:
    """Bounds of annealing against the number of steps, and adaptive ladders."""
    runs = work.once(annealed_runs)
    sides = ([mean(sign * runs[n, sign < 0.0])[:2] for n in _STEPS] for sign in (1.0, -1.0))
    simulated = np.array(list(sides)).swapaxes(1, 2)
    fine = np.unique(np.round(np.geomspace(1.0, 1000.0, 60)).astype(int))
    moments = [_MODEL.annealed_moments(linear_schedule(int(steps))) for steps in fine]
    exact = np.array([[lower for lower, _ in moments], [-upper for _, upper in moments]])
    limit = partial(gaussian_mean.limit_ladder, lambda b: float(_MODEL.log_normaliser(b)))
    limits = [limit(kept) for kept in _FRACTIONS]
    # A row for each ladder, NaN past its end.
    padded = np.array(list(itertools.zip_longest(*limits, *_particle_ladders(work), fillvalue=np.nan))).T
    side, nats = {"side": ["lower", "upper"]}, {"units": "nats"}
    parts = {"part": ["mean", "error"], "steps": list(_STEPS)}
    ladders = {"share": list(_FRACTIONS), "temperature": np.arange(padded.shape[1])}
    return {
        "simulated": xr.DataArray(simulated, {**side, **parts}, attrs=nats),
        "exact": xr.DataArray(exact - _MODEL.log_evidence, {**side, "fine_steps": fine}, attrs=nats),
        "ladder_limit": xr.DataArray(padded[: len(limits)], ladders),
        "ladder_particles": xr.DataArray(padded[len(limits) :], ladders),
    }


def _particle_ladders(work: Work) -> list[FloatArray]:
    """Ladders that particles with exact moves choose (MSc thesis, Algorithm 6), one for each fraction."""
    increment = jax.jit(annealing_increment)
    found = []
    for kept in _FRACTIONS:
        rng, ladder = work.rng("evidence", "ladder", str(kept)), [0.0]
        log_size = jnp.asarray(math.log(kept * _LADDER_PARTICLES))
        while ladder[-1] < 1.0:
            values = _MODEL.log_likelihood(_MODEL.draw(rng, (_LADDER_PARTICLES,), ladder[-1]))
            left = 1.0 - ladder[-1]
            step = float(increment(jnp.asarray(values), jnp.asarray(left), log_size, jnp.zeros_like(values)))
            ladder.append(1.0 if step == left else ladder[-1] + step)
        found.append(np.array(ladder))
    return found


def _heat_bath(states: FloatArray, log_density: FloatArray) -> FloatArray:
    """Transition matrix of drawing each spin in turn given the others."""
    matrix = np.eye(len(states))
    for unit in range(states.shape[1]):
        others = np.delete(states, unit, axis=1)
        same = (others[:, None, :] == others[None, :, :]).all(axis=2)
        weights = np.where(same, np.exp(log_density)[None, :], 0.0)
        matrix = matrix @ (weights / weights.sum(axis=1, keepdims=True))
    return matrix
