"""What the figures of all topics are made with."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE, QUANTITY_COLOURS
from auxmc_pipeline.footer import footer
from auxmc_pipeline.tables import Tables

BLUE, RED, GREEN = CYCLE[:3]
REFERENCE = QUANTITY_COLOURS["reference"]


class Curves:
    """Arrays of a figure, by names without that of the figure."""

    def __init__(self, tables: Tables, figure: str) -> None:
        self._tables, self._figure = tables, figure

    def __call__(self, name: str, *dims: str) -> xr.DataArray:
        """An array with these dimensions."""
        whole = {f"{self._figure}_{dim}": dim for dim in dims}
        return self._tables.array(f"{self._figure}_{name}", *whole).rename(whole)

    def columns(self, dim: str, *names: str) -> list[FloatArray]:
        """Values of a dimension and arrays along it alone [place]."""
        rows = self._tables.rows(f"{self._figure}_{dim}", f"{self._figure}_{names[0]}")
        return [rows[f"{self._figure}_{name}"].to_numpy() for name in (dim, *names)]

    def value(self, name: str) -> float:
        """A number."""
        return self._tables.value(f"{self._figure}_{name}")


Fill = Callable[[Figure, Curves], None]
"""Draws on a figure; it makes its panels and reads all its arrays before it draws."""

Drawings = dict[str, Callable[[Tables], Figure]]
"""For each figure, a function of the tables."""


def drawing(
    drawings: Drawings, name: str, width: float, height: float, *, footed: bool = False
) -> Callable[[Fill], Fill]:
    """Enters a function that fills a figure, of a size in inches; `footed` writes the preset below the figure."""

    def enter(fill: Fill) -> Fill:
        @functools.wraps(fill)
        def draw(tables: Tables) -> Figure:
            figure = Figure(figsize=(width, height), layout="constrained")
            fill(figure, Curves(tables, name))
            if footed:
                footer(figure, tables)
            return figure

        drawings[name] = draw
        return fill

    return enter


def circle() -> FloatArray:
    """Points of the unit circle [axis, point]."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    return np.stack([np.cos(angle), np.sin(angle)])


def marks(axis: Axes, points: Any, marker: str, colour: str = "black", **options: Any) -> None:
    """Markers at points [2, ...], without lines between them."""
    axis.plot(*points, color=colour, marker=marker, linestyle="none", **options)


def square(axis: Axes, limit: float) -> None:
    """A plane of two coordinates, of equal units, up to a limit on all sides."""
    axis.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$", xlim=(-limit, limit), ylim=(-limit, limit))
