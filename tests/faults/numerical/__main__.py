"""Puts numerical faults to the library: `python -m tests.faults.numerical --help`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from auxmc.driver.runtime import configure
from tests.faults.numerical.all_trials import TRIALS, numerical_page
from tests.faults.numerical.numerical_trials import as_wanted, judged


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes all trials; returns 0 if each came out as is wanted, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.numerical", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="trials that have it in family or fault")
    parser.add_argument("--write", type=Path, help="page to write, of all trials")
    options = parser.parse_args(arguments)
    # As in the tests.
    configure("cpu", Path(__file__).parents[3] / ".cache" / "programs_of_tests")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    results = []
    for trial in TRIALS:
        if options.only not in f"{trial.family} {trial.fault}":
            continue
        found = judged(trial)
        results.append((trial, found))
        verdict = "" if as_wanted(trial, found) else "NOT AS WANTED: "
        print(f"{verdict}{trial.family} | {trial.fault} | {found.outcome} | {found.message}")
    if options.write and not options.only:
        options.write.write_text(numerical_page(results))
    return int(not all(as_wanted(trial, found) for trial, found in results))


if __name__ == "__main__":
    sys.exit(main())
