"""What is looked at of a user's log density before anything is drawn: its start, its tails, and its jumps."""

import math
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.interface.advice import Advice
from auxmc.interface.checks.jumps import Jump, largest_jump
from auxmc.interface.layout import Layout
from auxmc.numerics.array_types import FloatArray

__all__ = ["NOT_FALLING", "advise_jumps", "advise_tails", "lines_through", "some", "start_check"]

NOT_FALLING = "does not fall far out along"
"""In the advice about directions in which a density is not known to have a finite integral."""

# Distances from the start, in its units, at which a log density is looked at.
_FAR = np.array([1e2, 1e4, 1e6, 1e10])
# A density whose integral is finite falls by log 100 nats and more from one of these distances to the next.
_LEAST_FALL = 1.0
_N_RAYS = 8
_MOST_COORDINATES = 100
# Half lengths of the lines on which jumps are looked for, in units of the start and one.
_HALF_LENGTHS = np.array([1.0, 1.0, 30.0, 30.0])
_LEAST_JUMP = 0.01


def start_check(log_density: Callable[[Array], Array]) -> Callable[[np.ndarray], None]:
    """A function that refuses, by a ValueError, a start [dim] at which a log density or its gradient is not finite."""
    # One program for all chains.
    evaluate = jax.jit(jax.value_and_grad(log_density))

    def check(start: np.ndarray) -> None:
        value, gradient = evaluate(jnp.asarray(start))
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
    random = np.random.default_rng(0)
    coordinates = np.unique(np.linspace(0, start.size - 1, min(start.size, _MOST_COORDINATES)).astype(int))
    axes = np.eye(start.size)[coordinates]
    rays = np.concatenate([random.normal(size=(_N_RAYS, start.size)), axes, -axes])
    # Off the start: at a zero of one variable others may not matter.
    begin = start + 0.01 * (1.0 + np.abs(start)) * random.normal(size=start.size)
    points = begin + _FAR[:, None, None] * rays
    # One program: taken operation by operation, a model of another package compiles hundreds.
    evaluate = jax.jit(
        lambda points, others: (jax.vmap(jax.vmap(log_density))(points), jax.vmap(log_density)(others))
    )
    far, near = (
        np.asarray(part) for part in evaluate(jnp.asarray(points), jnp.asarray(np.stack([begin, start])))
    )
    # Traced once more: what is random in it, or counts calls, comes out otherwise.
    again = float(jax.jit(lambda start: log_density(start))(jnp.asarray(start)))
    if not math.isclose(again, near[1], rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError(
            f"{what} gives other values for the same variables, {near[1]:.6g} and {again:.6g}: it must draw no "
            "random numbers itself, and change nothing outside"
        )
    values = np.concatenate([np.full((1, len(rays)), near[0]), far])
    if proper and np.all(values == near[0]) and near[0] == near[1]:
        raise ValueError(
            f"{what} is the same everywhere, {near[0]:.6g} as far as {_FAR[-1]:g} from the start: it depends on none "
            "of the variables, or has no finite integral; or rounding hides what it depends on. Give it without large "
            "constants, of variables with scales of about 1"
        )
    with np.errstate(invalid="ignore"):
        rises = np.diff(values, axis=0)
    grows = np.all(rises > 1.0, axis=0)
    up, down = np.split(np.arange(_N_RAYS, len(rays)), 2)
    if np.all(grows[:_N_RAYS]) or np.any(grows[up] & grows[down]):
        raise ValueError(
            f"{what} grows without end away from the start: it may have the wrong sign. A log density is wanted, not "
            "an energy or a loss"
        )
    if not proper:
        return []
    falls = ~np.all(np.isfinite(values), axis=0) | np.any(rises[1:] < -_LEAST_FALL, axis=0)
    names = layout.coordinates()
    unused = [
        names[i]
        for i, a, b in zip(coordinates, up, down, strict=True)
        if np.all(values[:, [a, b]] == near[0])
    ]
    if unused:
        raise ValueError(
            f"{what} does not depend on {some(unused)}: its integral is not finite. Give each variable a prior, or "
            "leave it out of the start"
        )
    endless = [names[i] for i, a, b in zip(coordinates, up, down, strict=True) if grows[a] or grows[b]]
    if endless:
        raise ValueError(
            f"{what} grows without end along {some(endless)}: its integral is not finite, and there is no posterior. "
            "Give each variable a prior, on the scale on which it is moved"
        )
    return list(
        _flat(
            what,
            [names[i] for i, a, b in zip(coordinates, up, down, strict=True) if not (falls[a] and falls[b])],
        )
    )


def _flat(what: str, names: list[str]) -> Iterator[Advice]:
    if names:
        yield Advice(
            f"{what} {NOT_FALLING} {some(names)}: its integral may not be finite, and then there is no "
            "posterior",
            "Give each variable a prior, on the scale on which it is moved",
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
) -> list[Advice]:
    """Looks for jumps of a function, of which kernels that follow its derivative see nothing.

    Args:
        what: name of the function, for messages.
        function: maps a vector [dim] to a number.
        lines: begins and ends of lines [line, dim].
        layout: names of the vector's parts.
        least: jumps below this are none.
        units: of the function, for messages.

    Raises:
        ValueError: it changes by jumps alone in some variable: its derivative is zero wherever it has one.
    """
    jump = largest_jump(function, *lines, least)
    if jump is None:
        return []
    parts = _parts_that_jump(function, jump, layout)
    still = [name for name, part in parts.items() if not jump.moving[part].any()]
    if still:
        raise ValueError(
            f"{what} is a step function of {some(still)}: it jumps (by {jump.height:.3g}{units}) and has no other "
            "derivative than zero, which is all that the method could follow. Sum over what is discrete, or put smooth "
            "functions in the place of jnp.floor, jnp.round, comparisons and whole numbers; auxmc.pseudo_marginal "
            "needs no derivative"
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
