"""Makes the tables of a study from its result files: `python -m auxmc_pipeline.steps.summarise --help`."""

import argparse
import sys
from pathlib import Path

from auxmc.driver.results import write_table
from auxmc_pipeline.command_errors import errors_in_one_line
from auxmc_pipeline.named_tables import tabulate, write_named_tables
from auxmc_pipeline.tidy import tidy_tables


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.summarise",
        description="Make a study's tidy tables from its result files.",
    )
    parser.add_argument("files", nargs="+", type=Path, help="result files (.nc)")
    parser.add_argument("--folder", type=Path, help="folder to write named tables to")
    parser.add_argument("--summary", type=Path, help="table of numbers to write (.parquet)")
    parser.add_argument("--curves", type=Path, help="table of traces, histograms, paths to write")
    options = parser.parse_args(arguments)
    if options.folder:
        write_named_tables(options.folder, tabulate(options.files))
        return 0
    summary, curves = tidy_tables(options.files, ["statistics", "curves"])
    write_table(options.curves, curves)
    write_table(options.summary, summary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
