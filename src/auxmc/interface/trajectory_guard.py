"""Keeps trajectories away from where a function of open cost, such as an adaptive ODE solver, may never return."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.methods import LogDensity
from auxmc.numerics.linalg import scaled
from auxmc.numerics.programs import has_open_cost, jit_short

# Change of the momentum by a step, in standard deviations of the momentum.
_LARGEST_KICK = 10.0
# Distance over which the curvature is measured.
_NEARBY = 1e-4


def first_step_size(log_density: LogDensity, start: np.ndarray, step_size: float) -> float:
    """A step size to begin with, at most the given one where the cost of the function depends on the variables.

    The warm-up tries ten times this size early: it is stable at the curvature along some lines through the start, and
    the gradient there moves the variables by no more than a step.
    """
    if not has_open_cost(log_density, start):
        return step_size
    gradient = jit_short(jax.grad(log_density))
    at_start = np.asarray(gradient(start))
    ways = np.concatenate([at_start[None], np.random.default_rng(4).normal(size=(3, start.size))])
    ways *= _NEARBY / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-300)
    turns = [np.linalg.norm(gradient(start + way) - at_start) / _NEARBY for way in ways]
    with np.errstate(divide="ignore"):
        return float(min(step_size, 0.1 / np.sqrt(max(turns)), 0.2 / np.linalg.norm(at_start)))


def guarded(
    log_density: LogDensity, step_size: Array, inverse_mass: Array | float = 1.0
) -> Callable[[Array], Array]:
    """A log density whose gradient is NaN where leapfrog steps end: see `halt_where_steep`."""

    def evaluate(point: Array) -> tuple[Array, Array]:
        value, gradient = jax.value_and_grad(log_density)(point)
        return value, halt_where_steep(gradient, step_size, inverse_mass)

    halting = jax.custom_vjp(log_density)
    halting.defvjp(evaluate, lambda gradient, cotangent: (cotangent * gradient,))
    return halting


def halt_where_steep(gradient: Array, step_size: Array, inverse_mass: Array | float = 1.0) -> Array:
    """The gradient [dim], or NaN where a step changes the momentum by more than near any draw.

    NaN ends a trajectory before it reaches where a function of open cost may never return. Trajectories back end at the
    same points: draws keep their distribution.
    """
    limit = _LARGEST_KICK * math.sqrt(gradient.size)
    kick = step_size * jnp.sqrt(gradient @ scaled(inverse_mass, gradient))
    return jnp.where(kick > limit, jnp.nan, gradient)
