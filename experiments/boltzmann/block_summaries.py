"""Many steps of a kernel as one step that reports a summary of them."""

from collections.abc import Callable
from typing import Any

import jax
from jax import Array, lax

from auxmc.kernels.base import Kernel

__all__ = ["block_summaries"]


def block_summaries(
    kernel: Kernel,
    n_steps: int,
    keep: Callable[[Any, Any], Any],
    summarise: Callable[[Any], Any],
) -> Kernel:
    """Makes `n_steps` steps of a kernel one step, so that a record need not hold each of them.

    Args:
        kernel: what makes the steps. Its random numbers must be arrays.
        n_steps: steps together, at least 1.
        keep: maps (state, info) after each step to a pytree of arrays.
        summarise: maps these, stacked [step, ...], to the info of the step.

    Returns:
        Kernel with the state of `kernel` and the summary as its info. Step i of the n uses the key `fold_in(key, i)`.

    Raises:
        ValueError: n_steps is not positive.
    """
    if n_steps < 1:
        raise ValueError(f"n_steps must be at least 1, got {n_steps}")

    def draw(key: Array) -> Any:
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jax.numpy.arange(n_steps, dtype="uint32"))
        return jax.vmap(kernel.draw)(keys)

    def one(state: Any, noise: Any) -> tuple[Any, Any]:
        state, info = kernel.apply(noise, state)
        return state, keep(state, info)

    def apply(noise: Any, state: Any) -> tuple[Any, Any]:
        state, kept = lax.scan(one, state, noise)
        return state, summarise(kept)

    return Kernel(kernel.init, draw, apply)
