"""Pseudo-marginal kernels made wrong, by the check that must notice each."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.pseudo_marginal.updates import (
    Update,
    auxiliary_pseudo_marginal,
    elliptical_auxiliary,
    independence_auxiliary,
    metropolis_position,
    pseudo_marginal_metropolis,
    slice_position,
)
from auxmc.models.estimator import Estimator
from tests.statistical.broken import keeping, with_noise


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


def estimate_not_stored(estimator: Estimator) -> Kernel:
    """Keeps the old estimate with the new x and u."""
    return keeping(pseudo_marginal_metropolis(estimator, 1.5, 1), "log_estimate")


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
    return with_noise(update, lambda n, _: n._replace(log_uniform=jnp.full((), -jnp.inf)))


def density_of_u_in_the_ratio(_: Estimator, update: Update) -> Update:
    """Independence update of u that multiplies the ratio by rho(u*) / rho(u), as if proposals were flat."""
    excess = lambda n, state: 0.5 * jnp.sum(state.auxiliary**2) - 0.5 * jnp.sum(n.auxiliary**2)
    return with_noise(update, lambda n, state: n._replace(log_uniform=n.log_uniform - excess(n, state)))


def narrow_proposal_of_u(_: Estimator, update: Update) -> Update:
    """Proposes u from N(0, 0.8^2) without correcting for it."""
    return with_noise(update, lambda n, _: n._replace(auxiliary=0.8 * n.auxiliary))


def narrow_ellipse(_: Estimator, update: Update) -> Update:
    """Elliptical update of u whose second point has standard deviation 0.8."""
    return with_noise(update, lambda n, _: n._replace(direction=0.8 * n.direction))


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
    return keeping(update, "cache")


def _slice_x(estimator: Estimator) -> Update:
    return slice_position(estimator, 1.5, 1)


def one_sided_slice(_: Estimator, update: Update) -> Update:
    """Slice update of x with the bracket on one side of the current point."""
    return with_noise(update, lambda n, _: n._replace(bracket_uniform=jnp.zeros(()), direction=jnp.ones(1)))


LATENT = {
    "refreshed_estimate": refreshed_estimate,
    "auxiliary_not_stored": auxiliary_not_stored,
    "estimate_not_stored": estimate_not_stored,
    "largest_of_two_estimates": largest_of_two_estimates,
    "u_always_accepted": _cycle(always_accepts),
    "density_of_u_in_the_ratio": _cycle(density_of_u_in_the_ratio),
    "narrow_proposal_of_u": _cycle(narrow_proposal_of_u),
    "narrow_ellipse": _cycle(narrow_ellipse, auxiliary=elliptical_auxiliary),
    "fresh_u_for_the_proposal": _cycle(None, fresh_u_for_the_proposal),
    "cache_left_behind": _cycle(None, cache_left_behind),
    "one_sided_slice_of_x": _cycle(None, one_sided_slice, position=_slice_x),
}
