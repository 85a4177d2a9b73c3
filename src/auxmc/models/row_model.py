"""The contract between a model of independent rows and what estimates its evidence as rows arrive."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

WeightedGradient = Callable[[Array, Array, Array], Array]


class RowModel(NamedTuple):
    """A model whose rows are independent given real parameters.

    All functions work in the precision of their arguments.

    Attributes:
        dim: number of unconstrained parameters.
        n_columns: numbers in a row.
        log_likelihood: maps parameters [dim] and rows [row, column] to log p(row | parameters) [row], in nats.
        weighted_gradient: maps parameters [dim], rows [row, column] and weights [row] to the derivative of
            sum_i weight_i log p(row_i | parameters) [dim].
        log_prior: maps parameters [dim] to their log prior density, normalised, Jacobian of the transform included.
        draw_prior: maps a key to parameters [dim] drawn from the prior.
        natural: maps parameters [dim] to named arrays in the model's own terms.
    """

    dim: int
    n_columns: int
    log_likelihood: Callable[[Array, Array], Array]
    weighted_gradient: WeightedGradient
    log_prior: Callable[[Array], Array]
    draw_prior: Callable[[Array], Array]
    natural: Callable[[Array], dict[str, Array]]


def row_model(
    dim: int,
    n_columns: int,
    log_likelihood: Callable[[Array, Array], Array],
    log_prior: Callable[[Array], Array],
    draw_prior: Callable[[Array], Array],
    *,
    weighted_gradient: WeightedGradient | None = None,
    natural: Callable[[Array], dict[str, Array]] | None = None,
) -> RowModel:
    """Makes a model of independent rows; arguments are as in `RowModel`.

    Derivatives are automatic where `weighted_gradient` is not given, and `natural` gives the parameters themselves by
    default. A constant that the prior lacks is missing in `laplace_evidence` alone: other estimates are means over
    draws of the prior.

    Raises:
        ValueError: dim or n_columns is not positive.

    >>> model = row_model(1, 1, lambda t, rows: -0.5 * (rows[:, 0] - t[0]) ** 2, lambda t: -0.5 * t[0] ** 2,
    ...                   lambda key: jax.random.normal(key, (1,)))
    >>> float(model.weighted_gradient(jnp.zeros(1), jnp.ones((3, 1)), jnp.ones(3))[0])
    3.0
    """
    if dim < 1 or n_columns < 1:
        raise ValueError(f"dim and n_columns must be positive, got {dim} and {n_columns}")

    def automatic(parameters: Array, rows: Array, weights: Array) -> Array:
        # The sum is differentiated, not each row: memory does not grow with rows times parameters.
        return jax.grad(lambda p: jnp.sum(weights * log_likelihood(p, rows)))(parameters)

    gradient = weighted_gradient or automatic
    natural = natural or (lambda parameters: {"parameters": parameters})
    return RowModel(dim, n_columns, log_likelihood, gradient, log_prior, draw_prior, natural)
