"""Step-size adaptation to a target acceptance during warm-up, as a kernel around a kernel."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, check_integer, select
from auxmc.kernels.metropolis.adaptation import AdaptationInfo

_SHRINKAGE = 0.05
_STABILISATION = 10.0
_FORGETTING = 0.75


class DualAveragingState(NamedTuple):
    """State of an adapted kernel; `error` is the running mean of target minus acceptance probability."""

    inner: Any
    log_scale: Array
    log_average: Array
    error: Array
    n_steps: Array


def dual_averaging(
    build: Callable[[Array], Kernel], initial_scale: Array | float, n_warm_up: int, target: float = 0.8
) -> Kernel:
    """Adapts the scale of a kernel so that its mean acceptance probability nears a target, then freezes it.

    A proposal that was given up because of an integration error counts as acceptance probability 0, so that a scale at
    which projections fail is left quickly.

    Args:
        build: maps a scale (traced scalar) to a Kernel whose info has `acceptance_rate`; the random numbers
            that it draws must not depend on the scale.
        initial_scale: scale of the first step (positive; may be traced).
        n_warm_up: steps after which the scale is frozen at its average; 0 keeps the initial scale.
        target: mean acceptance probability to reach, between 0 and 1.

    Returns:
        Kernel on DualAveragingState with AdaptationInfo; `init(position)` passes on whatever further
        arguments the inner one takes.

    Raises:
        ValueError: n_warm_up is negative or target is not between 0 and 1.

    Source: Hoffman and Gelman 2014, section 3.2, with their constants.
    """
    check_integer("n_warm_up", n_warm_up, 0)
    if not 0.0 < target < 1.0:
        raise ValueError(f"target must be between 0 and 1, got {target}")
    log_initial = jnp.log(jnp.asarray(initial_scale, float))

    def init(position: Array, key: Array | None = None, **options: Any) -> DualAveragingState:
        inner = build(jnp.exp(log_initial)).init(position, **options, key=key)
        zero = jnp.zeros((), log_initial.dtype)
        return DualAveragingState(inner, log_initial, log_initial, zero, jnp.zeros((), jnp.int32))

    def apply(noise: Any, state: DualAveragingState) -> tuple[DualAveragingState, AdaptationInfo]:
        warm = state.n_steps < n_warm_up
        scale = jnp.exp(jnp.where(warm, state.log_scale, state.log_average))
        inner, info = build(scale).apply(noise, state.inner)
        n = (state.n_steps + 1).astype(float)
        weight = 1.0 / (n + _STABILISATION)
        error = (1.0 - weight) * state.error + weight * (target - info.acceptance_rate)
        # Steps are drawn towards ten times the initial scale: larger ones are cheaper to try.
        log_scale = jnp.log(10.0) + log_initial - jnp.sqrt(n) / _SHRINKAGE * error
        decay = n**-_FORGETTING
        log_average = decay * log_scale + (1.0 - decay) * state.log_average
        before = (state.log_scale, state.log_average, state.error)
        log_scale, log_average, error = select(warm, (log_scale, log_average, error), before)
        new = DualAveragingState(inner, log_scale, log_average, error, state.n_steps + 1)
        return new, AdaptationInfo(info, scale)

    return Kernel(init, lambda key: build(jnp.exp(log_initial)).draw(key), apply)
