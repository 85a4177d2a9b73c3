"""Finds claims whose check cannot fail: `python -m auxmc_pipeline.steps.check_claims --help`.

Tables of studies are changed until the verdict of each claim turns; one that nothing turns fails, unless it is
inconclusive.
"""

import sys
from pathlib import Path

from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.perturbations import responses
from auxmc_pipeline.judging.study_tables import claims_of, read_tables


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 1 if a claim keeps its verdict whatever its tables hold."""
    parser = step_parser(__doc__)
    parser.add_argument("preset")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="studies to check; all by default")
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    n_constant = 0
    for name in options.studies or studies():
        study, folder = load_study(name), Path("results") / options.preset / name
        tables = read_tables(study, options.preset, folder / "tables")
        found = list(responses(claims_of(study), study.measures(), tables))
        constant = [line for line in found if not line.changed_by]
        print(f"{name}: {len(found)} lines with an error, {len(constant)} that nothing changes", flush=True)
        for line in constant:
            print(f"  {line.claim_id}, {line.setting}: {line.verdict}")
        n_constant += sum(line.verdict != "inconclusive" for line in constant)
    return int(n_constant > 0)


if __name__ == "__main__":
    sys.exit(main())
