"""Topic: Laplace's approximation, divergences and their minimisers, mean field, gradients, expectation propagation."""

import math
from collections.abc import Mapping
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import integrate, stats

from auxmc.approximations.advi import MeanField, reparameterisation_gradient, score_function_gradient
from auxmc.approximations.expectation_propagation import expectation_propagation, gaussian_factor
from auxmc.approximations.gaussian_mean_field import gaussian_mean_field
from auxmc.approximations.laplace_density import laplace_density
from auxmc.approximations.renyi import fit_gaussian, gaussian_log_density, renyi_divergence
from auxmc.models.mixtures.scalar_mixture import NARROW_AND_BROAD
from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.inverse_cdf import generalised_logistic
from experiments.foundations.topic import Measured, Topic, Work

_SKEW = generalised_logistic(0.4)
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


def laplace(work: Work) -> Mapping[str, Measured]:
    """FN-VI-01: the approximation of a skewed density, and the density's own moments by quadrature."""
    del work
    fit = laplace_density(lambda x: _SKEW.log_density(x)[0], [0.0])

    def moment(power: int, centre: float = 0.0) -> float:
        def integrand(x: float) -> float:
            # The density in NumPy: hundreds of calls of a compiled program would take longer than the integral.
            log_density = math.log(0.4) - 0.4 * x - 1.4 * np.logaddexp(0.0, -x)
            return float((x - centre) ** power * np.exp(log_density))

        return float(
            sum(
                integrate.quad(integrand, a, b, epsabs=1e-12, limit=200)[0]
                for a, b in ((-60.0, 0.0), (0.0, 120.0))
            )
        )

    mean = moment(1)
    return {
        "mode": Measured(float(fit.mode[0])),
        "second derivative": Measured(float(fit.hessian[0, 0])),
        "log density at the mode": Measured(fit.log_density),
        "normaliser": Measured(math.exp(fit.log_normaliser)),
        "variance": Measured(float(fit.covariance[0, 0])),
        "true variance": Measured(moment(2, mean)),
        "true mean": Measured(mean),
    }


def fits(work: Work) -> Mapping[str, Measured]:
    """FN-VI-02: Gaussians that minimise three divergences from a density with two modes."""
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
        found[f"{name}, mean"] = Measured(mean)
        found[f"{name}, standard deviation"] = Measured(sd)
        found[f"{name}, divergence"] = Measured(value)
    return {
        **found,
        "Renyi 1/2, divergence of the published fit": Measured(published),
        "Renyi 1/2, excess of the published fit": Measured(published - half.objective),
    }


def limit_of_order_zero(work: Work) -> Mapping[str, Measured]:
    """FN-VI-03: the divergence of U(0, 1) from U(0, 2) at order 1e-9, and the mass of either on the other's support."""
    del work
    p, q = stats.uniform(0.0, 1.0), stats.uniform(0.0, 2.0)
    order = 1e-9
    integral, _ = integrate.quad(lambda x: p.pdf(x) ** order * q.pdf(x) ** (1.0 - order), 0.0, 1.0)
    limit = math.log(integral) / (order - 1.0)
    return {
        "limit": Measured(limit),
        "-log Q(support of P)": Measured(-math.log(q.cdf(1.0) - q.cdf(0.0))),
        "-log P(support of Q)": Measured(-math.log(p.cdf(2.0) - p.cdf(0.0))),
        "limit as printed": Measured(limit),
    }


def orders(work: Work) -> Mapping[str, Measured]:
    """FN-VI-04: divergences of a fixed Gaussian over orders."""
    log_p, log_q = work.once(_log_mixture), gaussian_log_density(_GRID, *_FIXED)
    values = [renyi_divergence(_GRID, log_q, log_p, order) for order in _ORDERS]
    return {
        **{f"order {order:g}": Measured(value) for order, value in zip(_ORDERS, values, strict=True)},
        "smallest rise": Measured(float(np.diff(values).min())),
    }


def mean_field(work: Work) -> Mapping[str, Measured]:
    """FN-VI-05: coordinate ascent on two correlated coordinates."""
    del work
    found = {}
    for rho in _CORRELATIONS:
        fit = gaussian_mean_field([0.0, 0.0], [[1.0, rho], [rho, 1.0]], [1.5, -1.5], _N_MEAN_FIELD_SWEEPS)
        found[f"correlation {rho:g}, variance"] = Measured(float(fit.covariance[0, 0]))
        found[f"correlation {rho:g}, divergence"] = Measured(float(-fit.bounds[-1]))
        found[f"correlation {rho:g}, smallest rise of the bound"] = Measured(float(np.diff(fit.bounds).min()))
    return found


