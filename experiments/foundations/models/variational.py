"""Topic: Laplace's approximation, divergences and their minimisers, mean field, gradients, expectation propagation."""

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import integrate, stats

from auxmc.approximations.advi import MeanField, reparameterisation_gradient, score_function_gradient
from auxmc.approximations.expectation_propagation import expectation_propagation, gaussian_factor
from auxmc.approximations.gaussian_mean_field import MeanFieldGaussian, gaussian_mean_field
from auxmc.approximations.laplace_density import laplace_density
from auxmc.approximations.renyi import fit_gaussian, gaussian_log_density, renyi_divergence
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline import error_rules
from experiments.foundations.measurements import largest_size
from experiments.foundations.sampling.inverse_cdf import generalised_logistic
from experiments.foundations.shapes import SHAPE, log_skewed
from experiments.foundations.topic import Arrays, Lines, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import NARROW_AND_BROAD

TOPIC = Topic()

_SKEW = generalised_logistic(SHAPE)
_GRID = np.linspace(-40.0, 40.0, 8001)
_STARTS = ((0.0, 3.0), (1.2, 2.0), (-4.8, 0.25))
# Mean and standard deviation of the Gaussians that the author's figures draw, and that the bounds are taken at.
_PUBLISHED_HALF = (0.193701, 2.652223)
_FIXED = (1.0615, 2.1658)
_ORDERS = (0.1, 0.5, 0.9, 1.0)
_CORRELATIONS = (0.8, 0.99)
# Enough sweeps for coordinate ascent with correlation 0.99, whose error falls by 0.99^2 in each.
_N_MEAN_FIELD_SWEEPS = 700
_N_SHOWN_SWEEPS = 12
# Target exp(-(x - 1)^2 / 8) and approximation N(0.3, 0.8^2).
_TARGET_MEAN, _TARGET_VARIANCE = 1.0, 4.0
_Q_MEAN, _Q_SD = 0.3, 0.8
_N_GRADIENTS = 200_000
# The score gradient squared is a polynomial of degree eight in the noise.
_N_NODES = 12
_GAUSS = (0.5, 3.0, 4)


@TOPIC.claim("FN-VI-01")
def laplace(work: Work) -> Lines:
    """The approximation of a skewed density, and the density's own moments by quadrature."""
    fit = laplace_density(lambda x: _SKEW.log_density(x)[0], [0.0])

    def moment(power: int, centre: float = 0.0) -> float:
        def integrand(x: float) -> float:
            return float((x - centre) ** power * np.exp(log_skewed(x)))

        ends = ((-60.0, 0.0), (0.0, 120.0))
        return float(sum(integrate.quad(integrand, *part, epsabs=1e-12, limit=200)[0] for part in ends))

    mean = moment(1)
    return {
        "mode": fit.mode[0],
        "second derivative": fit.hessian[0, 0],
        "log density at the mode": fit.log_density,
        "normaliser": math.exp(fit.log_normaliser),
        "variance": fit.covariance[0, 0],
        "true variance": moment(2, mean),
        "true mean": mean,
        "mass beyond 8, approximation over density": float(
            stats.norm.sf(8.0, fit.mode[0], math.sqrt(fit.covariance[0, 0])) / (1.0 + math.exp(8.0)) ** -SHAPE
        ),
    }


@TOPIC.claim("FN-VI-02")
def fits(work: Work) -> Lines:
    """Gaussians that minimise three divergences from a density with two modes."""
    log_p = work.once(_log_mixture)
    inclusive = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, log_p, q, 1.0), _STARTS)
    exclusive = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, q, log_p, 1.0), _STARTS)
    half = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, log_p, q, 0.5), _STARTS)
    published = renyi_divergence(_GRID, log_p, gaussian_log_density(_GRID, *_PUBLISHED_HALF), 0.5)
    found = {}
    for name, (mean, sd, value) in (
        ("KL(p, q)", inclusive[:3]),
        ("KL(q, p)", exclusive[:3]),
        ("KL(q, p), second minimum", exclusive.local[0]),
        ("Renyi 1/2", half[:3]),
    ):
        found[f"{name}, mean"] = mean
        found[f"{name}, standard deviation"] = sd
        found[f"{name}, divergence"] = value
    return {
        **found,
        "standard deviation, Renyi 1/2 over KL(p, q)": half.sd / inclusive.sd,
        "standard deviation, KL(q, p) over Renyi 1/2": exclusive.sd / half.sd,
        "Renyi 1/2, divergence of the published fit": published,
        "Renyi 1/2, excess of the published fit": published - half.objective,
    }


