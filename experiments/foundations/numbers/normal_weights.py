"""Importance weights of one normal law under another: when they have a variance, and what a run shows of it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.polynomial import Polynomial
from scipy import integrate, special, stats

from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.importance import log_mean_weight, pareto_index
from auxmc_pipeline.error_rules import bootstrap, median_over_replicates
from experiments.foundations.measurements import largest_size, lowest_point
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

# Lecture slides: N(0, 1) from draws of N(1, 0.1^2).
_SLIDE_SD = 0.1
_N_SLIDE_DRAWS = 100_000
_N_SHOWN = 20


def _second_moment(variance: float) -> float:
    """E_q[w^2] for p = N(0, 1) and q = N(1, variance), finite for a variance above 1/2."""
    return variance / math.sqrt(2.0 * variance - 1.0) * math.exp(1.0 / (2.0 * variance - 1.0))


def _log_integrand(x: FloatArray, variance: float) -> FloatArray:
    return np.asarray(2.0 * stats.norm.logpdf(x) - stats.norm.logpdf(x, 1.0, math.sqrt(variance)))


def _by_quadrature(variance: float) -> float:
    # The peak is at the mean of p^2 / q; far from it the integrand is zero in floats.
    curvature = 2.0 - 1.0 / variance
    centre, width = -1.0 / (variance * curvature), 1.0 / math.sqrt(curvature)
    found, _ = integrate.quad(
        lambda x: math.exp(float(_log_integrand(np.asarray(x), variance))),
        centre - 40.0 * width,
        centre + 40.0 * width,
        points=[centre],
        epsabs=0.0,
        epsrel=1e-12,
        limit=400,
    )
    return found


def _log_growth(variance: float) -> float:
    """Log of the integral of p^2 / q up to 20 on both sides over that up to 10."""

    def log_integral(end: float) -> float:
        x = np.linspace(-end, end, 40_001)
        return float(special.logsumexp(_log_integrand(x, variance)) + math.log(x[1] - x[0]))

    return log_integral(20.0) - log_integral(10.0)


@TOPIC.claim("FN-IS-01")
def weight_moments(work: Work) -> Lines:
    """Second moments of the weights, by quadrature and in closed form."""
    variances = (1.0, 0.6, 2.0)
    found = {f"variance {v:g}": _by_quadrature(v) for v in variances}
    errors = [found[f"variance {v:g}"] / _second_moment(v) - 1.0 for v in variances]
    best, least = lowest_point(_second_moment, 1.0, 5.0, 1e-10)
    return {
        **found,
        "closed form": largest_size(errors),
        "variance 0.01, growth with the cut-off": _log_growth(0.01),
        "variance 0.1, growth with the cut-off": _log_growth(0.1),
        "best variance": best,
        "second moment there": least,
    }


@TOPIC.claim("FN-IS-02")
def slide_exponent(work: Work) -> Lines:
    """The exponent of p^2 / q as a polynomial in x."""
    found = {}
    for name, variance in (("standard deviation 0.1", _SLIDE_SD**2), ("variance 0.1", _SLIDE_SD)):
        exponent = Polynomial([0.0, 0.0, -1.0]) + Polynomial([-1.0, 1.0]) ** 2 / (2.0 * variance)
        for part, coefficient in zip(("square", "linear", "constant"), exponent.coef[::-1], strict=True):
            found[f"{name}, {part} coefficient"] = coefficient
    return {**found, "linear coefficient as printed": found["standard deviation 0.1, linear coefficient"]}


def _slide_runs(work: Work) -> FloatArray:
    """Log weights of independent runs of the slides' example [run, draw]."""
    n_runs = work.replicates(200, _N_SHOWN)
    x = work.rng("slide").normal(1.0, _SLIDE_SD, (n_runs, _N_SLIDE_DRAWS))
    return 0.5 * ((x - 1.0) / _SLIDE_SD) ** 2 - 0.5 * x**2 + math.log(_SLIDE_SD)


@TOPIC.claim("FN-IS-03")
def slide_example(work: Work) -> Lines:
    """What runs of the slides' example show: tail index and mean weights."""
    logs = work.once(_slide_runs)
    indices = pareto_index(logs)
    means = np.exp(np.asarray(jax.jit(log_mean_weight)(jnp.asarray(logs))))
    return {
        "smallest index of all runs": bootstrap(np.min, indices),
        "index of the law": _tail_index(_SLIDE_SD),
        "median of the mean weights": median_over_replicates(means),
    }


def _tail_index(sd: float) -> float:
    """Limit of -log w / log P(W > w), from the far tail of the weights of N(0, 1) under N(1, sd^2)."""
    # Weights are largest on the left, where they rise without bound; the slope between two far points.
    x = 1.0 - sd * np.array([1e5, 2e5])
    log_weights = 0.5 * ((x - 1.0) / sd) ** 2 - 0.5 * x**2 + math.log(sd)
    log_tails = stats.norm.logsf((1.0 - x) / sd)
    return float(-np.diff(log_weights)[0] / np.diff(log_tails)[0])


@TOPIC.figure("slides_importance")
def diverging_weights(work: Work) -> Arrays:
    """The slides' example of a proposal that is too narrow: integrand of the second moment, and running means."""
    x = np.linspace(-2.0, 2.0, 401)
    logs = work.once(_slide_runs)[:_N_SHOWN]
    ends = np.unique(np.geomspace(1, _N_SLIDE_DRAWS, 60).astype(int))
    running = np.cumsum(np.exp(logs), axis=1)[:, ends - 1] / ends
    line = {"slides_importance_x": x}
    return {
        "slides_importance_log_target": xr.DataArray(stats.norm.logpdf(x), line),
        "slides_importance_log_proposal": xr.DataArray(stats.norm.logpdf(x, 1.0, _SLIDE_SD), line),
        "slides_importance_log_integrand": xr.DataArray(_log_integrand(x, _SLIDE_SD**2), line),
        "slides_importance_running_mean": xr.DataArray(
            running, {"slides_importance_run": np.arange(len(running)), "slides_importance_n_draws": ends}
        ),
    }
