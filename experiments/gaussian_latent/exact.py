"""Closed forms of the Gaussian latent variable model: what a correct sampler must reproduce.

S stands for sigma^2 + eps^2, M for the number of observations, D for the dimension. The model is that of PhD
thesis, section 3.6.1; the forms follow from Gaussian conjugacy. NumPy and SciPy only.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.numerics.array_types import FloatArray
from experiments.gaussian_latent.problem import Distribution, Known

if TYPE_CHECKING:
    from experiments.gaussian_latent.model import GaussianLatentModel

# A Gaussian norm is smooth, and within 9 sd of its mean up to 1e-17: 200 nodes leave rounding errors only.
_NORM_RANGE = 10.0
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(200)


class ExactPosterior(NamedTuple):
    """Gaussian posterior of x: mean [dim] and the standard deviation common to all components."""

    mean: FloatArray
    sd: float


def known(model: "GaussianLatentModel") -> Known:
    """All that is known of the model for the figures, claims and findings of the study."""
    posterior, precision = exact_posterior(model), conditional_precision(model)

    def acceptance_position(method: str, n_importance: int, scales: FloatArray) -> FloatArray | None:
        has_one = n_importance == 1 and method in ("apm_mi_mh", "apm_ss_mh")
        return metropolis_acceptance(scales, precision, model.dim) if has_one else None

    def acceptance_auxiliary(method: str, n_importance: int) -> float | None:
        has_one = n_importance == 1 and method in ("apm_mi_mh", "apm_mi_ss")
        return mean_independence_acceptance(model) if has_one else None

    return Known(
        position=[
            Distribution(float(mean), posterior.sd, normal.pdf, normal.cdf)
            for mean in posterior.mean
            for normal in [stats.norm(mean, posterior.sd)]
        ],
        auxiliary=lambda n_importance: auxiliary_marginal(model, n_importance),
        acceptance_position=acceptance_position,
        acceptance_auxiliary=acceptance_auxiliary,
        numbers=lambda: {
            "exact_mean_weight": mean_marginal_weight(model),
            "exact_fraction_above_1e4": holding_fraction(model, 1e4),
            "exact_fraction_above_1e5": holding_fraction(model, 1e5),
            "exact_fraction_above_long_chain": holding_fraction(model, 1.6e6),
            "exact_sd_between": math.sqrt(posterior.sd**2 - 1.0 / precision),
        },
    )


def exact_posterior(model: "GaussianLatentModel") -> ExactPosterior:
    """Posterior of x given y: mean sum of y / (M + S), variance S / (M + S) in every component.

    Source: PhD thesis, Eq. 3.15, with the number of observations M in place of N in the variance.
    """
    total = _total_variance(model)
    mean = model.observations.sum(axis=0) / (model.n_observations + total)
    return ExactPosterior(mean, math.sqrt(total / (model.n_observations + total)))


def conditional_precision(model: "GaussianLatentModel") -> float:
    """Precision 1 + M/eps^2 of x given y and the auxiliary variables of one importance sample."""
    return 1.0 + model.n_observations / model.sd_observation**2


def metropolis_acceptance(scale: ArrayLike, precision: float, dim: int) -> FloatArray:
    """Stationary acceptance rates of random-walk Metropolis with steps `scale` on an isotropic Gaussian.

    They are 2 T(-sqrt(dim precision) scale / 2), where T is the distribution function of Student's t with
    `dim` degrees of freedom: given the step, the log ratio is Gaussian with variance precision times the
    squared step, which is chi-squared with `dim` degrees of freedom.

    >>> round(float(metropolis_acceptance(0.425, precision=3.5, dim=10)), 4)
    0.2373
    """
    statistic = -0.5 * math.sqrt(dim * precision) * np.abs(np.asarray(scale, dtype=np.float64))
    return np.asarray(2.0 * stats.t.cdf(statistic, df=dim))


def auxiliary_marginal(
    model: "GaussianLatentModel", n_importance: int, observation: int = 0, component: int = 0
) -> Distribution:
    """Exact marginal of u[n, observation, component] under the joint target of x and u.

    It is equal for every n. For one importance sample it is Gaussian with mean
    sigma (y - posterior mean of x) / S and variance eps^2/S + sigma^2 Var(x)/S^2. For N of them it is a
    mixture of that Gaussian, with weight 1/N, and a standard normal.

    Source: PhD thesis, Eq. 3.13 and section 3.6.1.3.
    """
    total = _total_variance(model)
    posterior = exact_posterior(model)
    distance = float(model.observations[observation, component] - posterior.mean[component])
    mean = model.sd_latent * distance / total
    variance = model.sd_observation**2 / total + (model.sd_latent * posterior.sd / total) ** 2
    weight = 1.0 / n_importance
    second_moment = weight * (variance + mean**2) + 1.0 - weight
    mixture_mean = weight * mean
    informed = stats.norm(mean, math.sqrt(variance))

    def density(values: ArrayLike) -> FloatArray:
        return np.asarray(weight * informed.pdf(values) + (1.0 - weight) * stats.norm.pdf(values))

    def cumulative(values: ArrayLike) -> FloatArray:
        return np.asarray(weight * informed.cdf(values) + (1.0 - weight) * stats.norm.cdf(values))

    return Distribution(mixture_mean, math.sqrt(second_moment - mixture_mean**2), density, cumulative)


def independence_acceptance(model: "GaussianLatentModel", residual: float) -> float:
    """Stationary acceptance rate of independence updates of u, for one importance sample, at a given x.

    `residual` is R, the sum of squared residuals y - x. The log estimate is -q/(2 eps^2) up to a constant,
    with q ~ sigma^2 chi'(R/sigma^2) for fresh u and q ~ (sigma^2 eps^2/S) chi'(eps^2 R/(sigma^2 S)) for u
    from its conditional given x, where chi' is noncentral chi-squared with M D degrees of freedom. The
    expectation of min(1, ratio) is twice the probability that the fresh q is the smaller one.
    """
    degrees, latent = model.observations.size, model.sd_latent**2
    shrinkage = model.sd_observation**2 / _total_variance(model)
    norms, weights = _norm_quadrature(degrees, shrinkage * residual / latent)
    fresh_is_smaller = stats.ncx2.cdf(shrinkage * norms**2, degrees, residual / latent)
    return float(2.0 * np.dot(weights, fresh_is_smaller))


def mean_independence_acceptance(model: "GaussianLatentModel") -> float:
    """Mean of `independence_acceptance` over the exact posterior of x.

    This is the acceptance rate of a long chain. R depends on x through M |x - mean of y|^2, which is a scaled
    noncentral chi-squared variable with D degrees of freedom under the posterior.
    """
    posterior = exact_posterior(model)
    offset = float(np.sum((posterior.mean - model.observation_mean) ** 2)) / posterior.sd**2
    norms, weights = _norm_quadrature(model.dim, offset)
    residuals = model.observation_scatter + model.n_observations * (posterior.sd * norms) ** 2
    kept = weights > 1e-14
    rates = [independence_acceptance(model, float(residual)) for residual in residuals[kept]]
    return float(np.dot(weights[kept], rates))


class _Block(NamedTuple):
    """Numbers of the observations with one variance given u: those along their mean, or those across it."""

    n_numbers: int  # how many there are
    squares: float  # sum of their squares
    variance: float  # of each given u, x integrated out; without u it is greater by sigma^2


def _blocks(model: "GaussianLatentModel") -> tuple[_Block, _Block]:
    noise = model.sd_observation**2
    along = model.n_observations * float(np.sum(model.observation_mean**2))
    across = _Block(model.observations.size - model.dim, model.observation_scatter, noise)
    return across, _Block(model.dim, along, noise + model.n_observations)


def mean_marginal_weight(model: "GaussianLatentModel") -> float:
    """Stationary mean of the weight of u, a lower bound of the mean time for which u is held.

    For one importance sample the weight is w(u) = p(y | u) / p(y), the stationary density of u over that from which
    independence updates draw it. With K(u) the acceptance rate of fresh u averaged over x given u, K(u) <= 1 / w(u), as
    min(1, ratio) is at most the ratio. From a stationary x, and with a positive kernel of x, u is held for 1 / K(u)
    iterations or more in the mean (Jensen's inequality for the spectral measure).

    One over the acceptance rate is far shorter: it counts each holding once, not once for each iteration that
    it lasts. The mean is that of w^2 under the distribution of fresh u, in closed form.
    """
    latent = model.sd_latent**2
    log_mean = 0.0
    for n_numbers, squares, variance in _blocks(model):
        log_mean += _log_normal(n_numbers, squares, 0.5 * variance + latent)
        log_mean -= 2.0 * _log_normal(n_numbers, squares, variance + latent)
        log_mean -= 0.5 * n_numbers * math.log(4.0 * math.pi * variance)
    return math.exp(log_mean)


def holding_fraction(model: "GaussianLatentModel", weight: float) -> float:
    """Fraction of the stationary distribution of u with weights above a given one, for one sample.

    By `mean_marginal_weight`, u of this weight is held for at least so many iterations in the mean. The
    squares of y - sigma u are scaled noncentral chi-squared variables, independent along the mean of the
    observations and across it, and the log weight is a sum of both.
    """
    latent = model.sd_latent**2
    log_constant = -math.log(weight)
    for n_numbers, squares, variance in _blocks(model):
        log_constant -= 0.5 * n_numbers * math.log(2.0 * math.pi * variance)
        log_constant -= _log_normal(n_numbers, squares, variance + latent)
    across, along = _blocks(model)
    shrunk = [block.variance * latent / (block.variance + latent) for block in (across, along)]
    centres = [
        block.variance * block.squares / (latent * (block.variance + latent)) for block in (across, along)
    ]
    if across.n_numbers == 0:
        largest = max(0.0, 2.0 * log_constant * along.variance / shrunk[1])
        return float(stats.ncx2.cdf(largest, along.n_numbers, centres[1]))
    norms, weights = _norm_quadrature(along.n_numbers, centres[1])
    left = np.maximum(2.0 * log_constant - shrunk[1] * norms**2 / along.variance, 0.0)
    below = stats.ncx2.cdf(left * across.variance / shrunk[0], across.n_numbers, centres[0])
    return float(np.dot(weights, below))


def _log_normal(n_numbers: int, squares: float, variance: float) -> float:
    """Log density of `n_numbers` independent normal numbers of mean 0 with this sum of squares."""
    return -0.5 * (n_numbers * math.log(2.0 * math.pi * variance) + squares / variance)


def _norm_quadrature(degrees: int, noncentrality: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and probability weights for the root of a noncentral chi-squared variable.

    With one degree of freedom the density of the root stays bounded at 0, unlike that of the variable itself.
    """
    middle = math.sqrt(degrees + noncentrality)
    low, high = max(0.0, middle - _NORM_RANGE), middle + _NORM_RANGE
    norms = 0.5 * (high - low) * _NODES + 0.5 * (high + low)
    density = 2.0 * norms * stats.ncx2.pdf(norms**2, degrees, noncentrality)
    return norms, 0.5 * (high - low) * _NODE_WEIGHTS * density


def _total_variance(model: "GaussianLatentModel") -> float:
    return model.sd_latent**2 + model.sd_observation**2
