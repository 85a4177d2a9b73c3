"""What figures share next to seaborn's own functions: bands of stated errors, histograms from counts, footers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.plots.looks import QUANTITY_COLOURS, wrapped

_BAND_ALPHA = 0.25
_NOTE_HEIGHT_IN = 0.2
_NOTE_CHARACTERS_PER_IN = 20.0
# Width of the bars of one group together; groups are 1 apart.
_CLUSTER = 0.8


def page(height: float, *grid: int, width: float = PAGE_WIDTH_IN, **options: Any) -> tuple[Figure, Any]:
    """A figure, as wide as a page unless it says otherwise (inches), and its rows and columns of panels."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(*grid, **options)


def band_curve(
    axis: Axes,
    points: ArrayLike,
    mean: ArrayLike,
    half_width: ArrayLike | None = None,
    *,
    colour: str,
    **look: Any,
) -> Line2D:
    """Draws a curve [point] with a band of mean +- half_width, for errors that were computed before.

    Gaps stand where the mean is not finite. A lone point gets a marker, unless `look` of the line says otherwise.
    ValueError if the lengths differ.
    """
    x, y = np.atleast_1d(points), np.atleast_1d(mean)
    half = np.zeros(y.shape) if half_width is None else np.asarray(half_width, dtype=np.float64)
    if not x.shape == y.shape == half.shape:
        raise ValueError(f"arrays must be of equal length, got shapes {x.shape}, {y.shape} and {half.shape}")
    if x.size == 1:
        axis.errorbar(x, y, half, color=colour)
        look.setdefault("marker", "o")
    axis.fill_between(x, y - half, y + half, color=colour, alpha=_BAND_ALPHA, linewidth=0.0)
    return axis.plot(x, y, color=colour, **look)[0]


def trace_panel(
    axis: Axes,
    series: ArrayLike,
    *,
    first_iteration: int = 0,
    thin: int = 1,
    colour: str = QUANTITY_COLOURS["trace"],
) -> None:
    """Draws values [draw] of one quantity along a chain, recorded every `thin` iterations."""
    values = np.asarray(series, dtype=np.float64)
    iterations = first_iteration + thin * np.arange(values.size)
    # Long traces as an image inside the PDF: a path of so many points is slow to show.
    axis.plot(iterations, values, color=colour, linewidth=0.6, rasterized=values.size > 20_000)
    axis.set(xlabel="iteration", xlim=(iterations[0], max(iterations[-1], iterations[0] + 1)))


def bin_edges(centres: ArrayLike) -> FloatArray:
    """Edges [bin + 1] of bins of equal width from their centres [bin], of which there are two at least.

    >>> bin_edges([0.5, 1.5, 2.5]).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    middles = np.asarray(centres, dtype=np.float64)
    half = 0.5 * (middles[1] - middles[0])
    return np.append(middles - half, middles[-1] + half)


def histogram_panel(
    axis: Axes,
    edges: ArrayLike,
    counts: ArrayLike,
    *,
    n_total: float | None = None,
    colour: str = QUANTITY_COLOURS["samples"],
    **look: Any,
) -> None:
    """Draws a histogram from counts, or weights in any unit [bin], between edges [bin + 1], normalised to a density.

    `n_total` is the number of draws, if some lie outside the edges; by default the sum of the counts. `look` are
    further settings of `seaborn.histplot`. Edges increase, in units of the quantity.
    """
    ends, heights = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if ends.shape != (heights.size + 1,):
        raise ValueError(f"edges must be [{heights.size + 1}], one more than counts, got {ends.shape}")
    total = float(np.sum(heights)) if n_total is None else float(n_total)
    if not total > 0.0:
        raise ValueError(f"counts must have a positive sum to be normalised, got {total:g}")
    look = {"element": "step", "alpha": 0.45, "linewidth": 0.5, "color": colour, **look}
    middles = 0.5 * (ends[1:] + ends[:-1])
    sns.histplot(x=middles, bins=ends.tolist(), weights=heights / total, stat="frequency", ax=axis, **look)
    axis.set(xlim=(ends[0], ends[-1]), ylabel="density")


def mean_bars(
    axis: Axes, rows: pd.DataFrame, group: str, series: str, colours: Mapping[str, str]
) -> list[str]:
    """Bars of means over replicates with one standard error, side by side in each group: `seaborn.barplot`.

    Seaborn would leave replicates of unknown value out: here there is no bar where one of them is NaN. It averages on
    the scale of the axis, so that a logarithmic one must be set afterwards; ValueError otherwise.

    There is a row for each replicate, with its `value`; `group` and `series` name columns. Groups stand in the order of
    the rows, series in that of their colours; series without rows have no bars. Returns the series that have bars, as
    `bar_place` counts them; `get_legend_handles_labels` of the axis has them.
    """
    if axis.get_yscale() != "linear":
        raise ValueError(f"bars are means of values: set the scale {axis.get_yscale()} after they are drawn")
    unknown = rows["value"].isna().groupby([rows[group], rows[series]]).transform("any")
    drawn = [name for name in colours if name in set(rows[series])]
    sns.barplot(
        rows.assign(value=rows["value"].mask(unknown)),
        x=group,
        y="value",
        hue=series,
        hue_order=drawn,
        palette={name: colours[name] for name in drawn},
        errorbar="se",
        err_kws={"linewidth": 0.8, "color": "black"},
        saturation=1.0,
        width=_CLUSTER,
        gap=0.08,
        ax=axis,
    )
    if (legend := axis.get_legend()) is not None:
        legend.remove()
    axis.tick_params(axis="x", length=0.0)
    return drawn


def bar_place(group: int, series: int, n_series: int) -> float:
    """Where the middle of a bar of `mean_bars` is, along the horizontal axis.

    >>> bar_place(2, 0, 1), bar_place(0, 1, 2)
    (2.0, 0.2)
    """
    return group + (series - 0.5 * (n_series - 1)) * _CLUSTER / n_series


def missing_figure(figure: Figure, message: str) -> Figure:
    """The same figure with all its panels as `missing_panel` makes them; without panels it gets one."""
    for axis in figure.axes or [figure.subplots()]:
        missing_panel(axis, message)
    return figure


def missing_panel(axis: Axes, message: str) -> None:
    """Says on the face of a panel, whose ticks and spines it takes away, that there is nothing to draw, and why."""
    axis.set(xticks=[], yticks=[], facecolor="#F2F2F2")
    sns.despine(ax=axis, left=True, bottom=True)
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": "#444444", "style": "italic"}
    axis.text(0.5, 0.5, wrapped(message, 30), transform=axis.transAxes, **look)


def preset_note(figure: Figure, text: str) -> None:
    """Writes a small footer, for which room is made under panels in constrained layout."""
    line_height = _NOTE_HEIGHT_IN / figure.get_figheight()
    lines = wrapped(text, int(_NOTE_CHARACTERS_PER_IN * figure.get_figwidth()))
    height = line_height * (0.3 + 0.7 * (1 + lines.count("\n")))
    note = figure.text(0.01, 0.2 * line_height, lines, ha="left", va="bottom", fontsize=6.5, color="#666666")
    note.set_in_layout(False)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0.0, height, 1.0, 1.0 - height))
