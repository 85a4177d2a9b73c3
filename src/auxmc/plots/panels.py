"""Panels that several figures share: they draw arrays on given axes and know no files and no studies."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import (
    CYCLE,
    METHOD_COLOURS,
    QUANTITY_COLOURS,
    readable,
    wrapped,
)

__all__ = [
    "band_curve",
    "bar_place",
    "bin_edges",
    "efficiency_panel",
    "grouped_bars",
    "histogram_panel",
    "missing_figure",
    "missing_panel",
    "preset_note",
    "trace_panel",
]

_BAND_ALPHA = 0.25
_RASTERISE_ABOVE = 20000
_NOTE_HEIGHT_IN = 0.2
# Width of the bars of one group together; groups are 1 apart.
_CLUSTER = 0.8


def band_curve(
    axis: Axes,
    points: ArrayLike,
    mean: ArrayLike,
    half_width: ArrayLike | None = None,
    *,
    colour: str,
    label: str | None = None,
    line_style: str = "-",
    marker: str | None = None,
) -> Line2D:
    """Draws a curve with a band of mean +- half_width.

    Args:
        axis: where to draw.
        points: horizontal coordinates [point].
        mean: the curve [point]; gaps where it is not finite.
        half_width: half height of the band [point], or None for no band.
        colour: of curve and band.
        label: entry of the legend.
        line_style: matplotlib name of the dashes.
        marker: matplotlib name of a marker at each point; a lone point always gets one.

    Returns:
        The curve.

    Raises:
        ValueError: the lengths differ.
    """
    x, y = _same_length(points=points, mean=mean)
    marker = marker or ("o" if x.size == 1 else None)
    (line,) = axis.plot(x, y, color=colour, label=label, linestyle=line_style, marker=marker)
    if half_width is not None:
        _, half = _same_length(points=points, half_width=half_width)
        if x.size == 1:
            axis.errorbar(x, y, yerr=half, color=colour, linestyle="none")
        axis.fill_between(x, y - half, y + half, color=colour, alpha=_BAND_ALPHA, linewidth=0.0)
    return line


def efficiency_panel(
    axis: Axes,
    scale: ArrayLike,
    mean: ArrayLike,
    sd: ArrayLike | None = None,
    accept_mean: ArrayLike | None = None,
    accept_sd: ArrayLike | None = None,
    *,
    scale_label: str = "step size",
    efficiency_label: str = "ESS per density evaluation",
    title: str | None = None,
) -> Axes | None:
    """Efficiency against a tuning parameter, with the accept rate on a second vertical axis.

    Args:
        axis: where to draw; its vertical axis is the efficiency.
        scale: values of the tuning parameter [point].
        mean: efficiency, mean over chains [point].
        sd: half height of its band [point].
        accept_mean: accept rate, mean over chains [point]; None for a panel without a second axis.
        accept_sd: half height of its band [point].
        scale_label: horizontal label, with unit if there is one.
        efficiency_label: label of the left axis, with unit.
        title: title of the panel.

    Returns:
        The second axis, or None without accept rates.

    Raises:
        ValueError: the lengths differ.

    Source: layout of PhD thesis, figures 3.3, 3.5, 3.7 and 3.9.
    """
    ess_colour, accept_colour = QUANTITY_COLOURS["ess"], QUANTITY_COLOURS["accept"]
    band_curve(axis, scale, mean, sd, colour=ess_colour)
    axis.set_xlabel(scale_label)
    axis.set_ylabel(efficiency_label, color=ess_colour)
    axis.tick_params(axis="y", colors=ess_colour)
    axis.set_ylim(bottom=0.0)
    if title:
        axis.set_title(title)
    if accept_mean is None:
        return None
    twin = axis.twinx()
    twin.spines["right"].set_visible(True)
    # Dashes tell the two curves apart without colour.
    band_curve(twin, scale, accept_mean, accept_sd, colour=accept_colour, line_style="--")
    twin.set_ylabel("accept rate", color=accept_colour)
    twin.tick_params(axis="y", colors=accept_colour)
    twin.set_ylim(bottom=0.0)
    return twin


def trace_panel(
    axis: Axes,
    series: ArrayLike,
    *,
    first_iteration: int = 0,
    thin: int = 1,
    colour: str = QUANTITY_COLOURS["trace"],
    value_label: str = "value",
    iteration_label: str = "iteration",
    title: str | None = None,
) -> None:
    """Values of one quantity along a chain.

    Args:
        axis: where to draw.
        series: recorded values [draw].
        first_iteration: iteration number of the first value.
        thin: iterations between values.
        colour: of the line.
        value_label: vertical label, with unit.
        iteration_label: horizontal label.
        title: title of the panel.

    Raises:
        ValueError: the series is empty or has more than one axis.
    """
    (values,) = _same_length(series=series)
    iterations = first_iteration + thin * np.arange(values.size)
    # Long traces as an image inside the PDF: a path of so many points is slow to show.
    axis.plot(iterations, values, color=colour, linewidth=0.6, rasterized=values.size > _RASTERISE_ABOVE)
    axis.set_xlabel(iteration_label)
    axis.set_ylabel(value_label)
    axis.set_xlim(iterations[0], iterations[-1] if values.size > 1 else iterations[0] + 1)
    if title:
        axis.set_title(title)


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
    exact: tuple[ArrayLike, ArrayLike] | None = None,
    colour: str = QUANTITY_COLOURS["samples"],
    exact_colour: str = QUANTITY_COLOURS["exact_density"],
    label: str | None = None,
    exact_label: str | None = None,
    value_label: str = "value",
    density_label: str = "probability density",
    title: str | None = None,
) -> None:
    """Histogram normalised to a density, with an exact density curve.

    Args:
        axis: where to draw.
        edges: increasing bin edges [edge], in units of the quantity.
        counts: counts, or weights in any unit [edge - 1].
        n_total: number of draws, if some lie outside the edges; by default the sum of the counts.
        exact: points [point] and density at them [point], per unit of the quantity.
        colour: of the histogram.
        exact_colour: of the curve.
        label: entry of the histogram in the legend.
        exact_label: entry of the curve in the legend.
        value_label: horizontal label, with unit.
        density_label: vertical label.
        title: title of the panel.

    Raises:
        ValueError: there must be one more edge than counts; or no draws.
    """
    ends = np.asarray(edges, dtype=np.float64)
    (heights,) = _same_length(counts=counts)
    if ends.shape != (heights.size + 1,):
        raise ValueError(f"edges must be [{heights.size + 1}], one more than counts, got {ends.shape}")
    total = float(np.sum(heights)) if n_total is None else float(n_total)
    if not total > 0.0:
        raise ValueError(f"counts must have a positive sum to be normalised, got {total:g}")
    density = heights / (total * np.diff(ends))
    axis.stairs(density, ends, fill=True, color=colour, alpha=0.45, linewidth=0.0, label=label)
    axis.stairs(density, ends, color=colour, linewidth=0.5)
    if exact is not None:
        x, y = _same_length(points=exact[0], density=exact[1])
        axis.plot(x, y, color=exact_colour, label=exact_label)
    axis.set_xlim(ends[0], ends[-1])
    axis.set_ylim(bottom=0.0)
    axis.set_xlabel(value_label)
    axis.set_ylabel(density_label)
    if title:
        axis.set_title(title)


def grouped_bars(
    axis: Axes,
    groups: Sequence[str],
    heights: Mapping[str, ArrayLike],
    errors: Mapping[str, ArrayLike] | None = None,
    *,
    colours: Mapping[str, str] | None = None,
    value_label: str = "value",
    group_label: str | None = None,
) -> None:
    """Bars side by side: one cluster per group, one bar per series.

    Args:
        axis: where to draw.
        groups: names of the clusters [group].
        heights: for each series, by method key or name, its bars [group].
        errors: half lengths of error bars [group], for the same series.
        colours: of the series; by default those of the methods, then the palette in order.
        value_label: vertical label, with unit.
        group_label: horizontal label.

    Raises:
        ValueError: a series has another length than groups, or there is none.
    """
    if not heights or not groups:
        raise ValueError("grouped_bars needs at least one group and one series")
    positions = np.arange(len(groups), dtype=np.float64)
    width = _CLUSTER / len(heights)
    palette = colours or METHOD_COLOURS
    for index, (name, bars) in enumerate(heights.items()):
        _, values = _same_length(groups=positions, **{name: bars})
        half = None if errors is None or name not in errors else np.asarray(errors[name], dtype=np.float64)
        axis.bar(
            positions + bar_place(0, index, len(heights)),
            values,
            width=0.92 * width,
            yerr=half,
            color=palette.get(name, CYCLE[index % len(CYCLE)]),
            error_kw={"elinewidth": 0.8},
            label=readable(name),
        )
    axis.set_xticks(positions, list(groups))
    axis.tick_params(axis="x", length=0.0)
    axis.set_ylabel(value_label)
    if group_label:
        axis.set_xlabel(group_label)


def bar_place(group: int, series: int, n_series: int) -> float:
    """Where the middle of a bar of `grouped_bars` is, along the horizontal axis.

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
    """Says on the face of a panel that there is nothing to draw, and why.

    Args:
        axis: where to write; its ticks and spines are removed.
        message: a sentence such as "not run at this preset"; long ones are wrapped.
    """
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_visible(False)
    axis.set_facecolor("#F2F2F2")
    axis.text(
        0.5,
        0.5,
        wrapped(message, 30),
        transform=axis.transAxes,
        ha="center",
        va="center",
        color="#444444",
        style="italic",
    )


def preset_note(figure: Figure, text: str) -> None:
    """Writes a small footer, at the left of the lower edge, that says what the figure was made from.

    Args:
        figure: under its panels room is made, if it has constrained layout.
        text: for example "preset quick, data set calibrated".
    """
    line_height = _NOTE_HEIGHT_IN / figure.get_figheight()
    characters = int(16.0 * figure.get_figwidth())
    lines = wrapped(text, characters)
    height = line_height * (0.3 + 0.7 * (1 + lines.count("\n")))
    note = figure.text(0.01, 0.2 * line_height, lines, ha="left", va="bottom", fontsize=6.5, color="#666666")
    note.set_in_layout(False)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0.0, height, 1.0, 1.0 - height))


def _same_length(**arrays: ArrayLike) -> tuple[FloatArray, ...]:
    checked = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    shapes = {name: array.shape for name, array in checked.items()}
    first = next(iter(checked.values()))
    if first.ndim != 1 or first.size == 0 or len(set(shapes.values())) > 1:
        raise ValueError(f"arrays must be non-empty, with one axis and of equal length, got shapes {shapes}")
    return tuple(checked.values())
