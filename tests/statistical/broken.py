"""Kernels that are built right and then made wrong, by the check that must notice each; one is unusual but right."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.metropolis.metropolis import metropolis_independence, random_walk_metropolis
from auxmc.kernels.pseudo_marginal.updates import (
    Update,
    auxiliary_pseudo_marginal,
    elliptical_auxiliary,
    independence_auxiliary,
    metropolis_position,
    pseudo_marginal_metropolis,
    slice_position,
)
from auxmc.kernels.slices.core import Candidate, SliceInfo, SliceState, shrink_bracket
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import linear_slice, shrink_line
from auxmc.kernels.slices.reflective_slice import reflective_slice
from auxmc.models.estimator import Estimator
from tests.statistical.kernel_checks import check_ellipse_bracket, check_line_bracket, log_square

LogDensity = Callable[[Array], Array]
BuildKernel = Callable[[LogDensity], Kernel]
NEVER_REJECTED = jnp.full((), -jnp.inf)


def with_noise(kernel: Any, change: Callable[[Any, Any], Any]) -> Any:
    """A kernel, or an update, whose random numbers are `change(noise, state)`."""
    return kernel._replace(apply=lambda noise, state: kernel.apply(change(noise, state), state))


def replacing(kernel: Any, **numbers: Any) -> Any:
    """A kernel, or an update, some of whose random numbers are fixed."""
    return with_noise(kernel, lambda noise, _: noise._replace(**numbers))


def keeping(kernel: Any, field: str) -> Any:
    """A kernel, or an update, that moves without storing one field of the new state."""

    def apply(noise: Any, state: Any) -> Any:
        new, info = kernel.apply(noise, state)
        return new._replace(**{field: getattr(state, field)}), info

    return kernel._replace(apply=apply)


# --- on the line and on the square ---------------------------------------------------------------------


def scaled_log_ratio(log_density: LogDensity) -> Kernel:
    """Log ratio divided by 1.1."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)
    return with_noise(kernel, lambda n, _: n._replace(log_uniform=1.1 * n.log_uniform))


def stale_log_density(log_density: LogDensity) -> Kernel:
    """Moves without storing the log density of the new point."""
    return keeping(random_walk_metropolis(log_density, 1.0, 1), "log_density")


def independence_without_weight(log_density: LogDensity) -> Kernel:
    """Independence proposals whose density is left out of the ratio."""
    return metropolis_independence(log_density, lambda key: 1.5 * jax.random.logistic(key, (1,)))


def hmc_without_accept_test(log_density: LogDensity) -> Kernel:
    """Hamiltonian Monte Carlo that takes every end of a trajectory."""
    kernel = hamiltonian_monte_carlo(log_density, 0.12, (2, 6), 1)
    return replacing(kernel, log_uniform=NEVER_REJECTED)


def one_sided_bracket(log_density: LogDensity) -> Kernel:
    """Direction fixed and the whole bracket on its far side."""
    return replacing(linear_slice(log_density, 0.8, 1), direction=jnp.ones(1), bracket_uniform=jnp.zeros(()))


def wide_ellipse(log_density: LogDensity) -> Kernel:
    """Elliptical slice with an auxiliary draw whose standard deviation is 1.1."""
    kernel = elliptical_slice(lambda x: log_density(x) + 0.5 * x[0] ** 2, dim=1)
    return with_noise(kernel, lambda n, _: n._replace(direction=1.1 * n.direction))


def _line_with(max_step_outs: int, **numbers: Any) -> BuildKernel:
    arrays = {name: jnp.asarray(value) for name, value in numbers.items()}
    return lambda log_density: replacing(linear_slice(log_density, 0.8, 1, max_step_outs), **arrays)


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


def unshrunk_slice(log_density: LogDensity) -> Kernel:
    """Plain rejection in the bracket, never shrunk: slower, but valid. The positive control."""
    return _own_slice(log_density, 0.7, lambda offset, lower, upper: (lower, upper), 5000)


