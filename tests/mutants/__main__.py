"""Checks that the tests notice every mutation: `python -m tests.mutants --help`."""

import argparse
import random
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.mutants.catalogue import read_source_mutations
from tests.mutants.generated.results import TITLE
from tests.mutants.runner import VALID_SLICE, check_all
from tests.mutants.table import entries, page, read_page, rows_of, terminal_table
from tests.mutants.wrapped import WRAPPED


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the check; returns 0 if all mutations are caught, else 1. Arguments that select nothing end it with 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Puts known errors into a copy of the samplers and checks that the tests notice each of them.",
    )
    parser.add_argument("--jobs", type=int, default=2, help="copies in which tests run side by side (2)")
    parser.add_argument(
        "--only", default="", help="regular expression for 'component name' of those to check"
    )
    parser.add_argument(
        "--write",
        type=Path,
        help="page to write if all are caught; it keeps its rows of mutations not checked now",
    )
    parser.add_argument("--sample", type=int, default=0, help="check so many of them, drawn at random (all)")
    parser.add_argument(
        "--seed", default=f"{datetime.now(UTC):%Y-%m-%d}", help="any text, for --sample (today's date)"
    )
    parser.add_argument("--list", action="store_true", help="list the mutations and do nothing else")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}")
    if options.sample < 0:
        parser.error(f"--sample must be at least 0, got {options.sample}")

    def chosen(name: str, component: str) -> bool:
        return re.search(options.only, f"{component} {name}") is not None

    all_source = read_source_mutations() | {"rejection_without_shrinking": VALID_SLICE}
    source = {name: mutation for name, mutation in all_source.items() if chosen(name, mutation.component)}
    wrapped = {name: mutation for name, mutation in WRAPPED.items() if chosen(name, mutation.component)}
    if not source and not wrapped:
        parser.error(f"no mutation has a component and name like {options.only!r}")
    if options.sample:
        names = sorted(source | wrapped)
        drawn = set(random.Random(options.seed).sample(names, min(options.sample, len(names))))
        source = {name: mutation for name, mutation in source.items() if name in drawn}
        wrapped = {name: mutation for name, mutation in wrapped.items() if name in drawn}
        print(f"{len(drawn)} of {len(names)} mutations, drawn with seed {options.seed!r}", flush=True)
    if options.list:
        for name, mutation in (source | wrapped).items():
            print(f"{mutation.component:24}{name:48}{mutation.what}")
        return 0
    verdicts = check_all(source, wrapped, options.jobs, lambda line: print(line, flush=True))
    print(f"\n{terminal_table(verdicts)}")
    if any(verdict.problem for verdict in verdicts):
        return 1
    if options.write:
        text = options.write.read_text() if options.write.exists() else ""
        rows = {row.entry: row for row in (*read_page(text), *rows_of(verdicts))}
        wanted = entries(all_source, WRAPPED)
        missing = [entry.name for entry in wanted if entry not in rows]
        if missing:
            parser.error(f"no page is written, since these have not been checked: {', '.join(missing)}")
        _, title, generated = text.partition(f"\n{TITLE}\n")
        options.write.write_text(page([rows[entry] for entry in wanted]) + title + generated)
    return 0


if __name__ == "__main__":
    sys.exit(main())
