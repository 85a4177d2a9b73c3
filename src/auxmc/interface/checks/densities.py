"""What is looked at of a user's log density before anything is drawn: its start, its tails, and its jumps."""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.interface.checks.jumps import Jump, largest_jump
from auxmc.interface.layout import Layout
from auxmc.interface.waiting import evaluated_in_time
from auxmc.numerics.array_types import BooleanArray, FloatArray
from auxmc.numerics.programs import has_open_cost, without_reverse_mode

__all__ = [
    "NOT_FALLING",
    "advise_jumps",
    "advise_tails",
    "first_step_size",
    "lines_through",
    "some",
    "start_check",
    "with_halts",
]

NOT_FALLING = "does not fall far out along"
"""In the advice about directions in which a density is not known to have a finite integral."""

# Distances from the start, in its units, at which a log density is looked at, and the start and those of them between
# which one that has no end rises.
_FAR = np.logspace(2.0, 10.0, 9)
_STEPS = np.array([0, 1, 3, 5, 9])
# Nats by which it rises or falls, and by which it falls where it need not fall steadily.
_LEAST_FALL = 1.0
_LARGE_FALL = 1e3
# Distances beyond its largest value at which a density must fall steadily: a periodic one does so in 1 of 100.
_STEADY = 4
_N_RAYS = 8
_MOST_COORDINATES = 100
# Half lengths of the lines on which jumps are looked for, in units of the start and one.
_HALF_LENGTHS = np.array([1.0, 1.0, 30.0, 30.0])
_LEAST_JUMP = 0.01
# Change of the momentum by a step, in standard deviations of the momentum.
_LARGEST_KICK = 10.0
# Distance over which the curvature of a function of open cost is taken.
_NEARBY = 1e-4
# Nats, and one for each dimension, below the largest value on these lines: draws do not go there.
_DEPTH = 20.0


def start_check(
    log_density: Callable[[Array], Array], what: str = "log_density"
) -> Callable[[np.ndarray], None]:
    """A function that rejects, by a ValueError, a start [dim] at which a log density or its gradient is not finite."""

    def check(start: np.ndarray) -> None:
        evaluate, point = _with_gradient(log_density), jnp.asarray(start)
        try:
            # Traced here: what the user's function does in Python is not for another thread.
            evaluate.trace(point)
        except ValueError as error:
            raise without_reverse_mode(what, error) from None
        value, gradient = evaluated_in_time(f"{what} at its start", evaluate, point)
        if float(value) == math.inf:
            raise ValueError(
                "the log density at the start is plus infinity: a log density is wanted, in nats"
            )
        if math.isnan(float(value)):
            raise ValueError(
                "the log density at the start is nan: give a start on its support, or look for nan in the data"
            )
        if not math.isfinite(float(value)):
            raise ValueError(f"the log density at the start is {float(value)}: give a start on its support")
        if not bool(jnp.all(jnp.isfinite(gradient))):
            n_bad = int(jnp.sum(~jnp.isfinite(gradient)))
            raise ValueError(
                f"{n_bad} of {gradient.size} derivatives of the log density at the start are not finite: check it for "
                "square roots and logarithms of zero, and for jnp.where around them"
            )

    return check


@lru_cache(maxsize=32)
def _with_gradient(log_density: Callable[[Array], Array]) -> Any:
    """One program for all chains; not part of a check, which can be pickled."""
    return jax.jit(jax.value_and_grad(log_density))


def first_step_size(log_density: Callable[[Array], Array], start: np.ndarray, step_size: float) -> float:
    """A step size at which to begin, smaller than the given one where large steps lead to where a function costs more.

    Ten times this size is tried early in the warm-up: it is stable at the curvature along some lines through the start,
    and the gradient there moves the variables by no more than a step. Functions of a fixed cost begin as given.

    Args:
        log_density: maps a vector [dim] to nats.
        start: vector at which it is finite [dim].
        step_size: largest.
    """
    if not has_open_cost(log_density, jnp.asarray(start)):
        return step_size
    gradient = jax.jit(jax.grad(log_density))
    at_start = np.asarray(gradient(jnp.asarray(start)))
    ways = np.concatenate([at_start[None], np.random.default_rng(4).normal(size=(3, start.size))])
    ways *= _NEARBY / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-300)
    turns = [np.linalg.norm(gradient(jnp.asarray(start + way)) - at_start) / _NEARBY for way in ways]
    with np.errstate(divide="ignore"):
        return float(min(step_size, 0.1 / np.sqrt(max(turns)), 0.2 / np.linalg.norm(at_start)))


