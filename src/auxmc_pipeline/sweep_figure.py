"""The figure of a user's sweep: every quantity against the swept settings."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
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

_LOG_ABOVE_RATIO = 30.0
_SEPARATE_COORDINATES = 6
_PANEL_HEIGHT_IN = 2.1
_DASHES = ("-", "--", ":", "-.")
# Width of the points at one name together; names are 1 apart.
_DODGE = 0.8


class _Panel(NamedTuple):
    quantity: str
    title: str  # which coordinate, if there are several
    rows: pd.DataFrame  # axes columns, value, standard_error: a row per point
    why_empty: str = "no finite values"


def sweep_figure(table: pd.DataFrame, axes: Sequence[str], quantities: Sequence[str]) -> Figure:
    """Every quantity of a sweep against one of its axes, one line per combination of the others.

    The numeric axis with most values is the horizontal one, logarithmic where its values are positive and span more
    than a factor 30. Without a numeric one it is the first, with a place for each value. A quantity with up to 6
    coordinates has a panel for each. Of one with more, the mean is drawn, with the mean of the errors, which is not too
    small however the coordinates depend on each other; where points have different coordinates, the panel says so.

    Args:
        table: tidy rows with the columns in `axes`, then quantity, coordinate, value and standard_error (NaN for none).
        axes: names of the swept settings; may be empty for a single point.
        quantities: names of the quantities to draw, in order.

    Returns:
        The figure; error bars are +- 1 standard error.

    Raises:
        ValueError: If a column is missing, no quantity is asked for, or two rows stand for one point.
    """
    wanted = (*axes, "quantity", "coordinate", "value", "standard_error")
    if missing := [column for column in wanted if column not in table.columns]:
        raise ValueError(
            f"table must have the columns {', '.join(missing)}; it has {', '.join(table.columns)}"
        )
    if not quantities:
        raise ValueError("quantities must name at least one quantity to draw, got none")
    # Numbers before text, many values before few.
    horizontal = sorted(axes, key=lambda name: -table[name].nunique() * _is_number(table[name].dropna()))[:1]
    others = [name for name in axes if name not in horizontal]
    panels = [panel for name in quantities for panel in _panels(table, [*horizontal, *others], name)]
    drawn = table[table["quantity"].isin(list(quantities))]
    looks, places = _looks(drawn, others), _distinct(drawn[horizontal[0]]) if horizontal else [""]
    n_columns = min(len(panels), 3)
    n_rows = -(-len(panels) // n_columns)
    width = {1: COLUMN_WIDTH_IN, 2: 0.8 * PAGE_WIDTH_IN, 3: PAGE_WIDTH_IN}[n_columns]
    legend_height = 0.18 * min(len(looks), 40) + 0.4 if len(looks) > 1 else 0.0
    height = max(n_rows * _PANEL_HEIGHT_IN + 0.2, legend_height)
    figure = Figure(figsize=(width + 1.6 * (len(looks) > 1), height), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis in grid[len(panels) :]:
        axis.remove()
    for axis, panel in zip(grid, panels, strict=False):
        axis.set(title=panel.title, ylabel=wrapped(readable(panel.quantity), 24))
        axis.set_xlabel(wrapped(readable(horizontal[0]), 24) if horizontal else "")
        if panel.rows.empty:
            missing_panel(axis, f"{readable(panel.quantity)}: {panel.why_empty}")
        else:
            _draw(axis, panel.rows, horizontal, places, others, looks)
    entries = {
        label: handle
        for axis in grid
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    if len(looks) > 1 and entries:
        labels = [look["label"] for look in looks.values() if look["label"] in entries]
        handles = [entries[label] for label in labels]
        figure.legend(handles, labels, loc="outside right upper", ncols=1 + (len(looks) - 1) // 40)
    return figure


def _draw(
    axis: Axes,
    rows: pd.DataFrame,
    horizontal: list[str],
    places: list[Any],
    others: list[str],
    looks: dict[tuple[Any, ...], dict[str, Any]],
) -> None:
    numeric = bool(horizontal) and _is_number(places)
    names = list(rows[others].itertuples(index=False, name=None)) if others else [()] * len(rows)
    for number, (values, look) in enumerate(looks.items()):
        line = rows[[name == values for name in names]]
        if line.empty:
            continue
        if numeric:
            line = line.sort_values(horizontal[0])
            x = line[horizontal[0]].to_numpy()
        else:
            # Side by side, or error bars at one place would hide each other.
            apart = (number - 0.5 * (len(looks) - 1)) * _DODGE / len(looks)
            x = np.array([places.index(v) for v in line[horizontal[0]]] if horizontal else [0]) + apart
            look = {**look, "linestyle": "none"}
        value, error = (line[name].to_numpy(np.float64) for name in ("value", "standard_error"))
        axis.errorbar(x, value, error, elinewidth=0.8, **look)
    if numeric:
        wide = places[0] > 0.0 and places[-1] > _LOG_ABOVE_RATIO * places[0]
        axis.set_xscale("log" if wide else "linear")
        far = len(places) <= 6 and all(b >= 1.8 * a for a, b in itertools.pairwise(places))
        if len(places) == 1 or (wide and far):
            axis.set_xticks(places, [f"{value:g}" for value in places])
            axis.minorticks_off()
    else:
        axis.set(xticks=range(len(places)), xticklabels=map(_text, places), xlim=(-0.5, len(places) - 0.5))


def _is_number(values: Any) -> bool:
    return all(isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in values)


def _text(value: Any) -> str:
    return f"{value:g}" if _is_number([value]) else readable(str(value))


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
        # A name says what it is, a number alone does not.
        titles = [wrapped(c if isinstance(c, str) else f"coordinate {_text(c)}", 32) for c in coordinates]
        own = (rows[rows["coordinate"] == coordinate] for coordinate in coordinates)
        return [_Panel(quantity, title, part) for title, part in zip(titles, own, strict=True)]
    points = rows.assign(one=0).groupby(["one", *axes], sort=False, dropna=False)
    if (points.size() < len(coordinates)).any():
        return [_Panel(quantity, "", rows[:0], "coordinates that are not at all points: see the table")]
    means = points[["value", "standard_error"]].mean()
    return [_Panel(quantity, f"mean over {len(coordinates)} coordinates", means.reset_index())]


def _looks(table: pd.DataFrame, others: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """How each combination of values of the other axes is drawn: colour says the method, markers the rest."""
    distinct = [_distinct(table[name]) for name in others]
    present = set(table[list(others)].itertuples(index=False, name=None)) if others else {()}
    combinations = [values for values in itertools.product(*distinct) if values in present]
    varying = [i for i, values in enumerate(distinct) if len(values) > 1]
    method = next((i for i in varying if all(value in METHOD_COLOURS for value in distinct[i])), None)
    shaded = len(varying) == 1 and _is_number(distinct[varying[0]])
    colours = sns.color_palette("viridis", len(combinations)) if shaded else itertools.cycle(CYCLE)
    markers, turns, looks = tuple(METHOD_MARKERS.values()), dict[tuple[Any, ...], int](), {}
    for index, (values, colour) in enumerate(zip(combinations, colours, strict=False)):
        marker, turn = markers[index % 5], 0 if shaded else index // len(CYCLE)
        if method is not None:
            rest = tuple(values[i] for i in varying if i != method)
            turn = turns.setdefault(rest, len(turns))
            colour = METHOD_COLOURS[values[method]]
            marker = markers[turn % 5] if rest else METHOD_MARKERS[values[method]]
        # Axes that do not vary are not repeated in every entry.
        words = [
            METHOD_LABELS.get(values[i]) or f"{readable(others[i])} = {_text(values[i])}" for i in varying
        ]
        looks[values] = {
            "label": ", ".join(words),
            "color": colour,
            "marker": marker,
            "linestyle": _DASHES[turn % 4],
        }
    return looks
