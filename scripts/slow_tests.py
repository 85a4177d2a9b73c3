"""Says which tests `make test` leaves out, as the table of docs/testing.md.

python scripts/slow_tests.py [--write-page]
"""

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- left out: begin -->\n", "<!-- left out: end -->\n"
_SLOW = "pytest.mark.slow"


def table() -> str:
    """Files with tests that are left out: which functions, of how many, and what the file is about."""
    rows = ["| file | left out | what it tests |", "|---|---|---|"]
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        module = ast.parse(path.read_text())
        tests = [
            node
            for node in module.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
        whole = any(isinstance(node, ast.Assign) and _SLOW in ast.unparse(node) for node in module.body)
        slow = [test for test in tests if whole or any(_SLOW in ast.unparse(d) for d in test.decorator_list)]
        if slow:
            share = "all" if len(slow) == len(tests) else f"{len(slow)} of {len(tests)}"
            about = (ast.get_docstring(module) or "").partition("\n")[0]
            rows.append(f"| `{path.relative_to(ROOT / 'tests')}` | {share} | {about} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """The page with the present table between its two marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


def main() -> int:
    """Prints the table, or writes it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write-page", action="store_true", help=f"writes {PAGE.relative_to(ROOT)}")
    if parser.parse_args().write_page:
        PAGE.write_text(with_table(PAGE.read_text()))
    else:
        print(table(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
