"""Topic: reverse and forward accumulation on a graph, what they cost, and a misprint in their drawing."""

import cmath
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import xarray as xr

from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import estimate
from experiments.foundations.measurements import largest_size
from experiments.foundations.models import tape
from experiments.foundations.models.tape import OPERATIONS, Graph, Variable
from experiments.foundations.topic import Arrays, Lines, Topic, Work

TOPIC = Topic()

_HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
_EXAMPLE = (1.3, 0.5, 0.7)  # Values of x, m and s of the worked example.
_NAMES = ("x", "m", "s", "constant", "y", "z", "a", "u", "b", "c")
_N_GRAPHS = 200
_N_INPUTS, _GRAPH_SIZE = 5, 60
_N_MAPS = 20
_BINARY = ("add", "subtract", "multiply", "divide")
# Sines and a constant keep the arguments of products, logarithms and quotients in a safe range.
_SAFE: Mapping[str, Callable[[Variable, Variable], Variable]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a.sin() * b,
    "divide": lambda a, b: a / (b.sin() + 2.0),
    "exp": lambda a, b: a.sin().exp(),
    "sin": lambda a, b: a.sin(),
    "half_square": lambda a, b: a.sin().half_square(),
    "log": lambda a, b: (a.sin() + 2.0).log(),
}


def normal_energy(x: Variable, m: Variable, s: Variable) -> Variable:
    """Negative log density of a normal distribution, in the operations of figure B.1."""
    y = x - m
    z = y / s
    u = s.log()
    return z.half_square() + (u + _HALF_LOG_TWO_PI)


@TOPIC.claim("FN-AD-01")
def worked_example(work: Work) -> Lines:
    """Largest relative errors: at one point against derivatives by hand, of random graphs against complex steps."""
    _, bars, _ = work.once(_example_sweeps)
    x, m, s = _EXAMPLE
    z = (x - m) / s
    by_hand = {"x": z / s, "m": -z / s, "s": (1.0 - z**2) / s}
    errors = [abs(bars[name] / wanted - 1.0) for name, wanted in by_hand.items()]
    off = []
    for graph, point in random_graphs(work.rng("graphs"), work.replicates(_N_GRAPHS, least=20)):
        off.append(_error(tape.jacobian_by_rows(graph, point), _complex_steps(graph, point)))
    return {
        "largest error beside derivatives by hand": max(errors),
        "random graphs, against complex steps": max(off),
    }


@TOPIC.claim("FN-AD-02")
def cheap_gradients(work: Work) -> Lines:
    """Operations of a value with its gradient over those of the value alone, at most those of the dearest chain."""
    graphs = random_graphs(work.rng("graphs"), work.replicates(_N_GRAPHS, least=20))
    chains = [
        Graph(1, (), tuple((kind, (k, 0) if kind in _BINARY else (k,)) for k in range(10)), (10,))
        for kind in OPERATIONS
    ]
    return {
        "normal energy": tape.cost_of_gradient(tape.record(normal_energy, 3)),
        "chains of one operation, largest": max(map(tape.cost_of_gradient, chains)),
        "chains of one operation, largest, signs counted": max(tape.cost_of_gradient(c, 1) for c in chains),
        "random graphs, median": estimate(np.median, [tape.cost_of_gradient(graph) for graph, _ in graphs]),
    }


@TOPIC.claim("FN-AD-03")
def jacobians(work: Work) -> Lines:
    """Errors of Jacobians of random maps by rows and by columns."""
    errors = [
        _error(jacobian(graph, point), _complex_steps(graph, point))
        for graph, point in random_graphs(work.rng("jacobian"), _N_MAPS, n_outputs=3)
        for jacobian in (tape.jacobian_by_rows, tape.jacobian_by_columns)
    ]
    return {"random maps": max(errors)}


@TOPIC.claim("FN-AD-04", numbers=["accumulator of x", "accumulator of x by the drawn rule"])
def misprint(work: Work) -> Lines:
    """The accumulator of x with the right partial derivative of z = y / s and with the drawn one."""
    _, bars, drawn = work.once(_example_sweeps)
    (x, m, s), graph, step = _EXAMPLE, tape.record(normal_energy, 3), 1e-5
    high, low = (tape.evaluate(graph, [x + side * step, m, s])[-1] for side in (1.0, -1.0))
    return {
        "accumulator of x": bars["x"],
        "accumulator of x by the drawn rule": drawn["x"],
        "derivative in x as drawn": (high - low) / (2.0 * step),
    }


def random_graphs(rng: np.random.Generator, n: int, n_outputs: int = 1) -> Iterator[tuple[Graph, FloatArray]]:
    """Yields graphs of random operations on random earlier variables, all mixed into the outputs, with a point."""

    def build(*inputs: Variable) -> list[Variable]:
        pool = list(inputs)
        for _ in range(_GRAPH_SIZE):
            kind = str(rng.choice(list(_SAFE)))
            first, second = (pool[rng.integers(len(pool))] for _ in range(2))
            pool.append(_SAFE[kind](first, second))
        # Every late variable is used, so that hardly any operation is without effect.
        outputs = [pool[-1 - k] for k in range(n_outputs)]
        for k, variable in enumerate(pool[_N_INPUTS:-n_outputs]):
            outputs[k % n_outputs] = outputs[k % n_outputs] + variable.sin()
        return outputs

    for _ in range(n):
        yield tape.record(build, _N_INPUTS), rng.uniform(0.3, 1.0, _N_INPUTS)


def _complex_steps(graph: Graph, point: FloatArray) -> FloatArray:
    """Jacobian [output, input] from values at complex arguments, which no partial derivative enters."""
    step, columns = 1e-100, []
    for direction in np.eye(graph.n_inputs):
        values = [*map(complex, point + 1j * step * direction), *graph.constants]
        for operation, arguments in graph.nodes:
            value = getattr(cmath, operation, OPERATIONS[operation].value)
            values.append(value(*(values[i] for i in arguments)))
        columns.append([values[i].imag / step for i in graph.outputs])
    return np.array(columns).T


def _error(found: FloatArray, wanted: FloatArray) -> float:
    """Largest error relative to the largest component."""
    return largest_size(found - wanted) / largest_size(wanted)


def _example_sweeps(work: Work) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Values, accumulators, and accumulators as drawn in figure B.2, by name of the variable."""
    graph = tape.record(normal_energy, 3)
    values = tape.evaluate(graph, _EXAMPLE)
    # The drawing takes the partial derivative of y / s in y for 1.
    drawn = OPERATIONS["divide"]._replace(pull=lambda bar, a, b, y: (bar, -(bar / b * y)))
    bars = tape.reverse_sweep(graph, values, [1.0])
    drawn_bars = tape.reverse_sweep(graph, values, [1.0], {**OPERATIONS, "divide": drawn})
    first, second, third = (dict(zip(_NAMES, n, strict=True)) for n in (values, bars, drawn_bars))
    return first, second, third


@TOPIC.figure("fig_b_1")
def graph_curves(work: Work) -> Arrays:
    """Figures B.1 and B.2: values and accumulators of every variable."""
    values, bars, drawn = work.once(_example_sweeps)
    names = [name for name in _NAMES if name != "constant"]
    sweeps = {"value": values, "accumulator": bars, "as_drawn": drawn}
    table = {part: [found[name] for name in names] for part, found in sweeps.items()}
    return {part: xr.DataArray(numbers, {"variable": names}) for part, numbers in table.items()}
