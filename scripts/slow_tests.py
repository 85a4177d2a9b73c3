"""Says which tests `make test` leaves out, as the table of docs/testing.md.

python scripts/slow_tests.py [--write-page]
"""

import argparse
import ast
import sys
from pathlib import Path

from auxmc_pipeline.publishing.marks import between_marks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "testing.md"
_SLOW = "pytest.mark.slow"


def table() -> str:
    """Files with tests that are left out: which functions, of how many, and what the file is about."""
    rows = ["| file | left out | what it tests |", "|---|---|---|"]
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        if share := left_out(module):
            about = (ast.get_docstring(module) or "").partition("\n")[0]
            rows.append(f"| `{path.relative_to(ROOT / 'tests')}` | {share} | {about} |")
    return "\n".join(rows) + "\n"


def left_out(module: ast.Module) -> str:
    """How many tests of a file are left out, and of how many only some cases are; empty for none."""
    tests = [
        node.decorator_list
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    of_file = [node for node in module.body if isinstance(node, ast.Assign)]
    if any(ast.unparse(node.targets[0]) == "pytestmark" and _has_mark(node.value) for node in of_file):
        return "all"
    n_whole = sum(any(ast.unparse(node) == _SLOW for node in decorators) for decorators in tests)
    # A parameter of a test may have the mark, and then the test is there without that case.
    n_some = sum(any(map(_has_mark, decorators)) for decorators in tests) - n_whole
    if n_whole == len(tests):
        return "all" if tests else ""
    parts = [f"{n_whole} of {len(tests)}"] * (n_whole > 0)
    return ", and ".join([*parts, *[f"some cases of {n_some}"] * (n_some > 0)])


def _has_mark(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and ast.unparse(part) == _SLOW for part in ast.walk(node))


def with_table(text: str) -> str:
    """The page with the present table between its two marks."""
    return between_marks(text, "left out", table(), PAGE.name)


def main() -> int:
    """Prints the table, or writes it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write-page", action="store_true", help=f"writes {PAGE.relative_to(ROOT)}")
    if parser.parse_args().write_page:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
