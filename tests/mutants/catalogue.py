"""Kernels broken on purpose, each with the layer of checks that must notice."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.elliptical_slice import elliptical_slice
from auxmc.kernels.linear_slice import linear_slice, shrink_line
from auxmc.kernels.metropolis import (
    MetropolisInfo,
    MetropolisState,
    metropolis_independence,
    random_walk_metropolis,
)
from auxmc.kernels.pseudo_marginal import (
    Update,
    auxiliary_pseudo_marginal,
    elliptical_auxiliary,
    independence_auxiliary,
    metropolis_position,
    pseudo_marginal_metropolis,
    slice_position,
)
from auxmc.kernels.reflective_slice import reflective_slice
from auxmc.kernels.slice_core import Candidate, SliceInfo, SliceState, shrink_bracket
from auxmc.models.estimator import Estimator
from tests.statistical.kernel_checks import (
    check_ellipse_bracket,
    check_height,
    check_invariance,
    check_line_bracket,
    check_structure,
    flat_infos,
    latent_driver,
    line_driver,
    log_square,
    log_target,
    slice_internals,
    square_driver,
)

__all__ = ["MUTANTS", "Mutant", "unshrunk_slice"]

LogDensity = Callable[[Array], Array]


class Mutant(NamedTuple):
    """A broken kernel.

    Attributes:
        layer: layer that must fail: L1 structure, L4 white box or L5 invariance.
        check: runs that layer on the mutant; raises AssertionError if the layer notices.
    """

    layer: str
    check: Callable[[], None]


def _line(name: str, build: Callable[[LogDensity], Kernel]) -> Mutant:
    def check() -> None:
        driver = line_driver(lambda index: build(lambda x: log_target(index, x)))
        check_invariance(driver(0, f"mutant/{name}"), floor=0.0)

    return Mutant("L5", check)


def _square(name: str, kernel: Kernel) -> Mutant:
    return Mutant("L5", lambda: check_invariance(square_driver(kernel)(0, f"mutant/{name}"), floor=0.0))


def _latent(name: str, build: Callable[[Estimator], Kernel], n_importance: int = 1) -> Mutant:
    return Mutant(
        "L5", lambda: check_invariance(latent_driver(build, n_importance)(0, f"mutant/{name}"), floor=0.0)
    )


def _structure(name: str, build: Callable[[LogDensity], Kernel]) -> Mutant:
    def check() -> None:
        check_structure(slice_internals(build(lambda x: log_target(jnp.asarray(0), x)), f"mutant/{name}"))

    return Mutant("L1", check)


def _height(name: str, build: Callable[[LogDensity], Kernel]) -> Mutant:
    def check() -> None:
        check_height(slice_internals(build(lambda x: log_target(jnp.asarray(0), x)), f"mutant/{name}"))

    return Mutant("L4", check)


def _bracket(name: str, build: Callable[[LogDensity], Kernel], max_step_outs: int = 0) -> Mutant:
    def check() -> None:
        infos = flat_infos(build(lambda _: jnp.zeros(())), f"mutant/{name}")
        check_line_bracket(infos, 0.8, max_step_outs)

    return Mutant("L4", check)


def _ellipse_cut(name: str, build: Callable[[LogDensity], Kernel]) -> Mutant:
    return Mutant(
        "L4", lambda: check_ellipse_bracket(flat_infos(build(lambda _: jnp.zeros(())), f"mutant/{name}"))
    )


# --- Metropolis ----------------------------------------------------------------------------------------


def drifted_proposal(log_density: LogDensity) -> Kernel:
    """Proposal with a drift towards the origin and no Hastings ratio."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        return kernel.apply(noise._replace(normal=noise.normal - 0.2 * state.position), state)

    return kernel._replace(apply=apply)


def scaled_log_ratio(log_density: LogDensity) -> Kernel:
    """Log ratio divided by 1.1."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)
    return kernel._replace(
        apply=lambda noise, state: kernel.apply(noise._replace(log_uniform=1.1 * noise.log_uniform), state)
    )


def until_accepted(log_density: LogDensity) -> Kernel:
    """Proposes up to five times until one is accepted."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        def attempt(carry: Any, tried: Any) -> Any:
            state, info = kernel.apply(tried, carry[0])
            return jax.tree.map(
                lambda new, old: jnp.where(carry[1].accepted, old, new), (state, info), carry
            ), None

        refused = MetropolisInfo(jnp.zeros((), bool), jnp.zeros(()), jnp.ones((), jnp.int32))
        return jax.lax.scan(attempt, (state, refused), noise)[0]

    return kernel._replace(draw=lambda key: jax.vmap(kernel.draw)(jax.random.split(key, 5)), apply=apply)


