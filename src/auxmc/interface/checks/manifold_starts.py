"""Points of a manifold where chains can begin: found from draws of the priors, and examined."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.manifold.constrained_hmc import evaluate_state
from auxmc.models.conditioned import ConditionedModel

_MAX_NEWTON_STEPS = 100
_MAX_HALVINGS = 12
# Largest difference of an output from its datum that counts as none.
_NEAR = 1e-8
# Largest error of a solution, of about 1, of a system with the Gram matrix: where outputs repeat each other it is
# singular but for rounding, and leaves no digit.
_MOST_ERROR = 1e-3
_N_PROBES = 8
# Largest move of the inputs, which have unit scales, that may change outputs by less than the tolerance.
_MOST_SLACK = 0.1
# Largest relative change of the derivative by such a move.
_MOST_TURN = 0.1


def finder(
    model: ConditionedModel, draw: Callable[[Array], Array], tolerance: float
) -> Callable[[Array], tuple[Array, Array]]:
    """Program from a key to a point near the manifold [input], found from a draw, and its largest residual."""

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
    """A point on the manifold [input] from the first draw of a `finder` that leads to one; ValueError if none does."""
    nearest = math.inf
    for attempt in range(tries):
        point, distance = find(jax.random.fold_in(key, attempt))
        if float(distance) <= _NEAR and bool(jnp.all(jnp.isfinite(point))):
            return np.asarray(point)
        nearest = min(nearest, float(distance))  # which leaves a NaN out
    why = f"the nearest differ by {nearest:.3g}"
    if not math.isfinite(nearest):
        why = "outputs are not finite. Look for overflow, and logarithms of negative numbers"
    elif nearest <= rounding:
        why += ", which is rounding. Give data and outputs in units of about 1"
    else:
        why += ". Check the generator, give closer priors, or a noise_scale"
    raise ValueError(f"no inputs that generate the data were found from {tries} draws of the prior: {why}")


def manifold_check(model: ConditionedModel, tolerance: float) -> Callable[[np.ndarray], None]:
    """A function that rejects inputs [input] where a chain cannot begin (ValueError)."""

    @jax.jit
    def evaluate(point: Array) -> dict[str, Array]:
        state, jacobian = evaluate_state(model, point), model.jacobian(point)
        residual = model.constraint(point)
        # Several: rounding can solve one system right by chance.
        probes = jnp.asarray(np.random.default_rng(0).normal(size=(_N_PROBES, residual.shape[0])))
        solved = jax.vmap(lambda b: jacobian.solve_gram(jacobian.times(jacobian.transposed_times(b))))(probes)
        probe = probes[0]
        slope = jacobian.transposed_times(probe)
        slack = tolerance * jacobian.transposed_times(jacobian.solve_gram(probe))
        turned = model.jacobian(point + slack).transposed_times(probe)
        return {
            "distance": jnp.max(jnp.abs(residual)),
            "log_determinant": state.jacobian.half_log_determinant,
            "unsolved": jnp.max(jnp.abs(solved - probes)),
            "prior": state.potential + jnp.sum(state.gradient),
            "slack": jnp.max(jnp.abs(slack)),
            "turn": jnp.linalg.norm(turned - slope) / jnp.linalg.norm(slope),
        }

    def check(start: np.ndarray) -> None:
        found = {name: float(value) for name, value in evaluate(jnp.asarray(start)).items()}
        if not found["distance"] <= tolerance:
            off = f"outputs differ from the data by up to {found['distance']:.3g}"
            raise ValueError(f"the start is off the manifold: {off}. Use auxmc.start_on_manifold(model)")
        if not np.isfinite(found["log_determinant"]) or not found["unsolved"] <= _MOST_ERROR:
            advice = "Remove outputs that are constant or repeat each other, or give noise_scale"
            raise ValueError(f"at the start the outputs' derivative lacks full rank. {advice}")
        if not np.isfinite(found["prior"]):
            what = "the log density of the prior or a derivative of the generator"
            raise ValueError(f"at the start {what} is not finite. Look for roots and logarithms of zero")
        if not found["turn"] <= _MOST_TURN:
            why = "the data lie at the edge of what the generator can give"
            raise ValueError(f"at the start the outputs' derivative is nearly zero: {why}. Give noise_scale")
        if not found["slack"] <= _MOST_SLACK:
            advice = "Give data and outputs on a scale of about 1, or a smaller one"
            raise ValueError(f"the tolerance {tolerance:g} is not small compared with the outputs. {advice}")

    return check
