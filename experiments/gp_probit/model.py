"""Gaussian process probit regression with an automatic relevance determination covariance.

Target variables x = (log s, log l_1, ..., log l_K): s is the prior variance of the latent function, l_k the
length scale of feature k. The latent values are integrated out by importance sampling from a Laplace
approximation.
"""

import csv
import math
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array
from jax.scipy.special import logsumexp

from auxmc.models.estimator import Estimator
from auxmc.numerics import linalg
from auxmc.numerics.array_types import FloatArray
from experiments.gp_probit.labelled import read_labelled
from experiments.gp_probit.laplace_latent_gaussian import SiteTerms, laplace_mode, reverse_precision_factor
from experiments.gp_probit.settings import OUTPUT_SCALE, Settings
from experiments.gp_probit.special_functions import log_normal_cdf, probit_terms

_VARIANCE_SHAPE = 1.1
_VARIANCE_RATE = 0.1
_JITTER = 1e-8
_N_CUBIC_FIXED = 3  # Laplace covariance, its factor and the prior's, besides one factorisation a Newton step


class BiopsyData(NamedTuple):
    """Wisconsin breast cancer data without its incomplete rows."""

    features: FloatArray  # scores 1 to 10, float64 [row, 9]
    labels: FloatArray  # +1 malignant, -1 benign, float64 [row]
    feature_names: tuple[str, ...]  # names of the nine columns
    n_rows_read: int  # rows in the file
    n_incomplete: int  # rows left out because a score is missing


class GPProbitModel(NamedTuple):
    """Distinct inputs with counts; log likelihood of z [input]: sum of n_plus log Phi(z) + n_minus log Phi(-z)."""

    inputs: FloatArray  # [input, feature], in the units of the length scales
    n_plus: FloatArray  # observations with label +1 at each input, float64 [input]
    n_minus: FloatArray  # observations with label -1 at each input, float64 [input]

    @property
    def n_features(self) -> int:
        """Number of features K; the target has K + 1 variables."""
        return int(self.inputs.shape[1])

    def log_prior(self, x: Array) -> Array:
        """Log density of the prior of x [dim]: s ~ Gamma(1.1, rate 0.1), l_k ~ Gamma(1, rate 1/sqrt(K)).

        Source: PhD thesis, section 3.6.2; the prior factor is missing from the target as printed.
        """
        rate = 1.0 / math.sqrt(self.n_features)
        constant = _VARIANCE_SHAPE * math.log(_VARIANCE_RATE) - math.lgamma(_VARIANCE_SHAPE)
        variance_term = _VARIANCE_SHAPE * x[0] - _VARIANCE_RATE * jnp.exp(x[0])
        length_terms = x[1:] + math.log(rate) - rate * jnp.exp(x[1:])
        return constant + variance_term + jnp.sum(length_terms)

    def sample_prior(self, key: Array) -> Array:
        """Draws x [dim] from the prior."""
        key_variance, key_lengths = jax.random.split(key)
        log_variance = jax.random.loggamma(key_variance, _VARIANCE_SHAPE, dtype=jnp.float64)
        log_lengths = jax.random.loggamma(key_lengths, 1.0, (self.n_features,), dtype=jnp.float64)
        return jnp.concatenate(
            [log_variance[None] - math.log(_VARIANCE_RATE), log_lengths + 0.5 * math.log(self.n_features)]
        )

    def covariance(self, x: Array) -> Array:
        """Prior covariance [input, input], s exp(-1/2 sum_k (d_k / l_k)^2) + 1e-8 I (thesis, section 3.6.2)."""
        scaled = jnp.asarray(self.inputs) * jnp.exp(-x[None, 1:])
        return linalg.add_to_diagonal(jnp.exp(x[0] - 0.5 * linalg.squared_distances(scaled)), _JITTER)


class GPProbitCache(NamedTuple):
    """What depends on x alone. The importance distribution of q = Lc^-1 z is N(m, (U U^T)^-1), U upper triangular."""

    prior_factor: Array  # Lc^T [input, input], Lc being the lower Cholesky factor of the prior covariance
    reverse_factor: Array  # U^T with both axes reversed [input, input], upper triangular
    whitened_mode: Array  # m = Lc^-1 mu [input]
    half_log_det: Array  # log det U
    log_prior: Array  # log prior density of x, in nats
    log_marginal: Array  # Laplace's approximation of log p(y | x), in nats
    n_newton: Array  # Newton steps made, int32
    failed: Array  # true where a factorisation failed or Newton's method did not converge


def load_biopsy(drop_first_complete_row: bool = False) -> BiopsyData:
    """Reads the Wisconsin breast cancer data, data set `biopsy` of the R package MASS.

    Without the first complete row there are the 682 rows of the source (PhD thesis, section 3.6.2), which counts 17
    incomplete rows and probably lost one to a header.
    """
    with Path(__file__).with_name("biopsy.csv").open(encoding="utf-8") as stream:
        header, *rows = list(csv.reader(stream))
    complete = [row for row in rows if all(row)]
    kept = complete[1:] if drop_first_complete_row else complete
    features = np.array([[float(score) for score in row[:-1]] for row in kept])
    labels = np.array([1.0 if row[-1] == "malignant" else -1.0 for row in kept])
    return BiopsyData(features, labels, tuple(header[:-1]), len(rows), len(rows) - len(complete))


