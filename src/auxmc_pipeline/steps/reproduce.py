"""Runs the whole workflow and says where everything is: `python -m auxmc_pipeline.steps.reproduce --help`.

A run that was interrupted or killed continues where it stopped.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from auxmc_pipeline.command_errors import step_parser
from auxmc_pipeline.fork_server import fork_server
from auxmc_pipeline.settings import PRESETS

LOCK = Path(".checkpoints/running.lock")
SNAKEMAKE_LOCKS = Path(".snakemake/locks")


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status of Snakemake."""
    parser = step_parser(__doc__)
    parser.add_argument("preset", nargs="?", default="quick", choices=PRESETS)
    parser.add_argument("--cores", default="all", help="cores to use, a number or `all`")
    options = parser.parse_args(arguments)
    LOCK.parent.mkdir(exist_ok=True)
    with open(LOCK, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another run is at work in this folder; wait for it or stop it first"
            print(f"error: {reason}", file=sys.stderr)
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
            with fork_server() as environment:
                status = subprocess.call([*snakemake, *words], env=environment, close_fds=False)
        except KeyboardInterrupt:
            print("interrupted: the same command continues where it stopped", file=sys.stderr)
            return 130
    if status == 0:
        print(where_all_is(options.preset))
    return status


def where_all_is(preset: str) -> str:
    """Folders of figures and tables of a preset, counts of verdicts by study, address of the page."""
    # Imported late: what reads tables takes a second to import.
    from auxmc_pipeline.catalogue import studies
    from auxmc_pipeline.judging.counts import counts_of
    from auxmc_pipeline.judging.study_tables import read_verdicts

    results = Path("results") / preset
    lines = [
        f"figures  {Path('paper_figures') / preset}",
        f"tables   {results}/<study>/tables, {results}/tables/*.csv and *.tex",
        f"claims   {results}/<study>/claims.csv",
    ]
    for name in studies():
        if (path := results / name / "claims.csv").is_file():
            counts = counts_of(read_verdicts(path).query("origin == 'published'")).verdicts
            lines.append(f"claims   {name}: " + ", ".join(f"{n} {word}" for word, n in counts.items()))
    return "\n".join([*lines, f"report   {(results / 'report.html').resolve().as_uri()}"])


if __name__ == "__main__":
    sys.exit(main())
