"""Examines a log density before anything is drawn: its start, digits, support, tails and flat directions."""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.interface.advice import Advice
from auxmc.interface.layout import Layout
from auxmc.interface.methods import LogDensity
from auxmc.numerics import programs
from auxmc.numerics.array_types import BooleanArray, FloatArray

NOT_FALLING = "does not fall far out along"
"""Part of the advice about directions in which the integral may be infinite."""

# What may take long is said after this time.
_AT_START, _PATIENCE_S = "log_density at its start", 10.0
# Points near the start: distances in units of one plus the start, and points at each distance. Functions of open cost
# are evaluated at the first few distances.
_NEAR = np.array([1e-9, 1e-6, 1e-3, 1e-1, 1.0, 3.0])
_N_NEAREST = 3
_N_POINTS = 16
# Steps of its precision that the spread of an array must contain.
_FEWEST_STEPS = 1e3
# Points far from the start, and the distances (0 is the start) between which a density without end rises.
_FAR = np.logspace(2.0, 10.0, 9)
_RISING = np.array([0, 1, 3, 5, 9])
_N_RAYS = 8
_MOST_COORDINATES = 100
# Nats by which a density rises or falls, and by which it falls where it need not fall steadily.
_LEAST_FALL = 1.0
_LARGE_FALL = 1e3
# Nats by which it falls towards a bound at least where less than a hundredth lies beyond the nearest number, and below
# its largest value from which on nothing lies there.
_FALL_AT_BOUND = 3.0
_NO_MASS = 50.0
# Distances beyond its largest value at which a density must fall steadily: a periodic one does so in 1 of 100.
_STEADY = 4
_LEAST_STEP = 0.01
# Gradients that are orthogonal to a line are so up to rounding; smaller parts of a line do not count as moving.
_ROUNDING = 1e-10
_LEAST_PART = 1e-3
_SPARE_POINTS = 3


def start_check(log_density: LogDensity) -> Callable[[np.ndarray], None]:
    """A function that rejects a start [dim] where a log density or its gradient is not finite (ValueError)."""

    def check(start: np.ndarray) -> None:
        try:
            # Traced here: Python code of the user's function must run in this thread, with its settings of JAX.
            program = _with_gradient(log_density).lower(start)
        except ValueError as error:
            raise programs.without_reverse_mode("log_density", error) from None
        value, gradient = _evaluated_in_time(lambda: program.compile()(start))
        if not math.isfinite(float(value)):
            advice = "Give a start inside the support, and look for nan in the data"
            advice = "Return log densities, in nats" if float(value) == math.inf else advice
            raise ValueError(f"log_density: expected a finite value at the start, got {value}. {advice}")
        if n_bad := int(np.sum(~np.isfinite(gradient))):
            which = f"{n_bad} of {gradient.size} derivatives at the start are not finite"
            raise ValueError(f"log_density: {which}. Look for roots and logarithms of zero in jnp.where too")

    return check


def _evaluated_in_time(program: Callable[[], Any]) -> Any:
    """What a traced program returns, from a thread without JAX's contexts: Python is not interrupted while it runs."""
    found, begun = Future[Any](), time.monotonic()

    def run() -> None:
        try:
            found.set_result(jax.block_until_ready(program()))
        except BaseException as error:
            found.set_exception(error)

    # A thread that does not keep Python from leaving.
    threading.Thread(target=run, daemon=True).start()
    try:
        wait([found], _PATIENCE_S)
        if not found.done():
            print(f"auxmc: evaluating {_AT_START}, for {_PATIENCE_S:.0f} s so far", file=sys.stderr)
        return found.result()
    except KeyboardInterrupt:
        seconds = time.monotonic() - begun
        print(f"auxmc: interrupted while evaluating {_AT_START}, after {seconds:.0f} s", file=sys.stderr)
        raise


