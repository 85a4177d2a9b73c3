"""Slice samplers, right and made wrong, and one that is unusual but right."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri

from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.slices.core import Candidate, SliceInfo, SliceState, shrink_bracket
from auxmc.kernels.slices.directed_slice import along_axes, along_gaussian, directed_slice
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import double_bracket, linear_slice
from auxmc.kernels.slices.reflective_slice import reflective_slice
from auxmc.models.abc_kernels import log_abc_kernel
from tests.statistical.kernel_checks import (
    SQUARE,
    Target,
    at_position,
    check_ellipse_bracket,
    check_line_bracket,
    gaussian,
    with_numbers,
)

OBSERVED, TOLERANCE = 1.0, 0.5
ROOT = np.sqrt(2.0)


def _over_normal(build):
    return lambda log_density: build(lambda x: log_density(x) + 0.5 * x[0] ** 2)


def _directed_on_the_square():
    """Directions of a correlated Gaussian, of which any distribution that does not know the point would do as well."""
    directions = along_gaussian(jnp.array([[0.5, 0.0], [0.3, 0.2]]))
    return at_position(directed_slice(SQUARE.log_density, directions, 0.6, 2, 2), SQUARE)


def _blocks(blocks):
    """A Gaussian posterior in five dimensions whose likelihood couples two of the blocks."""
    coupling = np.zeros((5, 5))
    coupling[0, 3] = coupling[3, 0] = 1.0
    centres = jnp.arange(1.0, 6.0)
    covariance = np.linalg.inv(2.0 * np.eye(5) + coupling)
    log_likelihood = lambda x: -0.5 * jnp.sum(jnp.square(x - centres)) - x[0] * x[3]
    return at_position(
        blocked_elliptical_slice(log_likelihood, blocks),
        gaussian(covariance @ np.asarray(centres), covariance),
        reversible=False,
        n_steps=2,
    )


def _log_ball(u):
    return log_abc_kernel("ball")(u[:1] + u[1:] - OBSERVED, TOLERANCE)


def _ball():
    """Normal inputs whose sum is near 1: along (1, 1) a truncated normal distribution, across it a normal one."""
    low, high = (float(ndtr((OBSERVED + side * TOLERANCE) / ROOT)) for side in (-1, 1))

    def draw(key):
        key_sum, key_difference = jax.random.split(key)
        total = ndtri(jax.random.uniform(key_sum, minval=low, maxval=high))
        difference = jax.random.normal(key_difference)
        return jnp.stack([total + difference, total - difference]) / ROOT

    def transform(u):
        total, difference = (u[0] + u[1]) / ROOT, (u[0] - u[1]) / ROOT
        return jnp.stack([(ndtr(total) - low) / (high - low), ndtr(difference)])

    return Target(_log_ball, draw, transform)


BALL = _ball()

ON_LINE = {
    "elliptical": _over_normal(partial(elliptical_slice, dim=1)),
    "linear step out": lambda log_density: linear_slice(log_density, 0.8, 1, 3),
}
SLOW_ON_LINE = {
    "linear": lambda log_density: linear_slice(log_density, 1.5, 1),
    "linear doubling": lambda log_density: linear_slice(log_density, 0.4, 1, max_doublings=4),
    "directed": lambda log_density: directed_slice(log_density, along_axes(1), 0.8, 1, 2),
}
CASES = {"reflective": lambda: at_position(reflective_slice(SQUARE.log_density, 2), SQUARE)}
SLOW = {
    "one elliptical block": lambda: _blocks([(0, 5)]),
    "directed on the square": _directed_on_the_square,
    "two elliptical blocks": lambda: _blocks([(2, 5), (0, 2)]),
    "elliptical blocks in a ball": lambda: at_position(
        blocked_elliptical_slice(BALL.log_density, [(1, 2), (0, 1)]), BALL, reversible=False
    ),
}


# --- made wrong ----------------------------------------------------------------------------------------


def _line_with(max_step_outs, **values):
    """Slice sampler on the line with random numbers of fixed values."""
    changes = {name: lambda _, value=value: jnp.asarray(value) for name, value in values.items()}
    return lambda log_density: with_numbers(linear_slice(log_density, 0.8, 1, max_step_outs), **changes)


def _own_slice(log_density, width, shrink, n_passes):
    """Slice sampler on the line with its own loop and shrinking rule."""
    kernel = linear_slice(log_density, width, 1)

    def apply(noise, state):
        height = state.log_density + noise.log_uniform
        lower = -width * noise.bracket_uniform

        def body(loop):
            n, lower, upper, offset, _ = loop
            uniform = jax.random.uniform(jax.random.fold_in(noise.key, n))
            offset = lower + (upper - lower) * uniform
            found = log_density(state.position + offset) > height
            new_lower, new_upper = shrink(offset, lower, upper)
            keep = lambda new, old: jnp.where(found, old, new)
            return n + 1, keep(new_lower, lower), keep(new_upper, upper), offset, found

        start = (jnp.zeros((), jnp.int32), lower, lower + width, jnp.zeros(()), jnp.zeros((), bool))
        n, lower, upper, offset, _ = jax.lax.while_loop(
            lambda loop: ~loop[4] & (loop[0] < n_passes), body, start
        )
        position = state.position + offset
        info = SliceInfo(n, jnp.zeros((), jnp.int32), offset, lower, upper, height)
        return SliceState(position, log_density(position)), info

    return kernel._replace(apply=apply)


def _shrink_towards(point, offset, lower, upper):
    """The bracket, cut at an offset on the side away from a point, which is a function of its ends."""
    below = offset < point(lower, upper)
    return jnp.where(below, offset, lower), jnp.where(below, upper, offset)


def unshrunk_slice(log_density):
    """Plain rejection in the bracket, never shrunk: slower, but valid. The positive control."""
    return _own_slice(log_density, 0.7, lambda offset, lower, upper: (lower, upper), 5000)


def _shrink(noise, state, log_density, point_at, offset, lower, upper):
    """The rest of an update from its bracket and first offset on; `point_at` maps an offset to a point."""

    def evaluate(offset):
        point = point_at(offset)
        return Candidate(point, log_density(point))

    current = Candidate(state.position, state.log_density)
    height = state.log_density + noise.log_uniform
    shrunk = shrink_bracket(noise.key, evaluate, current, height, offset, lower, upper)
    return SliceState(shrunk.candidate.point, shrunk.candidate.log_density), shrunk.info


def _ellipse_with(offset, lower, upper):
    """Elliptical slice of target over standard normal with its own first angle and bracket."""

    def build(log_density):
        def apply(noise, state):
            point_at = lambda angle: state.position * jnp.cos(angle) + noise.direction * jnp.sin(angle)
            ends = jnp.full_like(noise.angle, lower), jnp.full_like(noise.angle, upper)
            return _shrink(noise, state, log_density, point_at, offset(noise.angle), *ends)

        return elliptical_slice(log_density, dim=1)._replace(apply=apply)

    return build


def doubling_without_its_acceptance_test(log_density):
    """Every point of the slice in the doubled bracket is taken."""

    def apply(noise, state):
        point_at = lambda offset: state.position + offset
        height = state.log_density + noise.log_uniform
        judge = lambda offset: (log_density(point_at(offset)) > height, ())
        coins = jax.random.bernoulli(jax.random.fold_in(noise.key, 0), shape=(4,))
        lower = -0.4 * noise.bracket_uniform
        bracket = double_bracket(judge, lower, lower + 0.4, coins)
        offset = bracket.lower + (bracket.upper - bracket.lower) * noise.offset_uniform
        return _shrink(noise, state, log_density, point_at, offset, bracket.lower, bracket.upper)

    return linear_slice(log_density, 0.4, 1)._replace(apply=apply)


def wide_ellipse(log_density):
    """Elliptical slice with an auxiliary draw whose standard deviation is 1.1."""
    return with_numbers(elliptical_slice(log_density, dim=1), direction=lambda direction: 1.1 * direction)


def one_sided_reflection():
    """The bracket lies ahead of the current point only, in a direction that is always positive."""
    changes = {"direction": jnp.abs, "bracket_uniform": jnp.zeros_like}
    return with_numbers(reflective_slice(SQUARE.log_density, 2), **changes)


def blocks_that_do_not_see_each_others_new_value():
    """Both blocks are updated from the same old point: each is the first of a cycle of its own."""
    cycles = [blocked_elliptical_slice(_log_ball, [(i, i + 1), (1 - i, 2 - i)]) for i in (0, 1)]
    init = lambda position, key=None: SliceState(position, jnp.zeros(()))

    def apply(noise, state):
        (first, info), (second, _) = cycles[0].apply(noise, state), cycles[1].apply(noise[::-1], state)
        position = jnp.stack([first.position[0], second.position[1]])
        return init(position), info._replace(n_collapsed=jnp.zeros_like(info.n_collapsed))

    return cycles[0]._replace(init=init, apply=apply)


BROKEN_ON_LINE = {
    "centred_bracket": _line_with(0, bracket_uniform=0.5),
    "fixed_height": _line_with(0, log_uniform=-0.7),
    "doubling_without_its_acceptance_test": doubling_without_its_acceptance_test,
    "fixed_bracket_ellipse": _over_normal(_ellipse_with(lambda angle: angle, 0.0, 2.0 * jnp.pi)),
    "wide_ellipse": _over_normal(wide_ellipse),
}
BROKEN = {
    "one_sided_reflection": lambda: at_position(one_sided_reflection(), SQUARE),
    "blocks_that_do_not_see_each_others_new_value": lambda: at_position(
        blocks_that_do_not_see_each_others_new_value(), BALL
    ),
}
_to_the_middle = partial(_shrink_towards, lambda lower, upper: 0.5 * (lower + upper))
_to_the_point = partial(_shrink_towards, lambda lower, upper: 0.0)
STRUCTURE = {
    "midpoint_shrinking": partial(_own_slice, width=1.5, shrink=_to_the_middle, n_passes=200),
    # Takes the third proposal whether or not it is on the slice.
    "gives_up_off_the_slice": partial(_own_slice, width=1.5, shrink=_to_the_point, n_passes=3),
}
HEIGHT = {"fixed_height_inside": _line_with(0, log_uniform=-0.7)}
_single = partial(check_line_bracket, width=0.8, max_step_outs=0)
_stepped = partial(check_line_bracket, width=0.8, max_step_outs=3)
_fixed_cut = _ellipse_with(lambda angle: angle - jnp.pi, -jnp.pi, jnp.pi)
BRACKET = {
    "centred_bracket_inside": (_line_with(0, bracket_uniform=0.5), _single),
    "first_offset_at_the_middle": (_line_with(0, offset_uniform=0.5), _single),
    "step_outs_all_below": (_line_with(3, n_lower=jnp.int32(3)), _stepped),
    "step_outs_split_equally": (_line_with(3, n_lower=jnp.int32(1)), _stepped),
    "fixed_cut_ellipse": (_fixed_cut, check_ellipse_bracket),
}
