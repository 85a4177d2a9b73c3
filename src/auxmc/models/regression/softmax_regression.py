"""Softmax regression: a model of rows (x, class) with normal coefficients."""

import math

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.models.row_model import RowModel, row_model


def softmax_regression(n_features: int, n_classes: int) -> RowModel:
    """p(class k | x) proportional to exp(w_k^T x + b_k), with all coefficients N(0, 1).

    The logits may be shifted together without a change of the likelihood; the prior makes that direction proper. A row
    is (x, class) with classes 0, 1, ... as numbers. Parameters are (w_k, b_k), class by class
    [n_classes * (n_features + 1)]. ValueError if there is no feature, or fewer than two classes.

    Source: MSc thesis, section 5.1.
    """
    if n_features < 1 or n_classes < 2:
        raise ValueError(f"expected 1 feature and 2 classes at least, got {n_features} and {n_classes}")
    shape = (n_classes, n_features + 1)
    dim = n_classes * (n_features + 1)

    # Classes come first in all arrays, rows last: long loops over rows are vectorised, short ones over classes not.

    def logits(parameters: Array, rows: Array) -> Array:
        coefficients = parameters.reshape(shape)
        return jnp.einsum("kd,rd->kr", coefficients[:, :-1], rows[:, :-1]) + coefficients[:, -1:]

    def one_hot(rows: Array) -> Array:
        return (rows[None, :, -1] == jnp.arange(n_classes, dtype=rows.dtype)[:, None]).astype(rows.dtype)

    def log_likelihood(parameters: Array, rows: Array) -> Array:
        scores = logits(parameters, rows)
        return jnp.sum(scores * one_hot(rows), axis=0) - jax.nn.logsumexp(scores, axis=0)

    def weighted_gradient(parameters: Array, rows: Array, weights: Array) -> Array:
        error = weights[None, :] * (one_hot(rows) - jax.nn.softmax(logits(parameters, rows), axis=0))
        slopes = jnp.matmul(error, rows[:, :-1])
        # A product with ones, which is vectorised, as a sum in the order of the rows is not.
        intercepts = jnp.matmul(error, jnp.ones((rows.shape[0], 1), rows.dtype))
        return jnp.concatenate([slopes, intercepts], axis=1).ravel()

    def natural(parameters: Array) -> dict[str, Array]:
        coefficients = parameters.reshape(shape)
        return {"weights": coefficients[:, :-1], "intercepts": coefficients[:, -1]}

    return row_model(
        dim,
        n_features + 1,
        log_likelihood,
        lambda parameters: -0.5 * dim * math.log(2.0 * math.pi) - 0.5 * jnp.sum(jnp.square(parameters)),
        lambda key: jax.random.normal(key, (dim,), dtype=jnp.float64),
        weighted_gradient=weighted_gradient,
        natural=natural,
    )