def first_finite(log_density: LogDensity, points: Iterable[np.ndarray]) -> np.ndarray | None:
    """The first of some points [dim] where a log density and its gradient are finite; None without one."""
    evaluate = _with_gradient(log_density)
    for point in points:
        if all(np.all(np.isfinite(part)) for part in evaluate(point)):
            return point
    return None


@lru_cache(maxsize=32)
def _with_gradient(log_density: LogDensity) -> Any:
    """One program for all chains; not part of a check, which can be pickled."""
    return programs.jit_short(jax.value_and_grad(log_density))


def examine_density(
    what: str,
    log_density: LogDensity,
    start: np.ndarray,
    layout: Layout,
    *,
    derivatives: bool = True,
    has_prior: bool = False,
) -> list[Advice]:
    """Advice about a log density [dim], in nats, near its start and, if its cost is bounded, far from it.

    Derivatives are examined where the kernel needs them. Far out, a density with a normalised prior may be rounding,
    and its integral is finite. Raises a ValueError where `auxmc.density` does.
    """
    is_open = programs.has_open_cost(log_density, start)
    distances = _NEAR[:_N_NEAREST] if is_open else _NEAR
    ways = np.random.default_rng(2).normal(size=(len(distances), _N_POINTS, start.size))
    near = start + distances[:, None, None] * (ways * (1.0 + np.abs(start)))
    points = np.concatenate([start[None], near.reshape(-1, start.size)])
    evaluate = jax.value_and_grad(log_density) if derivatives else lambda point: (log_density(point), point)
    values, gradients = (np.asarray(part) for part in programs.jit_short(jax.vmap(evaluate))(points))
    finite = np.isfinite(values)
    if not finite[1:].any():
        where = f"at the start and at none of {len(points) - 1} points around it"
        raise ValueError(f"{what} is finite {where}. Give a start inside the support")
    undefined = np.isnan(values[1:]) | (finite & np.any(np.isnan(gradients), axis=1))[1:]
    advice = advise_precision(what, log_density, start)
    advice += advise_undefined(f"{what} or its derivative" if derivatives else what, undefined)
    tails = advise_tails(what, log_density, start, layout, value=float(values[0]))
    if derivatives and not is_open:
        usable = finite & np.all(np.isfinite(gradients), axis=1)
        reject_steps(what, log_density, points[usable], gradients[usable], layout)
        tails += _ridge(what, log_density, start, gradients[usable], layout)
    if not is_open:
        advice += _slow_at_bounds(what, log_density, start, layout, float(np.max(values[finite])))
    return advice if has_prior else [*advice, *tails]


def advise_precision(what: str, function: Callable[..., Any], *arguments: Any) -> list[Advice]:
    """Advice where a function holds arrays of single precision whose values have lost digits; ValueError if most."""
    held = programs.single_precision_arrays(function, *arguments)
    if not held:
        return []
    worst = min(held, key=lambda a: (np.ptp(a) == 0.0, np.ptp(a) / np.spacing(np.abs(a).max())))
    values = f"of shape {worst.shape}, from {worst.min():.9g} to {worst.max():.9g}"
    problem = f"{what} has an array of {worst.dtype} {values}, which lost digits"
    advice = Advice(problem, "Call auxmc.enable_x64() before jax.numpy makes arrays, or use NumPy")
    is_coarse = programs.coarse_in_float32(worst.reshape(-1, 1).astype(float), _FEWEST_STEPS)[0]
    if np.ptp(worst) > 0.0 and is_coarse:
        raise ValueError(advice.text)
    return [advice]


def advise_undefined(
    what: str, undefined: np.ndarray, where: str = "points around the start", state: str = "NaN"
) -> list[Advice]:
    """Advice where a function is undefined at more than a tenth of the points, going by flags [point]."""
    problem = f"{what} is {state} at {int(undefined.sum())} of {undefined.size} {where}, where draws never go"
    fix = "Declare bounds, or look for logarithms of negative numbers and for overflow"
    return [Advice(problem, fix)] if undefined.mean() > 0.1 else []


