"""Keeps what a preset measured in the repository: `python -m auxmc_pipeline.steps.publish --help`."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.judging.published import PUBLISHED, read_published
from auxmc_pipeline.publishing.costs import record_costs
from auxmc_pipeline.publishing.crate import write_crate
from auxmc_pipeline.publishing.gather import Gathered, gather
from auxmc_pipeline.publishing.keep import keep
from auxmc_pipeline.publishing.readme import with_results
from auxmc_pipeline.publishing.state import identities
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.steps.errors import errors_in_one_line

README = ROOT / "README.md"


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.publish",
        description="Keep the results of a preset in published/, and counts and costs in the README: of each study at "
        "the largest preset that is kept. Every result must be of the present settings and code.",
    )
    parser.add_argument("preset")
    parser.add_argument(
        "--so-far",
        action="store_true",
        help="keep the cases and studies that are finished; the others come later",
    )
    parser.add_argument(
        "--costs-only",
        action="store_true",
        help="of all this record in conf/costs.csv alone what the jobs cost, and keep no results",
    )
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    found = {name: _gathered(name, options.preset) for name in studies()}
    lacking = [line for name in found for line in _lacking(name, found[name])]
    if lacking and not options.so_far:
        raise SettingsError(
            "\n  ".join(["not all is there:", *lacking])
            + f"\nmake it with `snakemake --config preset={options.preset}`, or keep what is finished with --so-far"
        )
    if not any(len(one.jobs) or one.pieces for one in found.values()):
        raise SettingsError(f"nothing to keep of preset {options.preset}: no job of it is finished")
    if lacking:
        print("\n  ".join(["still to come:", *lacking]))
    if options.costs_only:
        record_costs(options.preset, pd.concat([one.jobs for one in found.values()]))
        written = f"costs of its {sum(len(one.jobs) for one in found.values())} jobs are in conf/costs.csv"
    else:
        written = str(keep(PUBLISHED / options.preset, found))
        write_crate(PUBLISHED / options.preset, options.preset)
    published = read_published()
    text = with_results(README.read_text(encoding="utf-8"), published)
    write_atomically(README, lambda path: path.write_text(text, encoding="utf-8"))
    print(f"preset {options.preset}: {written}; the counts in README.md are of {published.run_in_words}")
    return 0


def _gathered(name: str, preset: str) -> Gathered:
    study = load_study(name)
    return gather(study, preset, identities(study, preset), Path(), PUBLISHED / preset / name)


def _lacking(name: str, found: Gathered) -> list[str]:
    lines = [f"{name}: {case} is {why}" for case, why in found.missing.items()]
    return lines + ([f"{name}: {found.unfinished}"] if found.unfinished else [])


if __name__ == "__main__":
    sys.exit(main())
