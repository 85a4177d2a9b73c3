"""Tests in forked processes: JAX and whatever else takes time is imported once, the project anew in each of them.

Nothing may touch a device of JAX before a fork, since its threads do not survive one: `warm_up` imports, no more.
"""

import ast
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Ended", "record_entered", "run_apart", "warm_up"]

_IMPORTED_ONCE = (
    "jax.numpy jax.scipy numpy pandas scipy.stats scipy.integrate scipy.optimize xarray h5netcdf pyarrow.parquet "
    "matplotlib.pyplot pytest hypothesis optax _pytest.doctest"
)
_PROJECT = ("auxmc", "auxmc_pipeline", "experiments", "tests")
_ENTERED = "entered_functions_of_mutants"
# A process that waits for a lock takes no processor time.
_MOST_WALL_PER_CPU_S = 60.0


class Ended(NamedTuple):
    """How tests ended.

    Attributes:
        outcome: "passed", "failed" by an assertion, "broke" in any other way, or "no end" within the time.
        test: node id of the first that did not pass; empty where none or none that is known.
        message: first line of what it said.
        passed: node ids of those that passed.
        entered: functions of changed modules, as "path:name", that were entered.
        seconds: of processor time.
    """

    outcome: str
    test: str
    message: str
    passed: tuple[str, ...]
    entered: frozenset[str]
    seconds: float


def warm_up() -> None:
    """Imports what all tests share, with the settings that they would make before the import."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ.setdefault(name, "1")
    for name in _IMPORTED_ONCE.split():
        importlib.import_module(name)


def record_entered(module: str, text: str) -> str:
    """The text of a module, each of whose functions notes that it was entered.

    Args:
        module: its path, which begins the notes.
        text: as it is, or changed.
    """
    tree = ast.parse(text)
    _note(tree, module, ())
    notes = ast.parse(f"import sys as _sys\n_entered = _sys.__dict__.setdefault({_ENTERED!r}, set())").body
    first = sum(
        (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        for node in tree.body[:2]
    )
    tree.body[first:first] = notes
    return ast.unparse(ast.fix_missing_locations(tree))


def _note(node: ast.AST, module: str, scope: tuple[str, ...]) -> None:
    for child in ast.iter_child_nodes(node):
        inner = (*scope, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
        _note(child, module, inner)
        if isinstance(child, ast.FunctionDef):
            documented = ast.get_docstring(child) is not None and len(child.body) > 1
            name = f"{module}:{'.'.join(inner)}"
            child.body.insert(int(documented), ast.parse(f"_entered.add({name!r})").body[0])


def run_apart(folder: Path, tests: Sequence[str], limit_s: float, left_out: Collection[str] = ()) -> Ended:
    """Runs tests in a process of their own until the first that does not pass.

    Args:
        folder: the project, or a copy of it.
        tests: files or node ids.
        limit_s: of processor time, after which the process ends.
        left_out: node ids of tests that are not run.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        ours.close()
        _run(theirs, folder, tests, limit_s, left_out)
    theirs.close()
    told: Ended | None = None
    if ours.poll(_MOST_WALL_PER_CPU_S * limit_s):
        with suppress(EOFError):
            told = Ended(*ours.recv())
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    seconds = usage.ru_utime + usage.ru_stime
    if told is not None:
        return told._replace(seconds=seconds)
    out_of_time = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
    outcome = "no end" if out_of_time else "broke"
    return Ended(outcome, "", f"status {status}", (), frozenset(), seconds)


def _run(
    connection: Connection, folder: Path, tests: Sequence[str], limit_s: float, left_out: Collection[str]
) -> None:
    """In the child, which does not return."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 5))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        for name in [name for name in sys.modules if name.split(".")[0] in _PROJECT]:
            del sys.modules[name]
        os.chdir(folder)
        paths = [str(folder / "src"), str(folder)]
        sys.path[:0] = paths
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        import pytest

        watcher = _Watcher(connection, left_out)
        examples = ["--doctest-modules"] if any(test.startswith("src") for test in tests) else []
        options = ["-q", "-x", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
        code = int(pytest.main([*options, *examples, *tests], plugins=[watcher]))
        watcher.tell("passed" if code in (0, 5) else "broke", "", f"pytest ended with status {code}")
    finally:
        os._exit(code)


class _Watcher:
    """Tells the parent of the first test that does not pass, and ends the process there."""

    def __init__(self, connection: Connection, left_out: Collection[str]) -> None:
        self.connection = connection
        self.left_out = set(left_out)
        self.passed: list[str] = []

    def tell(self, outcome: str, test: str = "", message: str = "") -> None:
        # A plain tuple: the class of the parent is no longer known here, since the project is imported anew.
        entered = frozenset(sys.__dict__.get(_ENTERED, ()))
        self.connection.send((outcome, test, message, tuple(self.passed), entered, time.process_time()))
        os._exit(0)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.left_out]

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.tell("broke", report.nodeid, str(report.longrepr).strip().splitlines()[-1])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            said = getattr(getattr(report.longrepr, "reprcrash", None), "message", "") or str(report.longrepr)
            # A bare assertion begins with its own text; Failed is a test that says so, as where nothing was raised.
            told = said.startswith(("assert", "AssertionError", "Failed: ")) or "Expected:" in said
            self.tell("failed" if told else "broke", report.nodeid, said.strip().splitlines()[0])
        elif report.when == "call" and report.passed:
            self.passed.append(report.nodeid)
