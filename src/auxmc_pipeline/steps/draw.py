"""Draws a study's figures from its tables: `python -m auxmc_pipeline.steps.draw --help`.

No sampler runs.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from auxmc.plots.style import PAGE_WIDTH_IN, save_figure, use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.study_tables import read_tables
from auxmc_pipeline.plots.panels import missing_figure
from auxmc_pipeline.settings import check_known
from auxmc_pipeline.tables import MissingData, Tables


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__, "study", "preset")
    parser.add_argument("figures", nargs="*", help="which ones, by default all")
    parser.add_argument("--tables", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--formats", nargs="+", default=["svg"], choices=("svg", "pdf", "png"))
    options = parser.parse_args(arguments)
    study = load_study(options.study)
    draw = study.drawings()
    for name in options.figures:
        check_known(name, list(draw), f"figure of study {study.name}")
    tables = read_tables(study, options.preset, options.tables)
    with use_style():
        for name in options.figures or draw:
            np.random.seed(0)  # noqa: NPY002, seaborn takes its jitter from there
            figure = _drawn(draw[name], tables)
            for path in save_figure(figure, options.out / name, options.formats):
                print(path)
    return 0


def _drawn(draw: Callable[[Any], Figure], tables: Tables) -> Figure:
    """The figure, or a placeholder that says which data the preset does not run."""
    try:
        return draw(tables)
    except MissingData as missing:
        return missing_figure(Figure(figsize=(PAGE_WIDTH_IN, 2.0), layout="constrained"), str(missing))


if __name__ == "__main__":
    sys.exit(main())