@TOPIC.claim("FN-VI-03")
def limit_of_order_zero(work: Work) -> Lines:
    """The divergence of U(0, 1) from U(0, 2) at order 1e-9, and the mass of either on the other's support."""
    p, q = stats.uniform(0.0, 1.0), stats.uniform(0.0, 2.0)
    order = 1e-9
    integral, _ = integrate.quad(lambda x: p.pdf(x) ** order * q.pdf(x) ** (1.0 - order), 0.0, 1.0)
    limit = math.log(integral) / (order - 1.0)
    return {
        "limit": limit,
        "as printed": limit + math.log(p.cdf(2.0) - p.cdf(0.0)),
        "corrected": limit + math.log(q.cdf(1.0) - q.cdf(0.0)),
    }


@TOPIC.claim("FN-VI-04")
def orders(work: Work) -> Lines:
    """Divergences of a fixed Gaussian over orders."""
    log_p, log_q = work.once(_log_mixture), gaussian_log_density(_GRID, *_FIXED)
    values = [renyi_divergence(_GRID, log_q, log_p, order) for order in _ORDERS]
    by_order = {f"order {order:g}": value for order, value in zip(_ORDERS, values, strict=True)}
    reversed_values = {order: renyi_divergence(_GRID, log_p, log_q, order) for order in (0.5, 0.9)}
    return {
        **by_order,
        "smallest rise": np.diff(values).min(),
        "asymmetry at order 0.5": reversed_values[0.5] - values[1],
        "order 0.1 less a ninth of order 0.9 of exchanged laws": values[0] - reversed_values[0.9] / 9.0,
        "order 0.999999 less order 1": renyi_divergence(_GRID, log_q, log_p, 0.999999) - values[3],
    }


@TOPIC.claim("FN-VI-05")
def mean_field(work: Work) -> Lines:
    """Coordinate ascent on two correlated coordinates."""
    found = {}
    for rho in _CORRELATIONS:
        fit = _ascent(rho, _N_MEAN_FIELD_SWEEPS)
        found[f"correlation {rho:g}, variance"] = fit.covariance[0, 0]
        found[f"correlation {rho:g}, divergence"] = -fit.bounds[-1]
        found[f"correlation {rho:g}, smallest rise of the bound"] = np.diff(fit.bounds).min()
    return found


