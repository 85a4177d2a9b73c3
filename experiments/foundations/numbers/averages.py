"""Topic: Monte Carlo averages, of independent draws and of chains, next to quadrature on a grid."""

import math

import numpy as np
import xarray as xr
from scipy import signal, stats

from auxmc.diagnostics.errors_of_means import variance_of_mean
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import mean
from experiments.foundations.measurements import distance_of_mean, power
from experiments.foundations.numbers.shared_examples import mixture_density
from experiments.foundations.sampling import product_simpson, simpson_rule
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

_N_PANELS = range(2, 17)
# Grids of the figure, bounded by their number of points; the largest of dimension 8 has 5^8.
_MOST_POINTS = 5**8
_FIGURE_DIMS = (1, 2, 4, 8)
_N_BATCHES = 20


@TOPIC.claim("FN-MC-01")
def monte_carlo_rates(work: Work) -> Lines:
    """Slope of the log variance of the mean of x_d over dimensions against the log number of draws."""
    numbers = 2 ** np.arange(2, 8)
    per_batch = work.replicates(2000, 400) // _N_BATCHES
    found = {}
    for dim in (1, 10, 100):
        rng = work.rng("rate", dim)
        log_variances = np.empty((_N_BATCHES, numbers.size))
        for i, n in enumerate(numbers):
            means = rng.normal(size=(_N_BATCHES, per_batch, n, dim)).mean(axis=(2, 3))
            # The true mean is known to be 0.
            log_variances[:, i] = np.log((means**2).mean(axis=1))
        slopes = np.array([np.polyfit(np.log(numbers), row, 1)[0] for row in log_variances])
        found[f"{dim} dimensions" if dim > 1 else "one dimension"] = mean(slopes)
    return found


def _exponential_of_sum(x: FloatArray) -> FloatArray:
    return np.exp(x.sum(axis=1))


def _relative_error(n_panels: int, dim: int) -> float:
    """Of the integral of exp(sum x) over the unit cube, (e - 1)^dim."""
    return abs(product_simpson(_exponential_of_sum, n_panels, dim) / math.expm1(1.0) ** dim - 1.0)


@TOPIC.claim("FN-MC-02")
def quadrature_rates(work: Work) -> Lines:
    """Slope of the log error of Simpson's rule against the log number of points."""
    found = {}
    for dim in (1, 2, 4):
        n_points = [(2 * m + 1) ** dim for m in _N_PANELS]
        errors = [_relative_error(m, dim) for m in _N_PANELS]
        found[f"{dim} dimensions" if dim > 1 else "one dimension"] = power(n_points, errors)
    # Errors of order h^(k + 1) for a rule exact up to degree k, and n^(-1/2) for draws.
    order = _degree_of_exactness() + 1
    return {**found, "dimension at which the rates are equal": order / 0.5}


def _degree_of_exactness() -> int:
    points, weights = simpson_rule(3)
    degree = 0
    while abs(weights @ points ** (degree + 1) - 1.0 / (degree + 2)) < 1e-9:
        degree += 1
    return degree


@TOPIC.claim(
    "FN-MC-03", numbers=["formula with the sum to N", "mean of the covariances", "formula as printed"]
)
def printed_variance(work: Work) -> Lines:
    """The mean of three values of an autoregression with correlation 1/2."""
    rho, n = 0.5, 3
    covariance = rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    exact = float(covariance.mean())
    # As printed: the outer of the two sums ends at n - 1.
    pairs = sum(rho ** (later - earlier) for later in range(n) for earlier in range(later) if later < n - 1)
    printed = (1.0 + 2.0 / n * pairs) / n
    return {
        "formula with the sum to N": variance_of_mean(1.0, rho ** np.arange(1, n), n),
        "mean of the covariances": exact,
        "formula as printed": printed,
        "error of the formula as printed": printed - exact,
    }


def _autoregressions(rng: np.random.Generator, rho: float, n_chains: int, n: int) -> FloatArray:
    """Stationary chains [chain, draw] with unit variance."""
    noise = rng.normal(size=(n_chains, n))
    noise[:, 1:] *= math.sqrt(1.0 - rho**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -rho], noise, axis=-1))


@TOPIC.claim("FN-MC-04")
def correlated_averages(work: Work) -> Lines:
    """The variance of means of an autoregression."""
    rho, n_short = 0.9, 1000
    n_chains = work.replicates(10_000, 1000)
    means = _autoregressions(work.rng("means"), rho, n_chains, n_short).mean(axis=1)
    expected = variance_of_mean(1.0, rho ** np.arange(1, n_short), n_short)
    return {"variance of means, distance in standard errors": distance_of_mean(means**2, expected)}


@TOPIC.claim("FN-MC-05")
def extrapolated_times(work: Work) -> Lines:
    """17 minutes for seven dimensions, three more to come."""
    measured_s = {5: 2.5, 6: 50.0, 7: 17.0 * 60.0}
    rounded, last = round(measured_s[6] / measured_s[5]), measured_s[7] / measured_s[6]
    return {
        "days for ten dimensions, rounded factor": measured_s[7] * rounded**3 / 86_400.0,
        "days for ten dimensions, last factor": measured_s[7] * last**3 / 86_400.0,
    }


@TOPIC.figure("quadrature")
def grid_against_draws(work: Work) -> Arrays:
    """Errors of Simpson's rule and of Monte Carlo averages for exp(sum x) on the unit cube."""
    panels, n_draws, n_runs = [2**k for k in range(10)], [10, 100, 1000, 10_000], work.replicates(50, 50)
    n_points = np.full((len(_FIGURE_DIMS), len(panels)), np.nan)
    errors = np.full_like(n_points, np.nan)
    sampled = np.empty((len(_FIGURE_DIMS), len(n_draws)))
    exact = np.empty(len(_FIGURE_DIMS))
    for row, dim in enumerate(_FIGURE_DIMS):
        for column, m in enumerate(panels):
            if (2 * m + 1) ** dim <= _MOST_POINTS:
                n_points[row, column] = (2 * m + 1) ** dim
                errors[row, column] = _relative_error(m, dim)
        mean = math.expm1(1.0) ** dim
        exact[row] = math.sqrt((math.expm1(2.0) / 2.0 / math.expm1(1.0) ** 2) ** dim - 1.0)
        for column, n in enumerate(n_draws):
            draws = work.rng("figure", dim, n).random((n_runs, n, dim))
            means = np.exp(draws.sum(axis=2)).mean(axis=1)
            sampled[row, column] = math.sqrt(float(((means / mean - 1.0) ** 2).mean()))
    dims = {"dim": list(_FIGURE_DIMS)}
    return {
        "n_points": xr.DataArray(n_points, {**dims, "panels": panels}),
        "error": xr.DataArray(errors, {**dims, "panels": panels}),
        "sampled_error": xr.DataArray(sampled, {**dims, "n_draws": n_draws}),
        "sd": xr.DataArray(exact, dims),
    }


@TOPIC.figure("slides_integration")
def integrands(work: Work) -> Arrays:
    """The slides' two examples of a function and the density that it is averaged over."""
    x = np.linspace(-4.0, 4.0, 801)
    cases = {"case": ["oscillating", "square"]}
    functions = np.stack([np.sin(8.0 * x) * np.exp(-(x**2) / 8.0), x**2])
    densities = np.stack([stats.norm.pdf(x), mixture_density(x)])
    means = (functions * densities).sum(axis=1) * (x[1] - x[0])
    along = {**cases, "x": x}
    return {
        "function": xr.DataArray(functions, along),
        "density": xr.DataArray(densities, along),
        "mean": xr.DataArray(means, cases),
    }
