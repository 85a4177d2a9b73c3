"""Numbers that a user gives: double precision, switched on at first use, and checks of single ones."""

import math
import numbers
import sys
from typing import Any

import jax
import numpy as np

__all__ = ["float64_tree", "positive", "use_float64", "whole_number"]


def use_float64() -> None:
    """Makes JAX compute in double precision; says so in one line where it did not."""
    if not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        jax.config.update("jax_enable_x64", True)
        print("auxmc: JAX now computes in double precision (jax_enable_x64)", file=sys.stderr)


def float64_tree(name: str, tree: Any) -> Any:
    """A pytree of numbers as arrays of float64.

    Args:
        name: what they are, for messages.
        tree: arrays, or what NumPy makes arrays of: numbers, lists of numbers.

    Raises:
        TypeError: something in it is no array of numbers, or holds half or single precision.
        ValueError: a value is not finite.
    """

    def one(path: Any, value: Any) -> np.ndarray:
        place = f"{name}{jax.tree_util.keystr(path)}"
        try:
            array = np.asarray(value)
            wide = array.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{place} must be an array of numbers, got {type(value).__name__}") from None
        if array.dtype.kind == "f" and array.dtype.itemsize < 8:
            raise TypeError(
                f"{place} is {array.dtype}: auxmc computes in float64. Call auxmc.use_float64() before JAX makes "
                "arrays, or give NumPy arrays of float64"
            )
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{place} must be an array of numbers, got {array.dtype}")
        if not np.all(np.isfinite(wide)):
            raise ValueError(f"{place} has {int(np.sum(~np.isfinite(wide)))} values that are not finite")
        return wide

    # A list of numbers is one array, not a tree of numbers.
    return jax.tree_util.tree_map_with_path(one, tree, is_leaf=lambda node: isinstance(node, list))


def positive(name: str, value: Any) -> float:
    """A number that must be positive and finite.

    Raises:
        TypeError: it is an array or no number.
        ValueError: it is not positive, or not finite.
    """
    if np.ndim(value) > 0:
        raise TypeError(f"{name} must be one positive number, got an array of shape {np.shape(value)}")
    if isinstance(value, bool) or not isinstance(value, int | float | np.number | jax.Array | np.ndarray):
        raise TypeError(f"{name} must be one positive number, got {value!r}")
    if not (float(value) > 0.0 and math.isfinite(float(value))):
        raise ValueError(f"{name} must be a positive number, got {value}")
    return float(value)


def whole_number(name: str, value: Any, least: int, why: str = "") -> int:
    """A whole number that must not be below another one.

    Args:
        name: what it is, for messages.
        value: what was given.
        least: smallest that is allowed.
        why: why it is, for messages.

    Raises:
        ValueError: it is no whole number, or below the least.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        reason = f": {why}" if why else ""
        raise ValueError(f"{name} must be a whole number, at least {least}{reason}, got {value!r}")
    return int(value)
