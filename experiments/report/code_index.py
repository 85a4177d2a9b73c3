"""Where the code is: public functions and classes, what each does, which studies use them, numbered algorithms."""

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from auxmc.engine.code import imported_files

__all__ = ["LAYERS", "CodeModule", "CodeName", "NumberedAlgorithm", "code_index", "numbered_algorithms"]

LAYERS = ("kernels", "models", "approximations", "diagnostics", "numerics", "engine", "data", "plots")
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


class NumberedAlgorithm(NamedTuple):
    """A numbered algorithm of a document, and a function that carries it out."""

    document: str
    number: int
    path: str
    name: str
    line: int
    about: str


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
        for path in sorted((root / "src" / "auxmc" / layer).glob("*.py")):
            tree = ast.parse(path.read_text())
            names = tuple(
                CodeName(node.name, node.lineno, _first_line(node))
                for node in tree.body
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            )
            if names:
                users = tuple(study for study in studies if path in uses[study])
                out.append(CodeModule(layer, str(path.relative_to(root)), _first_line(tree), names, users))
    return out


def numbered_algorithms(root: Path) -> list[NumberedAlgorithm]:
    """Algorithms of the documents with the functions that carry them out, by document and number.

    They are read from docstrings, whose sources have the form `Source: DOCUMENT, Algorithm NUMBER ...; DOCUMENT, ...`.

    Args:
        root: root of the project.
    """
    found = []
    for path in sorted((root / "src" / "auxmc").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for document, number in _cited(ast.get_docstring(node) or ""):
                    place = (str(path.relative_to(root)), node.name, node.lineno)
                    found.append(NumberedAlgorithm(document, number, *place, _first_line(node)))
    return sorted(found)


def _cited(docstring: str) -> list[tuple[str, int]]:
    source = " ".join(docstring.partition("Source: ")[2].partition("\n\n")[0].split())
    out = []
    for part in source.split(";"):
        document = part.partition(",")[0].strip()
        for first, second in re.findall(r"Algorithms? (\d+)(?: and (\d+))?(?!\.?\d)", part):
            out += [(document, int(number)) for number in (first, second) if number]
    return out


def _first_line(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(text.partition("\n\n")[0].split())
