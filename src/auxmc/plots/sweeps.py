"""The figure of a user's sweep: every quantity against the swept settings."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from auxmc.numerics.array_types import FloatArray
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
_SEPARATE_COORDINATES = 4
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
    has one place per value where they are text. A quantity with up to 4 coordinates has a panel for each;
    of one with more, the mean over coordinates is drawn, its error being the mean of theirs, which is not
    too small however they depend on each other.

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
    axes = [*horizontal, *(name for name in axes if name not in horizontal)]
    panels = list(itertools.chain.from_iterable(_sweep_panels(table, axes, name) for name in quantities))
    used = table[table["quantity"].isin(list(quantities))]
    lines = _sweep_lines(used, axes[1:])
    figure, grid = _sweep_grid(len(panels), len(lines), any(line.label for line in lines))
    for axis, panel in zip(grid, panels, strict=True):
        if panel.rows.empty:
            missing_panel(axis, f"{readable(panel.quantity)}: no finite values")
            continue
        _draw_sweep_panel(axis, panel.rows, axes, lines)
        if panel.title:
            axis.set_title(panel.title)
        axis.set_ylabel(wrapped(readable(panel.quantity), 24))
        axis.set_xlabel(wrapped(readable(axes[0]), 24) if axes else "")
    _sweep_legend(figure, lines)
    return figure


class _SweepPanel(NamedTuple):
    quantity: str
    title: str  # which coordinate, if there are several
    rows: pd.DataFrame  # axes columns, value, standard_error: a row per point


class _SweepLine(NamedTuple):
    values: tuple[Any, ...]  # of the axes after the first
    label: str
    colour: Any
    marker: str
    dashes: Any  # a matplotlib line style


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


def _sweep_panels(table: pd.DataFrame, axes: Sequence[str], quantity: str) -> list[_SweepPanel]:
    rows = table[(table["quantity"] == quantity) & np.isfinite(table["value"].astype(np.float64))]
    coordinates = _distinct(rows["coordinate"])
    point_columns = [*axes, "coordinate"]
    if rows.duplicated(point_columns).any():
        twice = rows[rows.duplicated(point_columns)].iloc[0]
        place = ", ".join(f"{column} = {twice[column]}" for column in point_columns)
        raise ValueError(f"table has two rows for quantity {quantity} at {place}; name every swept axis")
    if len(coordinates) <= 1:
        return [_SweepPanel(quantity, "", rows)]
    if len(coordinates) <= _SEPARATE_COORDINATES:
        return [
            _SweepPanel(quantity, f"coordinate {_text(c)}", rows[rows["coordinate"] == c])
            for c in coordinates
        ]
    columns = ["value", "standard_error"]
    if axes:
        rows = rows.groupby(list(axes), sort=False, dropna=False)[columns].mean().reset_index()
    else:
        rows = rows[columns].mean().to_frame().T
    return [_SweepPanel(quantity, f"mean over {len(coordinates)} coordinates", rows)]


def _sweep_lines(table: pd.DataFrame, others: Sequence[str]) -> list[_SweepLine]:
    distinct = [_distinct(table[name]) for name in others]
    present = set(table[list(others)].itertuples(index=False, name=None)) if others else {()}
    combinations = [values for values in itertools.product(*distinct) if values in present]
    varying = [index for index, values in enumerate(distinct) if len(values) > 1]
    methods = [index for index in varying if all(value in METHOD_COLOURS for value in distinct[index])]
    shaded = len(varying) == 1 and _is_number(distinct[varying[0]])
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, max(2, len(combinations))))
    markers, dashes = tuple(METHOD_MARKERS.values()), ("-", "--", ":", "-.")
    rest: dict[tuple[Any, ...], int] = {}
    lines = []
    for index, values in enumerate(combinations):
        # Axes that do not vary are not repeated in every entry.
        parts = [_legend_part(others[i], values[i]) for i in varying]
        colour: Any = tuple(shades[index]) if shaded else CYCLE[index % len(CYCLE)]
        marker, dash = markers[index % len(markers)], "-" if shaded else dashes[index // len(CYCLE) % 4]
        if methods:
            # Colour says the method, marker and dashes say everything else.
            method = values[methods[0]]
            other_values = tuple(values[i] for i in varying if i != methods[0])
            turn = rest.setdefault(other_values, len(rest))
            colour, dash = METHOD_COLOURS[method], dashes[turn % 4]
            marker = markers[turn % len(markers)] if other_values else METHOD_MARKERS[method]
        lines.append(_SweepLine(values, ", ".join(parts), colour, marker, dash))
    return lines


def _legend_part(name: str, value: Any) -> str:
    if value in METHOD_LABELS:
        return METHOD_LABELS[value]
    return f"{readable(name)} = {_text(value)}"


def _sweep_grid(n_panels: int, n_lines: int, legend: bool) -> tuple[Figure, list[Axes]]:
    n_columns = min(n_panels, 3)
    n_rows = -(-n_panels // n_columns)
    width = {1: COLUMN_WIDTH_IN, 2: 0.8 * PAGE_WIDTH_IN, 3: PAGE_WIDTH_IN}[n_columns]
    legend_height = 0.18 * min(n_lines, 40) + 0.4 if legend else 0.0
    height = max(n_rows * _PANEL_HEIGHT_IN + 0.2, legend_height)
    size = (width + (1.6 if legend else 0.0), height)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis in grid[n_panels:]:
        axis.remove()
    return figure, list(grid[:n_panels])


def _draw_sweep_panel(
    axis: Axes, rows: pd.DataFrame, axes: Sequence[str], lines: Sequence[_SweepLine]
) -> None:
    ticks: list[Any] = _distinct(rows[axes[0]]) if axes else [""]
    numeric = bool(axes) and _is_number(ticks)
    for index, line in enumerate(lines):
        selected = rows
        for name, value in zip(axes[1:], line.values, strict=True):
            selected = selected[selected[name] == value]
        if selected.empty:
            continue
        first = selected[axes[0]].tolist() if axes else [""] * len(selected)
        x = np.array([float(value) if numeric else float(ticks.index(value)) for value in first])
        order = np.argsort(x)
        if not numeric and len(lines) > 1:
            # Side by side, or error bars at one place would hide each other.
            x = x + 0.5 * ((index + 0.5) / len(lines) - 0.5)
        y = selected["value"].to_numpy(dtype=np.float64)[order]
        error = selected["standard_error"].to_numpy(dtype=np.float64)[order]
        axis.errorbar(
            x[order],
            y,
            yerr=np.where(np.isfinite(error), error, 0.0),
            color=line.colour,
            marker=line.marker,
            linestyle=line.dashes if numeric else "none",
            elinewidth=0.8,
        )
    if numeric:
        _numeric_ticks(axis, np.array(ticks, dtype=np.float64))
    else:
        _text_ticks(axis, [_text(tick) for tick in ticks])


def _numeric_ticks(axis: Axes, values: FloatArray) -> None:
    if values[0] > 0.0 and values[-1] > _LOG_ABOVE_RATIO * values[0]:
        axis.set_xscale("log")
        if values.size <= 6 and np.all(values[1:] >= 1.8 * values[:-1]):
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.minorticks_off()
    elif values.size == 1:
        axis.set_xticks(values, [f"{value:g}" for value in values])


def _text_ticks(axis: Axes, names: list[str]) -> None:
    if sum(map(len, names)) > 24:
        axis.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    else:
        axis.set_xticks(range(len(names)), names)
    axis.set_xlim(-0.6, len(names) - 0.4)


def _sweep_legend(figure: Figure, lines: Sequence[_SweepLine]) -> None:
    handles = [
        Line2D([], [], color=line.colour, marker=line.marker, linestyle=line.dashes, label=line.label)
        for line in lines
        if line.label
    ]
    if handles:
        figure.legend(handles=handles, loc="outside right upper", ncols=1 + (len(handles) - 1) // 40)
