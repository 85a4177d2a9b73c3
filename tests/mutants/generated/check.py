"""Puts one change after another into a copy of the project and asks the nearest tests."""

import ast
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.copies import ROOT
from tests.mutants.generated.changes import Change, changed_text
from tests.mutants.generated.children import Ended, record_entered, run_apart
from tests.mutants.generated.nearest import nearest_tests, targets
from tests.mutants.workspace import Workspace

__all__ = ["OUTCOMES", "Checker", "Result"]

OUTCOMES = ("killed", "no end", "survived")
"""A test failed; the tests came to no end; all tests that were asked passed."""

_NOT_COPIED = {"src", "tests", "pyproject.toml", "results", "paper_figures", "logs"}


class Result(NamedTuple):
    """What became of a change.

    Attributes:
        change: what was changed.
        outcome: one of OUTCOMES.
        by: node id of the test that failed, or the file that came to no end; empty for a survivor.
        how: "failed" by an assertion, or "broke" in any other way.
        asked: files of tests that were run, or are known to enter none of the changed function.
        nearest: files whose imports lead to the module.
        seconds: of processor time.
    """

    change: Change
    outcome: str
    by: str
    how: str
    asked: int
    nearest: int
    seconds: float


class _Known(NamedTuple):
    """What runs have told: tests that pass in the copy, and of whole files what they enter and how long they take."""

    passed: set[str]
    entered: dict[str, frozenset[str]]
    seconds: dict[str, float]


class Checker:
    """A copy of the project in which changes are made, one at a time.

    The copy's modules note which of their functions are entered. That is itself a change that must fail no test: a
    test that fails counts only if it passes in the copy without the change.

    Args:
        folder: where the copy goes; must not exist.
        root: the project.
        limit_s: processor time after which no further file of tests is asked about a change.
        file_limit_s: processor time of one file of tests; four times its usual time where that is more.
    """

    def __init__(
        self, folder: Path, root: Path = ROOT, limit_s: float = 60.0, file_limit_s: float = 40.0
    ) -> None:
        self._root, self._folder = root, folder
        self._limit_s, self._file_limit_s = limit_s, file_limit_s
        Workspace(folder, root)
        for path in root.iterdir():
            if path.name not in _NOT_COPIED and not path.name.startswith("."):
                (folder / path.name).symlink_to(path)
        kept = root / ".cache" / "mutants"
        (kept / "programs").mkdir(parents=True, exist_ok=True)
        (folder / ".cache").mkdir()
        (folder / ".cache" / "programs_of_tests").symlink_to(kept / "programs")
        self._memory = kept / "known.json"
        self._time = 1_000_000_000
        self._functions: set[str] = set()
        for module in targets(root):
            text = (root / module).read_text()
            self._functions |= set(_functions(module, ast.parse(text)))
            self._write(module, text)
        self._unsound: set[str] = set()
        self._known = self._recall()

    def check(self, change: Change, tests: Sequence[str] | None = None) -> Result:
        """Makes a change, asks tests until one fails, and takes it back.

        Args:
            change: what to change.
            tests: node ids, or files; the nearest files unless given.
        """
        original = (self._root / change.module).read_text()
        changed = changed_text(original, change)
        files = nearest_tests(self._root, change.module) if tests is None else tests
        entry = f"{change.module}:{change.function}"
        spent, asked = 0.0, 0
        self._write(change.module, changed)
        try:
            for file in files:
                entered = self._known.entered.get(file)
                if entry in self._functions and entered is not None and entry not in entered:
                    asked += 1
                    continue
                if spent > self._limit_s:
                    continue
                ended, seconds = self._ask(file, change.module, original, changed)
                spent += seconds
                if ended is None:
                    continue
                asked += 1
                if ended.outcome != "passed":
                    outcome = "no end" if ended.outcome == "no end" else "killed"
                    return Result(
                        change, outcome, ended.test or file, ended.outcome, asked, len(files), spent
                    )
            return Result(change, "survived", "", "", asked, len(files), spent)
        finally:
            self._write(change.module, original)
            self._remember()

    def _ask(self, file: str, module: str, original: str, changed: str) -> tuple[Ended | None, float]:
        """How a file of tests ends, None if that tells nothing, and the processor time that it took to know."""
        usual = self._known.seconds.get(file)
        limit = max(self._file_limit_s, 4.0 * (usual or 0.0))
        spent = 0.0
        while True:
            ended = run_apart(self._folder, [file], limit, self._unsound)
            spent += ended.seconds
            self._known.passed.update(ended.passed)
            if ended.outcome == "passed":
                self._learn(file, ended)
                return ended, spent
            test = ended.test or file
            if ended.outcome == "no end":
                sound = usual is not None
            else:
                sound = any(name == test or name.startswith(f"{test}::") for name in self._known.passed)
            if sound:
                return ended, spent
            self._write(module, original)
            control = run_apart(self._folder, [test], limit, self._unsound)
            self._write(module, changed)
            spent += control.seconds
            self._known.passed.update(control.passed)
            if control.outcome == "passed":
                if test == file:
                    self._learn(file, control)
                return ended, spent
            if test == file:
                return None, spent
            self._unsound.add(test)

    def _learn(self, file: str, ended: Ended) -> None:
        if "::" in file:
            return  # a test alone does not say what its file enters
        self._known.entered[file] = ended.entered
        self._known.seconds[file] = ended.seconds

    def _write(self, module: str, text: str) -> None:
        path = self._folder / module
        path.write_text(record_entered(module, text))
        # Bytecode counts as that of a text of its second: none is given twice.
        self._time += 1
        os.utime(path, (self._time, self._time))

    def _recall(self) -> _Known:
        known = _Known(set(), {}, {})
        if self._memory.exists():
            for file, told in json.loads(self._memory.read_text()).items():
                if told["digest"] == self._digest(file):
                    known.passed.update(told["passed"])
                    if "entered" in told:
                        known.entered[file], known.seconds[file] = frozenset(told["entered"]), told["seconds"]
        return known

    def _remember(self) -> None:
        known = self._known
        files: dict[str, dict[str, object]] = {}
        for name in sorted(known.passed):
            file = name.partition("::")[0]
            told = files.setdefault(file, {"digest": self._digest(file), "passed": []})
            told["passed"].append(name)  # type: ignore[attr-defined]
        for file, entered in known.entered.items():
            told = files.setdefault(file, {"digest": self._digest(file), "passed": []})
            files[file] = told | {"entered": sorted(entered), "seconds": known.seconds[file]}
        new = self._memory.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(files))
        new.replace(self._memory)

    def _digest(self, file: str) -> str:
        """Of the file, and of all modules that are changed."""
        return hashlib.sha256((self._source_digest() + (self._root / file).read_text()).encode()).hexdigest()

    def _source_digest(self) -> str:
        if not hasattr(self, "_source"):
            texts = "".join((self._root / module).read_text() for module in targets(self._root))
            self._source = hashlib.sha256(texts.encode()).hexdigest()
        return self._source


def _functions(module: str, node: ast.AST, scope: tuple[str, ...] = ()) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inner = (*scope, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
        if isinstance(child, ast.FunctionDef):
            yield f"{module}:{'.'.join(inner)}"
        yield from _functions(module, child, inner)
