"""Topics: importance weights and when they must not be trusted; averages of draws and chains, next to quadrature."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpy.polynomial import Polynomial
from scipy import signal, special, stats

from auxmc.diagnostics.errors_of_means import variance_of_mean
from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.importance import effective_size, log_mean_weight
from auxmc_pipeline.measuring import mean
from experiments.foundations.measurements import largest_size, power
from experiments.foundations.numbers.sampling import figure_ratio, make_proposals, mixture_density
from experiments.foundations.sampling import product_simpson
from experiments.foundations.topic import Arrays, Found, Lines, Topic, Work

TOPIC = Topic()

_SLIDE_SD = 0.1  # Lecture slides: N(0, 1) from draws of N(1, 0.1^2).


def _log_integrand(x: FloatArray, variance: float) -> FloatArray:
    return np.asarray(2.0 * stats.norm.logpdf(x) - stats.norm.logpdf(x, 1.0, math.sqrt(variance)))


@TOPIC.claim("FN-IS-01")
def weight_moments(work: Work) -> Lines:
    """Log of the integral of p^2 / q up to 20 on both sides over that up to 10."""

    def log_integral(end: float) -> float:
        x = np.linspace(-end, end, 40_001)
        return float(special.logsumexp(_log_integrand(x, 0.01)) + math.log(x[1] - x[0]))

    return {"variance 0.01, growth with the cut-off": log_integral(20.0) - log_integral(10.0)}


@TOPIC.claim("FN-IS-02")
def slide_exponent(work: Work) -> Lines:
    """The exponent of p^2 / q as a polynomial in x."""
    exponent = Polynomial([0.0, 0.0, -1.0]) + Polynomial([-1.0, 1.0]) ** 2 / (2.0 * _SLIDE_SD**2)
    _, linear, square = exponent.coef
    return {"standard deviation 0.1, square coefficient": square, "linear coefficient as printed": linear}


@TOPIC.figure("slides_importance")
def diverging_weights(work: Work) -> Arrays:
    """The slides' example of a proposal that is too narrow: integrand of the second moment, and running means."""
    n_runs, n_draws = 20, 100_000
    draws = work.rng("slide").normal(1.0, _SLIDE_SD, (n_runs, n_draws))
    logs = 0.5 * ((draws - 1.0) / _SLIDE_SD) ** 2 - 0.5 * draws**2 + math.log(_SLIDE_SD)
    ends = np.unique(np.geomspace(1, n_draws, 60).astype(int))
    running = np.cumsum(np.exp(logs), axis=1)[:, ends - 1] / ends
    x = np.linspace(-2.0, 2.0, 401)
    line = {"x": x}
    return {
        "log_target": xr.DataArray(stats.norm.logpdf(x), line),
        "log_proposal": xr.DataArray(stats.norm.logpdf(x, 1.0, _SLIDE_SD), line),
        "log_integrand": xr.DataArray(_log_integrand(x, _SLIDE_SD**2), line),
        "running_mean": xr.DataArray(running, {"run": np.arange(n_runs), "n_draws": ends}),
    }


# PhD thesis, figure 2.5: the target is this multiple of the mixture, whose mean is 0.1.
_MULTIPLE = 0.75
_PROPOSAL_MEAN = 0.1
_PROPOSAL_SDS = (0.52, 0.8)


