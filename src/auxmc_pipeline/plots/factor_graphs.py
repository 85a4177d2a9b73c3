"""Factor graphs of models: squares for factors, circles for variables, grey ones for observed variables."""

import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from auxmc.plots.style import PAGE_WIDTH_IN

_HALF_SIDE = 0.13
_ARROW: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
_PLATE: dict[str, Any] = {
    "boxstyle": "round,pad=0,rounding_size=0.25",
    "facecolor": "none",
    "edgecolor": "#777777",
}


def factor_graph(path: Path, *, is_ours: bool = True) -> Figure:
    """Draws the factor graph that a TOML file describes, as wide as a page.

    Args:
        path: file with `height_in` (inches), `x_range` and `y_range` (what is seen, in equal units), and lists:
            `plates` (corner, size, label), `edges` (places along each), `arrows` (both ends), `factors` (at, text,
            above), `variables` (at, name, observed), `inputs` (at, name), `words` (at, text).
        is_ours: whether the graph is of the model that was run; otherwise its title says that it was published.
    """
    graph = tomllib.loads(path.read_text(encoding="utf-8"))
    figure = Figure(figsize=(PAGE_WIDTH_IN, graph["height_in"]), layout="constrained")
    axis = figure.subplots()
    axis.set(xlim=graph["x_range"], ylim=graph["y_range"], aspect="equal")
    axis.axis("off")

    def write(at: Sequence[float], text: str, size: float, **look: Any) -> None:
        axis.text(at[0], at[1], text, fontsize=size, **{"ha": "center", "va": "center", **look})

    for plate in graph.get("plates", ()):
        (x, y), (width, height) = plate["corner"], plate["size"]
        axis.add_patch(FancyBboxPatch((x, y), width, height, **_PLATE))
        write((x + width - 0.1, y + 0.15), plate["label"], 7.0, ha="right", va="bottom", color="#444444")
    for start, end in (pair for edge in graph.get("edges", ()) for pair in pairwise(edge)):
        axis.plot(*zip(start, end, strict=True), color="black", linewidth=0.8, zorder=1)
    for start, end in graph.get("arrows", ()):
        axis.add_patch(FancyArrowPatch(start, end, color="black", linewidth=0.8, zorder=1, **_ARROW))
    for factor in graph.get("factors", ()):
        x, y = factor["at"]
        corner = (x - _HALF_SIDE, y - _HALF_SIDE)
        axis.add_patch(Rectangle(corner, 2 * _HALF_SIDE, 2 * _HALF_SIDE, color="black", zorder=2))
        gap, anchor = (0.3, "bottom") if factor.get("above", False) else (-0.3, "top")
        write((x, y + gap), factor.get("text", ""), 7.5, va=anchor)
    for variable in graph.get("variables", ()):
        face = "#CCCCCC" if variable.get("observed", False) else "white"
        axis.add_patch(Circle(variable["at"], 0.45, facecolor=face, edgecolor="black", zorder=2))
        write(variable["at"], variable["name"], 10.0, zorder=3)
    for given in graph.get("inputs", ()):
        write(given["at"], given["name"], 10.0)
    for word in graph.get("words", ()):
        write(word["at"], word["text"], 7.0, color="#444444")
    if not is_ours:
        figure.suptitle("graph of the published model")
    return figure
