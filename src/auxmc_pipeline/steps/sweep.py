"""Makes the table and the plot of a user's sweep: `python -m auxmc_pipeline.steps.sweep --help`."""

import argparse
import sys
from pathlib import Path

from matplotlib.figure import Figure

from auxmc.driver.files import write_atomically
from auxmc.driver.results import write_table
from auxmc.plots.panels import missing_figure
from auxmc.plots.style import save_figure, use_style
from auxmc.plots.sweeps import sweep_figure
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.command_errors import errors_in_one_line
from auxmc_pipeline.tidy import sweep_table, tidy_tables


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.sweep",
        description="Make the tidy table and the plot of a sweep.",
    )
    parser.add_argument("study")
    parser.add_argument("--axes", nargs="*", default=[], help="swept settings")
    parser.add_argument("--files", nargs="+", type=Path, required=True, help="result files (.nc)")
    parser.add_argument("--summary", type=Path, required=True, help="table of all chains to write (.parquet)")
    parser.add_argument(
        "--curves", type=Path, required=True, help="table of traces and histograms (.parquet)"
    )
    parser.add_argument("--figure", type=Path, required=True, help="PNG to write; the PDF stands next to it")
    options = parser.parse_args(arguments)
    study = load_study(options.study)
    summary, curves = tidy_tables(options.files, ["statistics", "curves"])
    means = sweep_table(summary, options.axes)
    write_table(options.curves, curves)
    write_table(options.summary, summary)
    write_atomically(
        options.summary.with_suffix(".csv"), lambda path: means.to_csv(path, index=False, float_format="%.6g")
    )
    shown = [quantity for quantity in study.sweep_quantities if quantity in set(means["quantity"])]
    with use_style():
        if shown:
            figure = sweep_figure(means, options.axes, shown)
        else:
            figure = missing_figure(
                Figure(), f"this sweep records none of {', '.join(study.sweep_quantities)}"
            )
        save_figure(figure, options.figure.with_suffix(""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
