"""What the figures of all topics are made with."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.looks import QUANTITY_COLOURS
from auxmc_pipeline.tables import Tables

BLUE, RED, GREEN = CYCLE[:3]
REFERENCE = QUANTITY_COLOURS["reference"]


class Curves:
    """Arrays of a figure, by names without that of the figure."""

    def __init__(self, tables: Tables, figure: str) -> None:
        self._tables, self._figure = tables, figure

    def __call__(self, *names: str) -> Iterator[xr.DataArray]:
        """Yields arrays by name, with the dimensions of their tables."""
        about, own = self._tables["quantity"].set_index("quantity")["table"], f"{self._figure}_"
        for name in names:
            table = about.get(own + name, own + name)
            # A table is named for its dimensions, in their order.
            keys = [key for key in map(str, self._tables[table]) if key.startswith(own) and key not in about]
            dims = sorted(keys, key=table.find)
            array = self._tables.array(own + name, *dims)
            yield array.rename({dim: dim.removeprefix(own) for dim in dims})

    def columns(self, dim: str, *names: str) -> list[FloatArray]:
        """Values of a dimension and arrays along it alone [place]."""
        rows = self._tables.rows(f"{self._figure}_{dim}", f"{self._figure}_{names[0]}")
        return [rows[f"{self._figure}_{name}"].to_numpy() for name in (dim, *names)]

    def value(self, name: str) -> float:
        """A number."""
        return self._tables.value(f"{self._figure}_{name}")


Fill = Callable[[Figure, Curves], None]
"""Draws on a figure; it makes its panels and reads all its arrays before it draws."""


class Plots(dict[str, Callable[[Tables], Figure]]):
    """For each figure, a function of the tables."""

    def figure(self, name: str, width: float, height: float, footed: bool = False) -> Callable[[Fill], Fill]:
        """Enters a function that fills a figure, of a size in inches; `footed` writes the preset below the figure."""

        def enter(fill: Fill) -> Fill:
            @functools.wraps(fill)
            def draw(tables: Tables) -> Figure:
                figure = Figure(figsize=(width, height), layout="constrained")
                fill(figure, Curves(tables, name))
                if footed:
                    footer(figure, tables)
                return figure

            self[name] = draw
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
