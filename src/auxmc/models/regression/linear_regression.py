"""Linear regression with known noise: a model of rows (x, y), and its evidence for every prefix, exactly."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.models.row_model import RowModel, row_model
from auxmc.numerics.array_types import FloatArray


class PrefixEvidence(NamedTuple):
    """The rows seen so far, as much of them as the evidence needs.

    Attributes:
        factor: upper triangular R of the rows [x / sigma, 1 / sigma, y / sigma], one row a coefficient for the prior
            included [dim + 1, dim + 1].
        n_rows: rows absorbed.
    """

    factor: FloatArray
    n_rows: int

    @classmethod
    def empty(cls, n_features: int) -> "PrefixEvidence":
        """No row seen: the prior alone."""
        return cls(np.diag([*np.ones(n_features + 1), 0.0]), 0)

    def log_evidence(self, noise_scale: float) -> float:
        """Log density of all responses seen, in nats; `noise_scale` is the one that the rows were absorbed with."""
        diagonal = np.abs(np.diagonal(self.factor))
        constant = -0.5 * self.n_rows * math.log(2.0 * math.pi * noise_scale**2)
        return float(constant - np.sum(np.log(diagonal[:-1])) - 0.5 * diagonal[-1] ** 2)


def linear_regression(n_features: int, noise_scale: float = 1.0) -> RowModel:
    """y = x^T w + b + e, with e ~ N(0, sigma^2) and coefficients (w, b) ~ N(0, I).

    Args:
        n_features: length of x; a row is (x, y).
        noise_scale: sigma.

    Returns:
        Model with parameters (w, b) [n_features + 1].

    Raises:
        ValueError: there is no feature, or the scale is not positive.

    Source: MSc thesis, section 5.1.
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}")
    if not noise_scale > 0.0:
        raise ValueError(f"noise_scale must be positive, got {noise_scale}")
    dim, precision = n_features + 1, 1.0 / noise_scale**2
    constant = -0.5 * math.log(2.0 * math.pi * noise_scale**2)

    def residuals(parameters: Array, rows: Array) -> Array:
        # Products with whole rows, the response included: taking columns out would copy them.
        against = jnp.append(-parameters[:-1], jnp.ones((), parameters.dtype))
        return jnp.matmul(against[None, :], rows.T)[0] - parameters[-1]

    def log_likelihood(parameters: Array, rows: Array) -> Array:
        return constant - 0.5 * precision * jnp.square(residuals(parameters, rows))

    def weighted_gradient(parameters: Array, rows: Array, weights: Array) -> Array:
        scaled = precision * weights * residuals(parameters, rows)
        # A product with ones, which is vectorised, as a sum in the order of the rows is not.
        return jnp.append(jnp.matmul(rows.T, scaled)[:-1], jnp.dot(scaled, jnp.ones_like(scaled)))

    return row_model(
        dim,
        dim,
        log_likelihood,
        lambda parameters: -0.5 * math.log(2.0 * math.pi) * dim - 0.5 * jnp.sum(jnp.square(parameters)),
        lambda key: jax.random.normal(key, (dim,), dtype=jnp.float64),
        weighted_gradient=weighted_gradient,
        natural=lambda parameters: {"weights": parameters[:-1], "intercept": parameters[-1]},
    )


def extend_evidence(evidence: PrefixEvidence, rows: FloatArray, noise_scale: float) -> PrefixEvidence:
    """Absorbs rows [row, n_features + 1] by orthogonal transformations.

    Nothing is formed by subtraction, so that the evidence keeps its digits when the noise is small. The evidence of a
    prefix does not depend on how its rows were cut into blocks.

    Raises:
        ValueError: rows have another number of columns than those before.
    """
    n_columns = len(evidence.factor) - 1
    if rows.ndim != 2 or rows.shape[1] != n_columns:
        raise ValueError(f"rows must be [row, {n_columns}], got {list(rows.shape)}")
    ones = np.ones((len(rows), 1))
    block = np.concatenate([rows[:, :-1], ones, rows[:, -1:]], axis=1) / noise_scale
    factor = np.asarray(np.linalg.qr(np.concatenate([evidence.factor, block]), mode="r"))
    return PrefixEvidence(factor, evidence.n_rows + len(rows))
