"""Publishes the results of a preset in the repository: `python -m auxmc_pipeline.steps.publish --help`.

Results go to published/, counts and costs to the README. Every result must be of the present settings, code and data.
"""

import sys

import pandas as pd

from auxmc.driver.files import write_atomically
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.jobs import PUBLISHED, identities, record_costs
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.publishing.gather import gather, write_study
from auxmc_pipeline.publishing.readme import with_results
from auxmc_pipeline.settings import SettingsError

README = ROOT / "README.md"


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__)
    parser.add_argument("preset")
    parser.add_argument("--so-far", action="store_true", help="publish the studies that are finished")
    parser.add_argument(
        "--costs-only", action="store_true", help="record the costs of jobs in experiments/costs.csv alone"
    )
    options = parser.parse_args(arguments)
    preset = check_preset(options.preset)
    found, missing = {}, []
    for study in map(load_study, studies()):
        try:
            found[study.name] = gather(study, preset, identities(study, preset))
        except SettingsError as error:
            missing.append(str(error))
    if missing and not (options.so_far and found):
        advice = f"`snakemake --config preset={preset}` makes them; --so-far publishes the studies that are finished"
        raise SettingsError("\n  ".join(["missing results:", *missing]) + f"\n{advice}")
    if options.costs_only:
        record_costs(preset, pd.concat([jobs for _, jobs in found.values()]))
    else:
        n_written = sum(write_study(PUBLISHED / preset / name, files) for name, (files, _) in found.items())
        print(f"published/{preset}: {n_written} files of {len(found)} studies changed")
    text = with_results(README.read_text(encoding="utf-8"), read_published())
    write_atomically(README, lambda path: path.write_text(text, encoding="utf-8"))
    print(
        "\n  ".join(["still missing:", *missing])
        if missing
        else f"all studies of preset {preset} are recorded"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
