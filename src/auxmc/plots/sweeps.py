"""The figure of a user's sweep: every quantity against the swept settings, as facets of `seaborn.objects`."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
import seaborn.objects as so
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.plots.panels import missing_panel
from auxmc.plots.style import (
    COLUMN_WIDTH_IN,
    CYCLE,
    METHOD_COLOURS,
    METHOD_LABELS,
    METHOD_MARKERS,
    PAGE_WIDTH_IN,
    readable,
    wrapped,
)

__all__ = ["sweep_figure"]

_LOG_ABOVE_RATIO = 30.0
_SEPARATE_COORDINATES = 6
_PANEL_HEIGHT_IN = 2.1
_SWEEP_COLUMNS = ("quantity", "coordinate", "value", "standard_error")


def sweep_figure(
    table: pd.DataFrame,
    axes: Sequence[str],
    quantities: Sequence[str],
) -> Figure:
    """Every quantity of a sweep against one of its axes, one line per combination of the others.

    The numeric axis with most values is the horizontal one; without any, the first.

    The horizontal axis is logarithmic where its values are positive and span more than a factor 30, and
    has one place per value where they are text. A quantity with up to 6 coordinates has a panel for each;
    of one with more, the mean over coordinates is drawn, its error being the mean of theirs, which is not
    too small however they depend on each other. Where points have different ones, their means would not be
    of the same things, and the panel says so in place of them.

    Args:
        table: tidy rows with the columns in `axes`, then quantity, coordinate, value and standard_error
            (NaN for none). Rows of other quantities are left out.
        axes: names of the swept settings; may be empty for a single point.
        quantities: names of the quantities to draw, in order.

    Returns:
        The figure; error bars are +- 1 standard error.

    Raises:
        ValueError: a column is missing, no quantity is asked for, or two rows stand for one point.
    """
    missing = [column for column in (*axes, *_SWEEP_COLUMNS) if column not in table.columns]
    if missing:
        raise ValueError(
            f"table must have the columns {', '.join(missing)}; it has {', '.join(table.columns)}"
        )
    if not quantities:
        raise ValueError("quantities must name at least one quantity to draw, got none")
    horizontal = sorted(axes, key=lambda name: _rank(list(table[name].dropna())))[:1]
    others = [name for name in axes if name not in horizontal]
    panels = list(
        itertools.chain.from_iterable(_panels(table, [*horizontal, *others], q) for q in quantities)
    )
    points = pd.concat([panel.rows.assign(panel=number) for number, panel in enumerate(panels)])
    lines = _lines(table[table["quantity"].isin(list(quantities))], others)
    names = points[others].apply(tuple, axis=1) if others else [()] * len(points)
    points = points.assign(
        line=pd.Categorical([lines[name].label for name in names], [line.label for line in lines.values()]),
        low=points["value"] - points["standard_error"],
        high=points["value"] + points["standard_error"],
    )
    n_columns = min(len(panels), 3)
    width = {1: COLUMN_WIDTH_IN, 2: 0.8 * PAGE_WIDTH_IN, 3: PAGE_WIDTH_IN}[n_columns]
    legend_height = 0.18 * min(len(lines), 40) + 0.4 if len(lines) > 1 else 0.0
    height = max(-(-len(panels) // n_columns) * _PANEL_HEIGHT_IN + 0.2, legend_height)
    figure = Figure(figsize=(width + 1.6 * (len(lines) > 1), height), layout="constrained")
    _draw(figure, points, horizontal, list(lines.values()), len(panels))
    for axis, panel in zip(figure.axes, panels, strict=True):
        axis.set(title=panel.title, ylabel=wrapped(readable(panel.quantity), 24))
        axis.set_xlabel(wrapped(readable(horizontal[0]), 24) if horizontal else "")
        # Facets name an axis at the edge of the grid alone; here each has its own quantity.
        axis.xaxis.label.set_visible(True)
        axis.yaxis.label.set_visible(True)
        if panel.rows.empty:
            missing_panel(axis, f"{readable(panel.quantity)}: {panel.why_empty}")
    return figure


class _Panel(NamedTuple):
    quantity: str
    title: str  # which coordinate, if there are several
    rows: pd.DataFrame  # axes columns, value, standard_error: a row per point
    why_empty: str = "no finite values"


class _Line(NamedTuple):
    label: str
    colour: Any
    marker: str
    dashes: str


def _draw(
    figure: Figure, points: pd.DataFrame, horizontal: list[str], lines: list[_Line], n_panels: int
) -> None:
    ticks = _distinct(points[horizontal[0]]) if horizontal else [""]
    numeric = bool(horizontal) and _is_number(ticks)
    if not numeric:
        points = points.assign(place=[_text(v) for v in points[horizontal[0]]] if horizontal else "")
    place = horizontal[0] if numeric else "place"
    # Side by side where places are names, or error bars at one place would hide each other.
    apart = [] if numeric else [so.Dodge()]
    look = {
        part: {line.label: getattr(line, field) for line in lines}
        for part, field in (("color", "colour"), ("marker", "marker"), ("linestyle", "dashes"))
    }
    plot = so.Plot(points, x=place, y="value", color="line", marker="line", linestyle="line")
    plot = plot.facet("panel", order=list(range(n_panels)), wrap=3).share(x=False, y=False)
    plot = plot.add(so.Line(**({} if numeric else {"linewidth": 0.0})), *apart)
    plot = plot.add(so.Range(linewidth=0.8, linestyle="-"), *apart, ymin="low", ymax="high", legend=False)
    if not numeric:
        plot = plot.scale(x=so.Nominal(order=[_text(tick) for tick in ticks]))
    plot.scale(**look).theme(sns.axes_style() | sns.plotting_context()).on(figure).plot()
    for axis in figure.axes if numeric else ():
        _numeric_ticks(axis, ticks)
    # The legend of seaborn lies outside the figure; it has none where nothing is drawn.
    entries: Any = figure.legends.pop() if figure.legends else None
    if entries is not None and len(lines) > 1:
        labels = [text.get_text() for text in entries.get_texts()]
        n_columns = 1 + (len(lines) - 1) // 40
        figure.legend(entries.legend_handles, labels, loc="outside right upper", ncols=n_columns)


def _numeric_ticks(axis: Axes, values: list[Any]) -> None:
    wide = bool(values) and values[0] > 0.0 and values[-1] > _LOG_ABOVE_RATIO * values[0]
    axis.set_xscale("log" if wide else "linear")
    apart = len(values) <= 6 and all(b >= 1.8 * a for a, b in itertools.pairwise(values))
    if len(values) == 1 or (wide and apart):
        axis.set_xticks(values, [f"{value:g}" for value in values])
        axis.minorticks_off()


def _is_number(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in values)


def _text(value: Any) -> str:
    return f"{value:g}" if _is_number([value]) else readable(str(value))


def _rank(values: list[Any]) -> int:
    """Place of an axis: numbers before text, many values before few; the order stays where these are equal."""
    return -len(set(values)) if _is_number(values) else 0


def _distinct(column: pd.Series) -> list[Any]:
    """Different values, numbers in order of size and text in order of appearance (methods in their own)."""
    values = list(dict.fromkeys(column.tolist()))
    if _is_number(values):
        return sorted(values)
    order = list(METHOD_LABELS)
    return sorted(values, key=lambda v: order.index(v) if v in order else len(order))


def _panels(table: pd.DataFrame, axes: Sequence[str], quantity: str) -> list[_Panel]:
    rows = table[(table["quantity"] == quantity) & np.isfinite(table["value"].astype(np.float64))]
    coordinates = _distinct(rows["coordinate"])
    point_columns = [*axes, "coordinate"]
    if rows.duplicated(point_columns).any():
        twice = rows[rows.duplicated(point_columns)].iloc[0]
        place = ", ".join(f"{column} = {twice[column]}" for column in point_columns)
        raise ValueError(f"table has two rows for quantity {quantity} at {place}; name every swept axis")
    if len(coordinates) <= 1:
        return [_Panel(quantity, "", rows)]
    if len(coordinates) <= _SEPARATE_COORDINATES:
        return [_Panel(quantity, _coordinate_title(c), rows[rows["coordinate"] == c]) for c in coordinates]
    points = rows.assign(one=0).groupby(["one", *axes], sort=False, dropna=False)
    if (points.size() < len(coordinates)).any():
        return [_Panel(quantity, "", rows[:0], "coordinates that are not at all points: see the table")]
    means = points[["value", "standard_error"]].mean()
    return [_Panel(quantity, f"mean over {len(coordinates)} coordinates", means.reset_index())]


def _coordinate_title(coordinate: Any) -> str:
    """A name says what it is, a number alone does not."""
    text = _text(coordinate)
    return wrapped(text if isinstance(coordinate, str) else f"coordinate {text}", 32)


def _lines(table: pd.DataFrame, others: Sequence[str]) -> dict[tuple[Any, ...], _Line]:
    """How each combination of values of the other axes is drawn."""
    distinct = [_distinct(table[name]) for name in others]
    present = set(table[list(others)].itertuples(index=False, name=None)) if others else {()}
    combinations = [values for values in itertools.product(*distinct) if values in present]
    varying = [index for index, values in enumerate(distinct) if len(values) > 1]
    methods = [index for index in varying if all(value in METHOD_COLOURS for value in distinct[index])]
    shaded = len(varying) == 1 and _is_number(distinct[varying[0]])
    colours = sns.color_palette("viridis", len(combinations)) if shaded else itertools.cycle(CYCLE)
    markers, dashes = tuple(METHOD_MARKERS.values()), ("-", "--", ":", "-.")
    rest: dict[tuple[Any, ...], int] = {}
    lines = {}
    for index, (values, colour) in enumerate(zip(combinations, colours, strict=False)):
        # Axes that do not vary are not repeated in every entry.
        label = ", ".join(_legend_part(others[i], values[i]) for i in varying)
        look = _Line(label, colour, markers[index % 5], "-" if shaded else dashes[index // len(CYCLE) % 4])
        if methods:
            # Colour says the method, marker and dashes say everything else.
            method = values[methods[0]]
            other_values = tuple(values[i] for i in varying if i != methods[0])
            turn = rest.setdefault(other_values, len(rest))
            marker = markers[turn % 5] if other_values else METHOD_MARKERS[method]
            look = _Line(label, METHOD_COLOURS[method], marker, dashes[turn % 4])
        lines[values] = look
    return lines


def _legend_part(name: str, value: Any) -> str:
    return METHOD_LABELS.get(value) or f"{readable(name)} = {_text(value)}"
