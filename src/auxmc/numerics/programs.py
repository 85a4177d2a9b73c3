"""What the program of a user's function tells before it runs: loops without an end, and digits that it lacks."""

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import jax
import numpy as np

from auxmc.numerics.array_types import BooleanArray

# Steps of float32 that the spread of data must hold: fewer, and data of five digits are rounded.
_FEWEST_STEPS = 1e5
_LARGEST_EXACT = 2.0**24
# Points of one call of a program, and fewest for which others fill a call.
_TOGETHER, _FEW = 64, 8
_DRAWS = 512  # of one call


def jit_short(function: Callable[..., Any]) -> Any:
    """`jax.jit` for a program that runs for seconds at most.

    XLA's older code generator compiles in half the time, all of a program at once in less than its parts, and with
    few of LLVM's optimisations in half of what is left; such programs run as fast.
    """
    return jax.jit(function, compiler_options=_short_options())


def at_points(function: Callable[..., Any], points: np.ndarray, *rest: Any) -> Any:
    """Values of a function of a point, and of further arguments, at points [point, ...].

    One program for any number of points, kept while the function is among the last 64.
    """
    n = len(points)
    size = n if n < _FEW else _TOGETHER
    blocks = np.resize(points, (-(-n // size), size, *points.shape[1:]))
    values = [_program_at_points(function)(block, *rest) for block in blocks]
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:n], *values)


@lru_cache(maxsize=64)
def _program_at_points(function: Callable[..., Any]) -> Any:
    return jit_short(lambda block, *rest: jax.vmap(lambda point: function(point, *rest))(block))


def many_draws(draw: Any, key: Any, n: int) -> np.ndarray:
    """`n` independent draws [n, ...] of `draw`, a function of a key.

    One program for any number, kept while the function is among the last 32.
    """
    program = _program_of_draws(draw)
    return np.concatenate([program(jax.random.fold_in(key, i)) for i in range(-(-n // _DRAWS))])[:n]


@lru_cache(maxsize=32)
def _program_of_draws(draw: Callable[[Any], Any]) -> Any:
    return jit_short(lambda key: jax.vmap(draw)(jax.random.split(key, _DRAWS)))


@cache
def _short_options() -> dict[str, int] | None:
    """None where the installed XLA has no such options."""
    options = {
        "xla_backend_optimization_level": 1,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
    try:
        jax.jit(lambda: 0, compiler_options=options)()
    except jax.errors.JaxRuntimeError:
        return None
    return options


def has_open_cost(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether a function has a `while` loop or calls the host, so that its cost may depend on its arguments."""
    programs = programs_within(jax.make_jaxpr(function)(*arguments))
    names = {equation.primitive.name for program, _ in programs for equation in program.eqns}
    return any(name == "while" or "callback" in name for name in names)


def single_precision_arrays(function: Callable[..., Any], *arguments: Any) -> list[np.ndarray]:
    """Arrays in a function, other than its arguments, whose half or single precision is too coarse for them."""
    found = []
    for _, held_arrays in programs_within(jax.make_jaxpr(function)(*arguments)):
        for held in held_arrays:
            if getattr(held, "dtype", None) not in (np.float32, np.float16) or not held.size:
                continue
            array = np.asarray(held)
            # A number of a few digits is what was written.
            written = array.size == 1 and float(f"{array.item():.6g}") == float(str(array.item()))
            if not written and coarse_in_float32(array.reshape(-1, 1).astype(float))[0]:
                found.append(array)
    return found


def coarse_in_float32(values: np.ndarray, fewest: float = _FEWEST_STEPS) -> BooleanArray:
    """Which columns [column] of values [row, column] have a spread of fewer than `fewest` steps of float32.

    Integers that float32 holds are exact. The spread of a column that does not vary counts as 1.
    """
    largest, spread = np.max(np.abs(values), axis=0, initial=0.0), np.ptp(values, axis=0)
    exact = np.all(values == np.round(values), axis=0) & (largest <= _LARGEST_EXACT)
    with np.errstate(over="ignore"):  # the step after the largest number is infinite
        steps = np.spacing(np.minimum(largest, np.finfo(np.float32).max).astype(np.float32)).astype(float)
    return np.asarray(~exact & (np.where(spread > 0.0, spread, 1.0) < fewest * steps))


def without_reverse_mode(what: str, error: Exception) -> Exception:
    """The error that names a function with a loop that JAX cannot differentiate in reverse; any other as it is."""
    if "Reverse-mode differentiation does not work" not in str(error):
        return error
    return ValueError(
        f"{what} has a lax.while_loop, which has no derivative in reverse mode: give it a number of steps (lax.scan, "
        "lax.fori_loop), or a derivative of its own (lax.custom_root, jax.custom_vjp)"
    )


def programs_within(closed: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Programs within a closed one, itself first, each with the constants and the numbers that it holds."""
    waiting = [(closed.jaxpr, closed.consts)]
    while waiting:
        program, constants = waiting.pop()
        numbers = (one.val for equation in program.eqns for one in equation.invars if hasattr(one, "val"))
        yield program, [*constants, *numbers]
        for equation in program.eqns:
            leaves = jax.tree.leaves(list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns"))
            inner = (p for p in leaves if hasattr(p, "eqns"))
            waiting += [(getattr(p, "jaxpr", p), getattr(p, "consts", ())) for p in inner]
