"""Generalised lambda model: inputs that generate the data exactly, as starting points on the manifold."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from experiments.generalised_lambda.model import generator

# Residual, in units of the data, from which on a solved quantile equation counts as failed.
LARGEST_RESIDUAL = 1e-8
_BISECTIONS = 48


class FibrePoint(NamedTuple):
    """Inputs that generate the data."""

    inputs: Array  # u [4 + data]
    # largest |x(u) - observation|, in units of the data; infinite beyond the support
    residual: Array
    n_redraws: Array  # parameter inputs that were drawn and discarded (int32)


def solve_logits(values: Array, z: Array) -> Array:
    """Logits [data] with q(l | z) = value [data], by bisection and Newton steps; an end of [-40, 40] if beyond it."""

    def halve(_: Array, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = 0.5 * (low + high)
        below = generator.quantile(middle, z) < values
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    start = (jnp.full_like(values, -40.0), jnp.full_like(values, 40.0))
    low, high = lax.fori_loop(0, _BISECTIONS, halve, start)
    logits = 0.5 * (low + high)
    for _ in range(2):
        step = (generator.quantile(logits, z) - values) / generator.quantile_slope(logits, z)
        logits = logits - jnp.where(jnp.abs(step) < 1e-3, step, 0.0)
    return logits


def fibre_point(parameter_inputs: Array, model: generator.GeneralisedLambdaModel) -> FibrePoint:
    """The inputs that generate the data with given parameter inputs [4], and how well they do."""
    z = generator.parameters(parameter_inputs, model.prior)
    logits = solve_logits(model.observations, z)
    low, high = generator.support(z)
    inside = jnp.all((model.observations > low) & (model.observations < high))
    error = jnp.max(jnp.abs(generator.quantile(logits, z) - model.observations))
    residual = jnp.where(inside & jnp.isfinite(error), error, jnp.inf)
    inputs = jnp.concatenate([parameter_inputs, logits / generator.LOGISTIC_RATE])
    return FibrePoint(inputs, residual, jnp.zeros((), jnp.int32))


def initial_inputs(
    key: Array, model: generator.GeneralisedLambdaModel, max_redraws: int = 10_000
) -> FibrePoint:
    """Draws parameter inputs from the prior until all data are met within 1e-8.

    See PhD thesis, section 4.9, which mentions no redrawing. After `max_redraws` draws the residual is
    larger, which the caller must check.
    """

    def attempt(before: FibrePoint) -> FibrePoint:
        index = before.n_redraws + 1
        drawn = generator.sample_parameter_inputs(jax.random.fold_in(key, index))
        return fibre_point(drawn, model)._replace(n_redraws=index)

    # The first draw is made in the loop as well, where it is compiled once.
    none = FibrePoint(
        jnp.zeros(generator.input_dim(model)), jnp.asarray(jnp.inf), jnp.full((), -1, jnp.int32)
    )
    return lax.while_loop(
        lambda point: ~(point.residual < LARGEST_RESIDUAL) & (point.n_redraws < max_redraws), attempt, none
    )


def inputs_of_parameters(z: Array, model: generator.GeneralisedLambdaModel) -> Array:
    """Parameter inputs (a, b, c, d) [4] of parameters z [4], the inverse of `parameters`."""
    scaled = model.prior.rate * z[1]
    d = (scaled + jnp.log(-jnp.expm1(-scaled))) / generator.LOGISTIC_RATE
    return jnp.stack([z[0] / model.prior.sd, z[2] / model.prior.sd, z[3] / model.prior.sd, d])
