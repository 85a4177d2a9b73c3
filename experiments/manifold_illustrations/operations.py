"""Arithmetic operations, counted in a program or as it runs: cost in a unit that no clock enters."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from auxmc.numerics.array_types import FloatArray

_FACTORISATIONS = ("geqrf", "qr", "lu", "svd", "eigh", "householder_product")


def count_operations(function: Callable[..., Any], *shapes: Sequence[int]) -> float:
    """Operations of a function of float64 arrays of given shapes, to leading order; raises ValueError for a loop.

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


class _Counted(np.ndarray):
    """An array whose elementwise operations are counted as they run."""

    n_operations: ClassVar[int] = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = {"out": tuple(map(np.asarray, options.pop("out")))} if "out" in options else {}
        result = getattr(ufunc, method)(*map(np.asarray, inputs), **out, **options)
        _Counted.n_operations += np.size(result)
        return np.asarray(result).view(_Counted)


def count_cholesky(size: int) -> float:
    """Operations of the Cholesky factorisation of a dense matrix, run column by column."""
    return _count(cholesky, np.eye(size) + 0.5)


def count_updates(size: int, rank: int) -> float:
    """Operations of as many rank-one updates of the Cholesky factor of a matrix as `rank` says (section 4.9.2)."""
    return _count(update_cholesky, np.tri(size) + np.eye(size), np.ones((size, rank)))


def _count(function: Callable[..., object], *arrays: FloatArray) -> float:
    before = _Counted.n_operations
    function(*(array.view(_Counted) for array in arrays))
    return float(_Counted.n_operations - before)


def cholesky(matrix: FloatArray) -> None:
    """Leaves the Cholesky factor in the lower triangle of a matrix [row, column]."""
    for k in range(len(matrix)):
        matrix[k:, k] /= np.sqrt(matrix[k, k])
        matrix[k + 1 :, k + 1 :] -= np.multiply.outer(matrix[k + 1 :, k], matrix[k + 1 :, k])


def update_cholesky(factor: FloatArray, block: FloatArray) -> None:
    """Makes the lower Cholesky factor of A [row, column] that of A + B B^T, by a rotation for each column of B."""
    for column in block.T:
        rest = column.copy()
        for k in range(len(factor)):
            radius = np.hypot(factor[k, k], rest[k])
            cosine, sine = factor[k, k] / radius, rest[k] / radius
            old = factor[k:, k].copy()
            factor[k:, k] = cosine * old + sine * rest[k:]
            rest[k:] = cosine * rest[k:] - sine * old
