"""Where near its start a user's function is defined: nowhere else, or in part alone."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import coarse_in_float32, has_open_cost, single_precision_arrays

__all__ = ["advise_precision", "advise_support", "advise_undefined"]

# Distances from the start, in units of it and one, and points at each.
_DISTANCES = np.array([1e-9, 1e-6, 1e-3, 1e-1, 1.0, 3.0])
_N_POINTS = 16
# How many of the distances a function is looked at whose cost may depend on the variables.
_NEAR = 3
# Share of points that are not a number above which it is said.
_MOST_UNDEFINED = 0.1
_EDGE = "leave it so"
# Steps of its precision that the spread of an array must hold.
_FEWEST_STEPS = 1e3


def advise_support(
    what: str, log_density: Callable[[Array], Array], start: np.ndarray, *, derivatives: bool = True
) -> list[Advice]:
    """Looks at a log density and its derivatives at points around the start.

    Args:
        what: name of the function, for messages.
        log_density: maps a vector [dim] to nats.
        start: vector at which it is finite [dim].
        derivatives: whether derivatives are wanted.

    Raises:
        ValueError: it is finite at none of the points.
    """
    distances = _DISTANCES[:_NEAR] if has_open_cost(log_density, jnp.asarray(start)) else _DISTANCES
    points = _points_around(start, distances)
    evaluate = jax.value_and_grad(log_density) if derivatives else lambda point: (log_density(point), point)
    said = advise_precision(what, log_density, jnp.asarray(start))
    values, gradients = (np.asarray(part) for part in jax.jit(jax.vmap(evaluate))(jnp.asarray(points)))
    finite = np.isfinite(values)
    if not finite.any():
        raise ValueError(
            f"{what} is finite at the start and at none of {len(points)} points around it, from "
            f"{distances[0]:g} to {distances[-1]:g} away: there is no density to draw from. Give a start inside the "
            "support, and a log density that is defined around it"
        )
    either = f"{what}, or a derivative of it, is NaN" if derivatives else f"{what} is NaN"
    undefined = np.isnan(values) | (finite & np.any(np.isnan(gradients), axis=1))
    edge = "declare an edge of the support (auxmc.density(..., bounds={...}))" if derivatives else _EDGE
    return said + advise_undefined(either, undefined, edge=edge)


def advise_precision(what: str, function: Callable[..., Any], *arguments: Any) -> list[Advice]:
    """Advice where a function holds arrays of single precision whose values have lost digits.

    Args:
        what: name of the function, for messages.
        function: as JAX traces it.
        arguments: of the function.

    Raises:
        ValueError: If so many are lost that values cannot be told apart.
    """
    held = single_precision_arrays(function, *arguments)
    if not held:
        return []
    worst = min(
        held, key=lambda array: (np.ptp(array) == 0.0, np.ptp(array) / np.spacing(np.abs(array).max()))
    )
    advice = Advice(
        f"{what} has an array of {worst.dtype} of shape {worst.shape}, with values from {worst.min():.9g} to "
        f"{worst.max():.9g}, which lost digits when it was made",
        "Call auxmc.use_float64() before jax.numpy makes arrays, or make them with NumPy",
    )
    if np.ptp(worst) > 0.0 and coarse_in_float32(worst.reshape(-1, 1).astype(float), _FEWEST_STEPS)[0]:
        raise ValueError(advice.text)
    return [advice]


def advise_undefined(
    what: str, undefined: np.ndarray, where: str = "points around the start", edge: str = _EDGE
) -> list[Advice]:
    """Advice where a function, or a derivative of it, is not a number at too many points.

    Args:
        what: which function is what, for messages.
        undefined: whether it is, at each point [point].
        where: which points these are, for messages.
        edge: what to do if that is meant, for messages.
    """
    if not undefined.mean() > _MOST_UNDEFINED:
        return []
    return [
        Advice(
            f"{what} at {int(undefined.sum())} of {undefined.size} {where}: draws never "
            "go there, as if the density were zero",
            f"If that is meant, {edge}; if not, look for logarithms and square roots of negative numbers and for "
            "overflow, and give jnp.where arguments that are defined on both sides",
        )
    ]


def _points_around(start: np.ndarray, distances: FloatArray) -> FloatArray:
    """Points at all distances from a start [point, dim]."""
    random = np.random.default_rng(2)
    ways = random.normal(size=(len(distances), _N_POINTS, start.size)) * (1.0 + np.abs(start))
    return (start + distances[:, None, None] * ways).reshape(-1, start.size)
