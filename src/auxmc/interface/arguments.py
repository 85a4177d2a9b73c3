"""Double precision, and checks of arguments: numbers, functions, models, folders."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np

from auxmc.data.cells import as_array, read_array
from auxmc.driver.runtime import leave_debugging
from auxmc.errors import DataError, PrecisionError
from auxmc.kernels.base import check_integer, is_integer

FORKS = (
    "executor: expected processes that are spawned, got some that are forked, in which JAX hangs: make it with "
    'mp_context=multiprocessing.get_context("spawn")'
)
"""Message for executors that fork."""
CHECKS = ("basic", "full", "off")
"""Levels of checks: cheap ones and those of known traps, all, or none."""


def enable_x64() -> None:
    """Makes JAX compute in double precision, which everything here needs; arrays made before keep theirs."""
    jax.config.update("jax_enable_x64", True)


def require_x64() -> None:
    """Rejects single precision, here or in threads for chains (PrecisionError); leaves settings for debugging."""
    leave_debugging()
    # A context of JAX around the call does not reach other threads.
    with ThreadPoolExecutor(1) as thread:
        elsewhere = thread.submit(lambda: jax.config.jax_enable_x64)  # type: ignore[attr-defined]
    if not (jax.config.jax_enable_x64 and elsewhere.result()):  # type: ignore[attr-defined]
        advice = "call auxmc.enable_x64() (or set JAX_ENABLE_X64=1) before JAX makes arrays"
        raise PrecisionError(f"auxmc computes in double precision: {advice}")


def float64_tree(name: str, tree: Any) -> Any:
    """A pytree of numbers, or of lists of numbers, as arrays of float64; `name` names it in messages.

    Raises a TypeError for anything but numbers in double precision, a ValueError for those that are not finite.
    """

    def one(path: Any, value: Any) -> np.ndarray:
        place = f"{name}{jax.tree_util.keystr(path)}"
        try:
            array = as_array(value)
        except (TypeError, ValueError):
            raise TypeError(f"{place} must be an array of numbers, got {type(value).__name__}") from None
        if array.dtype.kind == "f" and array.dtype.itemsize < 8:
            advice = "call auxmc.enable_x64() before JAX makes arrays, or give NumPy arrays"
            raise TypeError(f"{place} must be float64, got {array.dtype}: {advice}")
        if array.dtype.kind not in "biufO":
            got = type(value).__name__ if array.dtype.kind in "SU" else array.dtype
            raise TypeError(f"{place} must be an array of numbers, got {got}")
        try:
            return read_array(array, place, as_floats=True)
        except DataError as error:
            raise ValueError(str(error)) from None

    # A list of numbers is one array, not a tree of numbers.
    is_leaf = lambda node: isinstance(node, list)  # noqa: E731
    try:
        jax.tree.structure(tree, is_leaf=is_leaf)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: the keys of a dictionary must all be text") from None
    return jax.tree_util.tree_map_with_path(one, tree, is_leaf=is_leaf)


def check_seed(value: Any) -> int:
    """A seed of all random numbers, from 0 to 2^63 - 1; ValueError for anything else."""
    if check_integer("seed", value, 0) >= 2**63:
        raise ValueError(f"seed must be an integer from 0 to 2^63 - 1, got {value}")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """A positive finite number; TypeError for anything but a number, ValueError for any other number."""
    is_number = isinstance(value, int | float | np.number | jax.Array | np.ndarray)
    if not is_number or isinstance(value, bool) or np.ndim(value) > 0:
        raise TypeError(f"{name} must be one positive number, got {value!r}")
    if not (float(value) > 0.0 and math.isfinite(float(value))):
        raise ValueError(f"{name} must be a positive number, got {value}")
    return float(value)


def check_fraction(name: str, value: Any) -> float:
    """A number between 0 and 1, both excluded; ValueError for any other number."""
    if not check_positive(name, value) < 1.0:
        raise ValueError(f"{name} must be between 0 and 1, got {value}")
    return float(value)


def check_callable(name: str, value: Any, what: str) -> None:
    """Rejects what is not callable, by a TypeError that says what the function does."""
    if not callable(value):
        raise TypeError(f"{name} must be a function that {what}, got {type(value).__name__}")


def check_instance(name: str, value: Any, kind: type, maker: str) -> None:
    """Rejects what is not of a kind, by a TypeError that names its maker."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be what {maker} makes, got {type(value).__name__}")


def check_shape(name: str, value: Any, further: str) -> tuple[int, ...]:
    """The shape of an array without empty axes, from an integer or a sequence of them; else ValueError."""
    size = tuple(value) if isinstance(value, Sequence) else (value,)
    if not all(is_integer(n) and n >= 1 for n in size):
        raise ValueError(f"{name} must be a positive integer or a tuple of them, got {value!r}; {further}")
    return tuple(int(n) for n in size)


def check_level(value: Any) -> None:
    """Rejects what is not a level of checks (ValueError)."""
    if value not in CHECKS:
        raise ValueError(f"checks: expected one of {', '.join(CHECKS)}, got {value!r}")


def check_cores(value: Any) -> None:
    """Rejects what is neither None nor an integer from 1 on (ValueError)."""
    if value is not None:
        check_integer("cores", value, 1, "how much runs at the same time; leave it out for all cores")


def check_executor(value: Any, threads: str) -> None:
    """Rejects what is neither "processes" nor an executor, and executors that fork; `threads` is advice for threads."""
    is_executor = callable(getattr(value, "submit", None)) and not isinstance(value, type)
    if not (value == "processes" if isinstance(value, str) else is_executor):
        raise (ValueError if isinstance(value, str) else TypeError)(
            f'executor must be "processes" or an executor of concurrent.futures, got {value!r}: for threads {threads}'
        )
    # Of concurrent.futures, and of loky.
    for name in ("_mp_context", "_context"):
        method = getattr(getattr(value, name, None), "get_start_method", lambda: "")
        if method() == "fork":
            raise ValueError(FORKS)


def checkpoint_folder(value: Any) -> Path | None:
    """A folder, which need not exist, or None; TypeError for what is not a path, ValueError for a file."""
    if not isinstance(value, str | Path | None):
        raise TypeError(f"checkpoint must be a folder's path, got {type(value).__name__}")
    if value is not None and Path(value).is_file():
        raise ValueError(f"checkpoint must be a folder, {value} is a file: give another path")
    return None if value is None else Path(value)
