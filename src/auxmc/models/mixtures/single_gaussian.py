"""A Gaussian mixture of one component: the model that mixtures of more are compared with."""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.stats import norm

from auxmc.models.row_model import RowModel, row_model

# As for a component of `gaussian_mixture`: prior standard deviation of a mean in units of the component's own.
_MEAN_SPREAD = 2.0


def single_gaussian(n_columns: int = 2) -> RowModel:
    """p(y) = prod_j N(y_j; mu_j, v_j), with the priors of a component of `gaussian_mixture`.

    Priors: v_j ~ inverse gamma(1, 1), mu_j given v_j ~ N(0, 4 v_j). They are conjugate: the evidence is known.

    Args:
        n_columns: numbers in a row.

    Returns:
        Model with parameters (means [column], log variances [column]).

    Raises:
        ValueError: no column.

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
        return -0.5 * jnp.sum(squares + log_variances[None] + math.log(2.0 * math.pi), axis=1)

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
