"""Publishes the results of a preset in the repository: `python -m auxmc_pipeline.steps.publish --help`."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line
from auxmc_pipeline.jobs import PUBLISHED, identities, record_costs
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.publishing.gather import gather, write_gathered
from auxmc_pipeline.publishing.readme import with_results
from auxmc_pipeline.settings import SettingsError

README = ROOT / "README.md"


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.publish",
        description="Copy the results of a preset to published/, and counts and costs to the README. Every result must "
        "be of the present settings, code and data.",
    )
    parser.add_argument("preset")
    parser.add_argument(
        "--so-far", action="store_true", help="publish the cases and studies that are finished"
    )
    parser.add_argument(
        "--costs-only", action="store_true", help="record the costs of jobs in conf/costs.csv alone"
    )
    options = parser.parse_args(arguments)
    preset = check_preset(options.preset)
    found = {}
    for study in map(load_study, studies()):
        now = identities(study, preset)
        found[study.name] = gather(study, preset, now, Path(), PUBLISHED / preset / study.name)
    missing = [line for files in found.values() for line in files.missing]
    if missing and not options.so_far:
        raise SettingsError(
            "\n  ".join(["missing results:", *missing])
            + f"\nmake them with `snakemake --config preset={preset}`, or publish what is finished with --so-far"
        )
    jobs = pd.concat([files.jobs for files in found.values()])
    if jobs.empty:
        raise SettingsError(f"nothing to publish: no job of preset {preset} is finished")
    if missing:
        print("\n  ".join(["still missing:", *missing]))
    if options.costs_only:
        record_costs(preset, jobs)
        written = f"costs of {len(jobs)} jobs recorded in conf/costs.csv"
    else:
        written = write_gathered(PUBLISHED / preset, found)
    text = with_results(README.read_text(encoding="utf-8"), read_published())
    write_atomically(README, lambda path: path.write_text(text, encoding="utf-8"))
    print(f"preset {preset}: {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
