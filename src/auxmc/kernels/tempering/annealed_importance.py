"""Annealed importance sampling: independent runs along a ladder of temperatures, each with a weight."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from auxmc.kernels.base import Kernel, select
from auxmc.kernels.tempering.tempered_move import TemperedState, tempered_hmc
from auxmc.models.bridge import Bridge

# Transitions whose random numbers are drawn together.
_CHUNK = 32


class AnnealedState(NamedTuple):
    """Result of a run: final point [dim] and log of its importance weight, zeta included, in nats."""

    position: Array
    log_weight: Array


class AnnealedInfo(NamedTuple):
    """What happened during a run."""

    start: Array  # where it began [dim]
    halfway: Array  # last point [dim] at an inverse temperature in the first half of the path
    acceptance_rate: Array  # mean over the transitions; 1 where there are none
    n_gradients: Array  # evaluations of the two gradients (int32)
    n_not_finite: Array  # trajectories with an energy that is not finite (int32)


def annealed_importance_sampling(
    bridge: Bridge,
    schedule: ArrayLike,
    step_size: Array | float | Callable[[Array], Array],
    n_steps: int,
    *,
    draw_start: Callable[[Array], Array] | None = None,
    refreshment: float = 1.0,
    integrator: str = "drift_kick_drift",
    dtype: Any = jnp.float64,
) -> Kernel:
    """Annealed importance sampling; one step of the kernel is one independent run.

    A run starts with a draw at b_0 and makes one transition at each of b_1, ..., b_{K-1}. Its weight is
    zeta^(b_K - b_0) exp(sum of (b_k - b_{k+1}) delta(x_k)). Forward, from 0 to 1, the mean weight is an unbiased
    estimate of Z; with the schedule reversed, from an exact draw of the target, one of 1 / Z.

    Args:
        bridge: target and base.
        schedule: b_0, ..., b_K [K + 1], strictly monotone; its numbers are not traced.
        step_size: of the leapfrog integrator, positive scalar, or a function of the inverse temperature; may be traced.
        n_steps: leapfrog steps of a transition.
        draw_start: maps standard normal numbers [dim] to an exact draw at b_0 [dim]; by default that of the base.
        refreshment: of the momentum, in (0, 1]; below 1 the momentum is kept between temperatures.
        integrator: one of `tempered_move.INTEGRATORS`.
        dtype: of the position.

    Returns:
        Kernel on AnnealedState with AnnealedInfo; `init()` makes a state of weight 1, of which a step
        reads nothing.

    Raises:
        ValueError: the schedule is not strictly monotone, starts in (0, 1) or above 0 without `draw_start`, or as
            `tempered_hmc`.

    Source: PhD thesis, Algorithm 13; Neal 2001. With refreshment below 1: Hamiltonian annealed importance sampling,
    Sohl-Dickstein and Culpepper 2012.
    """
    ladder = np.asarray(schedule, dtype=float)
    steps = np.diff(ladder) if ladder.ndim == 1 else np.zeros(1)
    if steps.size < 1 or not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        raise ValueError(
            f"schedule must be a strictly increasing or decreasing vector of 2 numbers or more, got {schedule!r}"
        )
    if draw_start is None and ladder[0] != 0.0:
        raise ValueError(
            f"schedule starts at {ladder[0]:g}: give draw_start, exact draws there, or start at 0, the base"
        )
    start_of = bridge.draw_base if draw_start is None else draw_start
    move = tempered_hmc(
        bridge, step_size, n_steps, refreshment=refreshment, integrator=integrator, dtype=dtype
    )
    plan = _plan(ladder, dtype)
    n_transitions = ladder.size - 2
    scale = float(ladder[-1] - ladder[0]) * bridge.log_zeta

    def transition(
        loop: tuple[TemperedState, AnnealedState, AnnealedInfo], given: Any
    ) -> tuple[tuple[TemperedState, AnnealedState, AnnealedInfo], None]:
        state, result, info = loop
        noise, stage = given
        moved, about = move.apply(noise, state, stage.inverse_temperature)
        # Stages past the end of the ladder fill up the last chunk.
        moved = select(stage.active, moved, state)
        counted = stage.active.astype(jnp.int32)
        info = AnnealedInfo(
            info.start,
            jnp.where(stage.first_half, moved.position, info.halfway),
            info.acceptance_rate + about.acceptance_rate * stage.fraction,
            info.n_gradients + counted * about.n_gradients,
            info.n_not_finite + counted * about.n_not_finite,
        )
        result = AnnealedState(moved.position, result.log_weight - stage.increment * moved.delta)
        return (moved, result, info), None

    def run(key: Array) -> tuple[AnnealedState, AnnealedInfo]:
        loop_key = jax.random.fold_in(key, 1)
        normal = move.draw(jax.random.fold_in(key, 0)).normal
        state = move.init(start_of(normal), key=jax.random.fold_in(key, 2))
        result = AnnealedState(state.position, -jnp.asarray(steps[0], dtype) * state.delta)
        zero = jnp.zeros((), jnp.int32)
        mean_acceptance = jnp.asarray(0.0 if n_transitions else 1.0, dtype)
        info = AnnealedInfo(state.position, state.position, mean_acceptance, zero, zero)

        def chunk(loop: Any, stages: _Stage) -> tuple[Any, None]:
            keys = jax.vmap(lambda i: jax.random.fold_in(loop_key, i))(stages.number)
            return lax.scan(transition, loop, (jax.vmap(move.draw)(keys), stages))

        if n_transitions:
            (_, result, info), _ = lax.scan(chunk, (state, result, info), plan)
        return result._replace(log_weight=result.log_weight + scale), info

    def init(position: Array | None = None, key: Array | None = None) -> AnnealedState:
        empty = jnp.zeros((bridge.dim,), dtype) if position is None else position
        return AnnealedState(empty, jnp.zeros((), jnp.result_type(scale, dtype)))

    return Kernel(init, lambda key: key, lambda key, _: run(key))


class _Stage(NamedTuple):
    """Transitions of a run [chunk, transition]: number, temperature, change of temperature after it, bookkeeping."""

    number: Array
    inverse_temperature: Array
    increment: Array
    active: Array
    first_half: Array
    fraction: Array


def _plan(ladder: np.ndarray, dtype: Any) -> _Stage:
    n = ladder.size - 2
    n_chunks = max(1, math.ceil(n / _CHUNK))
    width = max(1, math.ceil(n / n_chunks))
    padding = (0, n_chunks * width - n)
    inner = ladder[1:-1]

    def chunks(values: np.ndarray, kind: Any) -> Array:
        return jnp.asarray(np.pad(values, padding).reshape(n_chunks, width), dtype=kind)

    return _Stage(
        chunks(np.arange(n), jnp.uint32),
        chunks(inner, dtype),
        chunks(np.diff(ladder)[1:], dtype),
        chunks(np.ones(n, dtype=bool), bool),
        chunks(np.abs(inner - ladder[0]) <= 0.5 * abs(ladder[-1] - ladder[0]), bool),
        chunks(np.full(n, 1.0 / max(n, 1)), dtype),
    )
