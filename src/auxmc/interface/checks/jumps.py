"""Searches for jumps of a log density, which kernels that follow its derivative do not see."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.interface.layout import Layout, named
from auxmc.interface.methods import LogDensity
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import has_open_cost

_N_LINES = 8
_INTERVALS = 16
_HALVINGS = 30
# Largest fraction of a jump that the derivatives at both ends of the shortest interval may explain.
_EXPLAINED = 0.01
# Rounding of functions that compute a part in single precision.
_ROUNDING = 1e-6
_LEAST_JUMP = 0.01
# Nats, and one for each dimension, below the draws: jumps further down do not matter.
_DEPTH = 20.0


def advise_jumps(log_density: LogDensity, draws: FloatArray, layout: Layout) -> list[Advice]:
    """Advice about the largest jump of a log density on lines between draws [draw, dim]."""
    some = draws[np.linspace(0, len(draws) - 1, _N_LINES + 1).astype(int)]
    if has_open_cost(log_density, some[0]):
        return []
    jump = largest_jump(log_density, some[:-1], some[1:], _LEAST_JUMP, _DEPTH + some.shape[1])
    if jump is None:
        return []
    height, vector = jump
    place = named(layout.tree(jnp.asarray(vector)))
    at = ", ".join(f"{name} = {np.array2string(np.asarray(v), precision=3)}" for name, v in place.items())
    problem = f"log_density jumps by {height:.3g} nats near {at}, which its derivative does not show"
    return [Advice(problem, "Replace the jump by a smooth function, or check that all chains cross it")]


def largest_jump(
    function: LogDensity, begins: FloatArray, ends: FloatArray, least: float, depth: float = np.inf
) -> tuple[float, FloatArray] | None:
    """Height and place [dim] of the largest jump of a function on lines [line, dim]; None if it is continuous.

    Intervals are halved repeatedly, keeping the half whose change the derivative explains least. Jumps count from the
    height `least` on, and no deeper than `depth` below the largest value on the lines.
    """
    evaluate = jax.value_and_grad(function)

    def change(low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Values at both ends, and the changes that the derivatives there explain."""
        (first, slope), (last, other) = evaluate(low), evaluate(high)
        return first, last, jnp.stack([slope, other]) @ (high - low)

    def unexplained(low: Array, high: Array) -> Array:
        first, last, explained = change(low, high)
        rest = jnp.abs(last - first - jnp.mean(explained))
        return jnp.where(jnp.isfinite(rest), rest, -1.0)

    def shrink(low: Array, high: Array) -> tuple[Array, ...]:
        def halve(_: int, pair: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = pair
            middle = 0.5 * (low + high)
            first = unexplained(low, middle) >= unexplained(middle, high)
            return jnp.where(first, low, middle), jnp.where(first, middle, high)

        top = jnp.stack(change(low, high)[:2])
        low, high = jax.lax.fori_loop(0, _HALVINGS, halve, (low, high))
        return low, top, *change(low, high)

    cuts = begins + np.linspace(0.0, 1.0, _INTERVALS + 1)[:, None, None] * (ends - begins)
    low, high = (part.reshape(-1, begins.shape[1]) for part in (cuts[:-1], cuts[1:]))
    places, tops, first, last, explained = map(np.asarray, jax.jit(jax.vmap(shrink))(low, high))
    tops = tops[np.isfinite(tops)]
    with np.errstate(invalid="ignore"):
        heights = np.abs(last - first)
        real = (np.sum(np.abs(explained), axis=1) < _EXPLAINED * heights) & np.isfinite(heights)
        real &= heights > max(least, _ROUNDING * np.max(np.abs(tops), initial=0.0))
        real &= np.maximum(first, last) >= np.max(tops, initial=-np.inf) - depth
    if not real.any():
        return None
    k = int(np.argmax(np.where(real, heights, 0.0)))
    return float(heights[k]), places[k]
