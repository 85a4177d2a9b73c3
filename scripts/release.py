"""Walks through the checklist of a release, and says what is left to do by hand.

    python scripts/release.py [--all]

Nothing is changed. With --all the long steps run too: all tests, the documentation, published jobs run again.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Step(NamedTuple):
    """A line of the checklist: what must hold, what finds out (empty where it does), what to do if it does not."""

    what: str
    problem: Callable[[], str]
    mend: str
    is_long: bool = False


def steps(version: str, scratch: Path) -> list[Step]:
    """The checklist for a version; files go to a scratch folder."""
    return [
        Step("nothing is uncommitted", lambda: _said("git", "status", "--porcelain"), "commit or stash it"),
        Step(
            "the branch is main",
            lambda: "" if (now := _said("git", "branch", "--show-current")) == "main" else now,
            "git switch main",
        ),
        Step(
            f"CHANGELOG begins with {version} and its date",
            lambda: _undated((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version),
            "date the newest heading, and write date-released into CITATION.cff",
        ),
        Step(
            "version, licence, keywords and checks agree in all files",
            lambda: _failed(
                sys.executable, "-m", "pytest", "-n0", "-q", "tests/unit/project/test_metadata.py"
            ),
            "see the failed test; after a change of the version: make setup",
        ),
        Step(
            f"no tag v{version} is there yet",
            lambda: _said("git", "tag", "--list", f"v{version}"),
            "raise the version in pyproject.toml, CITATION.cff and codemeta.json",
        ),
        Step(
            "style and types are clean",
            lambda: _failed("make", "check"),
            "make format, then see what is left",
        ),
        Step(
            "wheel and sdist can be built",
            lambda: _failed(sys.executable, "-m", "hatchling", "build", "-d", str(scratch)),
            "see [tool.hatch] in pyproject.toml",
        ),
        Step(
            "the wheel works outside of the checkout",
            lambda: _failed(
                sys.executable, "-m", "pytest", "-n0", "-q", "tests/unit/project/test_package.py"
            ),
            "see the failed test",
            is_long=True,
        ),
        Step("all tests pass", lambda: _failed("make", "test-all"), "see the failed tests", is_long=True),
        Step("the documentation builds", lambda: _failed("make", "docs"), "see its warnings", is_long=True),
        Step(
            "published results can be made again",
            lambda: _failed("make", "verify"),
            "auxmc show published says what differs; docs/published.md",
            is_long=True,
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each step; returns 0 if all hold, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="run the long steps too")
    options = parser.parse_args(arguments)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    n_open = 0
    with tempfile.TemporaryDirectory() as scratch:
        for step in steps(version, Path(scratch)):
            if step.is_long and not options.all:
                print(f"[ ] {step.what}: not tried, takes minutes (--all)")
                continue
            problem = step.problem()
            n_open += bool(problem)
            print(f"[{' ' if problem else 'x'}] {step.what}", flush=True)
            if problem:
                print(f"    {problem.strip()[-600:]}\n    To do: {step.mend}")
    if n_open:
        print(f"\n{n_open} to do before {version} can be released.")
        return 1
    print(
        f"\nLeft to do by hand:\n  git tag -a v{version} -m 'auxmc {version}' && git push origin v{version}\n"
        "The forge's workflow `release` builds, tries and publishes what the tag names."
    )
    return 0


def _undated(text: str, version: str) -> str:
    heading = re.search(r"^## .*$", text, re.M)
    wanted = rf"## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)"
    return "" if heading and re.fullmatch(wanted, heading[0]) else str(heading and heading[0])


def _said(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.strip()


def _failed(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    return "" if done.returncode == 0 else (done.stdout + done.stderr) or f"exit status {done.returncode}"


if __name__ == "__main__":
    sys.exit(main())
