"""Which files of tests import a module, directly or not, the nearest first."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["TARGETS", "nearest_tests", "targets"]

TARGETS = (
    "src/auxmc/kernels",
    "src/auxmc/numerics",
    "src/auxmc/diagnostics",
    "src/auxmc/approximations",
    "src/auxmc_pipeline/judging",
    "src/auxmc_pipeline/claims.py",
    "src/auxmc_pipeline/error_rules.py",
)
"""Modules that are changed, and folders of them."""

_STATISTICAL = "tests/statistical"
_TESTS = ("tests/unit", _STATISTICAL)
# They test the texts of the project, or the checks of mutations themselves.
_NOT_ASKED = ("tests/unit/project", "tests/unit/mutants", "tests/statistical/test_mutants.py")


def targets(root: Path) -> list[str]:
    """Paths of the modules that are changed, from the root of the project."""
    found = [
        path
        for target in TARGETS
        for path in ([root / target] if target.endswith(".py") else sorted((root / target).rglob("*.py")))
    ]
    return [str(path.relative_to(root)) for path in found]


def nearest_tests(root: Path, module: str) -> list[str]:
    """Files of tests whose imports lead to a module, by the number of steps that this takes.

    The module itself comes first if it has examples. Among files at one distance those of single parts come before
    statistical ones, and short ones before long ones, which take more time.

    Args:
        root: of the project.
        module: its path from there.
    """
    importers = _graph(root)
    distance, edge = {module: 0}, [module]
    while edge:
        edge = [other for path in edge for other in sorted(importers[path]) if other not in distance]
        edge = list(dict.fromkeys(edge))
        step = max(distance.values()) + 1
        distance |= dict.fromkeys(edge, step)
    tests = [path for path in distance if _is_asked(path)]
    tests.sort(key=lambda path: (distance[path], path.startswith(_STATISTICAL), (root / path).stat().st_size))
    return [*([module] if ">>> " in (root / module).read_text() else []), *tests]


def _is_asked(path: str) -> bool:
    return path.startswith(_TESTS) and Path(path).name.startswith("test_") and not path.startswith(_NOT_ASKED)


@cache
def _graph(root: Path) -> dict[str, set[str]]:
    """Files that import each file."""
    folders = (("src", root / "src"), ("tests", root), ("experiments", root))
    paths = {
        _dotted(path, base): path
        for folder, base in folders
        for path in (base if folder == "src" else base / folder).rglob("*.py")
    }
    importers: dict[str, set[str]] = defaultdict(set)
    for path in paths.values():
        source = str(path.relative_to(root))
        names = _imported_names(ast.parse(path.read_text()), paths.keys())
        for other in {str(paths[name].relative_to(root)) for name in names} - {source}:
            importers[other].add(source)
    return importers


def _dotted(path: Path, base: Path) -> str:
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def _imported_names(tree: ast.Module, known: Iterable[str]) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return names & set(known)
