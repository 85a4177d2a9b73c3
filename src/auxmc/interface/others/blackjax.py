"""Algorithms of BlackJAX in `auxmc.sample`."""

import inspect
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from auxmc.interface.arguments import check_callable, check_fraction, check_positive
from auxmc.interface.densities import Density, check_density, density_method
from auxmc.interface.methods import Method
from auxmc.kernels.base import Kernel

_EXPECTED = "expected an MCMC algorithm of BlackJAX, with init(position) and step(key, state)"


def from_blackjax(
    model: Density,
    make: Callable[[Callable[[Array], Array], Array], Any],
    *,
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
) -> Method:
    """A sampling algorithm of BlackJAX as a method for `auxmc.sample`.

    Args:
        model: `auxmc.density(log_density, start)`, or what `auxmc.from_numpyro` or `auxmc.from_pymc` returns.
        make: maps (log density of a vector, step size) to the algorithm, such as
            `lambda log_density, step: blackjax.nuts(log_density, step, jax.numpy.ones(3))`.
        step_size: at the start of the warm-up, which adapts it where steps have an acceptance rate.
        target_acceptance: mean acceptance rate that the warm-up reaches for.

    Raises:
        TypeError: If `make` does not return an MCMC algorithm, with `init(position)` and `step(key, state)`,
            whose state has a `position`. Those on minibatches (`sgld`) or particles (`tempered_smc`) are not.
        ValueError: the step size is not positive, or the target is not between 0 and 1.
    """
    check_density(model)
    step_size = check_positive("step_size", step_size)
    check_callable("make", make, "maps a log density and a step size to an algorithm of BlackJAX")
    start = jnp.asarray(model.start)
    example, key = make(model.log_density, jnp.asarray(step_size)), jax.random.key(0)
    if not (hasattr(example, "init") and hasattr(example, "step")):
        raise TypeError(f"make: {_EXPECTED}, got {type(example).__name__}")
    _, _, *more = inspect.signature(example.step).parameters.values()
    if needed := [one.name for one in more if one.default is one.empty]:
        raise TypeError(f"make: {_EXPECTED}, got one whose step also needs {', '.join(needed)}")
    try:
        state = jax.eval_shape(lambda key: _initial(example, start, key=key), key)
        _, info = jax.eval_shape(example.step, key, state)
    except Exception as error:
        raise TypeError(f"make: {_EXPECTED}, got one that fails: {error}") from error
    if getattr(getattr(state, "position", None), "shape", None) != start.shape:
        got = ", ".join(getattr(state, "_fields", [type(state).__name__]))
        raise TypeError(f"make: {_EXPECTED}, whose state has a position {list(start.shape)}, got {got}")
    fields = [name for name in info._fields if getattr(getattr(info, name), "shape", None) == ()]
    make_info: Any = namedtuple
    kept = make_info("BlackjaxInfo", fields)

    def build(scale: Array) -> Kernel:
        algorithm = make(model.log_density, scale)

        def apply(key: Array, state: Any) -> tuple[Any, Any]:
            moved, info = algorithm.step(key, state)
            return moved, kept(*(getattr(info, name) for name in fields))

        return Kernel(partial(_initial, algorithm), lambda key: key, apply)

    return density_method(
        model,
        name="blackjax",
        build=build,
        scale=step_size,
        adaptation="dual averaging" if "acceptance_rate" in fields else "",
        target=check_fraction("target_acceptance", target_acceptance),
        of_state=lambda state: {"lp": state.logdensity} if hasattr(state, "logdensity") else {},
    )


def _initial(algorithm: Any, position: Array, *, key: Array) -> Any:
    """The first state of an algorithm, of which some draw a part, such as a momentum."""
    takes_key = len(inspect.signature(algorithm.init).parameters) > 1
    # As integers: the state may keep the key, and checkpoints hold numbers.
    return algorithm.init(position, jax.random.key_data(key)) if takes_key else algorithm.init(position)
