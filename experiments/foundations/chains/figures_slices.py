"""Figures on slice sampling."""

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.published import entries_published_last, published_mark
from auxmc.plots.style import COLUMN_WIDTH_IN, PAGE_WIDTH_IN
from auxmc_pipeline.published_values import published_value
from auxmc_pipeline.tables import Table
from experiments.foundations.drawing import (
    BLUE,
    GREEN,
    RED,
    REFERENCE,
    Drawings,
    circle,
    drawing,
    marks,
    square,
)

DRAW: Drawings = {}


@drawing(DRAW, "fig_2_10", PAGE_WIDTH_IN, 2.9)
def slice_and_line(figure: Figure, curves: Table) -> None:
    """Figure 2.10."""
    left, right = figure.subplots(1, 2)
    density = curves.array("fig_2_10_density", "fig_2_10_along")
    plane = curves.array("fig_2_10_plane", "fig_2_10_across", "fig_2_10_along")
    h, angle = curves.value("fig_2_10_height"), curves.value("fig_2_10_tilt")
    current, lower, upper, rejected, accepted = curves.array("fig_2_10_mark", "fig_2_10_role").values
    along, across = np.meshgrid(plane["fig_2_10_along"].values, plane["fig_2_10_across"].values)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    x1, x2 = np.einsum("ij,jkl->ikl", turn, np.stack([along, across]))
    left.contourf(x1, x2, plane.values, levels=[h, plane.values.max()], colors=[BLUE], alpha=0.25)
    left.contour(x1, x2, plane.values, levels=[h], colors=[BLUE])

    def on_line(*places: float) -> FloatArray:
        return np.asarray(turn @ np.stack([places, np.ones(len(places))]))

    _bracket(left, *on_line(lower, upper), linewidth=0.9, markersize=8.0)
    x = density["fig_2_10_along"].values
    right.plot(x, density.values, color=BLUE)
    right.fill_between(x, h, density.values, where=density.values >= h, color=BLUE, alpha=0.25, linewidth=0.0)
    _bracket(right, (lower, upper), (h, h), linewidth=0.9, markersize=8.0)
    for value, marker, colour, name in (
        (current, "o", "black", "current point"),
        (rejected, "X", RED, "rejected"),
        (accepted, "D", GREEN, "accepted"),
    ):
        marks(left, on_line(value), marker, colour, markersize=6.0, label=name)
        marks(right, (value, h), marker, colour, markersize=6.0)
    for end in ("lower", "upper"):
        published_mark(
            right, published_value("foundations", "FN-SL-06", f"{end} end as drawn"), h, note="ends as drawn"
        )
    for value, name in ((lower, "$b_l$"), (upper, "$b_u$")):
        right.annotate(name, (value, h), (0.0, 7.0), textcoords="offset points", ha="center")
    right.annotate("$h$", (x[0], h), (3.0, 3.0), textcoords="offset points", color=REFERENCE)
    right.axhline(h, color=REFERENCE, linestyle=":", linewidth=0.8, zorder=0)
    left.set_aspect("equal")
    left.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-2.4, 1.9), ylim=(-1.3, 2.1))
    right.set(xlim=(x[0], x[-1]), xlabel="place on the slice line", ylabel="density")
    right.set_ylim(bottom=0.0)
    handles, labels = entries_published_last(left)
    published, names = entries_published_last(right)
    figure.legend([*handles, *published], [*labels, *names], loc="outside upper center", ncols=4)


@drawing(DRAW, "fig_2_11", PAGE_WIDTH_IN, 2.6)
def directions(figure: Figure, curves: Table) -> None:
    """Figure 2.11."""
    axes = figure.subplots(1, 3)
    direction = "fig_2_11_direction"
    points = curves.array("fig_2_11_point", direction, "fig_2_11_draw", "fig_2_11_axis")
    jumps = curves.array("fig_2_11_jump", direction, "fig_2_11_repeat")
    axes_of_mass = np.sqrt(-2.0 * np.log(0.01)) * np.sqrt([1.99, 0.01])
    long, short = axes_of_mass[:, None] * circle()
    ellipse = np.stack([long - short, long + short]) / np.sqrt(2.0)
    edges = np.geomspace(0.8 * jumps.values.min(), 1.25 * jumps.values.max(), 41)
    for row, (name, letter, colour) in enumerate(
        zip(points[direction].values, "ab", (RED, BLUE), strict=True)
    ):
        axis = axes[row]
        axis.plot(*ellipse, color=REFERENCE, linestyle=":")
        marks(axis, points.values[row].T, ".", colour, markersize=2.5)
        square(axis, 4.0)
        axis.set_title(f"({letter}) {name}")
        look = {"element": "step", "alpha": 0.4, "linewidth": 0.8, "color": colour, "label": name}
        sns.histplot(x=jumps.values[row], bins=edges.tolist(), ax=axes[2], **look)
    axes[2].set(xscale="log", xlabel="mean squared jump\nalong the long axis", ylabel="chains")
    axes[2].set_title("(c) jumps")
    ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    axes[2].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[2].minorticks_off()
    axes[2].set_xlim(edges[0], edges[-1])