def _log_weight(x: FloatArray, sd: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        log_target = math.log(_MULTIPLE) + np.log(mixture_density(x))
    return np.asarray(log_target - stats.norm.logpdf(x, _PROPOSAL_MEAN, sd))


def _effective_fraction(sd: float) -> float:
    """(E w)^2 / E w^2 of the weights of a proposal of figure 2.5, by quadrature."""
    # The trapezoidal rule is exact to rounding for smooth densities that are over before the ends.
    x = np.linspace(-12.0, 12.0, 24_001)
    step = x[1] - x[0]
    target = _MULTIPLE * mixture_density(x)
    normaliser = float(np.sum(target) * step)
    return normaliser**2 / float(np.sum(target * np.exp(_log_weight(x, sd))) * step)


@TOPIC.claim("FN-IS-05", numbers=["g_N with 1/N"])
def unbiased_normaliser(work: Work) -> Lines:
    """Mean weights of 100 draws are unbiased for the normaliser; g_N for f = x as printed and with 1 / N."""
    found: Found = {}
    for sd in _PROPOSAL_SDS:
        shape = (work.replicates(10_000, 1000), 100)
        x = work.rng("normaliser", round(1000 * sd)).normal(_PROPOSAL_MEAN, sd, shape)
        logs = _log_weight(x, sd)
        means = np.exp(np.asarray(jax.jit(log_mean_weight)(jnp.asarray(logs))))
        found[f"sd {sd:g}"] = mean(means)
    # Those of the broader proposal, the last.
    sums = (np.exp(logs) * x).sum(axis=1)
    return found | {"g_N as printed": mean(sums / means), "g_N with 1/N": mean(sums / 100.0)}


@TOPIC.claim("FN-IS-07")
def unbiased_rejection(work: Work) -> Lines:
    """Five proposals at a time; runs with fewer accepted than the condition has are made again, that is, left out."""
    # One run in 40 has none accepted, one in six fewer than two.
    n_runs = work.replicates(1_030_000, 20_000)
    made = make_proposals(work.key("five_proposals"), 5 * n_runs, 1)
    accepted, x = np.asarray(made.accepted).reshape(-1, 5), np.asarray(made.position).reshape(-1, 5)
    counts = accepted.sum(axis=1)
    # The mean of x^2 is 0.425, under the proposal 0.37; that of x is the same under both.
    estimates = (x**2 * accepted).sum(axis=1) / np.maximum(counts, 1)
    return {
        "mean square from 5 proposals": mean(estimates[counts > 0]),
        "mean square from 5 proposals, more than one accepted": mean(estimates[counts > 1]),
    }


@TOPIC.claim("FN-IS-08", numbers=["1 / (1 + Var(w / mean w)) times the number of draws"])
def effective_sizes(work: Work) -> Lines:
    """Weights of very different spreads, 50 sets of each of six sizes: quantiles of log-normal distributions."""
    n = np.repeat([1, 2, 3, 10, 100, 1000], 50)
    spreads = np.tile(np.linspace(0.0, 10.0, 50), 6)
    # Sets of fewer than 1000 weights end with absent ones.
    present = np.arange(1000)[None, :] < n[:, None]
    levels = np.where(present, (np.arange(1000)[None, :] + 0.5) / n[:, None], 0.5)
    logs = spreads[:, None] * stats.norm.ppf(levels)
    sizes = np.asarray(jax.jit(effective_size)(jnp.asarray(np.where(present, logs, -np.inf))))
    weights = np.where(present, np.exp(logs - logs.max(axis=1, keepdims=True)), 0.0)
    mean = weights.sum(axis=1) / n
    variance = np.where(present, (weights / mean[:, None] - 1.0) ** 2, 0.0).sum(axis=1) / n
    printed = 1.0 / (1.0 + variance)
    return {
        "1 / (1 + Var(w / mean w)) times the number of draws": largest_size((n * printed - sizes) / n),
        "1 / (1 + Var(w / mean w)) as printed": largest_size((printed - sizes) / n),
    }


@TOPIC.claim("FN-IS-09")
def best_proposal(work: Work) -> Lines:
    """F(x) = x^4 under N(0, 1), whose mean is 3, at 10 000 quantiles of the density x^4 phi(x) / 3."""
    halves = stats.chi(5).ppf((np.arange(5000) + 0.5) / 5000)
    x = np.concatenate([-halves, halves])
    log_proposal = stats.chi.logpdf(np.abs(x), 5) - math.log(2.0)
    terms = x**4 * np.exp(stats.norm.logpdf(x) - log_proposal)
    return {"largest relative error of the weighted terms": largest_size(terms / 3.0 - 1.0)}


@TOPIC.claim("FN-IS-10")
def variance_gain(work: Work) -> Lines:
    """Variances of both averages for p = N(0, 1), q = N(0, 1.5^2), h = x^2."""
    p, q = stats.norm(0.0, 1.0), stats.norm(0.0, 1.5)
    x = np.linspace(-40.0, 40.0, 80_001)
    step = x[1] - x[0]
    density, other, squares = p.pdf(x), q.pdf(x), x**2
    ratio = np.exp(p.logpdf(x) - q.logpdf(x))
    mean = float(np.sum(density * squares) * step)
    direct = float(np.sum(density * squares**2) * step) - mean**2
    weighted = float(np.sum(other * (ratio * squares) ** 2) * step) - mean**2
    difference = float(np.sum(density * squares**2 * (1.0 - ratio)) * step)
    return {"difference of the variances less that of the equation": direct - weighted - difference}


@TOPIC.claim("FN-IS-11")
def bounded_weights(work: Work) -> Lines:
    """Variance of weights that rejection bounds."""
    grid = np.linspace(-12.0, 12.0, 24_001)
    # E_q w^2 - 1 is the mean of w - 1 over the target.
    excess = mixture_density(grid) * (figure_ratio(grid) - 1.0)
    return {"figure 2.3, variance of the weights": excess.sum() * (grid[1] - grid[0])}


@TOPIC.figure("fig_2_5")
def weight_curves(work: Work) -> Arrays:
    """Figure 2.5."""
    x = np.linspace(-2.0, 2.5, 451)
    sds = {"sd": list(_PROPOSAL_SDS)}
    along = {**sds, "x": x}
    proposals = [stats.norm.pdf(x, _PROPOSAL_MEAN, sd) for sd in _PROPOSAL_SDS]
    weights = [np.exp(_log_weight(x, sd)) for sd in _PROPOSAL_SDS]
    fractions = [_effective_fraction(sd) for sd in _PROPOSAL_SDS]
    return {
        "target": xr.DataArray(_MULTIPLE * mixture_density(x), {"x": x}),
        "proposal": xr.DataArray(proposals, along),
        "weight": xr.DataArray(weights, along),
        "effective_share": xr.DataArray(fractions, sds),
    }


_N_PANELS = (32, 64, 128)
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
            log_variances[:, i] = np.log((means**2).mean(axis=1))  # The true mean is known to be 0.
        slopes = np.array([np.polyfit(np.log(numbers), row, 1)[0] for row in log_variances])
        found[f"{dim} dimensions" if dim > 1 else "one dimension"] = mean(slopes)
    return found


def _relative_error(n_panels: int, dim: int) -> float:
    """Of the integral of exp(sum x) over the unit cube, (e - 1)^dim."""
    return abs(product_simpson(lambda x: np.exp(x.sum(axis=1)), n_panels, dim) / math.expm1(1.0) ** dim - 1.0)


@TOPIC.claim("FN-MC-02")
def quadrature_rates(work: Work) -> Lines:
    """Slope of the log error of Simpson's rule against the log number of points."""
    found = {}
    for dim in (1, 2, 4, 9):
        n_points = [(2.0 * m + 1.0) ** dim for m in _N_PANELS]
        # The integrand is a product: both its integral and the rule are powers of those in one dimension.
        errors = [math.expm1(dim * math.log1p(_relative_error(m, 1))) for m in _N_PANELS]
        found[f"{dim} dimensions" if dim > 1 else "one dimension"] = power(n_points, errors)
    return found


@TOPIC.claim("FN-MC-03", ["mean of the covariances", "formula as printed"])
def printed_variance(work: Work) -> Lines:
    """The mean of three values of an autoregression with correlation 1/2."""
    rho, n = 0.5, 3
    covariance = rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    exact = float(covariance.mean())
    # As printed: the outer of the two sums ends at n - 1.
    pairs = sum(rho ** (later - earlier) for later in range(n) for earlier in range(later) if later < n - 1)
    printed = (1.0 + 2.0 / n * pairs) / n
    return {
        "mean of the covariances": exact,
        "formula as printed": printed,
        "error of the formula as printed": printed - exact,
    }


@TOPIC.claim("FN-MC-04")
def correlated_averages(work: Work) -> Lines:
    """The variance of means of a stationary autoregression with unit variance."""
    # So few that the factors (N - n) / N of the equation, which its limit lacks, count.
    rho, n_short = 0.9, 20
    n_chains = work.replicates(10_000, 1000)
    noise = work.rng("means").normal(size=(n_chains, n_short))
    noise[:, 1:] *= math.sqrt(1.0 - rho**2)
    means = np.asarray(signal.lfilter([1.0], [1.0, -rho], noise, axis=-1)).mean(axis=1)
    expected = variance_of_mean(1.0, rho ** np.arange(1, n_short), n_short)
    return {"variance of means over that of the equation": mean(means**2 / expected)}


@TOPIC.claim("FN-MC-05")
def extrapolated_times(work: Work) -> Lines:
    """17 minutes for seven dimensions, three more to come."""
    measured_s = {5: 2.5, 6: 50.0, 7: 17.0 * 60.0}
    rounded = round(measured_s[6] / measured_s[5])
    return {"days for ten dimensions, rounded factor": measured_s[7] * rounded**3 / 86_400.0}


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
