"""A warm-up with a step size and a number of steps of its own, in one compiled program with the main run."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from auxmc.kernels.base import Kernel


class PhasedState(NamedTuple):
    """State of a chain with a warm-up: that of its kernel, and the iterations made so far (int32)."""

    inner: Any
    iteration: Array


def phased(
    build: Callable[[Array], Kernel],
    n_warm_up: int,
    step_size: Array,
    warm_up_step_size: float,
    warm_up_steps: int,
) -> Kernel:
    """A kernel whose first iterations use another step size and a fixed number of integrator steps.

    Args:
        build: maps a step size (traced) to a kernel; where there is a warm-up its noise must have `n_steps`.
        n_warm_up: iterations of warm-up; 0 for none.
        step_size: of the main run.
        warm_up_step_size: of the warm-up.
        warm_up_steps: integrator steps of every trajectory of the warm-up.

    Returns:
        Kernel on PhasedState with the infos of the inner kernel.
    """

    def init(position: Array, key: Array | None = None) -> PhasedState:
        return PhasedState(build(step_size).init(position, key=key), jnp.zeros((), jnp.int32))

    def apply(noise: Any, state: PhasedState) -> tuple[PhasedState, Any]:
        if n_warm_up == 0:
            inner, info = build(step_size).apply(noise, state.inner)
        else:
            warming = state.iteration < n_warm_up
            fixed = jnp.asarray(warm_up_steps, noise.n_steps.dtype)
            noise = noise._replace(n_steps=jnp.where(warming, fixed, noise.n_steps))
            inner, info = build(jnp.where(warming, warm_up_step_size, step_size)).apply(noise, state.inner)
        return PhasedState(inner, state.iteration + 1), info

    return Kernel(init, lambda key: build(step_size).draw(key), apply)
