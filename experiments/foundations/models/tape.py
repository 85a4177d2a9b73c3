"""Reverse-mode differentiation on a tape, with counted operations: a teaching object."""

from collections.abc import Callable, Mapping, Sequence
from math import cos, exp, log, sin
from operator import add, mul, truediv
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray


class Arithmetic:
    """Elementary operations on numbers, counted: what a computer would have to do, and nothing else.

    Attributes:
        n_operations: operations made so far; a sign costs nothing.
    """

    n_operations = 0

    def __call__(self, operation: Callable[..., float], *numbers: float) -> float:
        """The result of an operation."""
        self.n_operations += 1
        return operation(*numbers)


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
    fraction = m(truediv, bar, b)
    return fraction, -m(mul, fraction, y)


OPERATIONS: Mapping[str, Operation] = {
    "add": Operation(
        lambda m, a, b: m(add, a, b),
        lambda m, bar, a, b, y: (bar, bar),
        lambda m, da, db, a, b, y: m(add, da, db),
    ),
    "subtract": Operation(
        lambda m, a, b: m(add, a, -b),
        lambda m, bar, a, b, y: (bar, -bar),
        lambda m, da, db, a, b, y: m(add, da, -db),
    ),
    "multiply": Operation(
        lambda m, a, b: m(mul, a, b),
        lambda m, bar, a, b, y: (m(mul, bar, b), m(mul, bar, a)),
        lambda m, da, db, a, b, y: m(add, m(mul, da, b), m(mul, a, db)),
    ),
    "divide": Operation(
        lambda m, a, b: m(truediv, a, b),
        _divide_pull,
        lambda m, da, db, a, b, y: m(truediv, m(add, da, -m(mul, y, db)), b),
    ),
    "log": Operation(
        lambda m, a: m(log, a),
        lambda m, bar, a, y: (m(truediv, bar, a),),
        lambda m, da, a, y: m(truediv, da, a),
    ),
    "exp": Operation(
        lambda m, a: m(exp, a),
        lambda m, bar, a, y: (m(mul, bar, y),),
        lambda m, da, a, y: m(mul, da, y),
    ),
    "sin": Operation(
        lambda m, a: m(sin, a),
        lambda m, bar, a, y: (m(mul, bar, m(cos, a)),),
        lambda m, da, a, y: m(mul, da, m(cos, a)),
    ),
    "half_square": Operation(
        lambda m, a: m(mul, 0.5, m(mul, a, a)),
        lambda m, bar, a, y: (m(mul, bar, a),),
        lambda m, da, a, y: m(mul, da, a),
    ),
}
"""Every operation that a graph may have, by name."""


class Node(NamedTuple):
    """A result in a graph.

    Attributes:
        operation: its name in `OPERATIONS`.
        arguments: indices of the variables that it takes, each lower than its own.
    """

    operation: str
    arguments: tuple[int, ...]


class Graph(NamedTuple):
    """Variables in topological order: first the inputs, then constants, then one for each node.

    Attributes:
        n_inputs: number of inputs.
        constants: values of the constants.
        nodes: results.
        outputs: indices of the variables that are the function's values.
    """

    n_inputs: int
    constants: tuple[float, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]


def _node(operation: str, explanation: str) -> Callable[..., "Variable"]:
    def method(self: "Variable", *others: "Variable | float") -> "Variable":
        given = (o if isinstance(o, Variable) else Variable("constant", constant=float(o)) for o in others)
        return Variable(operation, (self, *given))

    method.__doc__ = explanation
    return method


class Variable:
    """A scalar that remembers how it was computed; `record` makes the first ones.

    Variables are joined by + - * / with each other and with numbers; further operations are methods.
    """

    def __init__(self, operation: str, arguments: tuple["Variable", ...] = (), constant: float = 0.0) -> None:
        self.operation, self.arguments, self.constant = operation, arguments, constant

    __add__ = _node("add", "Sum with a variable or a number.")
    __sub__ = _node("subtract", "Difference.")
    __mul__ = _node("multiply", "Product.")
    __truediv__ = _node("divide", "Quotient.")
    log = _node("log", "Natural logarithm.")
    exp = _node("exp", "Exponential function.")
    sin = _node("sin", "Sine of an angle in radians.")
    half_square = _node("half_square", "Half of the square, one node of the graph and two operations.")


