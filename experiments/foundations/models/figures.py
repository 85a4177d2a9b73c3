"""Figures of the group `models`, drawn from the table of curves."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse, Rectangle

from auxmc.plots.style import COLUMN_WIDTH_IN, CYCLE, PAGE_WIDTH_IN
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Curves, Plots, marks, square

DRAW = Plots()

_ORANGE = CYCLE[5]
_SCHEMES: Mapping[str, tuple[str, str, str]] = {
    "milstein": ("Milstein", GREEN, "s"),
    "euler_maruyama": ("Euler-Maruyama", RED, "o"),
}
_MASSES = (0.1, 0.3, 0.5, 0.7, 0.9)
_SHOWN_MASS = 0.9
# Places of the variables of figure B.1 [column, height], and how each is computed.
_GRAPH: Mapping[str, tuple[float, float, str]] = {
    "x": (0.0, 2.2, "x"),
    "m": (0.0, 1.1, "m"),
    "s": (0.0, 0.0, "s"),
    "y": (1.0, 1.65, "y = x - m"),
    "u": (1.0, 0.0, r"u = \log\, s"),
    "z": (2.0, 1.1, "z = y / s"),
    "b": (2.0, 0.0, r"b = u + \frac{1}{2}\log 2\pi"),
    "a": (3.0, 1.1, r"a = \frac{1}{2} z^2"),
    "c": (4.0, 0.55, "c = a + b"),
}
_EDGES = tuple((edge[0], edge[1]) for edge in ("xy", "my", "yz", "sz", "su", "za", "ub", "ac", "bc"))
_BOX_WIDTH, _BOX_HEIGHT = 0.76, 0.84
_UPWARD = "sz"  # It leaves its box at the top, so that it passes above that of u.


@DRAW.figure("fig_1_5", PAGE_WIDTH_IN, 2.9, footed=True)
def simulators(figure: Figure, curves: Curves) -> None:
    """Figure 1.5 with the errors of its scheme."""
    left, right = figure.subplots(1, 2)
    error, spread, path = curves("error", "error_error", "path")
    left.plot(*curves.columns("fine_time", "exact_path"), color="black", linewidth=0.7, label="exact")
    steps = error["step"].values
    for scheme, (label, colour, marker) in _SCHEMES.items():
        one = path.sel(scheme=scheme)
        left.plot(one["time"], one, color=colour, marker=marker, linewidth=1.0)
        values, half = (found.sel(scheme=scheme).values for found in (error, spread))
        right.errorbar(steps, values, yerr=half, color=colour, marker=marker, label=label)
        power = 1.0 if scheme == "milstein" else 0.5
        line = values[0] * (steps / steps[0]) ** power
        right.plot(steps, line, color=REFERENCE, linestyle=":", linewidth=0.9, zorder=0.0)
        middle = (steps[len(steps) // 2], line[len(steps) // 2])
        text, offset = "slope 1" if power == 1.0 else "slope 1/2", (6.0, -12.0)
        right.annotate(text, middle, offset, textcoords="offset points", color=REFERENCE)
    left.set(xlabel="time $t$", ylabel="state $y(t)$", xlim=(0.0, 1.0), title="one path, 16 steps")
    right.set(xscale="log", yscale="log", xlabel="time step $h$", ylabel="mean error at time 1")
    right.set_xticks(steps, [f"$2^{{-{round(-np.log2(step))}}}$" for step in steps])
    right.minorticks_off()
    right.set_title("error over many paths")
    figure.legend(loc="outside upper center", ncols=3)


@DRAW.figure("fig_1_6", COLUMN_WIDTH_IN, 3.6)
def implicit_curve(figure: Figure, curves: Curves) -> None:
    """Figure 1.6."""
    axis = figure.subplots()
    for mass in _MASSES:
        radius = float(np.sqrt(-2.0 * np.log1p(-mass)))
        axis.add_patch(Circle((0.0, 0.0), radius, fill=False, edgecolor=BLUE, linewidth=0.8))
    axis.plot([], [], color=BLUE, linewidth=0.8, label="density of the inputs")
    axis.plot(*curves.columns("x1", "x2"), color=GREEN, linewidth=1.8, label="output is 1")
    axis.axhline(0.0, color=REFERENCE, linewidth=0.4, zorder=0.0)
    axis.axvline(0.0, color=REFERENCE, linewidth=0.4, zorder=0.0)
    square(axis, 5.0)
    axis.set(xticks=range(-4, 5, 2), yticks=range(-4, 5, 2))
    figure.legend(loc="outside upper center", ncols=2)


@DRAW.figure("fig_b_1", PAGE_WIDTH_IN, 3.9)
def computation_graph(figure: Figure, curves: Curves) -> None:
    """Figures B.1 and B.2."""
    axis = figure.subplots()
    variables, *parts = curves.columns("variable", "value", "accumulator", "as_drawn")
    numbers = dict(zip(variables, zip(*parts, strict=True), strict=True))
    for start, end in _EDGES:
        _arrow(axis, start, end)
    for name, (column, height, formula) in _GRAPH.items():
        _box(axis, (column, height), formula, name, *numbers[name])
    axis.text(1.55, 1.72, r"$\partial z / \partial y = 1/s$", fontsize=7.5)
    axis.text(1.55, 1.91, "drawn as 1", color=RED, fontsize=7.5)
    marks(axis, ([], []), "s", markersize=5.0, label="value, and accumulator (bar)")
    marks(axis, ([], []), "s", RED, markersize=5.0, label="accumulator as drawn")
    axis.set(xlim=(-0.42, 4.42), ylim=(-0.46, 2.66))
    axis.axis("off")
    figure.legend(loc="outside upper center", ncols=2)


@DRAW.figure("contrastive_divergence", PAGE_WIDTH_IN * 0.7, 2.9, footed=True)
def divergence_bias(figure: Figure, curves: Curves) -> None:
    """Bias of contrastive divergence."""
    axis = figure.subplots()
    sweeps, bias, simulated = curves.columns("sweeps", "bias", "simulated")
    rate, n_copies = (curves.value("rate"), curves.value("n_copies"))
    axis.plot(sweeps, bias, color=BLUE, marker="o", label="exact bias")
    line = 2.0 * float(bias[0]) * rate ** (sweeps - sweeps[0])
    axis.plot(sweeps, line, color=REFERENCE, linestyle=":", label=f"rate of the chain, {rate:.3f} a sweep")
    label = f"mean of {round(n_copies):,} simulated estimates".replace(",", "\u202f")
    marks(axis, (sweeps, simulated), "x", RED, label=label)
    axis.set(yscale="log", xlabel="sweeps $k$", ylabel="largest error of the gradient")
    axis.set_xticks(sweeps)
    axis.legend(loc="center left", bbox_to_anchor=(0.0, 0.25))


@DRAW.figure("mean_field", PAGE_WIDTH_IN, 3.7)
def mean_field(figure: Figure, curves: Curves) -> None:
    """Mean-field approximations of two Gaussians."""
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    path, variance = curves("path", "variance")
    scale = 2.0 * float(np.sqrt(-2.0 * np.log1p(-_SHOWN_MASS)))
    for axis, rho in zip((left, right), path["correlation"].values, strict=True):
        width, height = (scale * float(np.sqrt(1.0 + sign * rho)) for sign in (1.0, -1.0))
        axis.add_patch(Ellipse((0.0, 0.0), width, height, angle=45.0, facecolor=GREEN, alpha=0.2))
        axis.add_patch(Ellipse((0.0, 0.0), width, height, angle=45.0, fill=False, edgecolor=GREEN))
        fitted = float(variance.sel(correlation=rho))
        dashes: dict[str, Any] = {"fill": False, "edgecolor": _ORANGE, "linestyle": "--", "linewidth": 1.4}
        axis.add_patch(Circle((0.0, 0.0), 0.5 * scale * float(np.sqrt(fitted)), **dashes))
        steps = path.sel(correlation=rho).values
        axis.plot(*steps.T, color=BLUE, marker=".", linewidth=0.8)
        axis.plot(*steps[0], color=BLUE, marker="s", markersize=5.0)
        axis.set_title(rf"correlation {rho:g}, variance $1 - \rho^2 =$ {fitted:.4g}")
        axis.set(aspect="equal", xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), xlabel="$x_1$")
    left.set_ylabel("$x_2$")
    left.plot([], [], color=GREEN, label="target")
    left.plot([], [], color=_ORANGE, linestyle="--", label="mean field")
    left.plot([], [], color=BLUE, marker=".", label="means of coordinate ascent")
    figure.legend(loc="outside upper center", ncols=3)


def _arrow(axis: Axes, start: str, end: str) -> None:
    first, second = (np.array(_GRAPH[name][:2]) for name in (start, end))
    # From the right side of a box to the left side of the next.
    outwards = np.array([0.0, 0.5 * _BOX_HEIGHT] if start + end == _UPWARD else [0.5 * _BOX_WIDTH, 0.0])
    look = {"arrowstyle": "-|>", "color": REFERENCE, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    head = second - np.array([0.5 * _BOX_WIDTH, 0.0])
    axis.annotate("", head, xytext=first + outwards, arrowprops=look)


def _box(
    axis: Axes, place: tuple[float, float], formula: str, name: str, value: float, bar: float, drawn: float
) -> None:
    """A variable with its value and accumulator, and what the drawing has where that differs."""
    corner = (place[0] - 0.5 * _BOX_WIDTH, place[1] - 0.5 * _BOX_HEIGHT)
    axis.add_patch(Rectangle(corner, _BOX_WIDTH, _BOX_HEIGHT, facecolor="#F4F7FA", edgecolor=BLUE))
    lines = [(f"${formula}$", 8.5, "black"), (_number(value), 7.5, "black")]
    lines.append((rf"$\bar{{{name}}} =$ {_number(bar)}", 7.5, "black"))
    if not np.isclose(bar, drawn):
        lines.append((rf"$\bar{{{name}}} =$ {_number(drawn)}", 7.5, RED))
    for row, (text, size, colour) in enumerate(lines):
        height = place[1] + 0.19 * (0.5 * (len(lines) - 1) - row)
        axis.text(place[0], height, text, ha="center", va="center", fontsize=size, color=colour)


def _number(value: float) -> str:
    return f"{value:.4f}".replace("-", "\u2212")
