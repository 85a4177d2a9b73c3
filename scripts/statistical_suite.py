"""Runs the statistical suite with fresh random numbers and says which component passed which layer.

    python scripts/statistical_suite.py [--part all|quick|deep|none] [--seed TEXT] [--write-page]
    python scripts/statistical_suite.py --repetitions 20

The quick part is what `make test-all` runs of the matrix of components and layers, with other seeds; the deep part
is in tests/statistical/deep. The report of every assertion, the results of the tests and the summary go to the folder
--output. With --repetitions only the tests of tests/statistical run, so many times, each time with seeds of its own.
"""

import argparse
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.statistical.matrix import TESTS, cells_with_tests, definitions  # noqa: E402
from tests.statistical.summary import Run, page, read_run, text  # noqa: E402

PAGE = ROOT / "docs" / "correctness.md"
DEEP = "tests/statistical/deep"


def main() -> int:
    """Runs what is asked for; returns 0 if no test failed."""
    now = datetime.now(UTC)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=["all", "quick", "deep", "none"], default="all")
    parser.add_argument("--seed", default=f"{now:%Y-%m-%d %H:%M}", help="any text; the time unless given")
    parser.add_argument("--repetitions", type=int, default=0, help="runs of tests/statistical")
    parser.add_argument("--workers", default="auto", help="processes of pytest-xdist")
    parser.add_argument("--write-page", action="store_true", help=f"writes {PAGE.relative_to(ROOT)}")
    parser.add_argument("--output", type=Path, default=ROOT / ".cache" / "statistical")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.repetitions:
        return _repeat(arguments)
    run, minutes, ended_well = _run_parts(arguments)
    summary = text(run)
    (arguments.output / "summary.txt").write_text(summary + "\n", encoding="utf-8")
    print(summary)
    print(f"{', '.join(f'{part} {value:.1f} min' for part, value in minutes)}; rows in {arguments.output}")
    if arguments.write_page:
        PAGE.write_text(page(run, f"{now:%Y-%m-%d}", minutes), encoding="utf-8")
    return 0 if ended_well and not run.failed else 1


def _run_parts(arguments: argparse.Namespace) -> tuple[Run, list[tuple[str, float]], bool]:
    results, report = (_fresh(arguments.output / name) for name in ("results.jsonl", "assertions.csv"))
    commands = {"quick": ["--only-layers", *_files()], "deep": ["-o", "python_files=deep_*.py", "-vv", DEEP]}
    chosen = {part: command for part, command in commands.items() if arguments.part in (part, "all")}
    minutes, well = [], True
    for part, command in chosen.items():
        print(f"--- {part} part, seed {arguments.seed!r}", flush=True)
        begin = time.monotonic()
        well &= _pytest(command, arguments.seed, arguments.workers, results, report) == 0
        minutes.append((part, (time.monotonic() - begin) / 60.0))
    return read_run(arguments.seed, results, report), minutes, well


def _repeat(arguments: argparse.Namespace) -> int:
    failed: list[str] = []
    for i in range(arguments.repetitions):
        seed = f"{arguments.seed}/{i}"
        results, report = (_fresh(arguments.output / f"{name}_{i}") for name in ("results", "assertions"))
        begin = time.monotonic()
        code = _pytest(["tests/statistical"], seed, arguments.workers, results, report)
        run = read_run(seed, results, report)
        failed += [f"{seed}: {ended.test}" for ended in run.failed] or [
            f"{seed}: pytest ended with {code}"
        ] * (code != 0)
        seconds = time.monotonic() - begin
        print(
            f"--- {i + 1} of {arguments.repetitions}: {len(run.tests)} tests, {len(run.assertions)} assertions, "
            f"{len(run.failed)} failed, {seconds:.0f} s",
            flush=True,
        )
    print("\n".join(failed) or f"no failure in {arguments.repetitions} repetitions")
    return 1 if failed else 0


def _files() -> list[str]:
    """Files of the matrix, without those of the deep part."""
    tested = {test.partition("::")[0] for tests in cells_with_tests().values() for test in tests}
    known = {definition.path for definition in definitions()}
    paths = [TESTS / path for path in tested & known if "/deep/" not in path]
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def _pytest(arguments: list[str], seed: str, workers: str, results: Path, report: Path) -> int:
    environment = os.environ | {
        "AUXMC_STATISTICAL_SEED": seed,
        "AUXMC_STATISTICAL_REPORT": str(report),
        "AUXMC_LAYER_RESULTS": str(results),
    }
    command = [sys.executable, "-m", "pytest", "-n", workers, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def _fresh(path: Path) -> Path:
    path.unlink(missing_ok=True)
    return path.absolute()


if __name__ == "__main__":
    sys.exit(main())
