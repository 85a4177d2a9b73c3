"""Which component needs which layer of tests, and which tests are these.

A test says what it tests by `@pytest.mark.layer(component, layer)`, or is named in `tests_by_pattern.py`. The
table says which cells must have a test (R), may have one (o), or make no sense (-).
"""

import ast
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.statistical.tests_by_pattern import PATTERNS

__all__ = [
    "COMPONENTS",
    "EXCEPTIONS",
    "LAYERS",
    "Cell",
    "Definition",
    "cells_of",
    "cells_with_tests",
    "definitions",
    "markdown",
    "requirement",
]

TESTS = Path(__file__).parents[1]

Cell = tuple[str, str]
"""A component and a layer."""

COMPONENTS = {
    "direct_sampling": "transforms, rejection, inverse distribution functions",
    "importance_sampling": "importance sampling and resampling",
    "metropolis": "Metropolis kernels",
    "gibbs": "Gibbs sampling, Boltzmann machines",
    "slice": "slice sampling: linear, reflective, elliptical",
    "hmc": "Hamiltonian Monte Carlo, persistent momentum, Langevin",
    "pseudo_marginal": "pseudo-marginal estimators and kernels",
    "constrained_hmc": "constrained Hamiltonian Monte Carlo",
    "tempering": "simulated and continuous tempering",
    "annealed_importance": "annealed importance sampling, forward and reverse",
    "sequential_monte_carlo": "sequential Monte Carlo, streams of rows",
    "nested_sampling": "nested sampling",
    "stochastic_gradient": "stochastic-gradient dynamics",
    "abc": "approximate Bayesian computation",
    "perfect_sampling": "coupling from the past",
    "approximations": "Laplace, variational, Rényi",
    "diagnostics": "diagnostics of chains and weights",
}

LAYERS = {
    "L1": "facts that hold in every update, on random inputs",
    "L2": "exact transition matrices on a few states",
    "L3": "geometry of integrators: reversible, symplectic, of their order",
    "L4": "laws of the random numbers inside an update",
    "L5": "the law is unchanged, from exact draws",
    "L6": "reversibility",
    "L7": "joint law of parameters and data",
    "L8": "calibration of whole inferences by simulated data",
    "L9": "posteriors that are known exactly",
    "L10": "estimates of the evidence: unbiased, or of known bias",
    "L11": "samplers that are biased by design: their known bias",
    "L12": "diagnostics on series of known properties",
    "L14": "single and double precision",
    "L15": "failures: refused, or counted and survived",
}

_TABLE = """
component              L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 L11 L12 L14 L15
direct_sampling        R  -  -  R  R  -  -  -  -  o   -   -   R   R
importance_sampling    R  -  -  o  o  -  o  -  R  R   R   -   R   R
metropolis             R  R  -  R  R  R  R  o  R  -   -   -   R   R
gibbs                  R  R  -  o  R  R  R  o  R  -   R   -   o   R
slice                  R  -  -  R  R  R  R  o  R  -   -   -   R   R
hmc                    R  -  R  R  R  R  R  o  R  -   R   -   R   R
pseudo_marginal        R  R  -  R  R  R  R  R  R  R   -   -   R   R
constrained_hmc        R  -  R  R  R  R  R  R  R  -   -   -   R   R
tempering              R  R  R  R  R  R  o  o  R  R   -   -   R   R
annealed_importance    R  -  -  o  R  -  -  -  R  R   R   -   R   R
sequential_monte_carlo R  o  -  R  o  -  R  o  R  R   -   -   R   R
nested_sampling        R  -  o  R  R  o  -  R  R  R   R   -   R   R
stochastic_gradient    R  -  -  R  R  -  -  -  -  -   R   -   R   R
abc                    R  -  o  o  R  o  R  R  R  -   R   -   o   R
perfect_sampling       R  R  -  o  R  -  -  -  R  -   -   -   o   R
approximations         R  -  -  R  -  -  -  o  R  o   R   -   R   R
diagnostics            R  -  -  -  -  -  -  -  -  -   -   R   R   R
"""

EXCEPTIONS: dict[Cell, str] = {
    (
        "sequential_monte_carlo",
        "L7",
    ): "no Markov kernel is built on a particle filter, so there is none to alternate with data",
}
"""Required cells without a test, and why."""


