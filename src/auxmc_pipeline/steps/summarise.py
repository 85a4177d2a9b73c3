"""Makes the tables of a study from its result files: `python -m auxmc_pipeline.steps.summarise --help`."""

import sys
from pathlib import Path

from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.tables import tabulate, write_tables


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path, help="result files (.nc)")
    parser.add_argument("--folder", type=Path, required=True, help="to write the tables to")
    options = parser.parse_args(arguments)
    write_tables(options.folder, tabulate(options.files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
