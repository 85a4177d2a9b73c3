"""Factor graphs of models: squares for factors, circles for variables, grey ones for observed variables."""

import tomllib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from auxmc.plots.style import PAGE_WIDTH_IN

__all__ = ["add_factor", "add_variable", "add_words", "factor_graph", "graph_plane"]

_HALF_SIDE = 0.13
_RADIUS = 0.45


def factor_graph(path: Path) -> Figure:
    """Draws the factor graph that a TOML file describes.

    Args:
        path: file with `height_in`, `x_range` and `y_range` as in `graph_plane`, and lists: `plates` (corner, size,
            label), `edges` (places along each), `arrows` (both ends), `factors` (at, text, above), `variables` (at,
            name, observed), `inputs` (at, name), `words` (at, text).
    """
    graph = tomllib.loads(path.read_text(encoding="utf-8"))
    figure, axis = graph_plane(graph["height_in"], graph["x_range"], graph["y_range"])
    for plate in graph.get("plates", ()):
        (x, y), (width, height) = plate["corner"], plate["size"]
        look: dict[str, Any] = {
            "boxstyle": "round,pad=0,rounding_size=0.25",
            "facecolor": "none",
            "edgecolor": "#777777",
        }
        axis.add_patch(FancyBboxPatch((x, y), width, height, **look))
        place = (x + width - 0.1, y + 0.15)
        axis.text(*place, plate["label"], ha="right", va="bottom", fontsize=7.0, color="#444444")
    for start, end in (pair for edge in graph.get("edges", ()) for pair in pairwise(edge)):
        axis.plot(*zip(start, end, strict=True), color="black", linewidth=0.8, zorder=1)
    for start, end in graph.get("arrows", ()):
        style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
        axis.add_patch(FancyArrowPatch(start, end, color="black", linewidth=0.8, zorder=1, **style))
    for factor in graph.get("factors", ()):
        x, y = factor["at"]
        add_factor(axis, x, y, factor.get("text", ""), above=factor.get("above", False))
    for variable in graph.get("variables", ()):
        x, y = variable["at"]
        add_variable(axis, x, y, variable["name"], observed=variable.get("observed", False))
    for given in graph.get("inputs", ()):
        x, y = given["at"]
        axis.text(x, y, given["name"], ha="center", va="center", fontsize=10.0)
    add_words(axis, ((*word["at"], word["text"]) for word in graph.get("words", ())))
    return figure


def graph_plane(
    height_in: float, x_range: tuple[float, float], y_range: tuple[float, float]
) -> tuple[Figure, Axes]:
    """An empty figure as wide as a page, whose units are as long in one direction as in the other.

    Args:
        height_in: of the figure, in inches.
        x_range: what is seen, in units of the graph.
        y_range: the same upwards.
    """
    figure = Figure(figsize=(PAGE_WIDTH_IN, height_in), layout="constrained")
    axis = figure.subplots()
    axis.set(xlim=x_range, ylim=y_range, aspect="equal")
    axis.axis("off")
    return figure, axis


def add_factor(axis: Axes, x: float, y: float, text: str = "", *, above: bool = False) -> None:
    """Draws a factor, with its distribution below or above it."""
    corner = (x - _HALF_SIDE, y - _HALF_SIDE)
    axis.add_patch(Rectangle(corner, 2 * _HALF_SIDE, 2 * _HALF_SIDE, color="black", zorder=2))
    gap, anchor = (0.3, "bottom") if above else (-0.3, "top")
    axis.text(x, y + gap, text, ha="center", va=anchor, fontsize=7.5)


def add_variable(axis: Axes, x: float, y: float, name: str, *, observed: bool = False) -> None:
    """Draws a variable with its name in it."""
    face = "#CCCCCC" if observed else "white"
    axis.add_patch(Circle((x, y), _RADIUS, facecolor=face, edgecolor="black", zorder=2))
    axis.text(x, y, name, ha="center", va="center", fontsize=10.0, zorder=3)


def add_words(axis: Axes, words: Iterable[tuple[float, float, str]]) -> None:
    """Writes in small grey letters what a variable is, each centred at a place (x, y)."""
    for x, y, text in words:
        axis.text(x, y, text, ha="center", va="center", fontsize=7.0, color="#444444")
