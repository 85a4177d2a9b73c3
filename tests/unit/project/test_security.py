"""What SECURITY.md says of the code, looked for in the code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = sorted(
    path for folder in ("src", "experiments", "scripts") for path in (ROOT / folder).rglob("*.py")
)

# Modules that turn bytes into objects with code.
UNPICKLERS = {"pickle", "dill", "joblib", "marshal", "shelve", "cloudpickle"}
# Where they are used all the same: functions go to processes that the user started, never to or from a file.
MAY_PICKLE = {"src/auxmc/interface/executors.py"}
# What runs a text or a file as code, and the only places for it: the user's model file and the project's own modules.
RUNS_CODE = {"eval", "exec", "exec_module", "run_path", "run_module", "import_module", "__import__"}
MAY_RUN = {
    "src/auxmc/__init__.py",
    "src/auxmc/models/user_model.py",
    "src/auxmc/command_line/own_models/model_file.py",
    "src/auxmc_pipeline/catalogue.py",
    "src/auxmc_pipeline/command_line/__init__.py",
}
SHELLS = {"system", "popen", "getoutput", "getstatusoutput"}


def _calls(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """What is called, its owner's name where it has one, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id, "", node
            elif isinstance(node.func, ast.Attribute):
                owner = node.func.value
                yield node.func.attr, owner.id if isinstance(owner, ast.Name) else "", node


def _imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def broken(place: str, text: str) -> list[str]:
    """What a source does although SECURITY.md says that nothing of the project does."""
    tree = ast.parse(text)
    found = []
    if place not in MAY_PICKLE:
        found += [f"imports {name}" for name in sorted(_imported(tree) & UNPICKLERS)]
    for name, owner, call in _calls(tree):
        words = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
        if name in RUNS_CODE and place not in MAY_RUN:
            found.append(f"line {call.lineno}: {name} runs code")
        if (owner == "os" and name in SHELLS) or words.get("shell", False) is not False:
            found.append(f"line {call.lineno}: {name} starts a shell")
        if words.get("allow_pickle", False) is not False or name in {"read_pickle", "to_pickle"}:
            found.append(f"line {call.lineno}: {name} reads or writes pickled objects")
        if owner == "yaml" and name in {"load", "unsafe_load", "full_load"}:
            found.append(f"line {call.lineno}: yaml.{name} makes objects")
        if owner == "pooch" and name == "retrieve" and "known_hash" not in words:
            found.append(f"line {call.lineno}: a download without a checksum")
        if name in {"urlopen", "urlretrieve"}:
            found.append(f"line {call.lineno}: {name} fetches without a checksum")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and str(node.value).startswith("http://"):
            found.append(f"line {node.lineno}: an address that is not HTTPS")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=_place)
def test_a_source_does_nothing_that_the_page_rules_out(path: Path) -> None:
    assert not broken(_place(path), path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from joblib import load",
        "import numpy as np\nnp.load('a.npy', allow_pickle=True)",
        "import subprocess\nsubprocess.run('a', shell=True)",
        "import os\nos.system('a')",
        "eval('1')",
        "import yaml\nyaml.load('a')",
        "import pooch\npooch.retrieve('a')",
        "ADDRESS = 'http://a.example'",
    ],
)
def test_what_the_page_rules_out_is_noticed(text: str) -> None:
    assert broken("src/auxmc/a.py", text)