@TOPIC.claim("FN-VI-06")
def gradients(work: Work) -> Lines:
    """Both estimates of the gradient of the lower bound, their laws by quadrature and by simulation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    law = weights / weights.sum()
    estimates = _both_estimates(nodes)
    means = np.einsum("n,enp->ep", law, estimates)
    variances = np.einsum("n,enp->ep", law, np.square(estimates)) - np.square(means)
    drawn = _both_estimates(work.rng("gradients").normal(size=work.replicates(_N_GRADIENTS, least=4000)))
    errors = np.sqrt(variances / drawn.shape[1])
    distances = np.ravel(np.abs(drawn.mean(axis=1) - means) / errors)
    # The log normaliser in closed form, the two others by quadrature.
    log_z = 0.5 * math.log(2.0 * math.pi * _TARGET_VARIANCE)
    x = _Q_MEAN + _Q_SD * nodes
    log_q = gaussian_log_density(x, _Q_MEAN, _Q_SD)
    bound = float(law @ (-np.square(x - _TARGET_MEAN) / (2.0 * _TARGET_VARIANCE) - log_q))
    divergence = float(law @ (log_q - gaussian_log_density(x, _TARGET_MEAN, math.sqrt(_TARGET_VARIANCE))))
    found = {}
    for name, index in (("mean", 0), ("log standard deviation", 1)):
        found[f"gradient in the {name}"] = means[1, index]
        found[f"{name}, difference of the means of both estimates"] = abs(means[0, index] - means[1, index])
        found[f"{name}, variance by the score"] = variances[0, index]
        found[f"{name}, variance through the draws"] = variances[1, index]
        found[f"{name}, variance by the score over that through the draws"] = (
            variances[0, index] / variances[1, index]
        )
    return {
        **found,
        "simulated means, distance in standard errors": error_rules.largest(
            distances, np.ones(distances.size), [""] * distances.size
        ),
        "lower bound": bound,
        "log normaliser": log_z,
        "divergence": divergence,
    }


@TOPIC.claim("FN-VI-07")
def propagation(work: Work) -> Lines:
    """One sweep with a Gaussian factor for each datum against the exact posterior and evidence."""
    mean, spread, n = _GAUSS
    scores = stats.norm.ppf((np.arange(n) + 0.5) / n)
    scores -= scores.mean()
    data = mean + scores * math.sqrt(spread / float(scores @ scores))
    factors = [gaussian_factor(float(y), 1.0) for y in data]
    fit = expectation_propagation([0.0], [[1.0]], np.ones((n, 1)), factors, n_sweeps=1)
    exact = stats.multivariate_normal(np.zeros(n), np.eye(n) + 1.0).logpdf(data)
    wanted = (n * mean / (n + 1.0), 1.0 / (n + 1.0), exact)
    errors = np.subtract((fit.mean[0], fit.covariance[0, 0], fit.log_normaliser), wanted)
    return {"mean, variance and log normaliser": largest_size(errors), "log normaliser": fit.log_normaliser}


def _log_mixture(work: Work) -> FloatArray:
    """Log of the density with a narrow and a broad mode on the grid."""
    return np.asarray(jax.jit(NARROW_AND_BROAD.log_density)(_GRID))


def _both_estimates(noise: FloatArray) -> FloatArray:
    """Gradients by the score and through the draws [estimate, draw, (mean, log standard deviation)]."""
    fit = MeanField(jnp.array([_Q_MEAN]), jnp.log(jnp.array([_Q_SD])))

    def log_density(x: Array) -> Array:
        return -jnp.sum(jnp.square(x - _TARGET_MEAN)) / (2.0 * _TARGET_VARIANCE)

    def one(number: Array) -> Array:
        pairs = (
            score_function_gradient(log_density, fit, number[None]),
            reparameterisation_gradient(log_density, fit, number[None]),
        )
        return jnp.stack([jnp.stack([pair.mean[0], pair.log_sd[0]]) for pair in pairs])

    return np.asarray(jax.jit(jax.vmap(one, out_axes=1))(jnp.asarray(noise)))


@TOPIC.figure("mean_field")
def mean_field_curves(work: Work) -> Arrays:
    """Path of coordinate ascent, and variances over correlations."""
    runs = [_ascent(rho, _N_SHOWN_SWEEPS) for rho in _CORRELATIONS]
    path = np.stack([_steps(run.means) for run in runs])
    distributions = {"mean_field_correlation": list(_CORRELATIONS)}
    along = {**distributions, "mean_field_update": np.arange(path.shape[1])}
    return {
        "mean_field_path": xr.DataArray(path, {**along, "mean_field_axis": [1, 2]}),
        "mean_field_divergence": xr.DataArray([-run.bounds for run in runs], along, attrs={"units": "nats"}),
        "mean_field_variance": xr.DataArray([run.covariance[0, 0] for run in runs], distributions),
    }


def _ascent(rho: float, n_sweeps: int) -> MeanFieldGaussian:
    """Coordinate ascent on two coordinates with a correlation."""
    return gaussian_mean_field([0.0, 0.0], [[1.0, rho], [rho, 1.0]], [1.5, -1.5], n_sweeps)


def _steps(means: FloatArray) -> FloatArray:
    """Means after every update of one coordinate [update, 2] from those after every sweep [sweep, 2]."""
    points = [means[0]]
    for before, after in pairwise(means):
        points += [np.array([after[0], before[1]]), after]
    return np.array(points)
