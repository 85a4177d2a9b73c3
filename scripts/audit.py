"""Looks the locked packages up among known vulnerabilities; `make audit` installs what it needs.

    python scripts/audit.py PIP_AUDIT

PIP_AUDIT is the program of that name. It calls packages that it cannot look up "skipped" and ends as if all were well:
here that is said, and where nothing at all could be looked up, nothing is claimed.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "benchmarks/requirements.lock")


def main(arguments: Sequence[str]) -> int:
    """Prints a sentence for each lock, and a line for each vulnerability; returns 1 if there is one, else 0."""
    if len(arguments) != 1:
        print("usage: python scripts/audit.py PIP_AUDIT", file=sys.stderr)
        return 2
    found = [verdict(name, *_looked_up(arguments[0], ROOT / name)) for name in LOCKS]
    print("\n".join(text for text, _ in found))
    return max(status for _, status in found)


def _looked_up(program: str, lock: Path) -> tuple[list[dict[str, Any]], str]:
    """What the program says of each package, and the last line that it printed."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "audit.json"
        words = ["--require-hashes", "--disable-pip", "-r", str(lock), "-f", "json", "-o", str(output)]
        done = subprocess.run([program, *words], capture_output=True, encoding="utf-8")
        lines = (done.stderr or done.stdout).strip().splitlines()
        text = output.read_text(encoding="utf-8") if output.exists() else ""
    return (json.loads(text)["dependencies"] if text else []), (lines[-1] if lines else "")


def verdict(lock: str, packages: Sequence[dict[str, Any]], last_line: str) -> tuple[str, int]:
    """A text about a lock, and an exit status.

    Args:
        lock: its name.
        packages: of pip-audit: name, and version with vulnerabilities or the reason why it was skipped.
        last_line: that the program printed: why there are no packages.
    """
    looked_up = [package for package in packages if "skip_reason" not in package]
    reasons = [package["skip_reason"] for package in packages if "skip_reason" in package]
    if not looked_up:
        return f"{lock}: not audited: {(reasons or [last_line])[0]}", 0
    text = f"{lock}: {len(looked_up)} of {len(packages)} packages looked up"
    text += f", {len(reasons)} not ({reasons[0]})" if reasons else ""
    bad = [
        f"  {package['name']} {package['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'none'}"
        for package in looked_up
        for one in package["vulns"]
    ]
    return "\n".join([f"{text}; {len(bad)} known vulnerabilities", *bad]), int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
