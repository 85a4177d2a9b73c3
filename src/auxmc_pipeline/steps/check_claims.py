"""Finds claims whose check cannot fail: `python -m auxmc_pipeline.steps.check_claims --help`."""

import argparse
import sys
from pathlib import Path

from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line
from auxmc_pipeline.judging.perturbations import responses
from auxmc_pipeline.judging.study_tables import claims_of, read_tables


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.check_claims",
        description="Perturb the tables of studies and see whether the verdict of every claim that they measure would "
        "have been another: a decided claim that no perturbation changes is a constant, and fails.",
    )
    parser.add_argument("preset")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="studies to check; all by default")
    options = parser.parse_args(arguments)
    n_constant = 0
    check_preset(options.preset)
    for name in options.studies or studies():
        study = load_study(name)
        folder = Path("results") / options.preset / name
        names = ("tables",) if study.has_named_tables else ("summary.parquet", "curves.parquet")
        tables = read_tables(study, options.preset, [folder / name for name in names])
        found = list(responses(claims_of(study), study.measures(), tables))
        constant = [response for response in found if response.is_constant]
        print(f"{name}: {len(found)} lines with an error, {len(constant)} that nothing changes", flush=True)
        for response in constant:
            what = "the value does not move" if not response.moves else "the verdict does not change"
            print(f"  {response.claim_id}, {response.setting}: {response.verdict}; {what}")
        n_constant += sum(response.verdict != "inconclusive" for response in constant)
    return int(n_constant > 0)


if __name__ == "__main__":
    sys.exit(main())
