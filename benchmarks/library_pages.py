"""CPU time of the examples in docs/library, each a process of its own.

    python benchmarks/library_pages.py [PAGE ...]

Imports and compilation are counted: with so few draws they are most of it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "library"


def main() -> None:
    """Prints a table."""
    names = sys.argv[1:] or [path.stem for path in sorted(PAGES.glob("*.md"))]
    print("| page | lines | CPU s |")
    print("|---|---|---|")
    for name in names:
        program = "\n".join(
            re.findall(r"^```python\n(.*?)^```", (PAGES / f"{name}.md").read_text(), re.M | re.S)
        )
        if not program:
            continue
        process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        lines = sum(1 for line in program.splitlines() if line.strip() and not line.strip().startswith("#"))
        seconds = f"{usage.ru_utime + usage.ru_stime:.0f}"
        if process.returncode:
            seconds = f"failed: {errors.strip().splitlines()[-1]}"
        print(f"| {name} | {lines} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
