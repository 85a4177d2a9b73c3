"""Closed forms of the Gaussian latent variable model: what a correct sampler must reproduce.

NumPy and SciPy only. S stands for sigma^2 + eps^2, M for the number of observations, D for the dimension.
Source of the model: PhD thesis, section 3.6.1; the forms are consequences of Gaussian conjugacy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.models.gaussian.latent import GaussianLatentModel
from auxmc.numerics.array_types import FloatArray

__all__ = [
    "AuxiliaryMarginal",
    "ExactPosterior",
    "auxiliary_marginal",
    "conditional_precision",
    "exact_posterior",
    "independence_acceptance",
    "log_estimate_variance",
    "mean_independence_acceptance",
    "metropolis_acceptance",
]

# The norm of a Gaussian vector is within 9 standard deviations of its mean up to a probability of 1e-17, and its
# density is smooth on that scale: 200 Gauss-Legendre nodes leave rounding errors only.
_NORM_RANGE = 10.0
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(200)


class ExactPosterior(NamedTuple):
    """Gaussian posterior of x: mean [dim] and the standard deviation common to all components."""

    mean: FloatArray
    sd: float


class AuxiliaryMarginal(NamedTuple):
    """Stationary law of one component of the auxiliary variables: a mixture of two Gaussians.

    Attributes:
        mean: mean of the mixture.
        sd: standard deviation of the mixture.
        weight: 1/N, weight of the informed Gaussian; the other one is standard normal.
        informed_mean: mean of the informed Gaussian, the law for one importance sample.
        informed_sd: standard deviation of the informed Gaussian.
    """

    mean: float
    sd: float
    weight: float
    informed_mean: float
    informed_sd: float

    def density(self, values: ArrayLike) -> FloatArray:
        """Density of the mixture at the values, in their shape."""
        informed = stats.norm.pdf(values, self.informed_mean, self.informed_sd)
        return np.asarray(self.weight * informed + (1.0 - self.weight) * stats.norm.pdf(values))

    def cumulative(self, values: ArrayLike) -> FloatArray:
        """Cumulative distribution function of the mixture at the values, in their shape."""
        informed = stats.norm.cdf(values, self.informed_mean, self.informed_sd)
        return np.asarray(self.weight * informed + (1.0 - self.weight) * stats.norm.cdf(values))


def exact_posterior(model: GaussianLatentModel) -> ExactPosterior:
    """Posterior of x given y: mean sum of y / (M + S), variance S / (M + S) in every component.

    Source: PhD thesis, Eq. 3.15, with the number of observations M in place of N in the variance.
    """
    total = _total_variance(model)
    mean = model.observations.sum(axis=0) / (model.n_observations + total)
    return ExactPosterior(mean, math.sqrt(total / (model.n_observations + total)))


def log_estimate_variance(model: GaussianLatentModel, position: ArrayLike) -> float:
    """Variance of the log estimate with one importance sample at x [dim], over the auxiliary variables.

    (2 M D sigma^4 + 4 sigma^2 R) / (4 eps^4) with R the sum of squared residuals y - x, in nats squared.
    """
    residual = _residual_sum(model, position)
    latent = model.sd_latent**2
    variance = 2.0 * model.observations.size * latent**2 + 4.0 * latent * residual
    return variance / (4.0 * model.sd_observation**4)


def conditional_precision(model: GaussianLatentModel) -> float:
    """Precision 1 + M/eps^2 of x given y and the auxiliary variables of one importance sample."""
    return 1.0 + model.n_observations / model.sd_observation**2


def metropolis_acceptance(scale: ArrayLike, precision: float, dim: int) -> FloatArray:
    """Stationary accept rate of random-walk Metropolis on an isotropic Gaussian.

    With step size `scale` it is 2 T(-sqrt(dim precision) scale / 2), T being the distribution function of
    Student's t with `dim` degrees of freedom: the log ratio given the step is Gaussian with variance precision
    times the squared step, which is chi-squared with `dim` degrees of freedom.

    Args:
        scale: standard deviation of the proposal per component, any shape.
        precision: inverse variance of the target per component; `conditional_precision` for updates of x with
            the auxiliary variables of one importance sample fixed.
        dim: dimension D.

    Returns:
        Accept rates in the shape of `scale`.

    Raises:
        ValueError: precision is not positive, or dim is not a positive number.

    >>> round(float(metropolis_acceptance(0.425, precision=3.5, dim=10)), 4)
    0.2373
    """
    if not precision > 0.0:
        raise ValueError(f"precision must be positive, got {precision!r}")
    if not dim >= 1:
        raise ValueError(f"dim must be a positive whole number, got {dim!r}")
    statistic = -0.5 * math.sqrt(dim * precision) * np.abs(np.asarray(scale, dtype=np.float64))
    return np.asarray(2.0 * stats.t.cdf(statistic, df=dim))


def auxiliary_marginal(
    model: GaussianLatentModel, n_importance: int, observation: int = 0, component: int = 0
) -> AuxiliaryMarginal:
    """Exact marginal of u[n, observation, component] under the joint target of x and u, equal for every n.

    For one importance sample it is Gaussian with mean sigma (y - posterior mean of x) / S and variance
    eps^2/S + sigma^2 Var(x)/S^2. For N of them it is that Gaussian with weight 1/N and a standard normal else.

    Args:
        model: the model.
        n_importance: N, at least 1.
        observation: index m of the observation, from 0.
        component: index of the component, from 0.

    Returns:
        Mean, standard deviation and mixture of the marginal.

    Raises:
        ValueError: n_importance is not positive.
        IndexError: the model has no such observation or component.

    Source: PhD thesis, Eq. 3.13 and section 3.6.1.3.
    """
    if n_importance < 1:
        raise ValueError(f"n_importance must be a positive whole number, got {n_importance!r}")
    total = _total_variance(model)
    posterior = exact_posterior(model)
    distance = float(model.observations[observation, component] - posterior.mean[component])
    mean = model.sd_latent * distance / total
    variance = model.sd_observation**2 / total + (model.sd_latent * posterior.sd / total) ** 2
    weight = 1.0 / n_importance
    second_moment = weight * (variance + mean**2) + 1.0 - weight
    mixture_mean = weight * mean
    mixture_sd = math.sqrt(second_moment - mixture_mean**2)
    return AuxiliaryMarginal(mixture_mean, mixture_sd, weight, mean, math.sqrt(variance))


def independence_acceptance(model: GaussianLatentModel, position: ArrayLike) -> float:
    """Stationary accept rate of independence updates of u at fixed x [dim], for one importance sample.

    The log estimate is -q/(2 eps^2) up to a constant, with q ~ sigma^2 chi'(R/sigma^2) for fresh u and
    q ~ (sigma^2 eps^2/S) chi'(eps^2 R/(sigma^2 S)) for u from its conditional given x, where chi' is noncentral
    chi-squared with M D degrees of freedom and R the sum of squared residuals y - x. The expectation of
    min(1, ratio) is twice the probability that the fresh q is the smaller one, computed by quadrature.
    """
    return _independence_acceptance(model, _residual_sum(model, position))


def mean_independence_acceptance(model: GaussianLatentModel) -> float:
    """Mean of `independence_acceptance` over the exact posterior of x: the accept rate of a long chain.

    R depends on x through M |x - mean of y|^2, a scaled noncentral chi-squared variable with D degrees of
    freedom under the posterior, over which a second quadrature runs.
    """
    posterior = exact_posterior(model)
    offset = float(np.sum((posterior.mean - model.observation_mean) ** 2)) / posterior.sd**2
    norms, weights = _norm_quadrature(model.dim, offset)
    residuals = model.observation_scatter + model.n_observations * (posterior.sd * norms) ** 2
    kept = weights > 1e-14
    rates = [_independence_acceptance(model, float(residual)) for residual in residuals[kept]]
    return float(np.dot(weights[kept], rates))


def _independence_acceptance(model: GaussianLatentModel, residual: float) -> float:
    degrees = model.observations.size
    latent = model.sd_latent**2
    shrinkage = model.sd_observation**2 / _total_variance(model)
    norms, weights = _norm_quadrature(degrees, shrinkage * residual / latent)
    fresh_is_smaller = stats.ncx2.cdf(shrinkage * norms**2, degrees, residual / latent)
    return float(2.0 * np.dot(weights, fresh_is_smaller))


def _norm_quadrature(degrees: int, noncentrality: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and probability weights for the root of a noncentral chi-squared variable.

    In the root the density stays bounded at 0 for one degree of freedom, unlike that of the variable itself.
    """
    middle = math.sqrt(degrees + noncentrality)
    low, high = max(0.0, middle - _NORM_RANGE), middle + _NORM_RANGE
    norms = 0.5 * (high - low) * _NODES + 0.5 * (high + low)
    density = 2.0 * norms * stats.ncx2.pdf(norms**2, degrees, noncentrality)
    return norms, 0.5 * (high - low) * _NODE_WEIGHTS * density


def _residual_sum(model: GaussianLatentModel, position: ArrayLike) -> float:
    x = np.asarray(position, dtype=np.float64)
    if x.shape != (model.dim,):
        raise ValueError(f"position must have shape ({model.dim},), got {x.shape}")
    return float(np.sum((model.observations - x) ** 2))


def _total_variance(model: GaussianLatentModel) -> float:
    return model.sd_latent**2 + model.sd_observation**2