def record(function: Callable[..., Variable | Sequence[Variable]], n_inputs: int) -> Graph:
    """Graph of a function, in the order in which its results are needed.

    Args:
        function: takes n_inputs variables and returns one or several.
        n_inputs: at least 1.

    >>> graph = record(lambda x, y: x * y + y.sin(), 2)
    >>> [node.operation for node in graph.nodes]
    ['multiply', 'sin', 'add']
    """
    inputs = [Variable("input") for _ in range(n_inputs)]
    returned = function(*inputs)
    outputs = [returned] if isinstance(returned, Variable) else list(returned)
    order: dict[int, Variable] = {}
    for output in outputs:
        _visit(output, order)
    constants = [v for v in order.values() if v.operation == "constant"]
    results = [v for v in order.values() if v.operation not in ("input", "constant")]
    place = {id(variable): i for i, variable in enumerate([*inputs, *constants, *results])}
    nodes = tuple(Node(v.operation, tuple(place[id(a)] for a in v.arguments)) for v in results)
    return Graph(n_inputs, tuple(v.constant for v in constants), nodes, tuple(place[id(v)] for v in outputs))


def evaluate(graph: Graph, inputs: ArrayLike, arithmetic: Arithmetic) -> list[float]:
    """Values of all variables [variable], in one pass in topological order.

    Args:
        graph: what to compute.
        inputs: [input].
        arithmetic: makes and counts the operations.

    Source: PhD thesis, Algorithm 16, lines 1 and 2.
    """
    values = [*(float(x) for x in np.asarray(inputs)), *graph.constants]
    for node in graph.nodes:
        arguments = [values[i] for i in node.arguments]
        values.append(OPERATIONS[node.operation].value(arithmetic, *arguments))
    return values


def reverse_sweep(
    graph: Graph,
    values: Sequence[float],
    seeds: Sequence[float],
    arithmetic: Arithmetic,
    operations: Mapping[str, Operation] = OPERATIONS,
) -> list[float]:
    """Accumulators: derivatives of sum_k seeds_k output_k with respect to every variable [variable].

    A variable that several nodes use gets the sum of their terms.

    Args:
        graph: as it was evaluated.
        values: of all variables, from `evaluate`.
        seeds: weights of the outputs [output]; 1 for the gradient of a single one.
        arithmetic: makes and counts the operations.
        operations: to pull derivatives through; others than `OPERATIONS` show what a wrong partial derivative does.

    Source: PhD thesis, Algorithm 16, lines 3 to 5.
    """
    bars: list[float | None] = [None] * len(values)
    for output, seed in zip(graph.outputs, seeds, strict=True):
        bars[output] = _accumulate(arithmetic, bars[output], float(seed))
    n_given = graph.n_inputs + len(graph.constants)
    for index in range(len(values) - 1, n_given - 1, -1):
        node, bar = graph.nodes[index - n_given], bars[index]
        if bar is None:
            continue
        arguments = [values[i] for i in node.arguments]
        terms = operations[node.operation].pull(arithmetic, bar, *arguments, values[index])
        for argument, term in zip(node.arguments, terms, strict=True):
            bars[argument] = _accumulate(arithmetic, bars[argument], term)
    return [0.0 if bar is None else bar for bar in bars]


def forward_sweep(
    graph: Graph, values: Sequence[float], direction: ArrayLike, arithmetic: Arithmetic
) -> list[float]:
    """Derivatives of all variables [variable] along a direction of the inputs [input]."""
    slopes = [*(float(d) for d in np.asarray(direction, float)), *(0.0 for _ in graph.constants)]
    for node, value in zip(graph.nodes, values[len(slopes) :], strict=True):
        arguments = [values[i] for i in node.arguments]
        along = [slopes[i] for i in node.arguments]
        slopes.append(OPERATIONS[node.operation].push(arithmetic, *along, *arguments, value))
    return slopes


def jacobian_by_rows(graph: Graph, inputs: ArrayLike, arithmetic: Arithmetic) -> FloatArray:
    """Jacobian [output, input] from a reverse sweep for each output."""
    values = evaluate(graph, inputs, arithmetic)
    rows = [reverse_sweep(graph, values, list(seeds), arithmetic) for seeds in np.eye(len(graph.outputs))]
    return np.array([row[: graph.n_inputs] for row in rows])


def jacobian_by_columns(graph: Graph, inputs: ArrayLike, arithmetic: Arithmetic) -> FloatArray:
    """Jacobian [output, input] from a forward sweep for each input."""
    values = evaluate(graph, inputs, arithmetic)
    columns = [forward_sweep(graph, values, along, arithmetic) for along in np.eye(graph.n_inputs)]
    return np.array([[column[i] for i in graph.outputs] for column in columns]).T


def _visit(variable: Variable, order: dict[int, Variable]) -> None:
    """Adds a variable behind everything that it needs."""
    if id(variable) not in order:
        for argument in variable.arguments:
            _visit(argument, order)
        order[id(variable)] = variable


def _accumulate(arithmetic: Arithmetic, total: float | None, term: float) -> float:
    return term if total is None else arithmetic(add, total, term)
