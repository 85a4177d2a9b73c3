"""Measures a study's claims from its tables: `python -m auxmc_pipeline.steps.judge --help`."""

import sys
from pathlib import Path

from auxmc.driver.results import write_csv
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.study_tables import judge_study, measure_numbers, read_tables


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__, "study", "preset")
    parser.add_argument("--tables", type=Path, required=True, help="folder of the tables")
    out = "claims with verdicts (.csv); numbers.csv, of findings, is written next to it"
    parser.add_argument("--out", type=Path, required=True, help=out)
    options = parser.parse_args(arguments)
    study = load_study(options.study)
    tables = read_tables(study, options.preset, options.tables)
    table = judge_study(study, tables)
    write_csv(options.out, table)
    write_csv(options.out.with_name("numbers.csv"), measure_numbers(study, tables))
    print(table["verdict"].value_counts().to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
