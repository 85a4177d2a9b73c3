"""Elementary operations of scalars with their derivatives in both directions, counted whenever they are made."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["OPERATIONS", "Arithmetic", "Operation"]


class Arithmetic:
    """Elementary operations on numbers, counted: what a computer would have to do, and nothing else.

    Attributes:
        n_operations: operations made so far; a sign costs nothing.
    """

    def __init__(self) -> None:
        self.n_operations = 0

    def add(self, a: float, b: float) -> float:
        """a + b."""
        self.n_operations += 1
        return a + b

    def multiply(self, a: float, b: float) -> float:
        """The product a b."""
        self.n_operations += 1
        return a * b

    def divide(self, a: float, b: float) -> float:
        """a / b."""
        self.n_operations += 1
        return a / b

    def log(self, a: float) -> float:
        """Natural logarithm."""
        self.n_operations += 1
        return math.log(a)

    def exp(self, a: float) -> float:
        """Exponential function."""
        self.n_operations += 1
        return math.exp(a)

    def sin(self, a: float) -> float:
        """Sine of an angle in radians."""
        self.n_operations += 1
        return math.sin(a)

    def cos(self, a: float) -> float:
        """Cosine of an angle in radians."""
        self.n_operations += 1
        return math.cos(a)


class Operation(NamedTuple):
    """An operation of a graph.

    Attributes:
        value: maps (arithmetic, arguments) to the result.
        pull: maps (arithmetic, derivative of the output with respect to the result, arguments, result) to the terms
            that this adds to the derivatives with respect to the arguments.
        push: maps (arithmetic, derivatives of the arguments, arguments, result) to the derivative of the result.
    """

    value: Callable[..., float]
    pull: Callable[..., tuple[float, ...]]
    push: Callable[..., float]


def _divide_pull(m: Arithmetic, bar: float, a: float, b: float, y: float) -> tuple[float, float]:
    fraction = m.divide(bar, b)
    return fraction, -m.multiply(fraction, y)


OPERATIONS: Mapping[str, Operation] = {
    "add": Operation(
        lambda m, a, b: m.add(a, b),
        lambda m, bar, a, b, y: (bar, bar),
        lambda m, da, db, a, b, y: m.add(da, db),
    ),
    "subtract": Operation(
        lambda m, a, b: m.add(a, -b),
        lambda m, bar, a, b, y: (bar, -bar),
        lambda m, da, db, a, b, y: m.add(da, -db),
    ),
    "multiply": Operation(
        lambda m, a, b: m.multiply(a, b),
        lambda m, bar, a, b, y: (m.multiply(bar, b), m.multiply(bar, a)),
        lambda m, da, db, a, b, y: m.add(m.multiply(da, b), m.multiply(a, db)),
    ),
    "divide": Operation(
        lambda m, a, b: m.divide(a, b),
        _divide_pull,
        lambda m, da, db, a, b, y: m.divide(m.add(da, -m.multiply(y, db)), b),
    ),
    "log": Operation(
        lambda m, a: m.log(a), lambda m, bar, a, y: (m.divide(bar, a),), lambda m, da, a, y: m.divide(da, a)
    ),
    "exp": Operation(
        lambda m, a: m.exp(a),
        lambda m, bar, a, y: (m.multiply(bar, y),),
        lambda m, da, a, y: m.multiply(da, y),
    ),
    "sin": Operation(
        lambda m, a: m.sin(a),
        lambda m, bar, a, y: (m.multiply(bar, m.cos(a)),),
        lambda m, da, a, y: m.multiply(da, m.cos(a)),
    ),
    "half_square": Operation(
        lambda m, a: m.multiply(0.5, m.multiply(a, a)),
        lambda m, bar, a, y: (m.multiply(bar, a),),
        lambda m, da, a, y: m.multiply(da, a),
    ),
}
"""Every operation that a graph may have, by name."""
