"""Arithmetic operations of a program, counted without running it: cost in a unit that no clock enters."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax

_FACTORISATIONS = ("geqrf", "qr", "lu", "svd", "eigh", "householder_product")


def count_operations(function: Callable[..., Any], *shapes: Sequence[int]) -> float:
    """Operations of a function of float64 arrays, to leading order.

    Args:
        function: what is counted; loops are rejected, since their length is not known.
        shapes: of its arguments.

    Raises:
        ValueError: the function has a loop.

    >>> count_operations(lambda a, b: a @ b, (10, 20), (20, 30))
    12000.0
    """
    arguments = [jax.ShapeDtypeStruct(tuple(shape), "float64") for shape in shapes]
    return _of_program(jax.make_jaxpr(function)(*arguments).jaxpr)


def _of_program(program: Any) -> float:
    return sum(_of_equation(equation) for equation in program.eqns)


def _of_equation(equation: Any) -> float:
    name = equation.primitive.name
    if name in ("while", "scan"):
        raise ValueError(f"operations of a loop ({name}) cannot be counted")
    inner = [getattr(value, "jaxpr", value) for value in equation.params.values()]
    inner = [program for program in inner if hasattr(program, "eqns")]
    if inner:
        return sum(_of_program(program) for program in inner)
    out = math.prod(equation.outvars[0].aval.shape)
    # An array of constants has no input.
    first: tuple[int, ...] = equation.invars[0].aval.shape if equation.invars else ()
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return 2.0 * out * math.prod(first[axis] for axis in contracted)
    if name == "cholesky":
        return math.prod(first) * first[-1] / 3.0
    if name == "triangular_solve":
        return float(out * first[-1])
    if name in _FACTORISATIONS:
        return float(math.prod(first) * min(first[-2:]))
    return float(out)
