"""Rejection sampling: exact draws from a density below a multiple of one that can be drawn from."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from auxmc.numerics.array_types import FloatArray

# Excess of the target over its bound, in nats, that rounding explains.
_ROUNDING = 1e-9


class Envelope(NamedTuple):
    """A target and what lies above it: ptilde(x) <= M q(x) for every x."""

    # Log ptilde, maps a position [...] to a scalar in nats; minus infinity where the target is zero.
    log_target: Callable[[Array], Array]
    draw: Callable[[Array], Array]  # maps a key to a position drawn from q, of a floating type
    log_proposal: Callable[[Array], Array]  # log q, normalised, maps a position to a scalar in nats
    log_bound: float  # log M, in nats


class Proposal(NamedTuple):
    """One proposal and what became of it."""

    position: Array  # x drawn from q [...]
    log_height: Array  # log of a number uniform between 0 and M q(x), in nats
    # Log of ptilde(x) / (M q(x)), in nats: above 0 where the bound does not hold, NaN where a density is.
    log_ratio: Array
    accepted: Array  # whether the height is at most ptilde(x)


class RejectionDraw(NamedTuple):
    """An exact draw, found after a number of proposals."""

    position: Array  # the first accepted proposal [...]; NaN where none was
    log_height: Array  # its height, in nats; NaN where there is none
    n_proposals: Array  # proposals made, at least 1 (int32)
    accepted: Array  # whether one of them was accepted
    largest_log_ratio: Array  # largest log of ptilde / (M q) at the proposals made, in nats


class Conditioned(NamedTuple):
    """Draws that match what is known [kept, ...], and how many were made: their ratio estimates its probability."""

    draws: FloatArray
    n_drawn: int


def rejection_proposal(key: Array, envelope: Envelope) -> Proposal:
    """Makes one proposal and decides on it.

    Must hold: accepted with probability Z / M; the joint probability of x and acceptance a is
    q(x) r(x)^a (1 - r(x))^(1 - a) with r = ptilde / (M q); an accepted height over ptilde(x) is uniform and
    independent of x.

    Source: PhD thesis, Algorithm 1.
    """
    key_position, key_height = jax.random.split(key)
    position = envelope.draw(key_position)
    top = envelope.log_bound + envelope.log_proposal(position)
    log_target = envelope.log_target(position)
    # 1 - u is never 0.
    log_height = top + jnp.log1p(-jax.random.uniform(key_height, dtype=jnp.float64))
    return Proposal(position, log_height, log_target - top, log_height <= log_target)


def rejection_draw(key: Array, envelope: Envelope, max_proposals: int | Array = 10_000) -> RejectionDraw:
    """Proposes until a proposal is accepted, at most `max_proposals` times; proposal i uses `fold_in(key, i)`.

    Must hold: the distribution is that of the target and does not depend on the number of proposals, which is geometric
    with success probability Z / M. A draw that reaches `max_proposals` holds NaN, never its last proposal.

    Source: PhD thesis, Algorithm 1.
    """

    def propose(loop: RejectionDraw) -> RejectionDraw:
        made = rejection_proposal(jax.random.fold_in(key, loop.n_proposals), envelope)
        return RejectionDraw(
            jnp.where(made.accepted, made.position, loop.position),
            jnp.where(made.accepted, made.log_height, loop.log_height),
            loop.n_proposals + jnp.int32(1),
            made.accepted,
            # A ratio that is not a number stays one: the largest of them is then none either.
            jnp.maximum(loop.largest_log_ratio, made.log_ratio),
        )

    shape = jax.eval_shape(envelope.draw, key)
    start = RejectionDraw(
        jnp.full(shape.shape, jnp.nan, shape.dtype),
        jnp.asarray(jnp.nan, jnp.float64),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), bool),
        jnp.asarray(-jnp.inf, jnp.float64),
    )
    return lax.while_loop(lambda loop: ~loop.accepted & (loop.n_proposals < max_proposals), propose, start)


def rejection_sample(key: Array, envelope: Envelope, n: int, max_proposals: int = 10_000) -> RejectionDraw:
    """Makes n independent draws, and checks the bound at every proposal.

    The fields of `RejectionDraw` have a leading axis [draw]; draws that reach `max_proposals` are marked in `accepted`
    and hold NaN.

    Raises:
        ValueError: n or max_proposals is not positive; the target exceeds its bound at a proposal, so that draws would
            come from the smaller of the two; or a density is not a number.
    """
    for name, number in (("n", n), ("max_proposals", max_proposals)):
        if number < 1:
            raise ValueError(f"{name} must be a positive integer, got {number}")
    log_target, draw, log_proposal, log_bound = envelope
    draws = _many(key, log_target, draw, log_proposal, log_bound, n, jnp.int32(max_proposals))
    largest = float(jnp.max(draws.largest_log_ratio))
    if np.isnan(largest):
        raise ValueError("log_target and log_proposal must be numbers at every proposal, got NaN")
    if largest > _ROUNDING:
        bound = float(envelope.log_bound)
        raise ValueError(f"log_bound: expected at least {bound + largest:.6g} at a proposal, got {bound:.6g}")
    return draws


@partial(jax.jit, static_argnames=("log_target", "draw", "log_proposal", "n"))
def _many(
    key: Array,
    log_target: Callable[[Array], Array],
    draw: Callable[[Array], Array],
    log_proposal: Callable[[Array], Array],
    log_bound: float,
    n: int,
    max_proposals: Array,
) -> RejectionDraw:
    envelope = Envelope(log_target, draw, log_proposal, log_bound)
    return jax.vmap(lambda one: rejection_draw(one, envelope, max_proposals))(jax.random.split(key, n))


def condition_by_rejection(
    key: Array, draw: Callable[[Array], Array], matches: Callable[[Array], Array], n: int
) -> Conditioned:
    """Draws all variables [variable] of a directed model n times and keeps the draws that match what is known.

    `draw` maps a key to all variables, parents before children; `matches` says whether they agree with what is known.
    ValueError if n is not positive.

    Must hold: the kept draws have the conditional distribution.
    Source: lecture slides on Monte Carlo methods.
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer, got {n}")
    draws, kept = _all_and_matching(key, draw, matches, n)
    return Conditioned(np.asarray(draws)[np.asarray(kept)], n)


@partial(jax.jit, static_argnames=("draw", "matches", "n"))
def _all_and_matching(
    key: Array, draw: Callable[[Array], Array], matches: Callable[[Array], Array], n: int
) -> tuple[Array, Array]:
    draws = jax.vmap(draw)(jax.random.split(key, n))
    return draws, jax.vmap(matches)(draws)