@drawing(DRAW, "fig_3_2", COLUMN_WIDTH_IN, 3.3)
def reflections(figure: Figure, curves: Table) -> None:
    """Figure 3.2."""
    axis = figure.subplots()
    outline = curves.array("fig_3_2_outline", "fig_3_2_point", "fig_3_2_axis")
    places = curves.array("fig_3_2_place", "fig_3_2_role", "fig_3_2_axis")
    axis.add_patch(Polygon(outline.values, facecolor=BLUE, alpha=0.25))
    axis.plot(*outline.values.T, color=BLUE)
    line = places.sel(fig_3_2_role=["lower end", "current", "left face", "upper face", "upper end"]).values
    axis.plot(*line.T, color="black", linewidth=0.9)
    marks(axis, line[[0, -1]].T, "s", markersize=3.0, label="bracket ends")
    for name, marker, colour in (("current", "o", "black"), ("rejected", "X", RED), ("accepted", "D", GREEN)):
        place = places.sel(fig_3_2_role=name).values
        marks(axis, place, marker, colour, markersize=6.0, label=name, zorder=3)
    axis.set_aspect("equal")
    axis.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="$u_1$", ylabel="$u_2$")
    for side in ("top", "right"):
        axis.spines[side].set_visible(True)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)


@drawing(DRAW, "slides_slice", PAGE_WIDTH_IN, 3.5)
def update_in_frames(figure: Figure, curves: Table) -> None:
    """Slides of an update of a slice sampler, six panels."""
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    density = curves.array("slides_slice_density", "slides_slice_x")
    brackets = curves.array("slides_slice_bracket", "slides_slice_stage", "slides_slice_end")
    start, height, new, _ = curves.array("slides_slice_mark", "slides_slice_role").values
    x, y = density["slides_slice_x"].values, density.values
    initial, grown, once, twice = brackets.values
    first, second = (float(after[after != before][0]) for before, after in ((grown, once), (once, twice)))
    panels = (
        ("1. a height below the density", None, None),
        ("2. a bracket around the point", initial, None),
        ("3. grown until off the slice", grown, None),
        ("4. a proposal off the slice", once, (first, "X", RED)),
        ("5. another one", twice, (second, "X", RED)),
        ("6. a proposal on the slice", twice, (new, "D", GREEN)),
    )
    for axis, (title, bracket, proposal) in zip(axes.flat, panels, strict=True):
        axis.plot(x, y, color=BLUE)
        axis.axhline(height, color=REFERENCE, linestyle=":", linewidth=0.8)
        if bracket is None:
            axis.plot([start, start], [0.0, y[np.argmin(np.abs(x - start))]], color="black", linewidth=0.8)
        else:
            _bracket(axis, bracket, (height, height), linewidth=1.6, markersize=9.0)
        marks(axis, (start, height), "o", markersize=4.5)
        if proposal is not None:
            place, marker, colour = proposal
            marks(axis, (place, height), marker, colour, markersize=6.0, zorder=3)
        axis.set_title(title, loc="left")
        axis.set(xlim=(x[0], x[-1]))
        axis.set_ylim(bottom=0.0)
    for axis in axes[1]:
        axis.set_xlabel("$x$")
    for axis in axes[:, 0]:
        axis.set_ylabel("density")


def _bracket(axis: Axes, x: ArrayLike, y: ArrayLike, *, linewidth: float, markersize: float) -> None:
    axis.plot(x, y, color="black", linewidth=linewidth)
    marks(axis, (x, y), "|", markersize=markersize)
