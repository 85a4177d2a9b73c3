"""Where near its start a user's function is defined: nowhere else, or in part alone."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.numerics.array_types import FloatArray

__all__ = ["advise_support", "advise_undefined"]

# Distances from the start, in units of it and one, and points at each.
_DISTANCES = np.array([1e-9, 1e-6, 1e-3, 1e-1, 1.0, 3.0])
_N_POINTS = 16
# Share of points that are not a number above which it is said.
_MOST_UNDEFINED = 0.1


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
    points = _points_around(start)
    evaluate = jax.value_and_grad(log_density) if derivatives else lambda point: (log_density(point), point)
    values, gradients = (np.asarray(part) for part in jax.jit(jax.vmap(evaluate))(jnp.asarray(points)))
    finite = np.isfinite(values)
    if not finite.any():
        raise ValueError(
            f"{what} is finite at the start and at none of {len(points)} points around it, from "
            f"{_DISTANCES[0]:g} to {_DISTANCES[-1]:g} away: there is no density to draw from. Give a start inside the "
            "support, and a log density that is defined around it"
        )
    either = f"{what}, or a derivative of it, is NaN" if derivatives else f"{what} is NaN"
    return advise_undefined(either, np.isnan(values) | (finite & np.any(np.isnan(gradients), axis=1)))


def advise_undefined(
    what: str, undefined: np.ndarray, where: str = "points around the start"
) -> list[Advice]:
    """Advice where a function, or a derivative of it, is not a number at too many points.

    Args:
        what: which function is what, for messages.
        undefined: whether it is, at each point [point].
        where: which points these are, for messages.
    """
    if not undefined.mean() > _MOST_UNDEFINED:
        return []
    return [
        Advice(
            f"{what} at {int(undefined.sum())} of {undefined.size} {where}: draws never "
            "go there, as if the density were zero",
            "If that is meant, have it say so (a log density by -jnp.inf); if not, look for logarithms and square "
            "roots of negative numbers and for overflow, and give jnp.where arguments that are defined on both sides",
        )
    ]


def _points_around(start: np.ndarray) -> FloatArray:
    """Points at all distances from a start [point, dim]."""
    random = np.random.default_rng(2)
    ways = random.normal(size=(len(_DISTANCES), _N_POINTS, start.size)) * (1.0 + np.abs(start))
    return (start + _DISTANCES[:, None, None] * ways).reshape(-1, start.size)
