"""Factor graphs of models: squares for factors, circles for variables, grey ones for observed variables."""

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from auxmc.plots.style import PAGE_WIDTH_IN

__all__ = ["add_factor", "add_variable", "add_words", "graph_plane"]

_HALF_SIDE = 0.13
_RADIUS = 0.45


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
    """Draws a factor, with its law below or above it."""
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
