"""Digest of the code that a module depends on: what tells a real change from a change of comments."""

import ast
import functools
import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path


def code_digest(module: str, roots: Sequence[Path], without: Collection[str] = ()) -> str:
    """Digest of a module and of everything of this project that it imports, at any depth.

    Comments, docstrings and layout do not count.

    Args:
        module: dotted name, for example `experiments.gaussian_latent.run`.
        roots: folders that hold the project's packages.
        without: modules that do not count.

    Raises:
        ModuleNotFoundError: the module itself is in none of the roots.
    """
    left_out = {_find(name, roots) for name in without}
    files = [file for file in imported_files(module, roots) if file not in left_out]
    return hashlib.sha256("".join(_file_digest(f, f.stat().st_mtime_ns) for f in files).encode()).hexdigest()[
        :16
    ]


def imported_files(module: str, roots: Sequence[Path]) -> list[Path]:
    """Files of the project that a module needs, itself included, sorted."""
    first = _find(module, roots)
    if first is None:
        raise ModuleNotFoundError(f"no module {module!r} in {', '.join(map(str, roots))}")
    seen: dict[str, Path] = {}
    queue = [(module, first)]
    while queue:
        name, path = queue.pop()
        if name not in seen:
            seen[name] = path
            queue += _needed(path, name, path.stat().st_mtime_ns, tuple(roots))
    return sorted(set(seen.values()))


def _find(module: str, roots: Sequence[Path]) -> Path | None:
    relative = Path(*module.split("."))
    for root in roots:
        for path in (root / relative.with_suffix(".py"), root / relative / "__init__.py"):
            if path.is_file():
                return path
    return None


@functools.lru_cache(maxsize=4096)
def _needed(path: Path, module: str, modified: int, roots: tuple[Path, ...]) -> list[tuple[str, Path]]:
    names = [module.rpartition(".")[0], *_imports(path, module)] if "." in module else _imports(path, module)
    return [(name, found) for name in names if (found := _find(name, roots)) is not None]


def _imports(path: Path, module: str) -> list[str]:
    names: list[str] = []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*anchor, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


@functools.lru_cache(maxsize=1024)
def _file_digest(path: Path, modified: int) -> str:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
