"""Makes the tables of a study from its result files: `python -m auxmc_pipeline.steps.summarise --help`."""

import argparse
import sys
from pathlib import Path

from auxmc_pipeline.command_errors import errors_in_one_line
from auxmc_pipeline.tables import tabulate, write_tables


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.summarise",
        description="Make a study's tables from its result files.",
    )
    parser.add_argument("files", nargs="+", type=Path, help="result files (.nc)")
    parser.add_argument("--folder", type=Path, required=True, help="to write the tables to")
    options = parser.parse_args(arguments)
    write_tables(options.folder, tabulate(options.files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
