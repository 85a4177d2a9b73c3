"""Slice sampling along a random line through the current point."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import FROM_POSITION, Kernel, check_integer, pytree_positions
from auxmc.kernels.slices import core

Judge = Callable[[Array], tuple[Array, Any]]
"""Maps an offset to whether its point is on the slice, and to the work of evaluating that point."""


class LineNoise(NamedTuple):
    """Random numbers of an update: direction [dim], and those of slice height, bracket and first proposal in it.

    `n_lower` step-outs are allowed at the lower end; `key` is that of the offsets after the first.
    """

    direction: Array
    log_uniform: Array
    bracket_uniform: Array
    offset_uniform: Array
    n_lower: Array
    key: Array


def draw_line(key: Array, dim: int, max_step_outs: int = 0, *, unit_length: bool = True) -> LineNoise:
    """Draws the random numbers of an update; the direction is uniform on the unit sphere, or else standard normal."""
    key_direction, key_height, key_uniforms, key_loop = jax.random.split(key, 4)
    normal = jax.random.normal(key_direction, (dim,))
    uniforms = jax.random.uniform(key_uniforms, (3,))
    return LineNoise(
        direction=normal / jnp.linalg.norm(normal) if unit_length else normal,
        log_uniform=-jax.random.exponential(key_height),
        bracket_uniform=uniforms[0],
        offset_uniform=uniforms[1],
        n_lower=jnp.floor(uniforms[2] * (max_step_outs + 1)).astype(jnp.int32),
        key=key_loop,
    )


def shrink_line(
    noise: LineNoise,
    width: Array | float,
    current: core.Candidate,
    evaluate: Callable[[Array], core.Candidate],
    max_step_outs: int = 0,
    max_passes: int | Array = core.MAX_PASSES,
    max_doublings: int = 0,
) -> core.Shrunk:
    """Moves to a point of the slice on the line through the current point along `noise.direction`.

    The bracket has length `width` times that of the direction and lies uniformly around the current point;
    it may grow first by at most `max_step_outs` steps of its own length, split at random between the ends, or by at
    most `max_doublings` doublings. Points from which doubling would not have found the bracket are then off the slice.

    `evaluate` maps a point [dim] on the line to a Candidate, whose point may have been mapped back into the support.
    Each test of an end is one evaluation, and so is each middle of the acceptance test. Offsets are in units of the
    direction; `noise` is drawn for the same `max_step_outs`, which must be 0 with doublings.

    Source: PhD thesis, Algorithm 4, with the unit bracket and v = width x direction; Neal 2003, "Slice sampling",
    figures 4 to 6, for doubling.
    """
    width = jnp.asarray(width, noise.bracket_uniform.dtype)
    origin = current.point
    log_height = current.log_density + noise.log_uniform
    lower = -width * noise.bracket_uniform
    upper = lower + width

    def at_offset(offset: Array) -> core.Candidate:
        return evaluate(origin + offset * noise.direction)

    def judge(offset: Array) -> tuple[Array, Any]:
        found = at_offset(offset)
        return core.is_on_slice(found, log_height), found.work

    n_tests = jnp.zeros((), jnp.int32)
    start = current
    if max_step_outs > 0:
        lower, n_lower, work = _step_out(judge, lower, -width, noise.n_lower, current.work)
        upper, n_upper, work = _step_out(judge, upper, width, max_step_outs - noise.n_lower, work)
        n_tests, start = n_lower + n_upper, current._replace(work=work)
    evaluate_offset = at_offset
    if max_doublings > 0:
        coins = jax.random.bernoulli(jax.random.fold_in(noise.key, 0), shape=(max_doublings,))
        doubled = double_bracket(judge, lower, upper, coins)
        lower, upper = doubled.lower, doubled.upper
        start = current._replace(work=(jax.tree.map(jnp.add, current.work, doubled.work), doubled.n_tests))

        def evaluate_offset(offset: Array) -> core.Candidate:
            found = at_offset(offset)
            on_slice = core.is_on_slice(found, log_height)
            reached = doubled._replace(n_tests=n_tests, work=found.work, is_reachable=on_slice)
            reached = _halve(judge, reached, width, offset)
            value = jnp.where(reached.is_reachable, found.log_density, -jnp.inf)
            return found._replace(log_density=value, work=(reached.work, reached.n_tests))

    shrunk = core.shrink_bracket(
        noise.key,
        evaluate_offset,
        start,
        log_height=log_height,
        offset=lower + (upper - lower) * noise.offset_uniform,
        lower=lower,
        upper=upper,
        max_passes=max_passes,
    )
    if max_doublings > 0:
        work, n_tests = shrunk.candidate.work
        shrunk = shrunk._replace(candidate=shrunk.candidate._replace(work=work))
    info = shrunk.info._replace(n_evaluations=shrunk.info.n_evaluations + n_tests)
    return shrunk._replace(info=info)


@pytree_positions("log_density")
def linear_slice(
    log_density: Callable[[Any], Array],
    width: Array | float,
    dim: int = FROM_POSITION,
    max_step_outs: int = 0,
    *,
    max_passes: int | Array = core.MAX_PASSES,
    max_doublings: int = 0,
) -> Kernel:
    """Slice sampling along a line of uniformly random direction.

    Args:
        log_density: maps position [dim] to an unnormalised log density, in nats.
        width: initial bracket width, in the units of the position (positive scalar, may be traced).
        dim: length of the position; taken from it unless given.
        max_step_outs: total number of steps of length `width` by which the bracket may grow.
        max_passes: number of proposals after which an update keeps its state and counts a collapse; may be traced.
        max_doublings: number of times that the bracket may double, for widths that are orders of magnitude too small;
            not together with step-outs.

    Returns:
        Kernel on SliceState with SliceInfo; `n_evaluations` includes those of the step-outs and doublings.

    Raises:
        ValueError: dim is not positive, max_step_outs or max_doublings is negative, or both are positive.

    Source: PhD thesis, Algorithm 4, and section 2.3.1 with Neal 2003 for doubling.

    >>> kernel = linear_slice(lambda x: -0.5 * jnp.sum(x**2), 2.0, dim=3)
    >>> state, info = kernel.step(jax.random.key(0), kernel.init(jnp.ones(3)))
    >>> bool(state.log_density > info.log_height)
    True
    """
    check_integer("max_step_outs", max_step_outs, 0)
    check_integer("max_doublings", max_doublings, 0)
    if max_step_outs and max_doublings:
        raise ValueError("max_step_outs and max_doublings: expected one of them, got both")

    def shrink(noise: LineNoise, current: core.Candidate) -> core.Shrunk:
        evaluate = lambda point: core.Candidate(point, log_density(point))  # noqa: E731
        return shrink_line(noise, width, current, evaluate, max_step_outs, max_passes, max_doublings)

    return core.slice_kernel(log_density, lambda key: draw_line(key, dim, max_step_outs), shrink)


class DoubledBracket(NamedTuple):
    """A bracket, whether its ends are on the slice, points evaluated and the work that took.

    `is_reachable` says in the acceptance test whether no interval so far has ruled the point out.
    """

    lower: Array
    upper: Array
    lower_on: Array
    upper_on: Array
    n_tests: Array
    work: Any
    is_reachable: Array


def double_bracket(judge: Judge, lower: Array, upper: Array, coins: Array) -> DoubledBracket:
    """Doubles a bracket, downwards where a coin is true, until both ends are off the slice or coins are used up.

    Source: Neal 2003, "Slice sampling", figure 4.
    """
    (lower_on, lower_work), (upper_on, upper_work) = judge(lower), judge(upper)
    work = jax.tree.map(jnp.add, lower_work, upper_work)
    start = DoubledBracket(lower, upper, lower_on, upper_on, jnp.int32(2), work, jnp.ones((), bool))

    def going(loop: tuple[Array, DoubledBracket]) -> Array:
        return (loop[0] < coins.size) & (loop[1].lower_on | loop[1].upper_on)

    def body(loop: tuple[Array, DoubledBracket]) -> tuple[Array, DoubledBracket]:
        index, bracket = loop
        length, down = bracket.upper - bracket.lower, coins[index]
        end = jnp.where(down, bracket.lower - length, bracket.upper + length)
        return index + 1, _with_end(judge, bracket, end, down)

    return lax.while_loop(going, body, (jnp.int32(0), start))[1]


def _halve(judge: Judge, bracket: DoubledBracket, width: Array, offset: Array) -> DoubledBracket:
    """Whether doubling from a point on the slice could have made the bracket of offset 0: Neal 2003, figure 6.

    It goes back through the intervals around the point. One that does not hold offset 0, and both of whose ends are
    off the slice, would have ended the doubling.
    """

    def going(loop: tuple[Array, DoubledBracket]) -> Array:
        return loop[1].is_reachable & (loop[1].upper - loop[1].lower > 1.1 * width)

    def body(loop: tuple[Array, DoubledBracket]) -> tuple[Array, DoubledBracket]:
        apart, bracket = loop
        middle = 0.5 * (bracket.lower + bracket.upper)
        below = offset < middle
        apart = apart | ((middle > 0.0) != below)
        bracket = _with_end(judge, bracket, middle, ~below)
        ruled_out = apart & ~bracket.lower_on & ~bracket.upper_on
        return apart, bracket._replace(is_reachable=~ruled_out)

    return lax.while_loop(going, body, (jnp.zeros((), bool), bracket))[1]


def _with_end(judge: Judge, bracket: DoubledBracket, end: Array, is_lower: Array) -> DoubledBracket:
    """The bracket with another lower or upper end, which is evaluated."""
    on_slice, work = judge(end)
    return DoubledBracket(
        lower=jnp.where(is_lower, end, bracket.lower),
        upper=jnp.where(is_lower, bracket.upper, end),
        lower_on=jnp.where(is_lower, on_slice, bracket.lower_on),
        upper_on=jnp.where(is_lower, bracket.upper_on, on_slice),
        n_tests=bracket.n_tests + 1,
        work=jax.tree.map(jnp.add, bracket.work, work),
        is_reachable=bracket.is_reachable,
    )


def _step_out(
    judge: Judge, end: Array, stride: Array, n_allowed: Array, work: Any
) -> tuple[Array, Array, Any]:
    """Moves one bracket end outwards while it is on the slice; returns the end, tests made and work done."""

    def going(loop: tuple[Array, Array, Any, Array]) -> Array:
        _, n_tests, _, on_slice = loop
        return on_slice & (n_tests < n_allowed)

    def body(loop: tuple[Array, Array, Any, Array]) -> tuple[Array, Array, Any, Array]:
        end, n_tests, work, _ = loop
        on_slice, more = judge(end)
        work = jax.tree.map(jnp.add, work, more)
        return jnp.where(on_slice, end + stride, end), n_tests + 1, work, on_slice

    start = (end, jnp.zeros((), jnp.int32), work, jnp.ones((), bool))
    return lax.while_loop(going, body, start)[:3]