def stale_log_density(log_density: LogDensity) -> Kernel:
    """Moves without storing the log density of the new point."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        new, info = kernel.apply(noise, state)
        return MetropolisState(new.position, state.log_density), info

    return kernel._replace(apply=apply)


def state_dependent_scale(log_density: LogDensity) -> Kernel:
    """Step size that depends on where the chain is, with no correction."""
    kernel = random_walk_metropolis(log_density, 1.0, 1)

    def apply(noise: Any, state: Any) -> Any:
        scale = jnp.where(state.position < 0.0, 0.3, 1.2)
        return kernel.apply(noise._replace(normal=noise.normal * scale), state)

    return kernel._replace(apply=apply)


# --- slices --------------------------------------------------------------------------------------------


def _line_with(max_step_outs: int, **changes: Any) -> Callable[[LogDensity], Kernel]:
    def build(log_density: LogDensity) -> Kernel:
        kernel = linear_slice(log_density, 0.8, 1, max_step_outs)
        changed = {name: jnp.asarray(value) for name, value in changes.items()}
        return kernel._replace(apply=lambda noise, state: kernel.apply(noise._replace(**changed), state))

    return build


def fixed_direction_one_sided(log_density: LogDensity) -> Kernel:
    """Direction fixed and the whole bracket on its far side."""
    kernel = linear_slice(log_density, 0.8, 1)

    def apply(noise: Any, state: Any) -> Any:
        changed = noise._replace(direction=jnp.ones(1), bracket_uniform=jnp.zeros(()))
        return kernel.apply(changed, state)

    return kernel._replace(apply=apply)


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


def _ellipse_with(
    offset: Callable[[Array], Array], lower: Callable[[Array], Array], upper: Callable[[Array], Array]
) -> Callable[[LogDensity], Kernel]:
    """Elliptical slice of target over standard normal with its own first angle and bracket."""

    def build(log_density: LogDensity) -> Kernel:
        kernel = elliptical_slice(log_density, dim=1)

        def apply(noise: Any, state: SliceState) -> Any:
            def evaluate(angle: Array) -> Candidate:
                point = state.position * jnp.cos(angle) + noise.direction * jnp.sin(angle)
                return Candidate(point, log_density(point))

            current = Candidate(state.position, state.log_density)
            height = state.log_density + noise.log_uniform
            angle = noise.angle
            shrunk = shrink_bracket(
                noise.key, evaluate, current, height, offset(angle), lower(angle), upper(angle)
            )
            return SliceState(shrunk.candidate.point, shrunk.candidate.log_density), shrunk.info

        return kernel._replace(apply=apply)

    return build


fixed_bracket_ellipse = _ellipse_with(
    lambda angle: angle, jnp.zeros_like, lambda angle: jnp.full_like(angle, 2.0 * jnp.pi)
)
fixed_cut_ellipse = _ellipse_with(
    lambda angle: angle - jnp.pi,
    lambda angle: jnp.full_like(angle, -jnp.pi),
    lambda angle: jnp.full_like(angle, jnp.pi),
)


def _over_normal(build: Callable[[LogDensity], Kernel]) -> Callable[[LogDensity], Kernel]:
    return lambda log_density: build(lambda x: log_density(x) + 0.5 * x[0] ** 2)


def prior_counted_twice(log_density: LogDensity) -> Kernel:
    """Elliptical slice with the whole target as likelihood."""
    return elliptical_slice(log_density, dim=1)


def wide_ellipse(log_density: LogDensity) -> Kernel:
    """Elliptical slice with an auxiliary draw whose standard deviation is 1.1."""
    kernel = elliptical_slice(log_density, dim=1)

    def apply(noise: Any, state: Any) -> Any:
        return kernel.apply(noise._replace(direction=1.1 * noise.direction), state)

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


def one_sided_reflection() -> Kernel:
    """The bracket lies ahead of the current point only, in a direction that is always positive."""
    kernel = reflective_slice(log_square, 2)

    def apply(noise: Any, state: Any) -> Any:
        changed = noise._replace(direction=jnp.abs(noise.direction), bracket_uniform=jnp.zeros(()))
        return kernel.apply(changed, state)

    return kernel._replace(apply=apply)


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
    kernel = pseudo_marginal_metropolis(estimator, 1.5, 1)

    def apply(noise: Any, state: Any) -> Any:
        new, info = kernel.apply(noise, state)
        return new._replace(auxiliary=state.auxiliary), info

    return kernel._replace(apply=apply)


def estimate_not_stored(estimator: Estimator) -> Kernel:
    """Keeps the old estimate with the new x and u."""
    kernel = pseudo_marginal_metropolis(estimator, 1.5, 1)

    def apply(noise: Any, state: Any) -> Any:
        new, info = kernel.apply(noise, state)
        return new._replace(log_estimate=state.log_estimate), info

    return kernel._replace(apply=apply)


def largest_of_two_estimates(estimator: Estimator) -> Kernel:
    """Draws u twice and uses the better one, a biased estimate."""
    kernel = pseudo_marginal_metropolis(estimator, 1.5, 1)

    def draw(key: Array) -> Any:
        return kernel.draw(key), estimator.draw_auxiliary(jax.random.fold_in(key, 9))

    def apply(noise: Any, state: Any) -> Any:
        first, second = noise[0].auxiliary, noise[1]
        cache = estimator.prepare(state.position + 1.5 * noise[0].normal)
        better = estimator.log_estimate(cache, first) > estimator.log_estimate(cache, second)
        return kernel.apply(noise[0]._replace(auxiliary=jnp.where(better, first, second)), state)

    return kernel._replace(draw=draw, apply=apply)


def _cycle(
    change_auxiliary: Callable[[Estimator, Update], Update] | None = None,
    change_position: Callable[[Estimator, Update], Update] | None = None,
    auxiliary: Callable[[Estimator], Update] = independence_auxiliary,
    position: Callable[[Estimator], Update] = lambda estimator: metropolis_position(estimator, 1.5, 1),
) -> Callable[[Estimator], Kernel]:
    """An APM kernel with one of its updates changed."""

    def build(estimator: Estimator) -> Kernel:
        first, second = auxiliary(estimator), position(estimator)
        if change_auxiliary is not None:
            first = change_auxiliary(estimator, first)
        if change_position is not None:
            second = change_position(estimator, second)
        return auxiliary_pseudo_marginal(estimator, first, second)

    return build


def always_accepts(_: Estimator, update: Update) -> Update:
    """Update of u without its accept test."""
    return update._replace(
        apply=lambda noise, state: update.apply(noise._replace(log_uniform=jnp.full((), -jnp.inf)), state)
    )


def density_of_u_in_the_ratio(_: Estimator, update: Update) -> Update:
    """Independence update of u that multiplies the ratio by rho(u*) / rho(u), as if proposals were flat."""

    def apply(noise: Any, state: Any) -> Any:
        excess = -0.5 * jnp.sum(noise.auxiliary**2) + 0.5 * jnp.sum(state.auxiliary**2)
        return update.apply(noise._replace(log_uniform=noise.log_uniform - excess), state)

    return update._replace(apply=apply)


def narrow_proposal_of_u(_: Estimator, update: Update) -> Update:
    """Proposes u from N(0, 0.8^2) without correcting for it."""
    return update._replace(
        apply=lambda noise, state: update.apply(noise._replace(auxiliary=0.8 * noise.auxiliary), state)
    )


def narrow_ellipse(_: Estimator, update: Update) -> Update:
    """Elliptical update of u whose second point has standard deviation 0.8."""
    return update._replace(
        apply=lambda noise, state: update.apply(noise._replace(direction=0.8 * noise.direction), state)
    )


def fresh_u_for_the_proposal(estimator: Estimator, update: Update) -> Update:
    """Update of x that compares an estimate with fresh u to the kept one, and keeps the old u."""

    def draw(key: Array) -> Any:
        return update.draw(key), estimator.draw_auxiliary(jax.random.fold_in(key, 9))

    def apply(noise: Any, state: Any) -> Any:
        new, info = update.apply(noise[0], state._replace(auxiliary=noise[1]))
        return new._replace(auxiliary=state.auxiliary), info

    return Update(draw, apply)


def cache_left_behind(_: Estimator, update: Update) -> Update:
    """Update of x that moves without replacing the cache, so that u is then updated at the old x."""

    def apply(noise: Any, state: Any) -> Any:
        new, info = update.apply(noise, state)
        return new._replace(cache=state.cache), info

    return update._replace(apply=apply)


def _slice_x(estimator: Estimator) -> Update:
    return slice_position(estimator, 1.5, 1)


def one_sided_slice(_: Estimator, update: Update) -> Update:
    """Slice update of x with the bracket on one side of the current point."""
    return update._replace(
        apply=lambda noise, state: update.apply(
            noise._replace(bracket_uniform=jnp.zeros(()), direction=jnp.ones(1)), state
        )
    )


def independence_without_weight(log_density: LogDensity) -> Kernel:
    """Independence proposals whose density is left out of the ratio."""
    return metropolis_independence(log_density, lambda key: 1.5 * jax.random.logistic(key, (1,)))


MUTANTS: dict[str, Mutant] = {
    "drifted_proposal": _line("drifted_proposal", drifted_proposal),
    "scaled_log_ratio": _line("scaled_log_ratio", scaled_log_ratio),
    "until_accepted": _line("until_accepted", until_accepted),
    "stale_log_density": _line("stale_log_density", stale_log_density),
    "state_dependent_scale": _line("state_dependent_scale", state_dependent_scale),
    "independence_without_weight": _line("independence_without_weight", independence_without_weight),
    "centred_bracket": _line("centred_bracket", _line_with(0, bracket_uniform=0.5)),
    "centred_bracket_inside": _bracket("centred_bracket_inside", _line_with(0, bracket_uniform=0.5)),
    "one_sided_bracket": _line("one_sided_bracket", fixed_direction_one_sided),
    "step_outs_all_below": _bracket("step_outs_all_below", _line_with(3, n_lower=jnp.int32(3)), 3),
    "step_outs_split_equally": _bracket("step_outs_split_equally", _line_with(3, n_lower=jnp.int32(1)), 3),
    "fixed_height": _line("fixed_height", _line_with(0, log_uniform=-0.7)),
    "fixed_height_inside": _height("fixed_height_inside", _line_with(0, log_uniform=-0.7)),
    "first_offset_at_the_middle": _bracket("first_offset_at_the_middle", _line_with(0, offset_uniform=0.5)),
    "midpoint_shrinking": _structure("midpoint_shrinking", midpoint_shrinking),
    "gives_up_off_the_slice": _structure("gives_up_off_the_slice", gives_up_off_the_slice),
    "fixed_bracket_ellipse": _line("fixed_bracket_ellipse", _over_normal(fixed_bracket_ellipse)),
    "fixed_cut_ellipse": _ellipse_cut("fixed_cut_ellipse", fixed_cut_ellipse),
    "prior_counted_twice": _line("prior_counted_twice", prior_counted_twice),
    "wide_ellipse": _line("wide_ellipse", _over_normal(wide_ellipse)),
    "clipping_instead_of_reflecting": _square("clipping", clipping_instead_of_reflecting()),
    "one_sided_reflection": _square("one_sided_reflection", one_sided_reflection()),
    "refreshed_estimate": _latent("refreshed_estimate", refreshed_estimate),
    "auxiliary_not_stored": _latent("auxiliary_not_stored", auxiliary_not_stored),
    "estimate_not_stored": _latent("estimate_not_stored", estimate_not_stored),
    "largest_of_two_estimates": _latent("largest_of_two_estimates", largest_of_two_estimates),
    "u_always_accepted": _latent("u_always_accepted", _cycle(always_accepts)),
    "density_of_u_in_the_ratio": _latent("density_of_u", _cycle(density_of_u_in_the_ratio)),
    "narrow_proposal_of_u": _latent("narrow_proposal_of_u", _cycle(narrow_proposal_of_u)),
    "narrow_ellipse": _latent("narrow_ellipse", _cycle(narrow_ellipse, auxiliary=elliptical_auxiliary)),
    "fresh_u_for_the_proposal": _latent("fresh_u", _cycle(None, fresh_u_for_the_proposal)),
    "cache_left_behind": _latent("cache_left_behind", _cycle(None, cache_left_behind)),
    "one_sided_slice_of_x": _latent("one_sided_slice_of_x", _cycle(None, one_sided_slice, position=_slice_x)),
}
