"""Step-size adaptation in batches during warm-up, as a kernel around a kernel."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel, check_integer

ACCEPT_RATE_LOW = 0.15
"""Acceptance rate of a batch below which the scale is divided."""

ACCEPT_RATE_HIGH = 0.30
"""Acceptance rate of a batch above which the scale is multiplied."""


class AdaptationState(NamedTuple):
    """State of an adapted kernel; `n_accepted` counts the accepted steps of the present batch."""

    inner: Any
    scale: Array
    n_steps: Array
    n_accepted: Array


class AdaptationInfo(NamedTuple):
    """Info of the kernel that is adapted, and the scale that the step used."""

    inner: Any
    scale: Array


def adaptation_factor(batch: Array) -> Array:
    """Factor by which the scale changes after batch 0, 1, ...: 4.025, 3.05, 2.075, then 1.1 for ever.

    Source: the published auxiliary pseudo-marginal experiments: f_b = 5 - 3.9 min(b + 1, 4) / 4.

    >>> [round(float(adaptation_factor(jnp.asarray(b))), 3) for b in range(5)]
    [4.025, 3.05, 2.075, 1.1, 1.1]
    """
    return 5.0 - 3.9 * jnp.minimum(batch + 1, 4).astype(float) / 4.0


def batch_adaptation(
    build: Callable[[Array], Kernel], initial_scale: Array | float, batch_size: int = 100, n_batches: int = 20
) -> Kernel:
    """Adapts the scale of a kernel after each batch of steps, then freezes it.

    After batch b the scale is divided by f_b if the acceptance rate of the batch was below 0.15, multiplied by
    f_b if it was above 0.30 and left alone otherwise. The chain runs on across batches, and after
    `n_batches * batch_size` steps the scale no longer changes: from then on the kernel is a valid one.

    Args:
        build: maps a scale (traced scalar) to a Kernel whose info has `accepted_position` or `is_accepted`; the random
            numbers that this draws must not depend on the scale.
        initial_scale: scale of the first batch (positive; may be traced).
        batch_size: steps in a batch.
        n_batches: batches after which the scale is frozen; 0 never adapts.

    Returns:
        Kernel on AdaptationState with AdaptationInfo; `init(position)` passes on whatever further
        arguments the inner one takes.

    Raises:
        ValueError: batch_size is not positive, or n_batches is negative.

    Source: the published auxiliary pseudo-marginal experiments.
    """
    check_integer("batch_size", batch_size, 1)
    check_integer("n_batches", n_batches, 0)
    first_scale = jnp.asarray(initial_scale, float)

    def init(position: Array, key: Array | None = None, **options: Any) -> AdaptationState:
        zero = jnp.zeros((), jnp.int32)
        return AdaptationState(build(first_scale).init(position, **options, key=key), first_scale, zero, zero)

    def apply(noise: Any, state: AdaptationState) -> tuple[AdaptationState, AdaptationInfo]:
        inner, info = build(state.scale).apply(noise, state.inner)
        n_steps = state.n_steps + 1
        accepted = info.accepted_position if hasattr(info, "accepted_position") else info.is_accepted
        n_accepted = state.n_accepted + accepted.astype(jnp.int32)
        batch_ends = n_steps % batch_size == 0
        adapts = batch_ends & (n_steps <= n_batches * batch_size)
        factor = adaptation_factor(n_steps // batch_size - 1)
        rate = n_accepted.astype(float) / batch_size
        changed = jnp.where(
            rate < ACCEPT_RATE_LOW,
            state.scale / factor,
            jnp.where(rate > ACCEPT_RATE_HIGH, state.scale * factor, state.scale),
        )
        new_state = AdaptationState(
            inner=inner,
            scale=jnp.where(adapts, changed, state.scale),
            n_steps=n_steps,
            n_accepted=jnp.where(batch_ends, 0, n_accepted),
        )
        return new_state, AdaptationInfo(info, state.scale)

    return Kernel(init, lambda key: build(first_scale).draw(key), apply)
