"""Topic: Laplace's approximation, divergences and their minimisers, mean field, gradients, expectation propagation."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import integrate, stats

from auxmc.approximations.advi import MeanField, reparameterisation_gradient, score_function_gradient
from auxmc.approximations.gaussian_mean_field import gaussian_mean_field
from auxmc.approximations.laplace_density import laplace_density
from auxmc.approximations.renyi import fit_gaussian, gaussian_log_density, renyi_divergence
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import largest
from experiments.foundations.chains.inputs import SHAPE
from experiments.foundations.sampling import generalised_logistic
from experiments.foundations.topic import Arrays, Found, Lines, Topic, Work
from experiments.tempering_illustration.model import NARROW_AND_BROAD

TOPIC = Topic()

_SKEW = generalised_logistic(SHAPE)
_GRID = np.linspace(-40.0, 40.0, 8001)
_STARTS = ((0.0, 3.0), (1.2, 2.0), (-4.8, 0.25))
# Mean and standard deviation of the Gaussians that the author's figures draw, and that the bounds are taken at.
_PUBLISHED_HALF = (0.193701, 2.652223)
_FIXED = (1.0615, 2.1658)
_CORRELATIONS = (0.8, 0.99)
_N_SHOWN_SWEEPS = 12
# Target exp(-(x - 1)^2 / 8) and approximation N(0.3, 0.8^2).
_TARGET_MEAN, _TARGET_VARIANCE = 1.0, 4.0
_Q_MEAN, _Q_SD = 0.3, 0.8
_N_GRADIENTS = 200_000
# The score gradient squared is a polynomial of degree eight in the noise.
_N_NODES = 12


@TOPIC.claim("FN-VI-01")
def laplace(work: Work) -> Lines:
    """The tail of the approximation of a skewed density."""
    fit = laplace_density(lambda x: _SKEW.log_density(x)[0], [0.0])
    tail = stats.norm.sf(8.0, fit.mode[0], math.sqrt(fit.covariance[0, 0])) / (1.0 + math.exp(8.0)) ** -SHAPE
    return {"mass beyond 8, approximation over density": float(tail)}


@TOPIC.claim(
    "FN-VI-02",
    numbers=[
        "Renyi 1/2, mean",
        "Renyi 1/2, standard deviation",
        "Renyi 1/2, divergence",
        "Renyi 1/2, divergence of the published fit",
    ],
)
def fits(work: Work) -> Lines:
    """Gaussians that minimise three divergences from a density with two modes."""
    log_p = work.once(_log_mixture)
    inclusive = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, log_p, q, 1.0), _STARTS)
    exclusive = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, q, log_p, 1.0), _STARTS)
    half = fit_gaussian(_GRID, lambda q: renyi_divergence(_GRID, log_p, q, 0.5), _STARTS)
    published = renyi_divergence(_GRID, log_p, gaussian_log_density(_GRID, *_PUBLISHED_HALF), 0.5)
    return {
        "KL(q, p), mean": exclusive.mean,
        "KL(q, p), standard deviation": exclusive.sd,
        "Renyi 1/2, mean": half.mean,
        "Renyi 1/2, standard deviation": half.sd,
        "Renyi 1/2, divergence": half.objective,
        "Renyi 1/2, divergence of the published fit": published,
        "standard deviation, Renyi 1/2 over KL(p, q)": half.sd / inclusive.sd,
        "standard deviation, KL(q, p) over Renyi 1/2": exclusive.sd / half.sd,
    }


@TOPIC.claim("FN-VI-03", numbers=["limit", "corrected"])
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

    def forward(order: float) -> float:
        return renyi_divergence(_GRID, log_q, log_p, order)

    def backward(order: float) -> float:
        return renyi_divergence(_GRID, log_p, log_q, order)

    return {
        "asymmetry at order 0.5": backward(0.5) - forward(0.5),
        "order 0.1 less a ninth of order 0.9 of exchanged laws": forward(0.1) - backward(0.9) / 9.0,
        "order 0.999999 less order 1": forward(0.999999) - forward(1.0),
    }


@TOPIC.claim("FN-VI-06")
def gradients(work: Work) -> Lines:
    """Both estimates of the gradient of the lower bound, their moments by quadrature and by simulation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    distribution = weights / weights.sum()
    estimates = _both_estimates(nodes)
    means = np.einsum("n,enp->ep", distribution, estimates)
    variances = np.einsum("n,enp->ep", distribution, np.square(estimates)) - np.square(means)
    drawn = _both_estimates(work.rng("gradients").normal(size=work.replicates(_N_GRADIENTS, least=4000)))
    errors = np.sqrt(variances / drawn.shape[1])
    distances = np.ravel(np.abs(drawn.mean(axis=1) - means))
    found: Found = {
        "simulated means, largest error": largest(distances, np.ravel(errors), [""] * distances.size)
    }
    for name, index in (("mean", 0), ("log standard deviation", 1)):
        found[f"{name}, difference of the means of both estimates"] = abs(means[0, index] - means[1, index])
        found[f"{name}, variance by the score over that through the draws"] = (
            variances[0, index] / variances[1, index]
        )
    return found


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
    covariances = ([[1.0, rho], [rho, 1.0]] for rho in _CORRELATIONS)
    runs = [gaussian_mean_field([0.0, 0.0], both, [1.5, -1.5], _N_SHOWN_SWEEPS) for both in covariances]
    # Means after every update: a sweep changes the first, then the second.
    path = np.stack([np.repeat(run.means, 2, axis=0)[1:] for run in runs])
    path[:, 1::2, 1] = path[:, 0:-1:2, 1]
    distributions = {"correlation": list(_CORRELATIONS)}
    along = {**distributions, "update": np.arange(path.shape[1])}
    return {
        "path": xr.DataArray(path, {**along, "axis": [1, 2]}),
        "variance": xr.DataArray([run.covariance[0, 0] for run in runs], distributions),
    }
