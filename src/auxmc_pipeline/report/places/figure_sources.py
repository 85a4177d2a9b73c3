"""Where the numbers of a figure come from: drawing function, quantities of the tables, where those are recorded.

By reading the study's source: nothing is drawn and no table is needed. Quantities are written out literally where they
are recorded and where they are read, so that a name found in both places is the same quantity.
"""

import ast
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from auxmc_pipeline.catalogue import CODE_ROOTS, ROOT, STUDIES, Study
from auxmc_pipeline.code import imported_files

# Folders of the library whose functions are what a study studies.
_ALGORITHMS = ("kernels", "models", "sampling", "approximations")
_SHARED = ROOT / "src" / "auxmc_pipeline" / "chain_statistics.py"


class SourcePlace(NamedTuple):
    """A place in the code: file relative to the root of the project, line, function or quantity that begins there."""

    file: str
    line: int
    name: str


class FigureSource(NamedTuple):
    """What a figure is made from.

    Attributes:
        drawn: the function that draws it.
        quantities: what it reads from the tables, in alphabetical order, each with the place where it is recorded.
        claims: ids of claims of the study that the code which draws it names.
    """

    drawn: SourcePlace
    quantities: tuple[SourcePlace, ...]
    claims: tuple[str, ...]


def figure_source(study: Study, figure: str) -> FigureSource:
    """The function that draws a figure, and the quantities that it and what it calls in the study read.

    Args:
        study: the study.
        figure: name of the figure.
    """
    code = _code(study.drawings()[figure])
    path = Path(code.co_filename)
    place = SourcePlace(str(path.relative_to(ROOT)), code.co_firstlineno, code.co_qualname.partition(".")[0])
    recorded = _recorded(study.name)
    texts = _texts_read(path, place.name)
    quantities = tuple(recorded[name] for name in sorted(texts & set(recorded)))
    return FigureSource(place, quantities, tuple(sorted(texts & set(study.measures()))))


def recording_function(place: SourcePlace) -> str:
    """The top-level function or class that records a quantity."""
    for node in _tree(ROOT / place.file).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= place.line <= (
            node.end_lineno or node.lineno
        ):
            return node.name
    return ""


def algorithms(study: Study) -> list[SourcePlace]:
    """Kernels, models, draws and approximations of the library that the study's run names, in order of their files."""
    files = imported_files(f"experiments.{study.name}.run", CODE_ROOTS)
    found: set[SourcePlace] = set()
    for path in files:
        if path.is_relative_to(STUDIES / study.name):
            for node in ast.walk(_tree(path)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[:1] == ["auxmc"]:
                    found |= set(_imported_algorithms(node))
    return sorted(found)


def _imported_algorithms(node: ast.ImportFrom) -> Iterator[SourcePlace]:
    parts = (node.module or "").split(".")
    file = (ROOT / "src" / Path(*parts)).with_suffix(".py")
    if len(parts) > 1 and parts[1] in _ALGORITHMS and file.is_file():
        for alias in node.names:
            definition = _definitions(file).get(alias.name)
            if isinstance(definition, ast.FunctionDef):
                yield SourcePlace(str(file.relative_to(ROOT)), definition.lineno, alias.name)


def _code(function: Callable[..., Any]) -> CodeType:
    while isinstance(function, functools.partial):
        function = function.func
    code: CodeType = inspect.unwrap(function).__code__
    return code


@functools.lru_cache(maxsize=64)
def _recorded(study: str) -> Mapping[str, SourcePlace]:
    """Names under which the study's run, or the statistics that all studies share, record quantities."""
    used = imported_files(f"experiments.{study}.run", CODE_ROOTS)
    own = [path for path in used if path.is_relative_to(STUDIES / study) and path.stem != "settings"]
    found: dict[str, SourcePlace] = {}
    for path in [*own, _SHARED]:
        for name, line in _names_recorded(_tree(path)):
            found.setdefault(name, SourcePlace(str(path.relative_to(ROOT)), line, name))
    return found


def _names_recorded(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Keys of dictionaries, and what is assigned to by key.

    Coordinates and dimensions are no quantities, nor are keys of tables of constants or functions.
    """
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    dimensions = {
        part.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple)
        for part in node.elts[: len(node.elts) if all(map(_is_text, node.elts)) else 0]
        if isinstance(part, ast.Constant)
    }
    coordinates = {
        id(value) for node in ast.walk(tree) for value in _coordinates(node) if isinstance(value, ast.Dict)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and id(node) not in coordinates:
            keys: list[ast.expr | None] = [
                key
                for key, value in zip(node.keys, node.values, strict=True)
                if not isinstance(value, ast.Constant | ast.List)
                and not (isinstance(value, ast.Name) and value.id in functions)
            ]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys = [node.slice]
        else:
            continue
        for key in keys:
            if key is not None and _is_text(key) and key.value not in dimensions:  # type: ignore[attr-defined]
                yield key.value, key.lineno  # type: ignore[attr-defined]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _coordinates(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return [word.value for word in node.keywords if word.arg == "coords"]
    if isinstance(node, ast.Assign) and any("coords" in ast.unparse(target) for target in node.targets):
        return [node.value]
    return []


def _texts_read(path: Path, function: str) -> set[str]:
    """String constants in a top-level definition and in all definitions of the study that it uses."""
    seen: set[tuple[Path, str]] = set()
    queue = [(path, function)]
    texts: set[str] = set()
    while queue:
        place = queue.pop()
        if place in seen:
            continue
        seen.add(place)
        node = _definitions(place[0]).get(place[1])
        if node is None:
            continue
        imported = _imported(place[0])
        dimensions = {id(text) for inner in ast.walk(node) for text in _dimensions_read(inner)}
        for inner in ast.walk(node):
            if id(inner) in dimensions:
                continue
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                texts.add(inner.value)
            elif isinstance(inner, ast.Name):
                queue.append(imported.get(inner.id, (place[0], inner.id)))
    return texts


def _dimensions_read(node: ast.AST) -> list[ast.expr]:
    """Dimensions of an array that a table is asked for, and coordinates that are read of one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "array":
        return node.args[1:]
    return [node.slice] if isinstance(node, ast.Subscript) else []


@functools.lru_cache(maxsize=256)
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=256)
def _definitions(path: Path) -> Mapping[str, ast.stmt]:
    """Functions, classes and constants of a module, by name."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


@functools.lru_cache(maxsize=256)
def _imported(path: Path) -> Mapping[str, tuple[Path, str]]:
    """Names that a module imports from others of its study: the file and the name there."""
    found: dict[str, tuple[Path, str]] = {}
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("experiments."):
            file = (ROOT / Path(*node.module.split("."))).with_suffix(".py")
            if file.is_file():
                found |= {alias.asname or alias.name: (file, alias.name) for alias in node.names}
    return found
