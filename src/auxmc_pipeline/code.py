"""Digest of the code that a module depends on: what tells a real change from a change of comments."""

import ast
import functools
import hashlib
import json
import os
import platform
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from auxmc.driver.files import write_atomically

_PARSER = Path(__file__).read_bytes() + platform.python_version().encode()


class _Parsed(NamedTuple):
    digest: str  # of a file's code without docstrings and annotations
    imports: list[tuple[int, str, list[str]]]  # level, 0 if absolute, module and names of each


def code_digest(module: str, roots: Sequence[Path], without: Collection[str] = ()) -> str:
    """Digest of a module and of everything of this project that it imports, at any depth.

    Comments, docstrings, annotations and layout do not count.

    Args:
        module: dotted name, for example `experiments.gaussian_latent.run`; ModuleNotFoundError for an unknown one.
        roots: folders that hold the project's packages; the last one gets `.cache/code`, where parsed files are kept.
        without: modules that do not count.
    """
    left_out = {_find(name, tuple(roots)) for name in without}
    files = [file for file in imported_files(module, roots) if file not in left_out]
    digests = [_parsed_at(file, file.stat().st_mtime_ns, roots[-1]).digest for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def imported_files(module: str, roots: Sequence[Path]) -> list[Path]:
    """Files of the project that a module needs, itself included, sorted."""
    first = _find(module, tuple(roots))
    if first is None:
        raise ModuleNotFoundError(f"no module {module!r} in {', '.join(map(str, roots))}")
    seen: dict[str, Path] = {}
    queue = [(module, first)]
    while queue:
        name, path = queue.pop()
        if name not in seen:
            seen[name] = path
            queue += _imports(name, path, path.stat().st_mtime_ns, tuple(roots))
    return sorted(set(seen.values()))


@functools.lru_cache(maxsize=1 << 14)
def _find(module: str, roots: tuple[Path, ...]) -> Path | None:
    base = module.replace(".", "/")
    places = (f"{root}/{base}{end}" for root in roots for end in (".py", "/__init__.py"))
    return next((Path(place) for place in places if os.path.isfile(place)), None)


@functools.lru_cache(maxsize=4096)
def _imports(module: str, path: Path, modified: int, roots: tuple[Path, ...]) -> list[tuple[str, Path]]:
    """Modules of the project that a file imports, or may import from others, and its package; each with its file."""
    parent = module.rpartition(".")[0]
    package = (module if path.name == "__init__.py" else parent).split(".")
    names = [parent] if parent else []
    for level, base, imported in _parsed_at(path, modified, roots[-1]).imports:
        if level:
            base = ".".join([*package[: len(package) - level + 1], *([base] if base else [])])
        names += [base, *(f"{base}.{name}" for name in imported)]
    return [(name, found) for name in dict.fromkeys(names) if (found := _find(name, roots)) is not None]


@functools.lru_cache(maxsize=4096)
def _parsed_at(path: Path, modified: int, root: Path) -> _Parsed:
    """A file's code, parsed, or as an earlier command kept it: parsing all takes longer than the rest of a plan."""
    content = path.read_bytes()
    # Under the digest of all that it follows from: the file, this code, the version of Python.
    name = hashlib.sha256(_PARSER + content).hexdigest()
    place = root / ".cache" / "code" / f"{name}.json"
    # A file that is damaged is as good as none.
    with suppress(OSError, ValueError, TypeError):
        digest, imports = json.loads(place.read_text(encoding="utf-8"))
        return _Parsed(digest, [(level, base, names) for level, base, names in imports])
    parsed = _parse(content)
    with suppress(OSError):
        write_atomically(place, lambda temporary: temporary.write_text(json.dumps(parsed), encoding="utf-8"))
    return parsed


def _parse(content: bytes) -> _Parsed:
    tree = ast.parse(content)
    imports: list[tuple[int, str, list[str]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(0, alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports.append((node.level, node.module or "", [alias.name for alias in node.names]))
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
    return _Parsed(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports)
