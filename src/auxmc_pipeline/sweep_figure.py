"""The figure of a user's sweep: every quantity against the swept settings."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.plots import style
from auxmc_pipeline.plots.looks import METHOD_COLOURS, METHOD_LABELS, METHOD_MARKERS, readable, wrapped
from auxmc_pipeline.plots.panels import missing_panel

_LOG_ABOVE_RATIO = 30.0
_SEPARATE_COORDINATES = 6
_PANEL_HEIGHT_IN = 2.1
_DASHES = ("-", "--", ":", "-.")
_MARKERS = tuple(METHOD_MARKERS.values())[:5]
# Width of the points at one name together; names are 1 apart.
_DODGE = 0.8

Looks = dict[tuple[Any, ...], dict[str, Any]]


def sweep_figure(table: pd.DataFrame, axes: Sequence[str], quantities: Sequence[str]) -> Figure:
    """Every quantity of a sweep against one of its axes, one line per combination of the others.

    The numeric axis with most values is the horizontal one, logarithmic where its values are positive and span more
    than a factor 30. Without a numeric one it is the first, with a place for each value. A quantity with up to 6
    coordinates has a panel for each. Of one with more, the mean is drawn, with the mean of the errors, which is not too
    small however the coordinates depend on each other; where points have different coordinates, the panel says so.
    Error bars are +- 1 standard error.

    Args:
        table: tidy rows with the columns in `axes`, then quantity, coordinate, value and standard_error (NaN for none).
        axes: names of the swept settings; may be empty for a single point.
        quantities: names of the quantities to draw, in order.
    """
    wanted = (*axes, "quantity", "coordinate", "value", "standard_error")
    if missing := [column for column in wanted if column not in table.columns]:
        raise ValueError(
            f"table must have the columns {', '.join(missing)}; it has {', '.join(table.columns)}"
        )
    if not quantities:
        raise ValueError("quantities must name at least one quantity to draw, got none")
    # Numbers before text, many values before few. A single point has a place without a name.
    ordered = sorted(axes, key=lambda name: -table[name].nunique() * _is_number(table[name].dropna())) or [""]
    horizontal, others = ordered[0], [name for name in axes if name != ordered[0]]
    table = table[table["quantity"].isin(list(quantities))]
    table = table if axes else table.assign(**{"": ""})
    panels = [panel for name in quantities for panel in _panels(table, ordered, name)]
    looks, places = _looks(table, others), _distinct(table[horizontal]) or [""]
    n_columns = min(len(panels), 3)
    n_rows = -(-len(panels) // n_columns)
    width = {1: style.COLUMN_WIDTH_IN, 2: 0.8 * style.PAGE_WIDTH_IN, 3: style.PAGE_WIDTH_IN}[n_columns]
    legend_height = 0.18 * len(looks) + 0.4 if len(looks) > 1 else 0.0
    height = max(n_rows * _PANEL_HEIGHT_IN + 0.2, legend_height)
    figure = Figure(figsize=(width + 1.6 * (len(looks) > 1), height), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis in grid[len(panels) :]:
        axis.remove()
    entries: dict[str, Any] = {}
    for axis, (quantity, title, rows) in zip(grid, panels, strict=False):
        axis.set(title=title, ylabel=wrapped(readable(quantity), 24))
        axis.set_xlabel(wrapped(readable(horizontal), 24))
        if isinstance(rows, str):
            missing_panel(axis, f"{readable(quantity)}: {rows}")
            continue
        _draw(axis, rows, horizontal, places, others, looks)
        handles, labels = axis.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    if len(looks) > 1 and entries:
        labels = [look["label"] for look in looks.values() if look["label"] in entries]
        figure.legend([entries[label] for label in labels], labels, loc="outside right upper")
    return figure


def _draw(
    axis: Axes, rows: pd.DataFrame, horizontal: str, places: list[Any], others: list[str], looks: Looks
) -> None:
    numeric = _is_number(places)
    names = list(rows[others].itertuples(index=False, name=None)) if others else [()] * len(rows)
    for number, (values, look) in enumerate(looks.items()):
        line = rows[[name == values for name in names]]
        if line.empty:
            continue
        if numeric:
            line = line.sort_values(horizontal)
            x = line[horizontal].to_numpy()
        else:
            # Side by side, or error bars at one place would hide each other.
            apart = (number - 0.5 * (len(looks) - 1)) * _DODGE / len(looks)
            x = np.array([places.index(value) for value in line[horizontal]]) + apart
            look = {**look, "linestyle": "none"}
        value, error = (line[name].to_numpy(np.float64) for name in ("value", "standard_error"))
        axis.errorbar(x, value, error, elinewidth=0.8, **look)
    if numeric:
        wide = places[0] > 0.0 and places[-1] > _LOG_ABOVE_RATIO * places[0]
        axis.set_xscale("log" if wide else "linear")
        if wide and len(places) <= 6 and all(b >= 1.8 * a for a, b in itertools.pairwise(places)):
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


def _panels(
    table: pd.DataFrame, axes: Sequence[str], quantity: str
) -> Iterator[tuple[str, str, pd.DataFrame | str]]:
    """Panels of a quantity: its name, which coordinate if there are several, and rows, or why there are none."""
    rows = table[(table["quantity"] == quantity) & np.isfinite(table["value"].astype(np.float64))]
    point_columns = [*axes, "coordinate"]
    if (twice := rows.duplicated(point_columns)).any():
        place = ", ".join(f"{column} = {rows[twice].iloc[0][column]}" for column in point_columns)
        raise ValueError(f"table has two rows for quantity {quantity} at {place}; name every swept axis")
    coordinates, points = _distinct(rows["coordinate"]), rows.groupby([*axes], sort=False, dropna=False)
    if len(coordinates) <= 1:
        yield quantity, "", "no finite values" if rows.empty else rows
    elif len(coordinates) <= _SEPARATE_COORDINATES:
        for coordinate in coordinates:
            # A name says what it is, a number alone does not.
            title = coordinate if isinstance(coordinate, str) else f"coordinate {_text(coordinate)}"
            yield quantity, wrapped(title, 32), rows[rows["coordinate"] == coordinate]
    elif (points.size() < len(coordinates)).any():
        yield quantity, "", "coordinates that are not at all points: see the table"
    else:
        means = points[["value", "standard_error"]].mean().reset_index()
        yield quantity, f"mean over {len(coordinates)} coordinates", means


def _looks(table: pd.DataFrame, others: Sequence[str]) -> Looks:
    """How each combination of values of the other axes is drawn: colour says the method, markers the rest."""
    distinct = [_distinct(table[name]) for name in others]
    present = set(table[list(others)].itertuples(index=False, name=None)) if others else {()}
    combinations = [values for values in itertools.product(*distinct) if values in present]
    varying = [i for i, values in enumerate(distinct) if len(values) > 1]
    method = next((i for i in varying if all(value in METHOD_COLOURS for value in distinct[i])), None)
    rests, looks = dict[tuple[Any, ...], int](), Looks()
    for index, values in enumerate(combinations):
        # Axes that do not vary are not repeated in every entry.
        named = [(others[i], values[i]) for i in varying]
        words = [METHOD_LABELS.get(v) or f"{readable(name)} = {_text(v)}" for name, v in named]
        colour, marker, turn = (
            style.CYCLE[index % len(style.CYCLE)],
            _MARKERS[index % 5],
            index // len(style.CYCLE),
        )
        if method is not None:
            rest = tuple(values[i] for i in varying if i != method)
            turn = rests.setdefault(rest, len(rests))
            colour = METHOD_COLOURS[values[method]]
            marker = _MARKERS[turn % 5] if rest else METHOD_MARKERS[values[method]]
        look = {"label": ", ".join(words), "color": colour, "marker": marker, "linestyle": _DASHES[turn % 4]}
        looks[values] = look
    return looks