def with_halts(log_density: Callable[[Array], Array], step_size: Array) -> Callable[[Array], Array]:
    """A log density whose gradient is NaN where a step changes the momentum by more than any near draws does.

    A trajectory ends there, before it comes to where a function of open cost may never return. Trajectories back
    end at the same points: draws keep their distribution.

    Args:
        log_density: maps a vector [dim] to nats.
        step_size: of the leapfrog steps; may be traced.
    """

    def evaluate(point: Array) -> tuple[Array, Array]:
        value, gradient = jax.value_and_grad(log_density)(point)
        kick = step_size * jnp.linalg.norm(gradient)
        return value, jnp.where(kick > _LARGEST_KICK * math.sqrt(point.size), jnp.nan, gradient)

    halting = jax.custom_vjp(log_density)
    halting.defvjp(evaluate, lambda gradient, cotangent: (cotangent * gradient,))
    return halting


def advise_tails(
    what: str,
    log_density: Callable[[Array], Array],
    start: np.ndarray,
    layout: Layout,
    *,
    proper: bool = True,
) -> list[Advice]:
    """Looks at a log density far from the start, in all directions and along each coordinate.

    Args:
        what: name of the function, for messages.
        log_density: maps a vector [dim] to nats.
        start: vector at which it is finite [dim].
        layout: names of the vector's parts.
        proper: whether its integral must be finite; that of a prior need not be.

    Returns:
        Advice about coordinates along which it does not fall.

    Raises:
        ValueError: it grows without end, in all directions as an energy does or along a coordinate, gives other values
            for the same variables, or does not depend on one of them.
    """
    begin = _beside(start)
    # One program: taken operation by operation, a model of another package compiles hundreds.
    near = np.asarray(jax.jit(jax.vmap(log_density))(jnp.asarray(np.stack([begin, start]))))
    # Traced once more: what is random in it, or counts calls, comes out otherwise.
    again = float(jax.jit(lambda start: log_density(start))(jnp.asarray(start)))
    if not math.isclose(again, near[1], rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError(
            f"{what} gives other values for the same variables, {near[1]:.6g} and {again:.6g}: it must draw no "
            "random numbers itself, and change nothing outside"
        )
    if has_open_cost(log_density, jnp.asarray(start)):
        return []
    values, coordinates = _far_values(log_density, begin)
    if proper and np.all(values == near[0]) and near[0] == near[1]:
        raise ValueError(
            f"{what} is the same everywhere, {near[0]:.6g} as far as {_FAR[-1]:g} from the start: it depends on none "
            "of the variables, or has no finite integral; or rounding hides what it depends on. Give it without large "
            "constants, of variables with scales of about 1"
        )
    with np.errstate(invalid="ignore"):
        grows = np.all(np.diff(values[_STEPS], axis=0) > _LEAST_FALL, axis=0)
    up, down = np.split(np.arange(_N_RAYS, values.shape[1]), 2)
    if np.all(grows[:_N_RAYS]) or np.any(grows[up] & grows[down]):
        raise ValueError(
            f"{what} grows without end away from the start: it may have the wrong sign. A log density is wanted, not "
            "an energy or a loss"
        )
    if not proper:
        return []
    names = np.asarray(layout.coordinates())[coordinates]
    unused = names[np.all(values[:, up] == near[0], axis=0) & np.all(values[:, down] == near[0], axis=0)]
    if unused.size:
        raise ValueError(
            f"{what} does not depend on {some(list(unused))}: its integral is not finite. Give each variable a prior, "
            "or leave it out of the start"
        )
    endless = names[grows[up] | grows[down]]
    if endless.size:
        raise ValueError(
            f"{what} grows without end along {some(list(endless))}: its integral is not finite, and there is no "
            "posterior. Give each variable a prior, on the scale on which it is moved"
        )
    flat = names[~(_falls(values)[up] & _falls(values)[down])]
    return list(_flat(what, list(flat)))


def _beside(start: np.ndarray) -> FloatArray:
    """A point off the start [dim]: at a zero of one variable others may not matter."""
    random = np.random.default_rng(3)
    return start + 0.01 * (1.0 + np.abs(start)) * random.normal(size=start.size)


def _far_values(log_density: Callable[[Array], Array], begin: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Values at a point and far from it [distance, ray], and the coordinates along which rays go, after random ones."""
    random = np.random.default_rng(0)
    coordinates = np.unique(np.linspace(0, begin.size - 1, min(begin.size, _MOST_COORDINATES)).astype(int))
    axes = np.eye(begin.size)[coordinates]
    rays = np.concatenate([random.normal(size=(_N_RAYS, begin.size)), axes, -axes])
    points = begin + np.append(0.0, _FAR)[:, None, None] * rays
    return np.asarray(jax.jit(jax.vmap(jax.vmap(log_density)))(jnp.asarray(points))), coordinates


def _falls(values: FloatArray) -> BooleanArray:
    """Which rays [ray] of values [distance, ray] fall: steadily after their largest value, by far, or to -inf."""
    far, last = values[1:], values[-1]
    with np.errstate(invalid="ignore"):
        rises = np.diff(far, axis=0) > 1e-3 + 1e-6 * np.abs(far[1:])
        top = np.argmax(far, axis=0)
        after = np.arange(1, len(far))[:, None] > top
        steady = ~np.any(rises & after, axis=0) & (after.sum(axis=0) >= _STEADY)
        steady &= last < np.max(values, axis=0) - _LEAST_FALL
        return (
            ~np.all(np.isfinite(values), axis=0) | steady | (last < np.min(values[:-1], axis=0) - _LARGE_FALL)
        )


def _flat(what: str, names: list[str]) -> Iterator[Advice]:
    if names:
        yield Advice(
            f"{what} {NOT_FALLING} {some(names)}: its integral may not be finite, and then there is no "
            "posterior",
            "Give each variable a prior on the scale on which it is moved; auxmc.density takes bounds= and periodic=",
        )


def lines_through(start: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Ends of some lines through a point, at which jumps are looked for: begins and ends [line, dim]."""
    random = np.random.default_rng(1)
    ways = (
        _HALF_LENGTHS[:, None] * (1.0 + np.abs(start)) * random.normal(size=(len(_HALF_LENGTHS), start.size))
    )
    return start - ways, start + ways


def advise_jumps(
    what: str,
    function: Callable[[Array], Array],
    lines: tuple[FloatArray, FloatArray],
    layout: Layout,
    *,
    least: float = _LEAST_JUMP,
    units: str = " nats",
    everywhere: bool = False,
) -> list[Advice]:
    """Looks for jumps of a function, of which kernels that follow its derivative see nothing.

    Args:
        what: name of the function, for messages.
        function: maps a vector [dim] to a number.
        lines: begins and ends of lines [line, dim].
        layout: names of the vector's parts.
        least: jumps below this are none.
        units: of the function, for messages.
        everywhere: whether jumps count where the function is so low, as a log density, that draws never go there.

    Raises:
        ValueError: it changes by jumps alone in some variable: its derivative is zero wherever it has one.
    """
    if has_open_cost(function, jnp.asarray(lines[0][0])):
        return []
    depth = math.inf if everywhere else _DEPTH + lines[0].shape[1]
    jump = largest_jump(function, *lines, least, depth)
    if jump is None:
        return []
    parts = _parts_that_jump(function, jump, layout)
    still = [name for name, part in parts.items() if not jump.moving[part].any()]
    if still:
        raise ValueError(
            f"{what} is a step function of {some(still)}: it jumps (by {jump.height:.3g}{units}) and has no other "
            "derivative than zero, which is all that the method could follow. Sum over what is discrete, or put smooth "
            "functions in the place of jnp.floor, jnp.round, comparisons and integers"
        )
    where = f" where {some(list(parts))} changes" if parts else ""
    return [
        Advice(
            f"{what} jumps by {jump.height:.3g}{units}{where}, of which its derivative knows nothing",
            "Updates that meet a jump are mostly rejected: put a smooth function in its place, or see that all chains "
            "cross it",
        )
    ]


def _parts_that_jump(function: Callable[[Array], Array], jump: Jump, layout: Layout) -> dict[str, slice]:
    """Variables, with their places in the vector, each of which alone makes most of a jump."""
    slices, first = {}, 0
    for name, shape in zip(layout.names, layout.shapes, strict=True):
        slices[name] = slice(first, first + math.prod(shape))
        first += math.prod(shape)
    points = [jump.before]
    for part in slices.values():
        point = jump.before.copy()
        point[part] = jump.after[part]
        points.append(point)
    values = np.asarray(jax.jit(jax.vmap(function))(jnp.asarray(np.stack(points))))
    own = np.abs(values[1:] - values[0]) > 0.5 * jump.height
    return {name: part for (name, part), alone in zip(slices.items(), own, strict=True) if alone}


def some(names: list[str]) -> str:
    """The first few names."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
