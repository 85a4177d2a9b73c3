"""Makes the table and the plot of a user's sweep: `python -m auxmc_pipeline.steps.sweep --help`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from auxmc.driver.files import write_atomically
from auxmc.driver.results import write_table
from auxmc.plots.style import save_figure, use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.measuring import standard_error
from auxmc_pipeline.plots.panels import missing_figure
from auxmc_pipeline.sweep_figure import sweep_figure
from auxmc_pipeline.tables import ABOUT_VALUES, Tables, long_rows, replicate_columns, tabulate


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = step_parser(__doc__, "study")
    parser.add_argument("--axes", nargs="*", default=[], help="swept settings")
    parser.add_argument("--files", nargs="+", type=Path, required=True, help="result files (.nc)")
    parser.add_argument("--summary", type=Path, required=True, help="table of all chains to write (.parquet)")
    curves = "table of traces and histograms (.parquet)"
    parser.add_argument("--curves", type=Path, required=True, help=curves)
    parser.add_argument("--figure", type=Path, required=True, help="PNG to write; the PDF stands next to it")
    options = parser.parse_args(arguments)
    study, tables = load_study(options.study), Tables(tabulate(options.files))
    summary = rows_with_settings(tables, "statistics")
    means = sweep_table(summary, options.axes)
    write_table(options.curves, rows_with_settings(tables, "curves"))
    write_table(options.summary, summary)
    text = means.to_csv(index=False, float_format="%.6g")
    write_atomically(
        options.summary.with_suffix(".csv"), lambda path: path.write_text(text, encoding="utf-8")
    )
    shown = [quantity for quantity in study.sweep_quantities if quantity in set(means["quantity"])]
    none = f"this sweep records none of {', '.join(study.sweep_quantities)}"
    with use_style():
        figure = sweep_figure(means, options.axes, shown) if shown else missing_figure(Figure(), none)
        save_figure(figure, options.figure.with_suffix(""))
    return 0


def rows_with_settings(tables: Tables, group: str) -> pd.DataFrame:
    """Rows of a group with the settings of their cases; of a swept one, the value of the row.

    Where a case sweeps a setting and a quantity does not depend on it, it is missing.
    """
    rows = long_rows(tables, group)
    settings = tables["settings"].set_index("case").loc[rows["case"]].reset_index(drop=True)
    own = {str(n): rows[n].fillna(settings[n]) if n in settings else rows[n] for n in rows}
    return settings.assign(**own)


def sweep_table(summary: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """Averages a summary over replicates at every point of a sweep; what else varies inside a case stays apart.

    Returns:
        Columns: the axes, `quantity`, `coordinate` (which one of several values of a case, as "z1" or "noise = 0.5";
        empty where there is one), `value` (mean over replicates, NaN where one of them is), `standard_error` (of that
        mean, by `measuring.standard_error`; NaN for a single replicate), `n_replicates`, `unit`.
    """
    keys = [*axes, "quantity", "coordinate"]
    coordinates = _coordinates(summary, {*axes, *replicate_columns(summary), *ABOUT_VALUES})
    # As categories they keep their order, in which 10 follows 2.
    table = summary.assign(coordinate=pd.Categorical(coordinates, list(dict.fromkeys(coordinates))))
    groups = table.groupby(keys, sort=True, dropna=False, observed=True)
    out = groups.agg(
        # Of pandas' own means, those of the known replicates would pass for those of all.
        value=("value", lambda values: values.mean(skipna=False)),
        standard_error=("value", standard_error),
        n_replicates=("value", "size"),
        unit=("unit", "first"),
    ).reset_index()
    return out.assign(coordinate=out["coordinate"].astype(str))


def _coordinates(table: pd.DataFrame, without: set[str]) -> list[str]:
    """Which value of a case's quantity each row is, replicates and swept settings apart: names, or "NAME = number"."""
    within = table.groupby(["case", "quantity"], sort=False)
    words: list[list[str]] = [[] for _ in range(len(table))]
    for name in (name for name in map(str, table.columns) if name not in without):
        # Settings are the same in all rows of a case; a dimension may have one value in a case and more in another.
        varies = (within[name].transform("nunique") > 1).groupby(table["quantity"]).transform("any")
        shown = (varies | (name == "coordinate")) & table[name].notna()
        for place in np.flatnonzero(shown):
            value = table[name].iloc[place]
            words[place].append(value if isinstance(value, str) else f"{name} = {value:g}")
    return [", ".join(of_row) for of_row in words]


if __name__ == "__main__":
    sys.exit(main())