def standardise(features: npt.ArrayLike) -> FloatArray:
    """Scales features [row, feature] to mean 0 and sd 1: not stated in the thesis, but needed for its posterior."""
    values = np.asarray(features, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] == 0:
        raise ValueError(f"features must be a non-empty matrix [row, feature], got shape {values.shape}")
    deviation = values.std(axis=0)
    constant = np.flatnonzero(values.max(axis=0) == values.min(axis=0))
    if constant.size:
        raise ValueError(f"features {constant.tolist()} (counted from 0) are constant: leave them out")
    return np.asarray((values - values.mean(axis=0)) / deviation)


def gp_probit_model(
    features: npt.ArrayLike, labels: npt.ArrayLike, collapse_duplicates: bool = True
) -> GPProbitModel:
    """Builds the model from features [row, feature] and labels +1 or -1 [row]; equal rows can be collapsed (ours)."""
    inputs = np.asarray(features, dtype=np.float64)
    signs = np.asarray(labels, dtype=np.float64)
    if inputs.ndim != 2 or inputs.shape[0] == 0 or inputs.shape[1] == 0:
        raise ValueError(f"features must be a non-empty matrix [row, feature], got shape {inputs.shape}")
    if signs.shape != inputs.shape[:1]:
        raise ValueError(f"labels must be one per row, shape {inputs.shape[:1]}, got shape {signs.shape}")
    if not np.isfinite(inputs).all():
        raise ValueError("features must be finite: leave out incomplete rows")
    if not np.isin(signs, (-1.0, 1.0)).all():
        raise ValueError(f"labels must be +1 or -1, got {np.unique(signs)[:5].tolist()}")
    is_plus = (signs > 0.0).astype(np.float64)
    if not collapse_duplicates:
        return GPProbitModel(inputs, is_plus, 1.0 - is_plus)
    distinct, index = np.unique(inputs, axis=0, return_inverse=True)
    counts = (np.bincount(index.ravel(), weights) for weights in (is_plus, 1.0 - is_plus))
    return GPProbitModel(distinct, *(np.asarray(each, dtype=np.float64) for each in counts))


def estimator(model: GPProbitModel, n_importance: int) -> Estimator:
    """Importance sampling estimator of p(x) p(y | x) from a Laplace approximation (thesis, Eqs. 3.5 and 3.16).

    Auxiliary variables are standard normal [importance, input]; sample n is z = mu + L u_n with L the lower Cholesky
    factor of the Laplace covariance. A new u at the same x costs no cubic operation. A failed factorisation gives an
    estimate of zero and is counted, where the source's program stops.
    """
    if n_importance < 1:
        raise ValueError(f"n_importance must be a positive integer, got {n_importance}")
    n_inputs = model.inputs.shape[0]

    def log_estimate(cache: GPProbitCache, u: Array) -> Array:
        shift = linalg.solve_rows(cache.reverse_factor, u[:, ::-1], transpose=True)[:, ::-1]
        whitened = cache.whitened_mode[None, :] + shift
        latent = whitened @ cache.prior_factor
        log_terms = _log_likelihood_terms(model, latent) + 0.5 * (u * u - whitened * whitened)
        log_weights = jnp.sum(log_terms, axis=1) - cache.half_log_det
        log_mean = logsumexp(log_weights) - math.log(n_importance)
        value = cache.log_prior + log_mean
        return jnp.where(cache.failed | jnp.isnan(value), -jnp.inf, value)

    return Estimator(
        prepare=lambda x: _prepare(model, x),
        log_estimate=log_estimate,
        draw_auxiliary=lambda key: jax.random.normal(key, (n_importance, n_inputs), jnp.float64),
        n_cubic=lambda cache: cache.n_newton + _N_CUBIC_FIXED,
        n_failures=lambda cache: cache.failed.astype(jnp.int32),
    )


def with_gradient(model: GPProbitModel, density: Estimator) -> Estimator:
    """The estimator with derivatives by reverse mode, for Hamiltonian dynamics: exact in u.

    In x they are those of Laplace's approximation of p(x | y) (Rasmussen and Williams, Algorithm 5.1), which take the
    time of an estimate; those of the estimate take five times as long. Dynamics keep volume with any force.
    """

    def prepare(x: Array) -> GPProbitCache:
        here = jax.lax.stop_gradient(x)
        cache: GPProbitCache = density.prepare(here)
        rise = (x - here) @ _laplace_gradient(model, here, cache)
        return cache._replace(log_prior=cache.log_prior + rise)

    return density._replace(prepare=prepare, n_cubic=lambda cache: 2 * density.n_cubic(cache))


