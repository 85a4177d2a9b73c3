"""Tries changes that are made by machine, drawn by seed: `python -m tests.mutants.generated --help`."""

import argparse
import hashlib
import multiprocessing
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path

from tests.copies import ROOT
from tests.mutants.generated.changes import Change, changes_of
from tests.mutants.generated.check import Checker, Result
from tests.mutants.generated.children import warm_up
from tests.mutants.generated.nearest import targets
from tests.mutants.generated.results import (
    TITLE,
    Row,
    merged,
    read_harmless,
    read_rows,
    row_of,
    section,
    write_rows,
)

PAGE = ROOT / "docs" / "mutations.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the check; returns 0 if every survivor is explained, else 1. Wrong arguments end it with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.generated",
        description="Changes the code by machine, one place at a time, and asks the nearest tests whether they notice.",
    )
    parser.add_argument("--sample", type=int, help="try so many changes")
    parser.add_argument("--minutes", type=float, help="begin no further change after so many minutes")
    parser.add_argument(
        "--again",
        type=int,
        help="of the kept results, so many changes that a test noticed: the same test must notice again",
    )
    parser.add_argument(
        "--seed",
        default=f"{datetime.now(UTC):%Y-%m-%d}",
        help="any text: the order of changes (today's date)",
    )
    parser.add_argument("--only", default="", help="regular expression for 'path:function before -> after'")
    parser.add_argument("--new", action="store_true", help="leave out changes that the kept results hold")
    parser.add_argument("--jobs", type=int, default=1, help="copies in which tests run side by side (1)")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of processor time for a change that survives (60)"
    )
    parser.add_argument("--list", action="store_true", help="list the changes and do nothing else")
    parser.add_argument(
        "--write", action="store_true", help=f"keep the results, write {PAGE.relative_to(ROOT)}"
    )
    options = parser.parse_args(arguments)
    for name in ("sample", "minutes", "again", "jobs", "limit"):
        if (value := getattr(options, name)) is not None and value <= 0:
            parser.error(f"--{name} must be above 0, got {value:g}")
    present = {
        change.name: change
        for module in targets(ROOT)
        for change in changes_of(module, (ROOT / module).read_text())
    }
    kept = read_rows()
    noticed = {row.name: row.by for row in kept if row.how == "failed"}
    chosen = [
        change
        for name, change in present.items()
        if re.search(options.only, f"{change.module}:{change.function} {change.before} -> {change.after}")
        and (options.again is None or name in noticed)
        and not (options.new and name in {row.name for row in kept})
    ]
    chosen = in_order(chosen, options.seed)[: options.again or options.sample]
    if options.list:
        for change in chosen:
            print(f"{change.module}:{change.line} {change.operator}\n    {change.before}\n    {change.after}")
        return 0
    if not (options.again or options.sample or options.minutes or options.only or options.write):
        parser.error("say how many changes to try: --sample, --minutes, --again or --only")
    if not (options.again or options.sample or options.minutes or options.only):
        chosen = []
    print(f"{len(chosen)} of {len(present)} changes, in the order of seed {options.seed!r}", flush=True)
    reasons, rows = read_harmless(), []
    tests = noticed if options.again else {}
    for result in results(chosen, tests, options.jobs, options.minutes, options.limit):
        rows.append(row_of(result))
        print(f"[{len(rows)}] {in_words(rows[-1], reasons)}", flush=True)
        if options.write:
            kept = merged(kept, rows[-1:], present)
            write_rows(kept)
    if options.write:
        kept = merged(kept, [], present)
        write_rows(kept)
        before = PAGE.read_text().partition(f"\n{TITLE}\n")[0]
        PAGE.write_text(f"{before}\n{section(kept, reasons, len(present))}")
    unexplained = [row for row in rows if row.outcome == "survived" and row.name not in reasons]
    print(f"{len(rows)} changes tried, {len(unexplained)} survived and are unexplained")
    return 1 if unexplained else 0


def in_order(changes: Sequence[Change], seed: str) -> list[Change]:
    """Changes in an order that depends on the seed and on each change alone: another line moves no change."""
    return sorted(changes, key=lambda change: hashlib.sha256(f"{seed}|{change.name}".encode()).digest())


def results(
    changes: Sequence[Change],
    tests: dict[str, str],
    jobs: int,
    minutes: float | None,
    limit_s: float,
) -> Iterator[Result]:
    """Tries changes, in copies side by side, and gives each result when it is there.

    Args:
        changes: in the order in which they are begun.
        tests: of changes by name: the only test that is asked.
        jobs: number of copies.
        minutes: after which no further change is begun; None for all.
        limit_s: as in Checker.
    """
    if not changes:
        return
    warm_up()
    end = time.monotonic() + 60.0 * minutes if minutes else float("inf")
    waiting: set[Future[Result]] = set()
    with (
        tempfile.TemporaryDirectory(prefix="changes") as folder,
        ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), _prepare, (folder, limit_s)) as pool,
    ):
        for change in changes:
            if len(waiting) == jobs:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
            if time.monotonic() > end:
                break
            waiting.add(pool.submit(_check, change, tests.get(change.name)))
        for future in waiting:
            yield future.result()


def in_words(row: Row, reasons: dict[str, str]) -> str:
    """A result as a line for a terminal."""
    where = f"{row.module}:{row.line} {row.after}"
    if row.outcome != "survived":
        return f"{row.outcome} by {row.by} ({row.how}), {row.seconds} s: {where}"
    why = (
        f"harmless: {reasons[row.name]}"
        if row.name in reasons
        else f"SURVIVED {row.asked} of {row.nearest} files"
    )
    return f"{why}, {row.seconds} s: {where}"


_checker: Checker


def _prepare(folder: str, limit_s: float) -> None:
    """In each process of the pool, which has the modules that were imported before it was forked."""
    global _checker
    number = multiprocessing.current_process().pid
    _checker = Checker(Path(folder) / str(number), limit_s=limit_s)


def _check(change: Change, test: str | None) -> Result:
    return _checker.check(change, [test] if test else None)


if __name__ == "__main__":
    sys.exit(main())