def advise_tails(
    what: str,
    log_density: LogDensity,
    start: np.ndarray,
    layout: Layout,
    *,
    proper: bool = True,
    value: float | None = None,
) -> list[Advice]:
    """Advice about coordinates along which a log density [dim], in nats, does not fall far from its start.

    The integral of a `proper` one must be finite. `value` is that at the start, by another program.
    """
    is_open = programs.has_open_cost(log_density, start)
    far, coordinates = _far_points(start)
    points = np.concatenate([start[None], far.reshape(-1, start.size)])[: 1 if is_open else None]
    all_values = programs.at_points(log_density, points)
    # Traced twice: a function that draws random numbers or counts its calls gives another value.
    value = float(log_density(jnp.asarray(start))) if value is None else value
    if not math.isclose(value, all_values[0], rel_tol=1e-6, abs_tol=1e-6):
        both = f"{value:.6g} and {all_values[0]:.6g}. It must not draw random numbers or change anything"
        raise ValueError(f"{what} gives other values for the same variables, {both}")
    if is_open:
        return []
    values = all_values[1:].reshape(far.shape[:2])
    if proper and np.all(all_values == all_values[0]):
        advice = "give it without large constants"
        raise ValueError(f"{what} is the same everywhere, {value:.6g}, or rounded: {advice}")
    with np.errstate(invalid="ignore"):
        grows = np.all(np.diff(values[_RISING], axis=0) > _LEAST_FALL, axis=0)
    up, down = np.split(np.arange(_N_RAYS, far.shape[1]), 2)
    if np.all(grows[:_N_RAYS]) or np.any(grows[up] & grows[down]):
        raise ValueError(f"{what} grows without end away from the start: it may have the wrong sign")
    if not proper:
        return []
    names = np.asarray(layout.coordinates())[coordinates]
    # From minus infinity nothing is told: a narrow support.
    same = np.all(values == values[0, 0], axis=0) & np.isfinite(values[0, 0])
    infinite = "its integral is infinite. Give each variable a prior"
    unused, endless = names[same[up] & same[down]], names[grows[up] | grows[down]]
    if unused.size:
        raise ValueError(f"{what} does not depend on {_listed(list(unused))}: {infinite}, or remove it")
    if endless.size:
        raise ValueError(f"{what} grows without end along {_listed(list(endless))}: {infinite}")
    falls = _falls(values)
    flat = list(names[~(falls[up] & falls[down])])
    return [_improper(what, _listed(flat), "bounds= and periodic= of auxmc.density")] if flat else []


def _slow_at_bounds(
    what: str, log_density: LogDensity, start: np.ndarray, layout: Layout, largest: float
) -> list[Advice]:
    """Advice about variables of which a part lies nearer to a bound than the nearest number.

    On the line a density must fall along the second half of the way to it; `largest` is its largest near the start.
    """
    ends = layout.ends()
    if not ends:
        return []
    chosen = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), 2 * _MOST_COORDINATES)).astype(int))
    points = np.tile(_aside(start), (2, len(chosen), 1))
    for i, (place, end) in enumerate(ends[k] for k in chosen):
        points[:, i, place] = 0.5 * end, end
    half, at_end = programs.at_points(log_density, points.reshape(-1, start.size)).reshape(2, -1)
    with np.errstate(invalid="ignore"):
        slow = np.isfinite(half) & (half - at_end < _FALL_AT_BOUND) & (at_end > largest - _NO_MASS)
    names = dict.fromkeys(layout.coordinates()[ends[k][0]] for k in chosen[slow])
    along = f"{_listed(list(names))} towards a bound"
    problem = f"{what} {NOT_FALLING} {along}: mass beyond the last number is lost"
    fix = "Give a prior that falls faster there, or the logarithm of the distance as the variable"
    return [Advice(problem, fix)] if names else []