def fixed_cut_ellipse(log_density: LogDensity) -> Kernel:
    """Elliptical slice whose bracket is always cut opposite the current point."""
    kernel = elliptical_slice(log_density, dim=1)

    def apply(noise: Any, state: SliceState) -> Any:
        def evaluate(angle: Array) -> Candidate:
            point = state.position * jnp.cos(angle) + noise.direction * jnp.sin(angle)
            return Candidate(point, log_density(point))

        current = Candidate(state.position, state.log_density)
        height = state.log_density + noise.log_uniform
        ends = jnp.full_like(noise.angle, -jnp.pi), jnp.full_like(noise.angle, jnp.pi)
        shrunk = shrink_bracket(noise.key, evaluate, current, height, noise.angle - jnp.pi, *ends)
        return SliceState(shrunk.candidate.point, shrunk.candidate.log_density), shrunk.info

    return kernel._replace(apply=apply)


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


ON_LINE: dict[str, BuildKernel] = {
    build.__name__: build
    for build in (
        *(scaled_log_ratio, stale_log_density, independence_without_weight, hmc_without_accept_test),
        *(one_sided_bracket, wide_ellipse),
    )
} | {"fixed_height": _line_with(0, log_uniform=-0.7)}
STRUCTURE = {"midpoint_shrinking": midpoint_shrinking}
HEIGHT = {"fixed_height_inside": _line_with(0, log_uniform=-0.7)}
BRACKET = {
    "centred_bracket": (
        _line_with(0, bracket_uniform=0.5),
        partial(check_line_bracket, width=0.8, max_step_outs=0),
    ),
    "step_outs_all_below": (
        _line_with(3, n_lower=jnp.int32(3)),
        partial(check_line_bracket, width=0.8, max_step_outs=3),
    ),
    "fixed_cut_ellipse": (fixed_cut_ellipse, check_ellipse_bracket),
}


# --- pseudo-marginal -----------------------------------------------------------------------------------


def refreshed_estimate(estimator: Estimator) -> Kernel:
    """Makes the estimate at the current point again, with fresh u, before each step."""
    kernel = pseudo_marginal_metropolis(estimator, 1.5, 1)

    def draw(key: Array) -> Any:
        return kernel.draw(jax.random.fold_in(key, 0)), estimator.draw_auxiliary(jax.random.fold_in(key, 1))

    def apply(noise: Any, state: Any) -> Any:
        fresh = state._replace(auxiliary=noise[1], log_estimate=estimator.log_estimate(state.cache, noise[1]))
        return kernel.apply(noise[0], fresh)

    return kernel._replace(draw=draw, apply=apply)


def auxiliary_not_stored(estimator: Estimator) -> Kernel:
    """Accepts the new estimate but keeps the old u."""
    return keeping(pseudo_marginal_metropolis(estimator, 1.5, 1), "auxiliary")


def _metropolis(estimator: Estimator) -> Update:
    return metropolis_position(estimator, 1.5, 1)


def u_always_accepted(estimator: Estimator) -> Kernel:
    """Update of u without its accept test."""
    update = replacing(independence_auxiliary(estimator), log_uniform=NEVER_REJECTED)
    return auxiliary_pseudo_marginal(estimator, update, _metropolis(estimator))


def narrow_ellipse(estimator: Estimator) -> Kernel:
    """Elliptical update of u whose second point has standard deviation 0.8."""
    update = with_noise(elliptical_auxiliary(estimator), lambda n, _: n._replace(direction=0.8 * n.direction))
    return auxiliary_pseudo_marginal(estimator, update, _metropolis(estimator))


def cache_left_behind(estimator: Estimator) -> Kernel:
    """Update of x that moves without replacing the cache, so that u is then updated at the old x."""
    update = keeping(_metropolis(estimator), "cache")
    return auxiliary_pseudo_marginal(estimator, independence_auxiliary(estimator), update)


def one_sided_slice_of_x(estimator: Estimator) -> Kernel:
    """Slice update of x with the bracket on one side of the current point."""
    update = slice_position(estimator, 1.5, 1)
    update = replacing(update, bracket_uniform=jnp.zeros(()), direction=jnp.ones(1))
    return auxiliary_pseudo_marginal(estimator, independence_auxiliary(estimator), update)


LATENT: dict[str, Callable[[Estimator], Kernel]] = {
    build.__name__: build
    for build in (
        *(refreshed_estimate, auxiliary_not_stored, u_always_accepted, narrow_ellipse),
        *(cache_left_behind, one_sided_slice_of_x),
    )
}