def gradients(work: Work) -> Mapping[str, Measured]:
    """FN-VI-06: both estimates of the gradient of the lower bound, their laws by quadrature and by simulation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_N_NODES)
    law = weights / weights.sum()
    estimates = _both_estimates(nodes)
    means = np.einsum("n,enp->ep", law, estimates)
    variances = np.einsum("n,enp->ep", law, np.square(estimates)) - np.square(means)
    drawn = _both_estimates(work.rng("gradients").normal(size=work.replicates(_N_GRADIENTS, least=4000)))
    errors = np.sqrt(variances / drawn.shape[1])
    distances = np.abs(drawn.mean(axis=1) - means) / errors
    # The log normaliser in closed form, the two others by quadrature.
    log_z = 0.5 * math.log(2.0 * math.pi * _TARGET_VARIANCE)
    x = _Q_MEAN + _Q_SD * nodes
    log_q = gaussian_log_density(x, _Q_MEAN, _Q_SD)
    bound = float(law @ (-np.square(x - _TARGET_MEAN) / (2.0 * _TARGET_VARIANCE) - log_q))
    divergence = float(law @ (log_q - gaussian_log_density(x, _TARGET_MEAN, math.sqrt(_TARGET_VARIANCE))))
    found = {}
    for name, index in (("mean", 0), ("log standard deviation", 1)):
        found[f"gradient in the {name}"] = Measured(float(means[1, index]))
        found[f"{name}, difference of the means of both estimates"] = Measured(
            float(abs(means[0, index] - means[1, index]))
        )
        found[f"{name}, variance by the score"] = Measured(float(variances[0, index]))
        found[f"{name}, variance through the draws"] = Measured(float(variances[1, index]))
    return {
        **found,
        "simulated means, distance in standard errors": Measured(float(distances.max())),
        "lower bound": Measured(bound),
        "log normaliser": Measured(log_z),
        "divergence": Measured(divergence),
    }


def propagation(work: Work) -> Mapping[str, Measured]:
    """FN-VI-07: one sweep with a Gaussian factor for each datum against the exact posterior and evidence."""
    del work
    mean, spread, n = _GAUSS
    scores = stats.norm.ppf((np.arange(n) + 0.5) / n)
    scores -= scores.mean()
    data = mean + scores * math.sqrt(spread / float(scores @ scores))
    factors = [gaussian_factor(float(y), 1.0) for y in data]
    fit = expectation_propagation([0.0], [[1.0]], np.ones((n, 1)), factors, n_sweeps=1)
    exact = stats.multivariate_normal(np.zeros(n), np.eye(n) + 1.0).logpdf(data)
    errors = (
        fit.mean[0] - n * mean / (n + 1.0),
        fit.covariance[0, 0] - 1.0 / (n + 1.0),
        fit.log_normaliser - exact,
    )
    return {
        "mean, variance and log normaliser": Measured(float(np.max(np.abs(errors)))),
        "log normaliser": Measured(fit.log_normaliser),
    }


def _log_mixture(work: Work) -> FloatArray:
    """Log of the density with a narrow and a broad mode on the grid."""
    del work
    return np.asarray(jax.jit(NARROW_AND_BROAD.log_density)(_GRID))


def _both_estimates(noise: FloatArray) -> FloatArray:
    """Gradients by the score and through the draws [estimate, draw, (mean, log standard deviation)]."""
    fit = MeanField(jnp.array([_Q_MEAN]), jnp.log(jnp.array([_Q_SD])))

    def energy(x: Array) -> Array:
        return jnp.sum(jnp.square(x - _TARGET_MEAN)) / (2.0 * _TARGET_VARIANCE)

    def one(number: Array) -> Array:
        pairs = (
            score_function_gradient(energy, fit, number[None]),
            reparameterisation_gradient(energy, fit, number[None]),
        )
        return jnp.stack([jnp.stack([pair.mean[0], pair.log_sd[0]]) for pair in pairs])

    return np.asarray(jax.jit(jax.vmap(one, out_axes=1))(jnp.asarray(noise)))


def mean_field_curves(work: Work) -> Mapping[str, xr.DataArray]:
    """Path of coordinate ascent, and variances over correlations."""
    del work
    rhos = np.array(_CORRELATIONS)
    runs = [
        gaussian_mean_field([0.0, 0.0], [[1.0, rho], [rho, 1.0]], [1.5, -1.5], _N_SHOWN_SWEEPS)
        for rho in rhos
    ]
    path = np.stack([_steps(run.means) for run in runs])
    along = {
        "mean_field_correlation": rhos,
        "mean_field_update": np.arange(path.shape[1]),
        "mean_field_axis": [1, 2],
    }
    divergence = np.stack([-run.bounds for run in runs])
    two = {name: along[name] for name in ("mean_field_correlation", "mean_field_update")}
    return {
        "mean_field_path": xr.DataArray(path, along, list(along)),
        "mean_field_divergence": xr.DataArray(divergence, two, list(two), attrs={"units": "nats"}),
        "mean_field_variance": xr.DataArray(
            [run.covariance[0, 0] for run in runs], {"mean_field_correlation": rhos}
        ),
    }


def _steps(means: FloatArray) -> FloatArray:
    """Means after every update of one coordinate [update, 2] from those after every sweep [sweep, 2]."""
    points = [means[0]]
    for before, after in pairwise(means):
        points += [np.array([after[0], before[1]]), after]
    return np.array(points)


TOPIC = Topic(
    claims={
        "FN-VI-01": laplace,
        "FN-VI-02": fits,
        "FN-VI-03": limit_of_order_zero,
        "FN-VI-04": orders,
        "FN-VI-05": mean_field,
        "FN-VI-06": gradients,
        "FN-VI-07": propagation,
    },
    curves={"mean_field": mean_field_curves},
)
"""Claims FN-VI-01 to FN-VI-07 and the figure of the mean-field approximation."""
