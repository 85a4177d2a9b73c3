"""What the study's figures share: bands of runs, axes, footer."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from auxmc.plots.style import QUANTITY_COLOURS
from auxmc_pipeline.footer import footer
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence.stream_runs import row_counts

NOT_RUN = "not run at this preset"
REFERENCE_COLOUR = QUANTITY_COLOURS["reference"]


class Look(NamedTuple):
    """How a method is drawn; what is None is matplotlib's own."""

    label: str | None
    colour: str
    line: str = "-"
    marker: str | None = None
    width: float | None = None


def band(axis: Axes, found: pd.DataFrame, look: Look) -> None:
    """Median over runs as a line, and their range as a band."""
    x, values = row_counts(found), found.to_numpy(dtype=np.float64)
    axis.plot(
        x,
        np.median(values, axis=0),
        color=look.colour,
        linestyle=look.line,
        label=look.label,
        linewidth=look.width,
        marker=look.marker,
        markersize=3.0,
    )
    if len(values) > 1:
        axis.fill_between(
            x, values.min(axis=0), values.max(axis=0), color=look.colour, alpha=0.2, linewidth=0.0
        )


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
