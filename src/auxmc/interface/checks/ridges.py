"""Straight lines along which a user's log density is the same everywhere, whatever their direction."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.interface.checks.densities import some
from auxmc.interface.layout import Layout
from auxmc.numerics.programs import has_open_cost

__all__ = ["advise_ridges"]

_MOST_VARIABLES = 100
_MORE_POINTS = 3
# Of singular values: gradients that are orthogonal to a line are so up to rounding.
_NEARLY_ZERO = 1e-10
_FAR = np.array([1e2, 1e4, 1e6])
_LEAST_FALL = 1.0
# Parts of a line below this do not count as moving.
_LEAST_PART = 1e-3


def advise_ridges(
    what: str, log_density: Callable[[Array], Array], start: np.ndarray, layout: Layout
) -> list[Advice]:
    """Looks for a line to which the gradient is orthogonal at random points, and along which the density does not fall.

    Such is a sum of two variables of which the data tell no more than the sum, and that have no priors. Densities of
    more than a hundred numbers, and such whose cost may depend on the variables, are not looked at.

    Args:
        what: name of the function, for messages.
        log_density: maps a vector [dim] to nats; has a derivative.
        start: vector at which it is finite [dim].
        layout: names of the vector's parts.
    """
    if not 1 < start.size <= _MOST_VARIABLES or has_open_cost(log_density, jnp.asarray(start)):
        return []
    random = np.random.default_rng(2)
    scatter = random.normal(size=(start.size + _MORE_POINTS, start.size))
    points = start + 0.3 * (1.0 + np.abs(start)) * scatter
    gradients = np.asarray(jax.jit(jax.vmap(jax.grad(log_density)))(jnp.asarray(points)))
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    usable = np.isfinite(norms[:, 0]) & (norms[:, 0] > 0.0)
    if usable.sum() < start.size:
        return []
    rows = gradients[usable] / norms[usable]
    scales = np.abs(rows).max(axis=0)
    if np.any(scales == 0.0):
        return []
    _, singular, ways = np.linalg.svd(rows / scales)
    if singular[-1] > _NEARLY_ZERO * singular[0]:
        return []
    line = ways[-1] / scales
    line /= np.abs(line).max()
    values = np.asarray(
        jax.jit(jax.vmap(log_density))(jnp.asarray(start + np.append(0.0, _FAR)[:, None] * line))
    )
    if not np.all(np.isfinite(values)) or np.any(values[1:] < values[0] - _LEAST_FALL):
        return []
    names = [name for name, part in zip(layout.coordinates(), line, strict=True) if abs(part) > _LEAST_PART]
    return [
        Advice(
            f"{what} stays the same where {some(names)} change together: it knows a combination of them alone, its "
            "integral is not finite, and there is no posterior",
            "Give each variable a prior, or fix one of them",
        )
    ]
