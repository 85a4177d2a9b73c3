"""What every Markov kernel is: an initial state, the random numbers of a step, and the step itself."""

import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.numerics.linalg import as_vector

FROM_POSITION = -1
"""`dim` of a kernel that takes it from the position."""

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class Kernel(NamedTuple):
    """A Markov transition operator for one chain, as pure functions.

    The part that draws random numbers does not depend on the state, so that the driver can draw for many iterations at
    once: several times faster than inside a sequential loop, and the same to the last bit.

    Attributes:
        init: maps a position, [dim] or a pytree of arrays, to a state, a NamedTuple of arrays that caches all
            expensive values at the current point. A kernel whose state has random numbers, such as a momentum, needs
            `key=`, which others ignore; further arguments of a kernel have defaults.
        draw: maps a key to the random numbers of one step, a pytree of arrays of fixed shape. A kernel that
            needs a random number of draws includes a key for its loop; one that was not told its `dim` draws later,
            and returns the key.
        apply: maps (noise, state) to (state, info), info being a NamedTuple of arrays.
    """

    init: Callable[..., Any]
    draw: Callable[[Array], Any]
    apply: Callable[[Any, Any], tuple[Any, Any]]

    def step(self, key: Array, state: Any) -> tuple[Any, Any]:
        """Makes one transition with the random numbers that belong to `key`; returns (state, info)."""
        return self.apply(self.draw(key), state)


def require_key(key: Array | None) -> Array:
    """The key of an initial state with random numbers; TypeError where there is none."""
    if key is None:
        raise TypeError("init needs key=jax.random.key(...): the state of this kernel has random numbers")
    return key


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_integer(name: str, value: Any, least: int, why: str = "") -> int:
    """An integer that is not below the least one, for the reason `why`; else ValueError."""
    if not is_integer(value) or value < least:
        reason = f": {why}" if why else ""
        raise ValueError(f"{name} must be an integer, at least {least}{reason}, got {value!r}")
    return int(value)


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Rejects what is none of the choices (ValueError)."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_steps(value: Any) -> tuple[int, int]:
    """Smallest and largest number of steps of an update, from these two or from one number; else ValueError."""
    ends = (value, value) if is_integer(value) else value
    if np.shape(ends) != (2,) or not all(map(is_integer, ends)) or not 1 <= ends[0] <= ends[1]:
        raise ValueError(f"n_steps must be one or two integers with 1 <= low <= high, got {value!r}")
    return int(ends[0]), int(ends[1])


def check_step_size(value: Any) -> None:
    """Rejects numbers and arrays of NumPy that are not positive (ValueError); those of JAX may be traced."""
    if isinstance(value, Real | np.ndarray):
        size = np.asarray(value, dtype=np.float64)
        if not np.all(np.isfinite(size) & (size > 0.0)):
            raise ValueError(f"step_size: expected a positive number, got {value}")


def select(condition: Array, first: Any, second: Any) -> Any:
    """The first pytree of arrays where a scalar condition holds, else the second: what a step proposes, or keeps."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), first, second)


def pytree_positions(*functions: str) -> Callable[[Callable[Arguments, Made]], Callable[Arguments, Made]]:
    """Lets positions of a kernel, or of a part of it, be any pytree of arrays; it is written for vectors [dim].

    The position of a state has the structure that it was given. Other vectors of a state, such as gradients, and masses
    have the order of `jax.flatten_util.ravel_pytree`. A `dim` of FROM_POSITION is that of the position; any other that
    is not positive raises a ValueError, and so does a `step_size`.

    Args:
        functions: parameters of the decorated function that map a position to something; "model.name" is an attribute.
    """

    def decorate(make: Callable[Arguments, Made]) -> Callable[Arguments, Made]:
        build: Callable[..., Any] = make
        signature = inspect.signature(make)

        @functools.wraps(make)
        def made(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Made:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{make.__name__}() {error}") from None
            bound.apply_defaults()
            given = bound.arguments
            dim = given.get("dim")
            draws_later = dim == FROM_POSITION
            if dim is not None and not draws_later:
                check_integer("dim", dim, 1)
            check_step_size(given.get("step_size"))
            # Wrong arguments are named now, whatever the position will be.
            plain = build(**given | ({"dim": 1} if draws_later else {}))

            def at(position: Any) -> tuple[Any, Array, Callable[[Array], Any]]:
                """Kernel of vectors, the vector of a position, and the map back."""
                vector, unravel = as_vector(position)
                if vector is position and not draws_later:
                    return plain, vector, unravel
                own = given | ({"dim": vector.size} if draws_later else {})
                for name in functions:
                    parameter, _, attribute = name.partition(".")
                    outer = own[parameter]
                    function = getattr(outer, attribute) if attribute else outer
                    of_vector = lambda v, *more, f=function: f(unravel(v), *more)  # noqa: E731
                    own[parameter] = outer._replace(**{attribute: of_vector}) if attribute else of_vector
                return build(**own), vector, unravel

            def init(position: Any, key: Array | None = None, **options: Any) -> Any:
                kernel, vector, unravel = at(position)
                state = kernel.init(vector, key=key, **options)
                return state._replace(position=unravel(state.position))

            def draw(key: Array) -> Any:
                return key if draws_later else plain.draw(key)

            def apply(noise: Any, state: Any) -> tuple[Any, Any]:
                kernel, vector, unravel = at(state.position)
                numbers = kernel.draw(noise) if draws_later else noise
                state, info = kernel.apply(numbers, state._replace(position=vector))
                return state._replace(position=unravel(state.position)), info

            parts = {"init": init, "draw": draw, "apply": apply}
            return plain._replace(**{name: parts[name] for name in plain._fields})

        return made

    return decorate
