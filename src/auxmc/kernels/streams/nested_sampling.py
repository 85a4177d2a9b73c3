"""Nested sampling with constrained Hamiltonian moves that reflect at the likelihood's contour."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from auxmc.kernels.base import check_choice, check_integer
from auxmc.kernels.streams.stochastic_gradient import injected_noise

STOPPING_RULES = ("additive_term", "remaining_mass")
"""Stop when a term of the sum is below a fraction of it (published; unsafe with many live points), or when the best
likelihood of the live points times the mass that is left is."""

_FRACTION = 0.01


class NestedSettings(NamedTuple):
    """How points are replaced and when to stop.

    Attributes:
        n_live: live points, at least 2.
        n_moves: moves of a replacement.
        step: eta of the moves, which follow the prior.
        friction: alpha, in (0, 1].
        metropolis: whether moves are accepted or rejected so that they leave the constrained prior invariant. Published
            ones are not so: with steps that are not small they favour the prior's tails, and the evidence comes out
            too large.
        adapt: whether eta is multiplied by exp(fraction of moves made - 1/2) after each replacement, up to 1.
        stopping_rule: one of STOPPING_RULES.
        max_iterations: dead points after which the run is given up, and says so.
    """

    n_live: int = 100
    n_moves: int = 30
    step: float = 1e-3
    friction: float = 0.1
    metropolis: bool = True
    adapt: bool = True
    stopping_rule: str = "remaining_mass"
    max_iterations: int = 20_000


class NestedRun(NamedTuple):
    """What a run left behind."""

    dead: Array  # dead points [max_iterations, dim]; only the first n_iterations are meaningful
    log_likelihoods: Array  # of these, increasing; in nats, float64
    n_iterations: Array  # dead points (int32)
    live: Array  # points alive at the end [n_live, dim]
    live_log_likelihoods: Array  # of these [n_live]
    finished: Array  # whether the stopping rule was met (bool)
    n_stuck: Array  # replacements in which no move was made: a copy of another live point (int32)
    n_evaluations: Array  # likelihoods evaluated (int64); a gradient counts as one more
    step: Array  # eta at the end


def nested_sampling(
    log_likelihood: Callable[[Array], Array],
    log_prior: Callable[[Array], Array],
    settings: NestedSettings = NestedSettings(),  # noqa: B008
) -> Callable[[Array, Array], NestedRun]:
    """Makes a run of nested sampling.

    A replacement starts at a live point drawn at random and makes stochastic-gradient Hamiltonian moves under the
    prior. A move that leaves the contour is reflected at the likelihood's gradient there; if that does not
    lead back inside, the point stays and its velocity is reversed. With `metropolis` the moves are those of generalised
    Hamiltonian Monte Carlo: the velocity is partly renewed, half a kick comes before and after, and a move is made
    with the probability of the change of energy.

    Args:
        log_likelihood: maps parameters [dim] to a float64 scalar, in nats; minus infinity where the data cannot be.
        log_prior: maps parameters [dim] to their log prior density, up to a constant.
        settings: see `NestedSettings`.

    Returns:
        Function of a key and of prior draws [n_live, dim].

    Raises:
        ValueError: a setting is outside its range.

    Source: MSc thesis, Algorithm 5 and section 5.1.2; reflection by Skilling 2012 (Galilean Monte Carlo);
        acceptance as in Horowitz 1991.
    """
    for name, least in (("n_live", 2), ("n_moves", 1), ("max_iterations", 1)):
        check_integer(name, getattr(settings, name), least)
    check_choice("stopping_rule", settings.stopping_rule, STOPPING_RULES)
    n_live = settings.n_live
    # Width of the mass that a dead point stands for, in units of the mass above it.
    log_width = math.log(-math.expm1(-1.0 / n_live))

    def value_of(point: Array) -> Array:
        value = log_likelihood(point).astype(jnp.float64)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def replace(key: Array, start: Array, value: Array, threshold: Array, step: Array) -> tuple[Array, ...]:
        first, second, third = (jax.random.fold_in(key, i) for i in range(3))
        log_uniforms = -jax.random.exponential(third, (settings.n_moves,), start.dtype)
        normals = jax.random.normal(first, (settings.n_moves, *start.shape), start.dtype)
        velocity = jnp.sqrt(step) * jax.random.normal(second, start.shape, start.dtype)

        def move(state: Any, given: tuple[Array, Array]) -> tuple[Any, None]:
            point, value, velocity, n_made, n_evaluated = state
            normal, log_uniform = given
            slope = jax.grad(log_prior)(point)
            if settings.metropolis:
                kept = 1.0 - settings.friction
                velocity = kept * velocity + jnp.sqrt(step * (1.0 - kept**2)) * normal
                kicked = velocity + 0.5 * step * slope
            else:
                noise = injected_noise(settings.friction, step, 0.0) * normal
                velocity = (1.0 - settings.friction) * velocity + step * slope + noise
                kicked = velocity
            ahead = point + kicked
            ahead_value = value_of(ahead)

            def straight() -> tuple[Array, Array, Array, Array, Array]:
                return ahead, ahead_value, kicked, jnp.ones((), bool), jnp.ones((), jnp.int64)

            def reflected() -> tuple[Array, Array, Array, Array, Array]:
                normal_there = jax.grad(log_likelihood)(ahead)
                length = jnp.sum(jnp.square(normal_there))
                usable = jnp.isfinite(length) & (length > 0.0)
                normal_there = jnp.where(usable, normal_there, 0.0)
                fraction = jnp.sum(normal_there * kicked) / jnp.where(usable, length, 1.0)
                turned = kicked - 2.0 * normal_there * fraction
                back = ahead + turned
                back_value = value_of(back)
                return back, back_value, turned, usable & (back_value > threshold), jnp.full((), 3, jnp.int64)

            end, end_value, after, made, evaluated = lax.cond(ahead_value > threshold, straight, reflected)
            if settings.metropolis:
                after = after + 0.5 * step * jax.grad(log_prior)(end)
                kinetic = 0.5 * (jnp.sum(jnp.square(velocity)) - jnp.sum(jnp.square(after))) / step
                made = made & (log_uniform < log_prior(end) - log_prior(point) + kinetic)
            return (
                jnp.where(made, end, point),
                jnp.where(made, end_value, value),
                jnp.where(made, after, -velocity),
                n_made + made.astype(jnp.int32),
                n_evaluated + evaluated,
            ), None

        zero = jnp.zeros((), jnp.int32)
        begin = (start, value, velocity, zero, jnp.zeros((), jnp.int64))
        (point, value, _, n_made, n_evaluated), _ = lax.scan(move, begin, (normals, log_uniforms))
        return point, value, n_made, n_evaluated

    def run(key: Array, draws: Array) -> NestedRun:
        if draws.shape[0] != n_live:
            raise ValueError(f"draws must be [{n_live}, dim], got {list(draws.shape)}")

        def going(loop: tuple[NestedRun, Array]) -> Array:
            return ~loop[0].finished & (loop[0].n_iterations < settings.max_iterations)

        def iterate(loop: tuple[NestedRun, Array]) -> tuple[NestedRun, Array]:
            run, log_sum = loop
            index = run.n_iterations
            step_key = jax.random.fold_in(key, index)
            worst = jnp.argmin(run.live_log_likelihoods)
            threshold = run.live_log_likelihoods[worst]
            # A survivor, chosen uniformly.
            shift = jax.random.randint(jax.random.fold_in(step_key, 0), (), 1, n_live)
            source = (worst + shift) % n_live
            point, value, n_made, n_evaluated = replace(
                jax.random.fold_in(step_key, 1),
                run.live[source],
                run.live_log_likelihoods[source],
                threshold,
                run.step.astype(draws.dtype),
            )
            log_mass = -(index + 1).astype(jnp.float64) / n_live
            term = threshold + log_mass + log_width
            log_sum = jnp.logaddexp(log_sum, term)
            live_values = run.live_log_likelihoods.at[worst].set(value)
            if settings.stopping_rule == "additive_term":
                # The sum begins with nothing in it: the first term is all of it.
                finished = (index > 0) & (term < log_sum + math.log(_FRACTION))
            else:
                finished = jnp.max(live_values) + log_mass < log_sum + math.log(_FRACTION)
            fraction = n_made.astype(jnp.float64) / settings.n_moves
            step = jnp.minimum(run.step * jnp.exp(fraction - 0.5), 1.0) if settings.adapt else run.step
            new = NestedRun(
                run.dead.at[index].set(run.live[worst]),
                run.log_likelihoods.at[index].set(threshold),
                index + 1,
                run.live.at[worst].set(point),
                live_values,
                finished,
                run.n_stuck + (n_made == 0).astype(jnp.int32),
                run.n_evaluations + n_evaluated,
                step,
            )
            return new, log_sum

        n = settings.max_iterations
        begin = NestedRun(
            jnp.zeros((n, draws.shape[1]), draws.dtype),
            jnp.zeros(n, jnp.float64),
            jnp.zeros((), jnp.int32),
            draws,
            lax.map(value_of, draws),
            jnp.zeros((), bool),
            jnp.zeros((), jnp.int32),
            jnp.full((), n_live, jnp.int64),
            jnp.asarray(settings.step, jnp.float64),
        )
        return lax.while_loop(going, iterate, (begin, jnp.full((), -jnp.inf, jnp.float64)))[0]

    return run
