"""Slice samplers made wrong, by the check that must notice each, and one that is unusual but right."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.slices.core import Candidate, SliceInfo, SliceState, shrink_bracket
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice, shrink_line
from auxmc.kernels.slices.reflective_slice import reflective_slice
from tests.statistical.broken import with_noise
from tests.statistical.kernel_checks import check_ellipse_bracket, check_line_bracket, log_square

LogDensity = Callable[[Array], Array]
BuildKernel = Callable[[LogDensity], Kernel]


def _line_with(max_step_outs: int, **changes: Any) -> BuildKernel:
    arrays = {name: jnp.asarray(value) for name, value in changes.items()}
    return lambda log_density: with_noise(
        linear_slice(log_density, 0.8, 1, max_step_outs), lambda n, _: n._replace(**arrays)
    )


def fixed_direction_one_sided(log_density: LogDensity) -> Kernel:
    """Direction fixed and the whole bracket on its far side."""
    changes = {"direction": jnp.ones(1), "bracket_uniform": jnp.zeros(())}
    return with_noise(linear_slice(log_density, 0.8, 1), lambda n, _: n._replace(**changes))


def _own_slice(
    log_density: LogDensity,
    width: float,
    shrink: Callable[[Array, Array, Array], tuple[Array, Array]],
    n_passes: int,
) -> Kernel:
    """Slice sampler on the line with its own loop and shrinking rule."""
    kernel = linear_slice(log_density, width, 1)

    def apply(noise: Any, state: Any) -> Any:
        height = state.log_density + noise.log_uniform
        lower = -width * noise.bracket_uniform

        def body(loop: Any) -> Any:
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


def midpoint_shrinking(log_density: LogDensity) -> Kernel:
    """Shrinks towards the middle of the bracket rather than the current point."""

    def shrink(offset: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        middle = 0.5 * (lower + upper)
        return jnp.where(offset < middle, offset, lower), jnp.where(offset < middle, upper, offset)

    return _own_slice(log_density, 1.5, shrink, 200)


def gives_up_off_the_slice(log_density: LogDensity) -> Kernel:
    """Takes the third proposal whether or not it is on the slice."""

    def shrink(offset: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
        return jnp.where(offset < 0.0, offset, lower), jnp.where(offset < 0.0, upper, offset)

    return _own_slice(log_density, 1.5, shrink, 3)


def unshrunk_slice(log_density: LogDensity) -> Kernel:
    """Plain rejection in the bracket, never shrunk: slower, but valid. The positive control."""
    return _own_slice(log_density, 0.7, lambda offset, lower, upper: (lower, upper), 5000)


def _ellipse_with(offset: Callable[[Array], Array], lower: float, upper: float) -> BuildKernel:
    """Elliptical slice of target over standard normal with its own first angle and bracket."""

    def build(log_density: LogDensity) -> Kernel:
        kernel = elliptical_slice(log_density, dim=1)

        def apply(noise: Any, state: SliceState) -> Any:
            def evaluate(angle: Array) -> Candidate:
                point = state.position * jnp.cos(angle) + noise.direction * jnp.sin(angle)
                return Candidate(point, log_density(point))

            current = Candidate(state.position, state.log_density)
            height = state.log_density + noise.log_uniform
            ends = jnp.full_like(noise.angle, lower), jnp.full_like(noise.angle, upper)
            shrunk = shrink_bracket(noise.key, evaluate, current, height, offset(noise.angle), *ends)
            return SliceState(shrunk.candidate.point, shrunk.candidate.log_density), shrunk.info

        return kernel._replace(apply=apply)

    return build


fixed_bracket_ellipse = _ellipse_with(lambda angle: angle, 0.0, 2.0 * jnp.pi)
fixed_cut_ellipse = _ellipse_with(lambda angle: angle - jnp.pi, -jnp.pi, jnp.pi)


def _over_normal(build: BuildKernel) -> BuildKernel:
    return lambda log_density: build(lambda x: log_density(x) + 0.5 * x[0] ** 2)


def prior_counted_twice(log_density: LogDensity) -> Kernel:
    """Elliptical slice with the whole target as likelihood."""
    return elliptical_slice(log_density, dim=1)


def wide_ellipse(log_density: LogDensity) -> Kernel:
    """Elliptical slice with an auxiliary draw whose standard deviation is 1.1."""
    kernel = elliptical_slice(log_density, dim=1)
    return with_noise(kernel, lambda n, _: n._replace(direction=1.1 * n.direction))


def clipping_instead_of_reflecting() -> Kernel:
    """Proposals beyond a face of the square are moved onto it."""
    kernel = reflective_slice(log_square, 2)

    def evaluate(point: Array) -> Candidate:
        clipped = jnp.clip(point, 1e-12, 1.0 - 1e-12)
        return Candidate(clipped, log_square(clipped))

    def apply(noise: Any, state: SliceState) -> Any:
        shrunk = shrink_line(noise, 1.0, Candidate(state.position, state.log_density), evaluate)
        return SliceState(shrunk.candidate.point, shrunk.candidate.log_density), shrunk.info

    return kernel._replace(apply=apply)


def one_sided_reflection() -> Kernel:
    """The bracket lies ahead of the current point only, in a direction that is always positive."""
    changes = lambda n: {"direction": jnp.abs(n.direction), "bracket_uniform": jnp.zeros(())}
    return with_noise(reflective_slice(log_square, 2), lambda n, _: n._replace(**changes(n)))


ON_LINE = {
    "centred_bracket": _line_with(0, bracket_uniform=0.5),
    "one_sided_bracket": fixed_direction_one_sided,
    "fixed_height": _line_with(0, log_uniform=-0.7),
    "fixed_bracket_ellipse": _over_normal(fixed_bracket_ellipse),
    "prior_counted_twice": prior_counted_twice,
    "wide_ellipse": _over_normal(wide_ellipse),
}
ON_SQUARE = {
    "clipping_instead_of_reflecting": clipping_instead_of_reflecting,
    "one_sided_reflection": one_sided_reflection,
}
STRUCTURE = {"midpoint_shrinking": midpoint_shrinking, "gives_up_off_the_slice": gives_up_off_the_slice}
HEIGHT = {"fixed_height_inside": _line_with(0, log_uniform=-0.7)}
_single = partial(check_line_bracket, width=0.8, max_step_outs=0)
_stepped = partial(check_line_bracket, width=0.8, max_step_outs=3)
BRACKET = {
    "centred_bracket_inside": (_line_with(0, bracket_uniform=0.5), _single),
    "first_offset_at_the_middle": (_line_with(0, offset_uniform=0.5), _single),
    "step_outs_all_below": (_line_with(3, n_lower=jnp.int32(3)), _stepped),
    "step_outs_split_equally": (_line_with(3, n_lower=jnp.int32(1)), _stepped),
    "fixed_cut_ellipse": (fixed_cut_ellipse, check_ellipse_bracket),
}
