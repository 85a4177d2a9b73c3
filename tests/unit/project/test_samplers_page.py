"""The page of samplers names what there is, completely, and its examples run."""

import ast
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "samplers.md").read_text()
# What a kernel's function gives back; runs of estimators are functions of a key and data.
_GIVEN_BACK = ("Kernel", "Stream", "Callable[[Array], SequentialRun]", "Callable[[Array, Array], NestedRun]")


def test_every_name_of_the_page_can_be_imported() -> None:
    names = set(re.findall(r"`(auxmc(?:\.\w+)+\.\w+)`", PAGE))
    assert len(names) > 50
    for name in names:
        module, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), last), name


def test_every_kernel_and_stream_is_on_the_page() -> None:
    missing = []
    for path in (ROOT / "src" / "auxmc" / "kernels").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            made = isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns)
            if made in _GIVEN_BACK and not node.name.startswith("_"):
                name = ".".join([*path.relative_to(ROOT / "src").with_suffix("").parts, node.name])
                missing += [name] * (f"`{name}`" not in PAGE)
    assert not missing


@pytest.mark.slow
def test_the_examples_of_the_page_run_and_are_right() -> None:
    printed: list[tuple] = []
    names = {"print": lambda *values: printed.append(values)}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    for block in blocks:
        exec(compile(block, "docs/samplers.md", "exec"), names)
    assert len(printed) == len(blocks) - 1, "all but the first, which makes ready, print"
    for what, found, exact, value, *_ in printed:
        assert exact == "exact"
        np.testing.assert_allclose(found, value, rtol=0.02, atol=0.1, err_msg=what)
