"""Runs the whole workflow and says where everything is: `python -m auxmc_pipeline.steps.reproduce --help`."""

import argparse
import fcntl
import os
import subprocess
import sys
from pathlib import Path

from auxmc_pipeline.settings import PRESETS

LOCK = Path(".checkpoints/running.lock")
SNAKEMAKE_LOCKS = Path(".snakemake/locks")


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status of Snakemake."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.reproduce",
        description="Run all studies at a preset. A run that was interrupted or killed continues where it stopped.",
    )
    parser.add_argument("preset", nargs="?", default="quick", choices=PRESETS)
    parser.add_argument("--cores", default="all", help="cores to use, a number or `all`")
    options = parser.parse_args(arguments)
    LOCK.parent.mkdir(exist_ok=True)
    with open(LOCK, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                "error: another run is at work in this folder; wait for it or stop it first", file=sys.stderr
            )
            return 1
        # Jobs inherit the lock, so that it is free only when the last of them has ended. Snakemake's own lock
        # outlives a kill; with ours in hand no run is alive and it can be removed.
        os.set_inheritable(lock.fileno(), True)
        snakemake = [sys.executable, "-m", "snakemake"]
        if any(SNAKEMAKE_LOCKS.glob("*")):
            subprocess.run([*snakemake, "--unlock"], capture_output=True, close_fds=False)
        try:
            # Everything is missing in a fresh clone: the reason of a job is the list of its files, once more.
            words = ["--cores", options.cores, "--quiet", "reason", "--config", f"preset={options.preset}"]
            status = subprocess.call([*snakemake, *words], close_fds=False)
        except KeyboardInterrupt:
            print("interrupted: the same command continues where it stopped", file=sys.stderr)
            return 130
    if status == 0:
        # Not before: what reads tables takes a second to import.
        from auxmc_pipeline.steps.where import where_all_is

        print(where_all_is(options.preset))
    return status


if __name__ == "__main__":
    sys.exit(main())
