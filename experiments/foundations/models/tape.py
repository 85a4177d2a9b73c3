"""Reverse-mode differentiation on a tape, with counted operations: a teaching object."""

from collections.abc import Callable, Mapping, Sequence
from math import cos, exp, log, sin
from operator import add, mul, sub, truediv
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray


class Operation(NamedTuple):
    """An operation of a graph."""

    value: Callable[..., float]  # maps arguments to the result
    # maps (derivative of the output by the result, arguments, result) to its terms in those by the arguments
    pull: Callable[..., tuple[float, ...]]
    # maps (derivatives of the arguments, arguments, result) to the result's
    push: Callable[..., float]
    n_value: int = 1  # what a computer has to do for the value; a sign costs nothing
    n_partial: int = 0  # the same for its partial derivatives, where they are not 1, an argument or result


OPERATIONS: Mapping[str, Operation] = {
    "add": Operation(add, lambda bar, a, b, y: (bar, bar), lambda da, db, a, b, y: da + db),
    "subtract": Operation(sub, lambda bar, a, b, y: (bar, -bar), lambda da, db, a, b, y: da - db),
    "multiply": Operation(
        mul, lambda bar, a, b, y: (bar * b, bar * a), lambda da, db, a, b, y: da * b + a * db
    ),
    "divide": Operation(
        truediv,
        lambda bar, a, b, y: (bar / b, -(bar / b * y)),
        lambda da, db, a, b, y: (da - y * db) / b,
        n_partial=2,
    ),
    "log": Operation(log, lambda bar, a, y: (bar / a,), lambda da, a, y: da / a, n_partial=1),
    "exp": Operation(exp, lambda bar, a, y: (bar * y,), lambda da, a, y: da * y),
    "sin": Operation(sin, lambda bar, a, y: (bar * cos(a),), lambda da, a, y: da * cos(a), n_partial=1),
    "half_square": Operation(
        lambda a: 0.5 * (a * a), lambda bar, a, y: (bar * a,), lambda da, a, y: da * a, n_value=2
    ),
}
"""Every operation that a graph may have, by name."""


class Graph(NamedTuple):
    """Variables in topological order: first the inputs, then constants, then one for each node."""

    n_inputs: int
    constants: tuple[float, ...]
    # for each result the name of its operation, and the lower indices of the variables that it takes
    nodes: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[int, ...]  # indices of the variables that are the function's values


def _node(operation: str, explanation: str) -> Callable[..., "Variable"]:
    def method(self: "Variable", *others: "Variable | float") -> "Variable":
        given = (o if isinstance(o, Variable) else Variable("constant", constant=float(o)) for o in others)
        return Variable(operation, (self, *given))

    method.__doc__ = explanation
    return method


class Variable:
    """A scalar that remembers how it was computed; `record` makes the first ones."""

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
    """Graph of a function of at least one variable, in the order in which its results are needed.

    >>> graph = record(lambda x, y: x * y + y.sin(), 2)
    >>> [operation for operation, _ in graph.nodes]
    ['multiply', 'sin', 'add']
    """
    inputs = [Variable("input") for _ in range(n_inputs)]
    returned = function(*inputs)
    outputs = [returned] if isinstance(returned, Variable) else list(returned)
    order: dict[int, Variable] = {}

    def visit(variable: Variable) -> None:
        if id(variable) not in order:
            for argument in variable.arguments:
                visit(argument)
            order[id(variable)] = variable

    for output in outputs:
        visit(output)
    constants = [v for v in order.values() if v.operation == "constant"]
    results = [v for v in order.values() if v.operation not in ("input", "constant")]
    place = {id(variable): i for i, variable in enumerate([*inputs, *constants, *results])}
    nodes = tuple((v.operation, tuple(place[id(a)] for a in v.arguments)) for v in results)
    return Graph(n_inputs, tuple(v.constant for v in constants), nodes, tuple(place[id(v)] for v in outputs))


def evaluate(graph: Graph, inputs: ArrayLike) -> list[float]:
    """Values of all variables [variable] at inputs [input] (PhD thesis, Algorithm 16, lines 1 and 2)."""
    values = [*map(float, np.asarray(inputs)), *graph.constants]
    for operation, arguments in graph.nodes:
        values.append(OPERATIONS[operation].value(*(values[i] for i in arguments)))
    return values


def reverse_sweep(
    graph: Graph, values: Sequence[float], seeds: ArrayLike, operations: Mapping[str, Operation] = OPERATIONS
) -> list[float]:
    """Derivatives of sum_k seeds_k output_k by every variable [variable].

    See PhD thesis, Algorithm 16, lines 3 to 5. Other operations than `OPERATIONS` show what a wrong partial
    derivative does.
    """
    bars = [0.0] * len(values)
    for output, seed in zip(graph.outputs, np.asarray(seeds), strict=True):
        bars[output] += float(seed)
    for index, (operation, arguments) in reversed([*enumerate(graph.nodes, len(values) - len(graph.nodes))]):
        terms = operations[operation].pull(bars[index], *(values[i] for i in arguments), values[index])
        for argument, term in zip(arguments, terms, strict=True):
            bars[argument] += term
    return bars


def cost_of_gradient(graph: Graph, sign: int = 0) -> float:
    """Operations of a value with a reverse sweep (PhD thesis, Algorithm 16) over those of the value alone.

    The sign of -y / b, a partial derivative of y = a / b, counts as `sign` operations.
    """
    kinds = [OPERATIONS[operation] for operation, _ in graph.nodes]
    constants = range(graph.n_inputs, graph.n_inputs + len(graph.constants))
    edges = [i for _, arguments in graph.nodes for i in arguments if i not in constants]
    # A product for each edge; the first term of a variable is not added to anything.
    n_sums = len(graph.outputs) + len(edges) - len({*graph.outputs, *edges})
    n_signs = sign * kinds.count(OPERATIONS["divide"])
    n_reverse = sum(kind.n_partial for kind in kinds) + n_signs + len(edges) + n_sums
    return 1.0 + n_reverse / sum(kind.n_value for kind in kinds)


def jacobian_by_rows(graph: Graph, inputs: ArrayLike) -> FloatArray:
    """Jacobian [output, input] from a reverse sweep for each output."""
    values = evaluate(graph, inputs)
    rows = [reverse_sweep(graph, values, seeds) for seeds in np.eye(len(graph.outputs))]
    return np.array([row[: graph.n_inputs] for row in rows])


def jacobian_by_columns(graph: Graph, inputs: ArrayLike) -> FloatArray:
    """Jacobian [output, input] from a forward sweep, of all derivatives along an input, for each input."""
    values, columns = evaluate(graph, inputs), []
    for direction in np.eye(graph.n_inputs):
        slopes = [*map(float, direction), *(0.0 for _ in graph.constants)]
        for (operation, arguments), value in zip(graph.nodes, values[len(slopes) :], strict=True):
            given = (numbers[i] for numbers in (slopes, values) for i in arguments)
            slopes.append(OPERATIONS[operation].push(*given, value))
        columns.append([slopes[i] for i in graph.outputs])
    return np.array(columns).T