class Problem(NamedTuple):
    """Data and model."""

    model: GPProbitModel  # the model, duplicate inputs collapsed
    features: FloatArray  # standardised features [row, feature]
    labels: FloatArray  # +1 or -1 [row]
    feature_names: tuple[str, ...]  # [feature]
    coordinates: tuple[str, ...]  # names of the target variables [feature + 1]
    n_rows_read: int  # rows in the file
    n_incomplete: int  # rows left out because a feature is missing


def build_problem(settings: Settings) -> Problem:
    """Reads the data, standardises the features and builds the model; raises DataError for an unusable file."""
    if settings.data:
        features, labels, names, _ = read_labelled(settings.data, settings.label)
        n_rows_read, n_incomplete = len(labels), 0
    else:
        biopsy = load_biopsy(settings.drop_first_complete_row)
        features, labels, names, n_rows_read, n_incomplete = biopsy
    scaled = standardise(features)
    coordinates = (OUTPUT_SCALE, *(f"log_length_scale[{name}]" for name in names))
    model = gp_probit_model(scaled, labels)
    return Problem(model, scaled, labels, names, coordinates, n_rows_read, n_incomplete)


def _prepare(model: GPProbitModel, x: Array) -> GPProbitCache:
    covariance = model.covariance(x)
    mode = laplace_mode(covariance, lambda z: _site_terms(model, z))
    prior_factor = linalg.upper_cholesky(covariance)
    reverse_factor = reverse_precision_factor(prior_factor, mode.curvature)
    whitened_mode = prior_factor @ mode.dual
    half_log_det = linalg.sum_log_diagonal(reverse_factor)
    log_prior = model.log_prior(x)
    usable = mode.converged & jnp.isfinite(half_log_det) & jnp.all(jnp.isfinite(whitened_mode))
    factors = prior_factor, reverse_factor, whitened_mode, half_log_det
    return GPProbitCache(*factors, log_prior, mode.log_marginal, mode.n_newton, ~usable)


def _laplace_gradient(model: GPProbitModel, x: Array, cache: GPProbitCache) -> Array:
    """Gradient in x of the log prior and Laplace's log marginal likelihood, whose mode moves with x."""
    covariance, pull_back = jax.vjp(model.covariance, x)
    mode = cache.whitened_mode @ cache.prior_factor
    terms = _site_terms(model, mode)
    root = jnp.sqrt(terms.curvature)
    factor = linalg.upper_cholesky(linalg.add_to_diagonal(root[:, None] * covariance * root[None, :], 1.0))
    half = linalg.solve_rows(factor, jnp.diag(root))
    weights = half @ half.T
    variance = jnp.diagonal(covariance) - jnp.sum((half.T @ covariance) ** 2, axis=0)
    of_curvature = jax.grad(lambda z: jnp.sum(_site_terms(model, z).curvature))(mode)
    of_mode = -0.5 * variance * of_curvature
    of_mode -= weights @ (covariance @ of_mode)
    cotangent = jnp.outer(0.5 * terms.gradient + of_mode, terms.gradient) - 0.5 * weights
    return jax.grad(model.log_prior)(x) + pull_back(cotangent)[0]


def _has_mixed_inputs(model: GPProbitModel) -> bool:
    return bool(np.any((model.n_plus > 0.0) & (model.n_minus > 0.0)))


def _signs_and_counts(model: GPProbitModel) -> tuple[Array, Array]:
    """Label and number of observations of each input, where every input has one class."""
    sign = np.where(model.n_plus > 0.0, 1.0, -1.0)
    return jnp.asarray(sign), jnp.asarray(model.n_plus + model.n_minus)


def _site_terms(model: GPProbitModel, latent: Array) -> SiteTerms:
    if not _has_mixed_inputs(model):
        sign, count = _signs_and_counts(model)
        terms = probit_terms(sign * latent)
        return SiteTerms(count * terms.log_cdf, count * sign * terms.slope, count * terms.curvature)
    n_plus, n_minus = jnp.asarray(model.n_plus), jnp.asarray(model.n_minus)
    plus, minus = probit_terms(latent), probit_terms(-latent)
    return SiteTerms(
        n_plus * plus.log_cdf + n_minus * minus.log_cdf,
        n_plus * plus.slope - n_minus * minus.slope,
        n_plus * plus.curvature + n_minus * minus.curvature,
    )


def _log_likelihood_terms(model: GPProbitModel, latent: Array) -> Array:
    """Log likelihood of each input and sample, for latent values [importance, input]."""
    if not _has_mixed_inputs(model):
        sign, count = _signs_and_counts(model)
        return count[None, :] * log_normal_cdf(sign[None, :] * latent)
    plus = jnp.asarray(model.n_plus)[None, :] * log_normal_cdf(latent)
    return plus + jnp.asarray(model.n_minus)[None, :] * log_normal_cdf(-latent)
