"""What every Markov kernel is: an initial state, the random numbers of a step, and the step itself."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["Kernel", "require_key", "select"]


class Kernel(NamedTuple):
    """A Markov transition operator for one chain, as pure functions.

    A step is split into the part that draws its random numbers, which does not depend on the state, and
    the part that uses them. The driver can then draw for many iterations at once, in one vectorised
    program, which is several times faster than a few numbers at a time inside a sequential loop; the
    numbers are the same to the last bit.

    Attributes:
        init: maps a position [dim] to a state, a NamedTuple of arrays that caches all expensive values at the
            current point. A kernel whose state has random numbers, such as a momentum, needs `key=`, which others
            ignore; further arguments of a kernel have defaults.
        draw: maps a key to the random numbers of one step, a pytree of arrays of fixed shape. A kernel that
            needs a random number of draws includes a key for its loop.
        apply: maps (noise, state) to (state, info), info being a NamedTuple of arrays.
    """

    init: Callable[..., Any]
    draw: Callable[[Array], Any]
    apply: Callable[[Any, Any], tuple[Any, Any]]

    def step(self, key: Array, state: Any) -> tuple[Any, Any]:
        """Makes one transition with the random numbers that belong to `key`; returns (state, info)."""
        return self.apply(self.draw(key), state)


def require_key(key: Array | None) -> Array:
    """The key of an initial state with random numbers.

    Raises:
        TypeError: there is none.
    """
    if key is None:
        raise TypeError("init needs key=jax.random.key(...): the state of this kernel has random numbers")
    return key


def select(condition: Array, first: Any, second: Any) -> Any:
    """The first pytree of arrays where a scalar condition holds, else the second: what a step proposes, or keeps."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)
