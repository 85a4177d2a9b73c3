"""Three problems with known answers, solved by this library and by others as their documentation says.

    python benchmarks/library_comparison/run.py [--seeds 4] [--only two_moons/auxmc] [--results FILE]

Each solution is a file `<problem>/by_<package>.py` with a function `solve(seed)`; it is run in a process of its own,
whose CPU time, imports and compilation included, is what counts: wall times on a shared machine say little. Lines are
those of the file that are neither empty nor comments. A package that is not installed is left out:
`pip install -e '.[bench]'`, better in an environment of its own. Rows go to results.csv as they are measured, and what
is there already is not run again; the tables go into docs/library/comparison.md.
"""

import argparse
import csv
import datetime
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from exact import PROBLEMS

PAGE = HERE.parents[1] / "docs" / "library" / "comparison.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
MODULES = {"auxmc": "auxmc", "numpyro_in_auxmc": "numpyro"}
COLUMNS = [
    "problem",
    "package",
    "seed",
    "cpu_s",
    "error",
    "log_evidence",
    "standard_error",
    "failed",
]


def main() -> None:
    """Runs everything that is installed, one after another."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4, help="repetitions with other random numbers")
    parser.add_argument("--only", help="a problem, or a problem and a package with a slash between")
    parser.add_argument(
        "--results", type=Path, default=HERE / "results.csv", help="file of what was measured"
    )
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = [row for row in _read(arguments.results) if not row["failed"]]
    done = {(row["problem"], row["package"], int(row["seed"])) for row in rows}
    for seed in range(1, arguments.seeds + 1):
        for path in sorted(HERE.glob("*/by_*.py")):
            problem, package = path.parent.name, path.stem.removeprefix("by_")
            wanted = not arguments.only or arguments.only in (problem, f"{problem}/{package}")
            if not wanted or (problem, package, seed) in done:
                continue
            if importlib.util.find_spec(MODULES.get(package, package)) is None:
                print(f"{problem}/{package}: not installed", flush=True)
                continue
            rows.append(solve(problem, package, seed))
            print(rows[-1], flush=True)
            with arguments.results.open("w", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{tables(rows)}{END}{rest.split(END)[1]}", encoding="utf-8")


def solve(problem: str, package: str, seed: int) -> dict[str, Any]:
    """Runs one solution in a process of its own and measures its CPU time.

    Args:
        problem: name of the problem.
        package: name of the package.
        seed: of all random numbers.
    """
    command = [sys.executable, str(HERE / "one.py"), problem, package, str(seed)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    row: dict[str, Any] = {"problem": problem, "package": package, "seed": seed}
    row["cpu_s"] = round(usage.ru_utime + usage.ru_stime, 2)
    if process.returncode:
        return row | {
            "failed": errors.strip().splitlines()[-1] if errors.strip() else str(process.returncode)
        }
    return row | json.loads(output.strip().splitlines()[-1])


def lines_of(path: Path) -> int:
    """Lines of a file that are neither empty nor comments."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return sum(1 for line in lines if line and not line.startswith("#"))


def tables(rows: list[dict[str, Any]]) -> str:
    """Markdown: a table for each problem, with CPU time as a ratio to that of this library."""
    names = ("auxmc", "blackjax", "dynesty", "mici", "numpyro", "pyabc", "jax")
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    load = os.getloadavg()[0]
    text = [
        f"{datetime.date.today()}, {_processor()}, {os.cpu_count()} cores, load average {load:.1f} at the end; Python "
        f"{platform.python_version()}, {versions}. CPU seconds of a whole process, imports and compilation "
        "included, median over seeds; errors are root mean squares over seeds."
    ]
    for name, problem in PROBLEMS.items():
        own = [row for row in rows if row["problem"] == name]
        if not own:
            continue
        asked = problem.log_evidence is not None
        text += ["", f"**{problem.text[0].upper()}{problem.text[1:]}**", ""]
        heads = ["package", "lines", "runs", "CPU s", "ratio", "error of moments"]
        heads += ["error of log evidence", "stated"] if asked else []
        text += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        packages = list(dict.fromkeys(row["package"] for row in own))
        base = _median([float(r["cpu_s"]) for r in own if r["package"] == "auxmc" and not r.get("failed")])
        for package in packages:
            done = [row for row in own if row["package"] == package and not row.get("failed")]
            label = package.replace("_in_", " in ")
            if not done:
                text.append(f"| {label} | failed " + "| " * (len(heads) - 1) + "|")
                continue
            cpu = _median([float(row["cpu_s"]) for row in done])
            cells = [
                label,
                str(lines_of(HERE / name / f"by_{package}.py")),
                str(len(done)),
                f"{cpu:.0f}",
                f"{cpu / base:.2f}",
            ]
            cells.append(f"{_rms([float(row['error']) for row in done]):.3f}")
            if problem.log_evidence is not None:
                evidences = [row for row in done if row.get("log_evidence") not in (None, "")]
                if evidences:
                    errors = [float(row["log_evidence"]) - problem.log_evidence for row in evidences]
                    stated = [float(row["standard_error"]) for row in evidences]
                    cells += [f"{_rms(errors):.3f}", f"{_rms(stated):.3f}"]
                else:
                    cells += ["none", ""]
            text.append(f"| {' | '.join(cells)} |")
    return "\n".join(text) + "\n"


def _read(path: Path) -> list[dict[str, Any]]:
    """Rows of earlier runs."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return math.nan if not ordered else 0.5 * (ordered[half] + ordered[-half - 1])


def _rms(values: list[float]) -> float:
    return math.sqrt(sum(value**2 for value in values) / len(values))


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "of this checkout" if name == "auxmc" else "not installed"


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    names = (
        [line for line in path.read_text().splitlines() if line.startswith("model name")]
        if path.exists()
        else []
    )
    return names[0].split(":")[1].strip() if names else platform.processor()


if __name__ == "__main__":
    main()
