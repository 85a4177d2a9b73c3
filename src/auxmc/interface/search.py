"""Points on a manifold: damped Gauss-Newton steps from draws of the priors."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.models.conditioned import ConditionedModel

__all__ = ["finder", "search"]

_MAX_NEWTON_STEPS = 100
_MAX_HALVINGS = 12


def finder(
    model: ConditionedModel, draw: Callable[[Array], Array], tolerance: float
) -> Callable[[Array], tuple[Array, Array]]:
    """Program that maps a key to a point near the manifold [input] and its largest residual.

    Args:
        model: the conditioned generator.
        draw: maps a key to inputs of the priors.
        tolerance: largest residual at which steps end.
    """

    def find(key: Array) -> tuple[Array, Array]:
        start = draw(key)

        def going(loop: tuple[Array, Array, Array]) -> Array:
            n, _, residual = loop
            worst = jnp.max(jnp.abs(residual))
            return (n < _MAX_NEWTON_STEPS) & jnp.isfinite(worst) & (worst > tolerance)

        def advance(loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            n, point, residual = loop
            jacobian = model.jacobian(point)
            step = jacobian.transposed_times(jacobian.solve_gram(residual))
            sizes = jnp.asarray(0.5 ** np.arange(_MAX_HALVINGS))
            points = point[None] - sizes[:, None] * step[None]
            residuals = jax.vmap(model.constraint)(points)
            worst = jnp.max(jnp.abs(residuals), axis=1)
            best = jnp.argmin(jnp.where(jnp.isfinite(worst), worst, jnp.inf))
            return n + 1, points[best], residuals[best]

        begin = (jnp.zeros((), jnp.int32), start, model.constraint(start))
        _, point, residual = jax.lax.while_loop(going, advance, begin)
        return point, jnp.max(jnp.abs(residual))

    return jax.jit(find)


def search(find: Callable[[Array], tuple[Array, Array]], key: Array, tries: int) -> np.ndarray:
    """A point on the manifold [input], from the first of several draws that leads to one.

    Raises:
        ValueError: none does; says how near the nearest came.
    """
    nearest = math.inf
    for attempt in range(tries):
        point, distance = find(jax.random.fold_in(key, attempt))
        if float(distance) <= 1e-8 and bool(jnp.all(jnp.isfinite(point))):
            return np.asarray(point)
        nearest = min(nearest, float(distance)) if math.isfinite(float(distance)) else nearest
    raise ValueError(
        f"no inputs that generate the data were found from {tries} draws of the prior; the nearest outputs differ by "
        f"{nearest:.3g}. Check that the generator can give the data (signs, units, bounds), give priors that "
        "are near them, or a noise_scale"
    )
