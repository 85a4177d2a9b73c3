"""Points on a manifold: damped Gauss-Newton steps from draws of the priors."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.models.conditioned import ConditionedModel

_MAX_NEWTON_STEPS = 100
_MAX_HALVINGS = 12
# Largest difference of an output from its datum that counts as none.
_NEAR = 1e-8


def finder(
    model: ConditionedModel, draw: Callable[[Array], Array], tolerance: float
) -> Callable[[Array], tuple[Array, Array]]:
    """Program that maps a key to a point near the manifold [input] and its largest residual.

    Steps start from a draw of the inputs and end at residuals within the tolerance.
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
            # Where no step leads to finite outputs, the search ends at the point before.
            found = jnp.isfinite(worst[best])
            return (
                jnp.where(found, n + 1, _MAX_NEWTON_STEPS),
                jnp.where(found, points[best], point),
                jnp.where(found, residuals[best], residual),
            )

        begin = (jnp.zeros((), jnp.int32), start, model.constraint(start))
        _, point, residual = jax.lax.while_loop(going, advance, begin)
        return point, jnp.max(jnp.abs(residual))

    return jax.jit(find)


def search(
    find: Callable[[Array], tuple[Array, Array]], key: Array, tries: int, rounding: float = 0.0
) -> np.ndarray:
    """A point on the manifold [input], from the first of several draws of a `finder` that leads to one.

    Raises:
        ValueError: If none is found; says how near the nearest came, and whether that can be rounding.
    """
    nearest = math.inf
    for attempt in range(tries):
        point, distance = find(jax.random.fold_in(key, attempt))
        if float(distance) <= _NEAR and bool(jnp.all(jnp.isfinite(point))):
            return np.asarray(point)
        if math.isfinite(float(distance)):
            nearest = min(nearest, float(distance))
    why = f"the nearest differ by {nearest:.3g}"
    if not math.isfinite(nearest):
        why = "outputs are not finite. Look for overflow, and logarithms of negative numbers"
    elif nearest <= rounding:
        why += ", which is rounding. Give data and outputs in units of about 1"
    else:
        why += ". Check the generator, give closer priors, or a noise_scale"
    raise ValueError(f"no inputs that generate the data were found from {tries} draws of the prior: {why}")
