"""Searches for jumps of a function, which kernels that follow its derivative do not see."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.interface.layout import Layout, named
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.programs import has_open_cost

__all__ = ["Jump", "advise_jumps", "largest_jump"]

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


class Jump(NamedTuple):
    """Height of a jump, in units of the function, and its place [dim]."""

    height: float
    place: FloatArray


def advise_jumps(
    what: str, function: Callable[[Array], Array], draws: FloatArray, layout: Layout
) -> list[Advice]:
    """Advice about the largest jump of a log density on the lines between draws.

    Args:
        what: name of the function, for messages.
        function: maps a vector [dim] to nats.
        draws: vectors [draw, dim].
        layout: names of the vector's parts.
    """
    some = draws[np.linspace(0, len(draws) - 1, _N_LINES + 1).astype(int)]
    if has_open_cost(function, jnp.asarray(some[0])):
        return []
    jump = largest_jump(function, some[:-1], some[1:], _LEAST_JUMP, _DEPTH + some.shape[1])
    if jump is None:
        return []
    place = named(layout.tree(jnp.asarray(jump.place)))
    at = ", ".join(f"{name} = {np.array2string(np.asarray(v), precision=3)}" for name, v in place.items())
    return [
        Advice(
            f"{what} jumps by {jump.height:.3g} nats near {at}, which its derivative does not show",
            "Replace the jump by a smooth function, or check that all chains cross it",
        )
    ]


def largest_jump(
    function: Callable[[Array], Array],
    begins: FloatArray,
    ends: FloatArray,
    least: float,
    depth: float = np.inf,
) -> Jump | None:
    """The largest jump of a function on some lines; None if it is continuous.

    Each line is cut into intervals, and each interval is halved repeatedly, keeping the half whose change the
    derivative explains least. A continuous change vanishes with the interval; a jump stays.

    Args:
        function: maps a vector [dim] to a number.
        begins: first points of the lines [line, dim].
        ends: last points [line, dim].
        least: smallest height that counts.
        depth: how far below the largest value on the lines a jump counts.
    """
    program = jax.jit(jax.vmap(jax.value_and_grad(function)))
    along = np.linspace(0.0, 1.0, _INTERVALS + 1)[:, None, None]
    cuts = begins + along * (ends - begins)
    low, high = (part.reshape(-1, begins.shape[1]) for part in (cuts[:-1], cuts[1:]))
    with np.errstate(all="ignore"):
        at_low, at_high = _evaluated(program, low), _evaluated(program, high)
        tops = np.concatenate([at_low[0], at_high[0]])
        tops = tops[np.isfinite(tops)]
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            at_middle = _evaluated(program, middle)
            first = _unexplained(low, at_low, middle, at_middle) >= _unexplained(
                middle, at_middle, high, at_high
            )
            low, high = np.where(first[:, None], low, middle), np.where(first[:, None], middle, high)
            at_low, at_high = (
                (np.where(first, a[0], b[0]), np.where(first[:, None], a[1], b[1]))
                for a, b in ((at_low, at_middle), (at_middle, at_high))
            )
        heights = np.abs(at_high[0] - at_low[0])
        explained = sum(np.abs(np.sum(slope * (high - low), axis=1)) for _, slope in (at_low, at_high))
        real = (explained < _EXPLAINED * heights) & np.isfinite(heights)
        real &= heights > max(least, _ROUNDING * np.max(np.abs(tops), initial=0.0))
        real &= np.maximum(at_low[0], at_high[0]) >= np.max(tops, initial=-np.inf) - depth
    if not real.any():
        return None
    k = int(np.argmax(np.where(real, heights, 0.0)))
    return Jump(float(heights[k]), low[k])


def _evaluated(
    program: Callable[..., tuple[Array, Array]], points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    values, gradients = program(jnp.asarray(points))
    return np.asarray(values), np.asarray(gradients)


def _unexplained(
    low: FloatArray,
    at_low: tuple[FloatArray, FloatArray],
    high: FloatArray,
    at_high: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Change over intervals [interval] beyond what the derivatives at their ends explain; -1 where not finite."""
    slopes = 0.5 * np.sum((at_low[1] + at_high[1]) * (high - low), axis=1)
    missing = at_high[0] - at_low[0] - slopes
    return np.where(np.isfinite(missing), np.abs(missing), -1.0)
