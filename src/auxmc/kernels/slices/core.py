"""The bracket loop that all slice samplers share: propose inside, shrink towards the current point."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import Kernel, select

MAX_PASSES = 1000
"""Proposals after which a slice update gives up, keeps its state and reports the failure."""


class SliceState(NamedTuple):
    """Current point [dim], and the log of the function whose slices are sampled there, in nats."""

    position: Array
    log_density: Array


class SliceInfo(NamedTuple):
    """What one slice update did."""

    n_evaluations: Array  # calls of the log density, at least 1 (int32)
    # 1 if no new point was found (bracket shrunk to the current point in floating point, or `MAX_PASSES` proposals
    # spent) and the state was kept, else 0 (int32).
    n_collapsed: Array
    offset: Array  # angle (radians) or line coordinate of the new point; 0 if the state was kept
    lower: Array  # lower end of the bracket when the loop ended
    upper: Array  # upper end of the bracket when the loop ended
    log_height: Array  # log of the slice height, in nats


class Candidate(NamedTuple):
    """A point together with everything that was computed at it.

    Attributes:
        point: array of any fixed shape.
        log_density: scalar, in nats.
        extra: pytree of further values that belong to the point, such as factorisations.
        work: pytree of int32 counts of the work that computing this candidate took.
    """

    point: Array
    log_density: Array
    extra: Any = ()
    work: Any = ()


class Shrunk(NamedTuple):
    """Result of a slice update: the new point, with the work of all that were tried, or the old one if none was found.

    `moved` says whether one was found.
    """

    candidate: Candidate
    moved: Array
    info: SliceInfo


class _Loop(NamedTuple):
    n_passes: Array
    offset: Array
    lower: Array
    upper: Array
    candidate: Candidate
    moved: Array
    active: Array


def shrink_bracket(
    key: Array,
    evaluate: Callable[[Array], Candidate],
    current: Candidate,
    log_height: Array,
    offset: Array,
    lower: Array,
    upper: Array,
    max_passes: int | Array = MAX_PASSES,
) -> Shrunk:
    """Samples a point of the slice inside a bracket, shrinking it after each point off the slice.

    The current point is at offset 0, and 0 is in the bracket throughout. A point is on the slice if its log
    density exceeds `log_height` strictly and is finite; a NaN is off it. Points off the slice become an end
    of the bracket, on their own side of 0. When a proposal equals the current point in every bit, the
    bracket has collapsed: the state is kept and the collapse is counted, as after `max_passes` proposals.

    Args:
        key: JAX key of the offsets after the first: pass i uses `fold_in(key, i)`.
        evaluate: maps an offset (scalar) to a Candidate.
        current: the candidate at offset 0; its `work` is where the counts start.
        log_height: log of the slice height, in nats.
        offset: first proposed offset, in [lower, upper].
        lower: lower end of the bracket, not above 0.
        upper: upper end of the bracket, not below 0.
        max_passes: number of proposals after which the update gives up.

    Returns:
        Shrunk, with `info.n_evaluations` the number of calls of `evaluate`. Under `vmap` a chain that has
        finished counts no further call.

    Source: PhD thesis, Algorithms 4 and 5, inner loops.
    """

    def body(loop: _Loop) -> _Loop:
        proposed = evaluate(loop.offset)
        on_slice = is_on_slice(proposed, log_height)
        collapsed = jnp.all(proposed.point == current.point)
        n_passes = loop.n_passes + 1
        lower = jnp.where(~on_slice & (loop.offset < 0.0), loop.offset, loop.lower)
        upper = jnp.where(~on_slice & (loop.offset >= 0.0), loop.offset, loop.upper)
        uniform = jax.random.uniform(jax.random.fold_in(key, n_passes), dtype=loop.offset.dtype)
        active = ~on_slice & ~collapsed
        work = jax.tree.map(jnp.add, loop.candidate.work, proposed.work)
        return _Loop(
            n_passes=n_passes,
            offset=jnp.where(active, lower + (upper - lower) * uniform, loop.offset),
            lower=lower,
            upper=upper,
            candidate=proposed._replace(work=work),
            moved=on_slice & ~collapsed,
            active=active & (n_passes < max_passes),
        )

    zero = jnp.zeros((), jnp.int32)
    start = _Loop(zero, offset, lower, upper, current, jnp.zeros((), bool), jnp.ones((), bool))
    end = lax.while_loop(lambda loop: loop.active, body, start)
    kept = current._replace(work=end.candidate.work)
    return Shrunk(
        candidate=select(end.moved, end.candidate, kept),
        moved=end.moved,
        info=SliceInfo(
            n_evaluations=end.n_passes,
            n_collapsed=(~end.moved).astype(jnp.int32),
            offset=jnp.where(end.moved, end.offset, 0.0),
            lower=end.lower,
            upper=end.upper,
            log_height=log_height,
        ),
    )


def is_on_slice(found: Candidate, log_height: Array) -> Array:
    """Whether the log density of a candidate exceeds the height and is finite; NaN does not."""
    return (found.log_density > log_height) & (found.log_density < jnp.inf)


def slice_kernel(
    log_density: Callable[[Array], Array],
    draw: Callable[[Array], Any],
    shrink: Callable[[Any, Candidate], Shrunk],
) -> Kernel:
    """Kernel whose steps are slice updates.

    Args:
        log_density: maps position [dim] to the log of the function whose slices are sampled, in nats.
        draw: maps a key to the random numbers of an update.
        shrink: maps these and the current point to the result of the update.

    Returns:
        Kernel on SliceState with SliceInfo.
    """

    def apply(noise: Any, state: SliceState) -> tuple[SliceState, SliceInfo]:
        shrunk = shrink(noise, Candidate(state.position, state.log_density))
        return SliceState(shrunk.candidate.point, shrunk.candidate.log_density), shrunk.info

    return Kernel(lambda position, key=None: SliceState(position, log_density(position)), draw, apply)
