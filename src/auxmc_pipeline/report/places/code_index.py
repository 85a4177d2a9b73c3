"""Where the code is: public functions and classes, what each does, which studies use them."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.code import imported_files

LAYERS = (
    "kernels",
    "sampling",
    "models",
    "approximations",
    "diagnostics",
    "numerics",
    "driver",
    "data",
    "plots",
)
"""Folders of the package, those with the algorithms first."""


class CodeName(NamedTuple):
    """A public name: the line on which it begins, and the first line of its docstring."""

    name: str
    line: int
    about: str


class CodeModule(NamedTuple):
    """A module: its file relative to the root, the first line of its docstring, its names, studies that use it."""

    layer: str
    path: str
    about: str
    names: tuple[CodeName, ...]
    studies: tuple[str, ...]


def code_index(root: Path, studies: Sequence[str]) -> list[CodeModule]:
    """Modules of the package, by layer.

    Args:
        root: root of the project; files are read, not imported.
        studies: names of the studies.
    """
    roots = (root / "src", root)
    uses = {study: set(imported_files(f"experiments.{study}.run", roots)) for study in studies}
    out = []
    for layer in LAYERS:
        for path in sorted((root / "src" / "auxmc" / layer).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = tuple(
                CodeName(node.name, node.lineno, _first_line(node))
                for node in tree.body
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            )
            if names:
                users = tuple(study for study in studies if path in uses[study])
                out.append(CodeModule(layer, str(path.relative_to(root)), _first_line(tree), names, users))
    return out


def _first_line(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(text.partition("\n\n")[0].split())
