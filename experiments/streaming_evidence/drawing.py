"""What the study's figures share: bands of runs, axes, footer."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from auxmc.plots.style import QUANTITY_COLOURS
from auxmc_pipeline.footer import footer
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence.stream_runs import row_counts

REFERENCE_COLOUR = QUANTITY_COLOURS["reference"]


class Look(NamedTuple):
    """How a method is drawn; what is None is matplotlib's own."""

    label: str | None
    colour: str
    line: str = "-"
    marker: str | None = None
    width: float | None = None


def band(axis: Axes, found: pd.DataFrame, look: Look) -> None:
    """Median over runs as a line, and their range as a band, on an axis whose scale is set afterwards.

    Rows that some run did not reach are left out.
    """
    complete = found.dropna(axis=1)
    runs = pd.DataFrame(complete.to_numpy(dtype=np.float64), columns=row_counts(complete)).melt(
        var_name="rows"
    )
    settings = {"linestyle": look.line, "label": look.label, "linewidth": look.width, "marker": look.marker}
    sns.lineplot(
        runs,
        x="rows",
        y="value",
        estimator="median",
        errorbar=("pi", 100),
        err_kws={"linewidth": 0.0},
        color=look.colour,
        markersize=4.0,
        markeredgewidth=0.0,
        legend=False,
        ax=axis,
        **{name: value for name, value in settings.items() if value is not None},
    )
    axis.set_ylabel("")


def log_rows(axis: Axes) -> None:
    """A logarithmic axis of rows absorbed."""
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(numticks=8))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("rows")


def stream_footer(figure: Figure, tables: Tables) -> None:
    """Preset, and number of runs."""
    streams = tables.summary.where(design="stream").frame
    repeats = ", ".join(f"{n:.0f}" for n in streams["n_repeats"].unique()) if len(streams) else "0"
    footer(figure, tables, f"{repeats} runs of each streaming method, without their compiling")
