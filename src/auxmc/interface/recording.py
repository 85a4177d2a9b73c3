"""Simulators that draw with `jax.random`, as functions of inputs that have priors."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.core import Literal

from auxmc.interface import prior
from auxmc.interface.arguments import check_callable, require_x64
from auxmc.interface.methods import evaluated
from auxmc.interface.prior import Prior
from auxmc.numerics.programs import programs_within

# Programs of `jax.random` that become an input, and the number of their arguments.
_TURNED = {"_normal": 1, "_uniform": 3, "_exponential": 1, "_gamma": 2}


def record(
    simulate: Callable[..., Any], inputs: Mapping[str, Prior] | None = None
) -> tuple[Callable[[Mapping[str, Array]], Any], dict[str, Prior]]:
    """Turns the random numbers of a simulator into inputs: a generator and priors for `auxmc.simulator`.

    Every call of `jax.random.normal`, `uniform`, `exponential`, `gamma` and `loggamma` becomes an input, named by its
    kind and number, such as "normal_0"; so do the calls in what is made of these, such as `beta`, `t`, `laplace` and
    `multivariate_normal`. Calls under `jax.vmap` are one input.

    Args:
        simulate: maps a key of `jax.random`, and the values of `inputs` by name where they are given, to outputs.
        inputs: priors of inputs that are named already, such as parameters.

    Returns:
        Function that maps all inputs by name to the outputs, and the priors of all inputs.

    Raises:
        TypeError: If `simulate` cannot be traced.
        ValueError: If a call cannot be turned, as a discrete one, one inside a loop or a branch, one in single
            precision, or a gamma variable whose parameter is itself random; if there is no call, if two calls have
            the same key, or if random numbers do not come from `jax.random`.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> def simulate(key, v):
    ...     return jnp.exp(-v["rate"]) + 0.1 * jax.random.normal(key, (3,))
    >>> generate, inputs = auxmc.record(simulate, {"rate": auxmc.prior.log_normal()})
    >>> list(inputs)
    ['rate', 'normal_0']
    >>> model = auxmc.simulator(generate, [0.5, 0.4, 0.6], inputs)
    """
    require_x64()
    check_callable("simulate", simulate, "maps a key to outputs")
    given, found = dict(inputs or {}), dict[str, Prior]()
    shapes = {name: jax.ShapeDtypeStruct(own.shape, jnp.float64) for name, own in given.items()}
    key, used = jax.random.key(0), set[bytes]()

    def run(values: Mapping[str, Array], next_input: Callable[[Any, str, Any], Array]) -> Any:
        arguments = ({name: values[name] for name in given},) if given else ()
        closed, shape = jax.make_jaxpr(simulate, return_shape=True)(key, *arguments)
        flat = [key, *jax.tree.leaves(arguments)]
        outputs = _evaluate(closed.jaxpr, closed.consts, flat, next_input, "simulate")
        return jax.tree.unflatten(jax.tree.structure(shape), outputs)

    def first(key: Any, kind: str, own: Prior) -> Array:
        _check_unused(key, kind, used)
        found[f"{kind}_{len(found)}"] = own
        return jnp.zeros(own.shape)

    evaluated("simulate", partial(run, next_input=first), shapes)
    arguments = (shapes,) if given else ()
    # JAX traces a function once: another one that calls it is traced again.
    one, other = (_numbers(jax.make_jaxpr(f)(key, *arguments)) for f in (simulate, lambda *a: simulate(*a)))
    if len(one) != len(other) or not all(map(partial(np.array_equal, equal_nan=True), one, other)):
        advice = "draw them with jax.random and the key"
        raise ValueError(f"simulate: other numbers whenever it is traced: {advice}")
    if not found:
        raise ValueError("simulate: expected calls of jax.random with the key, got none")
    if both := sorted(set(found) & set(given)):
        raise ValueError(f"inputs: {', '.join(both)} is the name of a recorded input; give it another name")

    def generate(values: Mapping[str, Array]) -> Any:
        names = iter(found)
        return run(values, lambda key, kind, own: values[next(names)])

    return generate, given | found


def _check_unused(key: Any, kind: str, used: set[bytes]) -> None:
    """Rejects a key that a call before was given: its numbers are those of that call, and no further input."""
    if isinstance(key, jax.core.Tracer):
        return
    with jax.ensure_compile_time_eval():
        data = np.asarray(jax.random.key_data(key))
    for own in data.reshape(-1, data.shape[-1]):
        if own.tobytes() in used:
            advice = "split it by jax.random.split"
            raise ValueError(f"jax.random.{kind} is given a key that was used before: {advice}")
        used.add(own.tobytes())


def _numbers(closed: Any) -> list[np.ndarray]:
    """Numbers that a program holds, which its function had when it was traced; keys are left out."""
    held = [value for _, values in programs_within(closed) for value in values]
    is_key = lambda v: jnp.issubdtype(getattr(v, "dtype", float), jax.dtypes.extended)  # noqa: E731
    return [np.asarray(value) for value in held if not is_key(value)]


def _evaluate(jaxpr: Any, consts: list[Any], arguments: list[Any], next_input: Any, where: str) -> list[Any]:
    """Outputs of a program whose random numbers are inputs; `where` names it in messages."""
    values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))

    def read(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else values[variable]

    for equation in jaxpr.eqns:
        own, name = [read(variable) for variable in equation.invars], equation.primitive.name
        inside, is_jit = equation.params.get("jaxpr"), name in ("jit", "pjit")
        name = equation.params["name"] if is_jit else name
        if not _is_random(equation):
            outputs = _bound(equation, own)
        elif is_jit and name in _TURNED and len(own) == _TURNED[name]:
            outputs = [_turned(name.strip("_"), equation, own, partial(next_input, own[0]))]
        elif is_jit:
            inner_name = name.strip("_") if hasattr(jax.random, name.strip("_")) else where
            outputs = _evaluate(inside.jaxpr, inside.consts, own, next_input, inner_name)
        else:
            what = f"jax.random.{where}" if hasattr(jax.random, where) else f"a call inside {name}"
            raise _cannot(what)
        values |= dict(zip(equation.outvars, outputs, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _turned(kind: str, equation: Any, own: list[Any], next_input: Any) -> Array:
    """Random numbers of a kind, made of an input."""
    made = equation.outvars[0].aval
    if made.dtype != jnp.float64:
        raise _cannot(f"jax.random.{kind} in {made.dtype}")
    if kind == "uniform":
        low, high = own[1:]
        if any(jnp.ndim(end) not in (0, made.ndim) for end in (low, high)):
            raise _cannot(f"jax.random.uniform of shape {made.shape} between arrays of other shapes")
        value: Array = low + (high - low) * next_input(kind, prior.uniform(made.shape))
        return value
    if kind != "gamma":
        return next_input(kind, getattr(prior, kind)(made.shape))
    if isinstance(own[1], jax.core.Tracer):
        raise _cannot("jax.random.gamma whose parameter depends on an input")
    value = next_input(kind, prior.gamma(made.shape, alpha=np.broadcast_to(np.asarray(own[1]), made.shape)))
    inner = [one.params for one in equation.params["jaxpr"].eqns if one.primitive.name == "random_gamma"]
    return jnp.log(value) if inner and inner[0]["log_space"] else value


def _bound(equation: Any, own: list[Any]) -> list[Any]:
    """Outputs of an equation without random numbers; what depends on no input is computed at once."""
    # Before JAX 0.9 with functions in front.
    found = equation.primitive.get_bind_params(equation.params)
    functions, params = found if isinstance(found, tuple) else ((), found)
    is_known = not any(isinstance(value, jax.core.Tracer) for value in own)
    with jax.ensure_compile_time_eval() if is_known else nullcontext():
        outputs = equation.primitive.bind(*functions, *own, **params)
    return list(outputs) if equation.primitive.multiple_results else [outputs]


def _is_random(equation: Any) -> bool:
    """Whether an equation, or a program inside it, draws random numbers."""
    is_program = lambda value: hasattr(value, "eqns")  # noqa: E731
    inside = jax.tree.leaves(list(equation.params.values()), is_leaf=is_program)
    return equation.primitive.name in ("random_bits", "random_gamma") or any(
        _is_random(inner) for program in filter(is_program, inside) for inner in program.eqns
    )


def _cannot(what: str) -> ValueError:
    return ValueError(
        f"simulate: {what} cannot become an input: expected continuous numbers outside of loops and branches. Draw "
        "them before the loop, or give an input of auxmc.prior"
    )
