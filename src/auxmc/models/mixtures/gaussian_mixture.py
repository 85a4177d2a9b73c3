"""Gaussian mixtures with diagonal covariances, assignments summed out, and one Gaussian: models of real rows."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import gammaln
from jax.scipy.stats import norm

from auxmc.models.row_model import RowModel, row_model

WEIGHT_COORDINATES = ("log_gamma", "log_ratio", "stick_breaking")
"""Unconstrained coordinates of the mixture's weights; `log_gamma` has one more than there are degrees of freedom."""

MEAN_COORDINATES = ("centred", "non_centred")
"""Means themselves, or means in units of twice the component's standard deviation."""

_LOG_TWO_PI = math.log(2.0 * math.pi)
# Prior standard deviation of a mean in units of the component's own.
_MEAN_SPREAD = 2.0


class _Weights(NamedTuple):
    """Coordinates of the weights: how many, log weights from them, log prior with Jacobian, exact draw."""

    dim: int
    log_weights: Callable[[Array], Array]
    log_prior: Callable[[Array], Array]
    draw: Callable[[Array], Array]


def gaussian_mixture(
    n_components: int,
    n_columns: int = 2,
    *,
    weight_coordinates: str = "log_gamma",
    mean_coordinates: str = "centred",
) -> RowModel:
    """p(y) = sum_k beta_k prod_j N(y_j; mu_kj, v_kj), with at least 2 components; a row is y [column].

    Priors: beta ~ Dirichlet(1, ..., 1), v_kj ~ inverse gamma(1, 1), mu_kj given v_kj ~ N(0, 4 v_kj). Parameters are
    (weights, means [component, column], log variances [component, column]), each raveled. Coordinates are one of
    WEIGHT_COORDINATES and one of MEAN_COORDINATES; all give the same evidence.

    Raises:
        ValueError: fewer than two components, no column, or unknown coordinates.

    Source: MSc thesis, section 5.1.
    """
    if n_components < 2 or n_columns < 1:
        raise ValueError(f"expected 2 components and 1 column at least, got {n_components} and {n_columns}")
    for name, value, allowed in (
        ("weight_coordinates", weight_coordinates, WEIGHT_COORDINATES),
        ("mean_coordinates", mean_coordinates, MEAN_COORDINATES),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    weights = _COORDINATES[weight_coordinates](n_components)
    shape = (n_components, n_columns)
    size = n_components * n_columns
    centred = mean_coordinates == "centred"

    def split(parameters: Array) -> tuple[Array, Array, Array]:
        first, second = weights.dim, weights.dim + size
        return parameters[:first], parameters[first:second].reshape(shape), parameters[second:].reshape(shape)

    def natural_arrays(parameters: Array) -> tuple[Array, Array, Array]:
        """Log weights [component], means and log variances [component, column]."""
        own, means, log_variances = split(parameters)
        if not centred:
            means = _MEAN_SPREAD * jnp.exp(0.5 * log_variances) * means
        return weights.log_weights(own), means, log_variances

    # Components come first in all arrays, rows last: long loops over rows are vectorised, short ones not.

    def deviations(means: Array, rows: Array) -> list[Array]:
        """Distance from each component's mean [component, row], column by column."""
        return [rows[None, :, column] - means[:, column, None] for column in range(n_columns)]

    def log_terms(arrays: tuple[Array, Array, Array], deviation: list[Array]) -> Array:
        """Log of each component's share [component, row]."""
        log_weights, _, log_variances = arrays
        precisions = jnp.exp(-log_variances)
        constants = log_weights - 0.5 * jnp.sum(log_variances + _LOG_TWO_PI, axis=1)
        squares = (jnp.square(d) * precisions[:, c, None] for c, d in enumerate(deviation))
        return constants[:, None] - 0.5 * sum(squares)

    def log_likelihood(parameters: Array, rows: Array) -> Array:
        arrays = natural_arrays(parameters)
        return jax.nn.logsumexp(log_terms(arrays, deviations(arrays[1], rows)), axis=0)

    def weighted_gradient(parameters: Array, rows: Array, row_weights: Array) -> Array:
        arrays, pull_back = jax.vjp(natural_arrays, parameters)
        _, means, log_variances = arrays
        deviation = deviations(means, rows)
        fractions = row_weights[None, :] * jax.nn.softmax(log_terms(arrays, deviation), axis=0)
        # Products with ones, which are vectorised, as sums in the order of the rows are not.
        ones = jnp.ones(rows.shape[0], rows.dtype)
        totals = jnp.matmul(fractions, ones)
        firsts = jnp.stack([jnp.matmul(fractions * d, ones) for d in deviation], axis=1)
        seconds = jnp.stack([jnp.matmul(fractions * jnp.square(d), ones) for d in deviation], axis=1)
        precisions = jnp.exp(-log_variances)
        in_variance = 0.5 * (seconds * precisions - totals[:, None])
        return pull_back((totals, firsts * precisions, in_variance))[0]

    def log_prior(parameters: Array) -> Array:
        own, means, log_variances = split(parameters)
        variances = jnp.sum(-log_variances - jnp.exp(-log_variances))
        if centred:
            squares = jnp.square(means / _MEAN_SPREAD) * jnp.exp(-log_variances)
            scales = math.log(_MEAN_SPREAD) + 0.5 * log_variances
        else:
            squares, scales = jnp.square(means), jnp.zeros_like(means)
        normal = jnp.sum(-0.5 * _LOG_TWO_PI - scales - 0.5 * squares)
        return weights.log_prior(own) + variances + normal

    def draw_prior(key: Array) -> Array:
        weight_key, variance_key, mean_key = jax.random.split(key, 3)
        log_variances = -jax.random.loggamma(variance_key, jnp.ones(shape, dtype=jnp.float64))
        standard = jax.random.normal(mean_key, shape, dtype=jnp.float64)
        means = _MEAN_SPREAD * jnp.exp(0.5 * log_variances) * standard if centred else standard
        return jnp.concatenate([weights.draw(weight_key), means.ravel(), log_variances.ravel()])

    def natural(parameters: Array) -> dict[str, Array]:
        log_weights, means, log_variances = natural_arrays(parameters)
        return {"weights": jnp.exp(log_weights), "means": means, "variances": jnp.exp(log_variances)}

    return row_model(
        weights.dim + 2 * size,
        n_columns,
        log_likelihood,
        log_prior,
        draw_prior,
        weighted_gradient=weighted_gradient,
        natural=natural,
    )


def single_gaussian(n_columns: int = 2) -> RowModel:
    """p(y) = prod_j N(y_j; mu_j, v_j), with the priors of a component of `gaussian_mixture`.

    Priors: v_j ~ inverse gamma(1, 1), mu_j given v_j ~ N(0, 4 v_j). They are conjugate: the evidence is known.
    Parameters are (means [column], log variances [column]). ValueError if there is no column.

    >>> single_gaussian(3).dim
    6
    """
    if n_columns < 1:
        raise ValueError(f"n_columns must be at least 1, got {n_columns}")

    def split(parameters: Array) -> tuple[Array, Array]:
        return parameters[:n_columns], parameters[n_columns:]

    def log_likelihood(parameters: Array, rows: Array) -> Array:
        means, log_variances = split(parameters)
        squares = jnp.square(rows - means[None]) * jnp.exp(-log_variances)[None]
        return -0.5 * jnp.sum(squares + log_variances[None] + _LOG_TWO_PI, axis=1)

    def log_prior(parameters: Array) -> Array:
        means, log_variances = split(parameters)
        of_variances = jnp.sum(-log_variances - jnp.exp(-log_variances))
        scales = _MEAN_SPREAD * jnp.exp(0.5 * log_variances)
        return of_variances + jnp.sum(norm.logpdf(means, 0.0, scales))

    def draw_prior(key: Array) -> Array:
        variance_key, mean_key = jax.random.split(key)
        log_variances = -jax.random.loggamma(variance_key, jnp.ones(n_columns, dtype=jnp.float64))
        standard = jax.random.normal(mean_key, (n_columns,), dtype=jnp.float64)
        return jnp.concatenate([_MEAN_SPREAD * jnp.exp(0.5 * log_variances) * standard, log_variances])

    def natural(parameters: Array) -> dict[str, Array]:
        means, log_variances = split(parameters)
        return {"means": means, "variances": jnp.exp(log_variances)}

    return row_model(2 * n_columns, n_columns, log_likelihood, log_prior, draw_prior, natural=natural)


def _log_gamma(n: int) -> _Weights:
    """Logs of independent Gamma(1) variables, whose shares have the Dirichlet distribution."""
    return _Weights(
        n,
        jax.nn.log_softmax,
        lambda u: jnp.sum(u - jnp.exp(u)),
        lambda key: jax.random.loggamma(key, jnp.ones(n, dtype=jnp.float64)),
    )


def _log_ratio(n: int) -> _Weights:
    """Logs of the weights relative to the last one; the Jacobian is the product of the weights."""

    def log_weights(u: Array) -> Array:
        return jax.nn.log_softmax(jnp.append(u, jnp.zeros((), u.dtype)))

    def draw(key: Array) -> Array:
        logs = jax.random.loggamma(key, jnp.ones(n, dtype=jnp.float64))
        return logs[:-1] - logs[-1]

    return _Weights(n - 1, log_weights, lambda u: gammaln(float(n)) + jnp.sum(log_weights(u)), draw)


def _stick_breaking(n: int) -> _Weights:
    """Logits of the fraction that each weight takes of what is left, shifted so that zeros give equal weights."""
    rest = jnp.arange(n - 1, 0, -1, dtype=jnp.float64)

    def log_fractions(s: Array) -> tuple[Array, Array]:
        shifted = s - jnp.log(rest).astype(s.dtype)
        return jax.nn.log_sigmoid(shifted), jax.nn.log_sigmoid(-shifted)

    def log_weights(s: Array) -> Array:
        taken, left = log_fractions(s)
        remaining = jnp.concatenate([jnp.zeros(1, s.dtype), jnp.cumsum(left)])
        return remaining + jnp.append(taken, jnp.zeros((), s.dtype))

    def log_prior(s: Array) -> Array:
        # Given what is left, a fraction is Beta(1, components left); the derivative of a fraction is share times rest.
        taken, left = log_fractions(s)
        return gammaln(float(n)) + jnp.sum(taken + rest.astype(s.dtype) * left)

    def draw(key: Array) -> Array:
        logs = jax.random.loggamma(key, jnp.ones(n, dtype=jnp.float64))
        # Log of the sum of what comes after each component.
        after = jax.lax.cumlogsumexp(logs[::-1])[::-1][1:]
        return logs[:-1] - after + jnp.log(rest)

    return _Weights(n - 1, log_weights, log_prior, draw)


_COORDINATES: dict[str, Callable[[int], _Weights]] = {
    "log_gamma": _log_gamma,
    "log_ratio": _log_ratio,
    "stick_breaking": _stick_breaking,
}
