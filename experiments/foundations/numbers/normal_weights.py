"""Importance weights between normal distributions: when they have a variance, and what a run shows of it."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.polynomial import Polynomial
from scipy import special, stats

from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.importance import log_mean_weight, pareto_index
from auxmc_pipeline.error_rules import bootstrap, median_over_replicates
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

# Lecture slides: N(0, 1) from draws of N(1, 0.1^2).
_SLIDE_SD = 0.1
_N_SLIDE_DRAWS = 100_000
_N_SHOWN = 20


def _log_integrand(x: FloatArray, variance: float) -> FloatArray:
    return np.asarray(2.0 * stats.norm.logpdf(x) - stats.norm.logpdf(x, 1.0, math.sqrt(variance)))


def _log_growth(variance: float) -> float:
    """Log of the integral of p^2 / q up to 20 on both sides over that up to 10."""

    def log_integral(end: float) -> float:
        x = np.linspace(-end, end, 40_001)
        return float(special.logsumexp(_log_integrand(x, variance)) + math.log(x[1] - x[0]))

    return log_integral(20.0) - log_integral(10.0)


@TOPIC.claim("FN-IS-01")
def weight_moments(work: Work) -> Lines:
    """Growth of the second moment of the weights with the range that it is integrated over."""
    return {"variance 0.01, growth with the cut-off": _log_growth(0.01)}


@TOPIC.claim(
    "FN-IS-02", numbers=["standard deviation 0.1, constant coefficient", "variance 0.1, square coefficient"]
)
def slide_exponent(work: Work) -> Lines:
    """The exponent of p^2 / q as a polynomial in x."""
    constant, linear, square = _exponent(_SLIDE_SD**2)
    return {
        "standard deviation 0.1, square coefficient": square,
        "standard deviation 0.1, constant coefficient": constant,
        "variance 0.1, square coefficient": _exponent(_SLIDE_SD)[2],
        "linear coefficient as printed": linear,
    }


def _exponent(variance: float) -> FloatArray:
    """Coefficients of the exponent for draws from N(1, variance), the constant first."""
    exponent = Polynomial([0.0, 0.0, -1.0]) + Polynomial([-1.0, 1.0]) ** 2 / (2.0 * variance)
    return np.asarray(exponent.coef, np.float64)


def _slide_runs(work: Work) -> FloatArray:
    """Log weights of independent runs of the slides' example [run, draw]."""
    n_runs = work.replicates(200, _N_SHOWN)
    x = work.rng("slide").normal(1.0, _SLIDE_SD, (n_runs, _N_SLIDE_DRAWS))
    return 0.5 * ((x - 1.0) / _SLIDE_SD) ** 2 - 0.5 * x**2 + math.log(_SLIDE_SD)


@TOPIC.claim(
    "FN-IS-03", numbers=["smallest index of all runs", "index of the law", "median of the mean weights"]
)
def slide_example(work: Work) -> Lines:
    """What runs of the slides' example show: tail index and mean weights."""
    logs = work.once(_slide_runs)
    means = np.exp(np.asarray(jax.jit(log_mean_weight)(jnp.asarray(logs))))
    return {
        "smallest index of all runs": bootstrap(np.min, pareto_index(logs)),
        "index of the law": 1.0 - _SLIDE_SD**2,
        "median of the mean weights": median_over_replicates(means),
    }


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
