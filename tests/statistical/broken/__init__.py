"""Kernels that are built right and then made wrong, by the check that must notice each."""

from collections.abc import Callable
from typing import Any


def with_noise(kernel: Any, change: Callable[[Any, Any], Any]) -> Any:
    """A kernel, or an update, whose random numbers are `change(noise, state)`."""
    return kernel._replace(apply=lambda noise, state: kernel.apply(change(noise, state), state))


def keeping(kernel: Any, field: str) -> Any:
    """A kernel, or an update, that moves without storing one field of the new state."""

    def apply(noise: Any, state: Any) -> Any:
        new, info = kernel.apply(noise, state)
        return new._replace(**{field: getattr(state, field)}), info

    return kernel._replace(apply=apply)