def _aside(start: np.ndarray) -> np.ndarray:
    """A point [dim] near the start: at a zero of one variable others may not matter."""
    aside = np.random.default_rng(3).normal(size=start.size)
    return np.asarray(start + 0.01 * (1.0 + np.abs(start)) * aside)


def _far_points(start: np.ndarray) -> tuple[FloatArray, np.ndarray]:
    """Points far from the start [distance, ray, dim], and the coordinates of the rays after the random ones."""
    begin = _aside(start)
    coordinates = np.unique(np.linspace(0, start.size - 1, min(start.size, _MOST_COORDINATES)).astype(int))
    axes = np.eye(start.size)[coordinates]
    random = np.random.default_rng(0).normal(size=(_N_RAYS, start.size))
    rays = np.concatenate([random, axes, -axes])
    return begin + np.append(0.0, _FAR)[:, None, None] * rays, coordinates


def _falls(values: FloatArray) -> BooleanArray:
    """Which rays [ray] of values [distance, ray] fall: steadily after their largest value, by far, or to -inf."""
    far, last = values[1:], values[-1]
    with np.errstate(invalid="ignore"):
        rises = np.diff(far, axis=0) > 1e-3 + 1e-6 * np.abs(far[1:])
        after = np.arange(1, len(far))[:, None] > np.argmax(far, axis=0)
        steady = ~np.any(rises & after, axis=0) & (after.sum(axis=0) >= _STEADY)
        steady &= last < np.max(values, axis=0) - _LEAST_FALL
        by_far = last < np.min(values[:-1], axis=0) - _LARGE_FALL
    return ~np.all(np.isfinite(values), axis=0) | steady | by_far


def _improper(what: str, along: str, remedy: str) -> Advice:
    problem = f"{what} {NOT_FALLING} {along}: its integral may be infinite"
    return Advice(problem, f"Give each variable a prior, or use {remedy}")


def reject_steps(
    what: str, function: LogDensity, points: FloatArray, gradients: FloatArray, layout: Layout
) -> None:
    """Rejects a function that changes with a coordinate in which its gradients [point, dim] are all zero."""
    still = np.flatnonzero(np.all(gradients == 0.0, axis=0))
    if not still.size:
        return
    values, names = programs.at_points(function, points), layout.coordinates()
    for k in still:
        moved = points.copy()
        moved[:, k] = points[0, k]
        change = np.abs(programs.at_points(function, moved) - values)
        if np.max(change, initial=0.0, where=np.isfinite(change)) > _LEAST_STEP:
            advice = "Sum over what is discrete, or replace jnp.floor, jnp.round and comparisons"
            raise ValueError(f"{what} is a step function of {names[k]}: it jumps. {advice}")


def _ridge(
    what: str, log_density: LogDensity, start: np.ndarray, gradients: FloatArray, layout: Layout
) -> list[Advice]:
    """Advice about a line to which all gradients [point, dim] are orthogonal, and along which the density is flat."""
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    rows = gradients[norms[:, 0] > 0.0] / norms[norms[:, 0] > 0.0]
    scales = np.abs(rows).max(axis=0, initial=0.0)
    if start.size < 2 or len(rows) < start.size + _SPARE_POINTS or np.any(scales == 0.0):
        return []
    _, singular, ways = np.linalg.svd(rows / scales)
    if singular[-1] > _ROUNDING * singular[0]:
        return []
    line = ways[-1] / scales
    line /= np.abs(line).max()
    far = start + np.append(0.0, _FAR[[0, 2, 4]])[:, None] * line
    values = programs.at_points(log_density, far)
    if not (np.all(np.isfinite(values)) and np.all(values[1:] >= values[0] - _LEAST_FALL)):
        return []
    names = [layout.coordinates()[k] for k in np.flatnonzero(np.abs(line) > _LEAST_PART)]
    return [_improper(what, f"a line where {_listed(names)} change together", "one variable less")]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
