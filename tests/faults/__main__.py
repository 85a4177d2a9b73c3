"""Puts faults to the project, some thousand of them: `python -m tests.faults --help`."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from tests.faults.groups import GROUPS, run_trials
from tests.faults.long.long_runs import read_section, section
from tests.faults.outcomes import Row, added, page, read_page, rows_of, terminal_table
from tests.faults.trials import BAD, Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the campaign; returns 0 if nothing bad came of any trial, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description="Tries faults of settings, data, models, files and processes, and says what came of them.",
    )
    parser.add_argument("--seed", type=int, default=20, help="of all trials (20)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument(
        "--minutes", type=float, help="no trial begins after them (14; with --whole no limit)"
    )
    parser.add_argument("--whole", action="store_true", help="the whole campaign")
    parser.add_argument(
        "--hours", type=float, help="the whole campaign, and then further trials until they are over"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], choices=list(GROUPS), metavar="GROUP", help=", ".join(GROUPS)
    )
    parser.add_argument(
        "--trial", type=int, help="only the trial of this number, whose outcome is printed whole"
    )
    parser.add_argument(
        "--write", type=Path, help="page to write; it keeps its rows of groups that are not tried"
    )
    options = parser.parse_args(arguments)
    chosen = options.only or list(GROUPS)
    if options.trial is not None:
        found = [
            outcome for name in chosen for _, outcome in run_trials(name, options.seed, options.trial, 1)
        ]
        print(*found, sep="\n")
        return int(any(outcome.outcome in BAD for outcome in found))
    whole = options.whole or options.hours is not None
    sizes = {name: GROUPS[name].whole if whole else GROUPS[name].short for name in chosen}
    limit = options.minutes if options.minutes is not None else None if options.whole else 14.0
    if options.hours is not None:
        limit = 60.0 * options.hours
    rows = _campaign(sizes, options.seed, options.jobs, limit, further=options.hours is not None)
    print(f"\n{terminal_table(rows)}")
    if options.write:
        before = options.write.read_text() if options.write.exists() else ""
        kept = [row for row in read_page(before) if row.group not in chosen]
        long_runs = section(read_section(before))
        options.write.write_text(page(kept + rows, list(GROUPS), options.seed, long_runs))
    return int(any(row.bad for row in rows))


def _campaign(
    sizes: dict[str, int], seed: int, jobs: int, minutes: float | None, *, further: bool
) -> list[Row]:
    """Tries all groups in turn, and prints what must not be as it comes."""
    begin = time.monotonic()
    tasks = _tasks(sizes, further=further)
    rows: dict[tuple[str, str], Row] = {}
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running: dict[Future[list[tuple[int, Outcome]]], str] = {}
        n_done, shown = 0, begin
        while True:
            while len(running) < jobs and (minutes is None or time.monotonic() - begin < 60.0 * minutes):
                task = next(tasks, None)
                if task is None:
                    break
                running[pool.submit(run_trials, task[0], seed, task[1], task[2])] = task[0]
            if not running:
                return list(rows.values())
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                group = running.pop(future)
                found = future.result()
                added(rows, rows_of(group, [outcome for _, outcome in found]))
                n_done += len(found)
                for number, outcome in found:
                    if outcome.outcome in BAD:
                        print(f"--only {group!r} --trial {number}: {outcome.fault}: {outcome.outcome}")
                        print(f"  {outcome.detail.strip()[-600:]}", flush=True)
            if time.monotonic() - shown > 60.0:
                shown = time.monotonic()
                print(f"{n_done} trials in {(shown - begin) / 60.0:.0f} minutes", flush=True)


def _tasks(sizes: dict[str, int], *, further: bool) -> Iterator[tuple[str, int, int]]:
    """Group, first trial and number of trials, in such an order that all groups end at about the same time."""
    each = {name: GROUPS[name].at_a_time for name in sizes}
    parts = {name: max(1, -(-size // each[name])) for name, size in sizes.items()}
    order = sorted(((place + 0.5) / n, name, place) for name, n in parts.items() for place in range(n))
    for _, name, place in order:
        yield name, place * each[name], min(each[name], sizes[name] - place * each[name])
    place = max(parts.values())
    while further:
        for name in sizes:
            yield name, place * each[name], each[name]
        place += 1


if __name__ == "__main__":
    sys.exit(main())
