"""A copy of source and tests in which a mutation can be made, and the outcome of tests that run in it."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.copies import ROOT, copied, python_path
from tests.mutants.mutation import SourceMutation, edited, text_errors

__all__ = ["Outcome", "Workspace", "matches", "outcomes_of"]

_PARTS = ("src", "tests", "pyproject.toml")

# What pytest says: all passed; some failed.
_PASSED, _FAILED = 0, 1


class Outcome(NamedTuple):
    """How a test ended.

    Attributes:
        name: its node id.
        kind: "passed", "failed" by an assertion, or "broke" in any other way.
        message: first line of what it said.
        noted: what a passing test recorded under the name "noticed".
        seconds: of the test alone.
    """

    name: str
    kind: str
    message: str
    noted: str = ""
    seconds: float = 0.0


class Workspace:
    """A copy of the project.

    Args:
        folder: where the copy goes; must not exist.
        root: the project.
        time_limit_s: seconds after which a run of tests is stopped.
    """

    def __init__(self, folder: Path, root: Path = ROOT, time_limit_s: float = 900.0) -> None:
        self.folder = folder
        self.time_limit_s = time_limit_s
        copied(folder, _PARTS, root)

    def run(self, tests: Sequence[str], error: str = "") -> list[Outcome]:
        """Runs tests in the copy as it is.

        Args:
            tests: node ids.
            error: name of an exception that counts as a failed assertion.

        Raises:
            RuntimeError: no outcome can be told: the tests are not there, cannot be collected, or take too long.
        """
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-n0", "-q", "--no-header", "-p", "no:cacheprovider"]
        # A file that is the same in time and size as the one before would run from its old bytecode.
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": python_path(self.folder)}
        try:
            done = subprocess.run(
                [*command, f"--junitxml={report}", *tests],
                cwd=self.folder,
                env=os.environ | environment,
                capture_output=True,
                text=True,
                timeout=self.time_limit_s,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"no end after {self.time_limit_s:g} s") from None
        if done.returncode not in (_PASSED, _FAILED):
            raise RuntimeError(f"pytest ended with status {done.returncode}: {_last_line(done.stdout)}")
        return outcomes_of(report, error)

    def run_mutated(self, mutation: SourceMutation) -> list[Outcome]:
        """Runs the tests of a mutation with its edits made, and takes these back.

        Raises:
            RuntimeError: as `run`, or a text to be replaced does not occur exactly once.
        """
        if not mutation.edits:
            return self.run(list(mutation.tests.values()), mutation.error)
        path = self.folder / "src" / "auxmc" / mutation.module
        original = path.read_text()
        errors = text_errors(mutation.module, mutation.edits, original)
        if errors:
            raise RuntimeError("; ".join(errors))
        try:
            path.write_text(edited(original, mutation.edits))
            return self.run(list(mutation.tests.values()), mutation.error)
        finally:
            path.write_text(original)


def matches(outcome: str, test: str) -> bool:
    """Whether a case belongs to a node id, which without brackets stands for all cases of a test."""
    return outcome == test or outcome.startswith(f"{test}[")


def outcomes_of(report: Path, error: str = "") -> list[Outcome]:
    """Outcomes of a run of tests, from the report of pytest; `error` as in `Workspace.run`."""
    outcomes = []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        noted = [node.get("value", "") for node in case.iter("property") if node.get("name") == "noticed"]
        kind, message = _judge(case, error)
        seconds = float(case.get("time", 0.0))
        outcomes.append(Outcome(name, kind, message, noted[0] if noted else "", seconds))
    return outcomes


def _judge(case: ElementTree.Element, error: str) -> tuple[str, str]:
    failure = case.find("failure")
    if failure is not None:
        message = failure.get("message", "").strip()
        first = message.split("\n")[0]
        # A bare assertion begins with its own text; Failed is a test that says so, as where nothing was raised.
        told = message.startswith(("assert ", "AssertionError", "Failed: "))
        declared = bool(error) and message.startswith(error)
        return ("failed" if told or declared else "broke"), first
    other = next((node for node in case if node.tag in ("error", "skipped")), None)
    if other is not None:
        return (
            "broke",
            f"{other.tag}: {other.get('message', '').strip().partition(chr(10))[0] or 'no reason given'}",
        )
    return "passed", ""


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing printed"