class Definition(NamedTuple):
    """A test function of the repository.

    Attributes:
        path: its file, from the folder of the tests.
        name: of the function.
        cells: what its marks say it tests.
    """

    path: str
    name: str
    cells: tuple[Cell, ...]


def requirement(component: str, layer: str) -> str:
    """R where a cell must have a test, o where it may have one, - where it makes no sense."""
    return _requirements()[component, layer]


def cells_of(test: str, marked: Iterable[Cell] = ()) -> list[Cell]:
    """Cells that a test tests: those of its marks, and those of the patterns that fit.

    Args:
        test: address of a test, such as tests/unit/kernels/hamiltonian/test_hmc.py::test_name[parameter].
        marked: what its marks say.
    """
    path, _, function = test.removeprefix("tests/").partition("::")
    by_pattern = (cell for cell, pattern in _patterns_by_path().get(path, ()) if _fits(function, pattern))
    return list(dict.fromkeys([*marked, *by_pattern]))


def definitions() -> list[Definition]:
    """All test functions, read from the source."""
    files = [*TESTS.rglob("test_*.py"), *TESTS.rglob("deep_*.py")]
    return [definition for path in sorted(files) for definition in _definitions(path)]


def cells_with_tests() -> dict[Cell, list[str]]:
    """Addresses of the tests of each cell, without parameters."""
    found: dict[Cell, list[str]] = {cell: [] for cell in _requirements()}
    for definition in definitions():
        address = f"{definition.path}::{definition.name}"
        by_pattern = [
            cell
            for cell, pattern in _patterns_by_path().get(definition.path, ())
            if fnmatchcase(definition.name, pattern.partition("[")[0])
        ]
        for cell in dict.fromkeys([*definition.cells, *by_pattern]):
            found.setdefault(cell, []).append(address)
    return found


def markdown(marks: dict[Cell, str] | None = None) -> str:
    """The table, a row for each component.

    Args:
        marks: what stands in a cell; by default ● for required tests that exist, ○ for others. Cells where a test
            makes no sense have a dash, required ones without a test say so.
    """
    shown = _existing() if marks is None else marks
    lines = [f"| component | {' | '.join(LAYERS)} |", "|---" * (len(LAYERS) + 1) + "|"]
    for component in COMPONENTS:
        entries = []
        for layer in LAYERS:
            entry = shown.get((component, layer), "")
            needed = "*" if (component, layer) in EXCEPTIONS else "missing"
            entries.append(entry or {"R": needed, "o": " ", "-": "–"}[requirement(component, layer)])
        lines.append(f"| {component.replace('_', ' ')} | {' | '.join(entries)} |")
    return "\n".join(lines)


def _existing() -> dict[Cell, str]:
    return {
        cell: "●" if requirement(*cell) == "R" else "○" for cell, tests in cells_with_tests().items() if tests
    }


@cache
def _requirements() -> dict[Cell, str]:
    header, *rows = [line.split() for line in _TABLE.strip().splitlines()]
    return {(row[0], layer): entry for row in rows for layer, entry in zip(header[1:], row[1:], strict=True)}


@cache
def _patterns_by_path() -> dict[str, list[tuple[Cell, str]]]:
    found: dict[str, list[tuple[Cell, str]]] = {}
    for cell, patterns in PATTERNS.items():
        for pattern in patterns:
            path, _, function = pattern.partition("::")
            found.setdefault(path, []).append((cell, function))
    return found


def _fits(test: str, pattern: str) -> bool:
    """Whether a test with its parameters fits a pattern, whose brackets are plain text."""
    function, _, parameters = pattern.partition("[")
    own, _, own_parameters = test.partition("[")
    if not fnmatchcase(own, function):
        return False
    return not parameters or fnmatchcase(own_parameters.removesuffix("]"), parameters.removesuffix("]"))


@cache
def _definitions(path: Path) -> tuple[Definition, ...]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    common: list[Cell] = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets
        ):
            common += _marks(ast.walk(node.value))
    place = path.relative_to(TESTS).as_posix()
    return tuple(
        Definition(
            place,
            node.name,
            (*common, *_marks(child for mark in node.decorator_list for child in ast.walk(mark))),
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def _marks(nodes: Iterable[ast.AST]) -> Iterator[Cell]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "layer":
            if not all(isinstance(argument, ast.Constant) for argument in node.args):
                raise ValueError(f"line {node.lineno}: component and layer of a mark must be written out")
            component, layer = (ast.literal_eval(argument) for argument in node.args)
            yield component, layer
