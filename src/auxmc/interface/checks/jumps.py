"""Jumps of a function, of which its derivative knows nothing: what a kernel that follows derivatives does not see."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.numerics.array_types import FloatArray

__all__ = ["Jump", "largest_jump"]

_INTERVALS = 16
_HALVINGS = 30
# Largest share of a jump that the derivatives at the ends of the shortest interval may explain.
_EXPLAINED = 0.01
# Rounding of functions that compute a part in single precision.
_ROUNDING = 1e-6


class Jump(NamedTuple):
    """A jump of a function between two points that nearly coincide.

    Attributes:
        height: how much the function changes, in its units.
        before: point on one side [dim].
        after: point on the other side [dim].
        moving: which coordinates have a derivative other than zero at a point that was looked at [dim].
    """

    height: float
    before: FloatArray
    after: FloatArray
    moving: np.ndarray


class _Ends(NamedTuple):
    """One end of each interval [line, interval]: place on its line, value, and derivative along the line."""

    share: FloatArray
    value: FloatArray
    slope: FloatArray


def largest_jump(
    function: Callable[[Array], Array],
    begins: FloatArray,
    ends: FloatArray,
    least: float,
    depth: float = np.inf,
) -> Jump | None:
    """The largest jump of a function on some lines; None where there is none.

    A line is cut into intervals, and each of them is halved again and again: the half is kept in which the derivative
    explains least of the change. Where the function is continuous the change vanishes with the interval; a jump stays.
    Places where the function is not finite are left out.

    Args:
        function: maps a vector [dim] to a number.
        begins: where lines begin [line, dim].
        ends: where they end [line, dim].
        least: jumps below this are none.
        depth: how far below the largest value on the lines jumps are looked for.
    """
    ways = ends - begins
    # One program for all points, of one shape.
    program = jax.jit(jax.vmap(jax.vmap(jax.value_and_grad(function))))

    def evaluate(shares: FloatArray) -> tuple[_Ends, FloatArray]:
        points = begins[:, None] + shares[..., None] * ways[:, None]
        values, gradients = (np.asarray(part) for part in program(jnp.asarray(points)))
        return _Ends(shares, values, np.einsum("lid,ld->li", gradients, ways)), gradients

    with np.errstate(all="ignore"):
        shares = np.tile(np.linspace(0.0, 1.0, _INTERVALS + 1), (len(begins), 1))
        known, gradients = evaluate(shares)
        usable = np.isfinite(known.value)
        moving = np.any((gradients != 0.0) & usable[..., None], axis=(0, 1))
        rounding = _ROUNDING * np.max(np.abs(known.value), initial=0.0, where=usable)
        low, high = (_Ends(*(part[:, side] for part in known)) for side in (slice(None, -1), slice(1, None)))
        for _ in range(_HALVINGS):
            halves = np.concatenate([shares[:, :1], 0.5 * (low.share + high.share)], axis=1)
            middle = _Ends(*(part[:, 1:] for part in evaluate(halves)[0]))
            first = _unexplained(low, middle) >= _unexplained(middle, high)
            low = _Ends(*(np.where(first, a, b) for a, b in zip(low, middle, strict=True)))
            high = _Ends(*(np.where(first, a, b) for a, b in zip(middle, high, strict=True)))
        heights = np.abs(high.value - low.value)
        explained = (high.share - low.share) * (np.abs(low.slope) + np.abs(high.slope))
        real = (explained < _EXPLAINED * heights) & (heights > max(least, rounding)) & np.isfinite(heights)
        real &= np.maximum(low.value, high.value) >= np.max(known.value[usable], initial=-np.inf) - depth
    if not real.any():
        return None
    place = np.unravel_index(int(np.argmax(np.where(real, heights, 0.0))), heights.shape)
    before, after = (begins[place[0]] + end.share[place] * ways[place[0]] for end in (low, high))
    return Jump(float(heights[place]), before, after, moving)


def _unexplained(low: _Ends, high: _Ends) -> FloatArray:
    """Change over an interval beyond what the derivatives at its ends explain; below zero where not finite."""
    missing = high.value - low.value - 0.5 * (high.share - low.share) * (low.slope + high.slope)
    return np.where(np.isfinite(missing), np.abs(missing), -1.0)
