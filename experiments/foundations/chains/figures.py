"""Figures on Metropolis, shells of mass, Gibbs, slices and dynamics."""

from itertools import pairwise
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import ArrayLike

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import COLUMN_WIDTH_IN, CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.plots.published import entries_published_last, published_mark
from auxmc_pipeline.published_values import published_value
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Curves, Plots, circle, marks, square

DRAW = Plots()

_LINES = ("-", "--", ":", "-.")


@DRAW.figure("fig_2_7", PAGE_WIDTH_IN, 2.6)
def proposals(figure: Figure, curves: Curves) -> None:
    """Figure 2.7."""
    axes = figure.subplots(1, 2, sharey=True)
    x, target = curves.columns("x", "target")
    proposal, accepted = curves("proposal", "accepted")
    start, scale = -0.75, 0.75
    for axis, sd in zip(axes, proposal["sd"].values, strict=True):
        axis.plot(x, target, color=BLUE, label="target")
        axis.plot(x, scale * proposal.sel(sd=sd).values, color=RED, linestyle="--", label="proposal")
        taken = scale * accepted.sel(sd=sd).values
        axis.fill_between(x, taken, color=GREEN, alpha=0.4, linewidth=0.0)
        axis.plot(x, taken, color=GREEN, label="accepted")
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": "black"}
        axis.annotate("", (start, 0.0), (start, -0.14), arrowprops=arrow, annotation_clip=False)
        axis.set(xlim=(x[0], x[-1]), xlabel="$x$", title=f"proposal of standard deviation {sd:g}")
        axis.set_ylim(bottom=0.0)
        axis.set_xticks(np.arange(-2.0, 3.0))
    axes[0].set_ylabel("density")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


@DRAW.figure("fig_2_8", PAGE_WIDTH_IN, 2.4)
def shells(figure: Figure, curves: Curves) -> None:
    """Figure 2.8."""
    axis = figure.subplots()
    radius, density = curves("radius", "density")
    for row, dim in enumerate(radius["dimension"].values):
        r, height = radius.values[row], density.values[row]
        axis.plot(r, height, color=CYCLE[row], linestyle=_LINES[row])
        top = (max(r[np.argmax(height)], 0.45), height.max())
        offset: dict[str, Any] = {"xytext": (0.0, 4.0), "textcoords": "offset points", "ha": "center"}
        axis.annotate(f"$D = {int(dim)}$", top, color=CYCLE[row], **offset)
    axis.set(xlim=(0.0, 13.0), ylim=(0.0, 1.0))
    axis.set(xlabel="distance $r$ from the origin", ylabel="density of $r$")


@DRAW.figure("fig_2_9", COLUMN_WIDTH_IN, 3.3)
def conditionals(figure: Figure, curves: Curves) -> None:
    """Figure 2.9."""
    axis = figure.subplots()
    path, ellipses, along, density = curves("path", "ellipse", "along", "density")
    for ellipse in ellipses.values:
        axis.plot(*ellipse, color=BLUE)
    corners = path.values
    for row, (base, colour, name) in enumerate(
        ((corners[0, 1], RED, "$p(x_1 | x_2)$"), (corners[1, 0], GREEN, "$p(x_2 | x_1)$"))
    ):
        x, order = along.values[row], slice(None, None, 1 - 2 * row)
        axis.plot(*(x[[0, -1]], np.full(2, base))[order], color=colour, linewidth=0.7, linestyle=":")
        axis.plot(*(x, base + density.values[row])[order], color=colour, linestyle="--", label=name)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
    for start, end in pairwise(corners):
        axis.annotate("", end, start, arrowprops=arrow)
    marks(axis, corners.T, "o")
    square(axis, 3.0)
    axis.legend(loc="upper left")


@DRAW.figure("fig_2_12", PAGE_WIDTH_IN, 2.9)
def energy_plane(figure: Figure, curves: Curves) -> None:
    """Figure 2.12."""
    left, right = figure.subplots(1, 2)
    (energy,) = curves("energy")
    x, p, potential = (found.values for found in curves("x", "p", "potential"))
    kinetic = 0.5 * np.square(p)
    total = potential + kinetic
    axes = (energy["position"].values, energy["momentum"].values)
    levels = total[0, 0] + np.array([-1.0, 0.0, 1.0])
    left.contour(*axes, energy.values, levels=levels, colors=REFERENCE, linewidths=0.8)
    left.plot([x[0, -1], x[1, 0]], [p[0, -1], p[1, 0]], color=REFERENCE, linestyle=":")
    for row, colour in enumerate((RED, BLUE)):
        left.plot(x[row], p[row], color=colour, marker=".", linewidth=0.9)
        left.plot(x[row, 0], p[row, 0], color=colour, marker="s", markersize=5.5)
        left.plot(x[row, -1], p[row, -1], color=colour, marker="^", markersize=6.5)
        steps = 10 * row + np.arange(10)
        for values, style, name in (
            (potential, "-", "potential"),
            (kinetic, "--", "kinetic"),
            (total, ":", "total"),
        ):
            label = name if row == 0 else None
            right.plot(steps, values[row], color=colour, linestyle=style, marker=".", label=label)
    left.set(xlim=(-5.0, 10.0), ylim=(-3.0, 3.0), xlabel="position $x$", ylabel="momentum $p$")
    right.set(xlim=(-0.5, 19.5), ylim=(0.0, 4.0), xlabel="leapfrog step", ylabel="energy (nats)")
    right.set_xticks([0, 3, 6, 9, 10, 13, 16, 19], ["0", "3", "6", "9", "", "13", "16", "19"])
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


@DRAW.figure("fig_hmc_cost", PAGE_WIDTH_IN, 2.7)
def cost_against_dimension(figure: Figure, curves: Curves) -> None:
    """Cost of a nearly independent draw against the dimension."""
    left, right = figure.subplots(1, 2)
    cost, accepted = curves("operations", "acceptance")
    dims = cost["dimension"].values.astype(float)
    for row, (name, power, words, colour, marker) in enumerate(
        (("random walk", 2.0, "$D^2$", RED, "s"), ("HMC", 1.25, "$D^{5/4}$", BLUE, "o"))
    ):
        values = cost.values[row]
        marks(left, (dims, values), marker, colour, label=name)
        # Lines end at the last point.
        left.plot(dims, values[-1] * (dims / dims[-1]) ** power, color=colour, linestyle="--", label=words)
        right.plot(dims, accepted.values[row], color=colour, marker=marker)
    left.set(xscale="log", yscale="log", xlabel="dimension $D$", ylabel="operations")
    left.legend(loc="upper left")
    right.set(xscale="log", ylim=(0.0, 1.0), xlabel="dimension $D$", ylabel="mean acceptance probability")


@DRAW.figure("fig_2_10", PAGE_WIDTH_IN, 2.9)
def slice_and_line(figure: Figure, curves: Curves) -> None:
    """Figure 2.10."""
    left, right = figure.subplots(1, 2)
    x, density = curves.columns("along", "density")
    plane, roles = curves("plane", "mark")
    h, angle = curves.value("height"), curves.value("tilt")
    current, lower, upper, rejected, accepted = roles.values
    along, across = np.meshgrid(plane["along"].values, plane["across"].values)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    x1, x2 = np.einsum("ij,jkl->ikl", turn, np.stack([along, across]))
    left.contourf(x1, x2, plane.values, levels=[h, plane.values.max()], colors=[BLUE], alpha=0.25)
    left.contour(x1, x2, plane.values, levels=[h], colors=[BLUE])

    def on_line(*places: float) -> FloatArray:
        return np.asarray(turn @ np.stack([places, np.ones(len(places))]))

    _bracket(left, *on_line(lower, upper), linewidth=0.9, markersize=8.0)
    right.plot(x, density, color=BLUE)
    right.fill_between(x, h, density, where=density >= h, color=BLUE, alpha=0.25, linewidth=0.0)
    _bracket(right, (lower, upper), (h, h), linewidth=0.9, markersize=8.0)
    for value, marker, colour, name in (
        (current, "o", "black", "current point"),
        (rejected, "X", RED, "rejected"),
        (accepted, "D", GREEN, "accepted"),
    ):
        marks(left, on_line(value), marker, colour, markersize=6.0, label=name)
        marks(right, (value, h), marker, colour, markersize=6.0)
    for end in ("lower", "upper"):
        place = published_value("foundations", "FN-SL-06", f"{end} end as drawn")
        published_mark(right, place, h, note="ends as drawn")
    for value, name in ((lower, "$b_l$"), (upper, "$b_u$")):
        right.annotate(name, (value, h), (0.0, 7.0), textcoords="offset points", ha="center")
    right.annotate("$h$", (x[0], h), (3.0, 3.0), textcoords="offset points", color=REFERENCE)
    right.axhline(h, color=REFERENCE, linestyle=":", linewidth=0.8, zorder=0)
    left.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$", xlim=(-2.4, 1.9), ylim=(-1.3, 2.1))
    right.set(xlim=(x[0], x[-1]), ylim=(0.0, None), xlabel="place on the slice line", ylabel="density")
    handles, labels = entries_published_last(left)
    published, names = entries_published_last(right)
    figure.legend([*handles, *published], [*labels, *names], loc="outside upper center", ncols=4)


@DRAW.figure("fig_2_11", PAGE_WIDTH_IN, 2.6)
def directions(figure: Figure, curves: Curves) -> None:
    """Figure 2.11."""
    axes = figure.subplots(1, 3)
    points, jumps = curves("point", "jump")
    axes_of_mass = np.sqrt(-2.0 * np.log(0.01)) * np.sqrt([1.99, 0.01])
    long, short = axes_of_mass[:, None] * circle()
    ellipse = np.stack([long - short, long + short]) / np.sqrt(2.0)
    edges = np.geomspace(0.8 * jumps.values.min(), 1.25 * jumps.values.max(), 41)
    names = points["direction"].values
    for row, (name, letter, colour) in enumerate(zip(names, "ab", (RED, BLUE), strict=True)):
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


@DRAW.figure("fig_3_2", COLUMN_WIDTH_IN, 3.3)
def reflections(figure: Figure, curves: Curves) -> None:
    """Figure 3.2."""
    axis = figure.subplots()
    outline, places = curves("outline", "place")
    axis.add_patch(Polygon(outline.values, facecolor=BLUE, alpha=0.25))
    axis.plot(*outline.values.T, color=BLUE)
    line = places.sel(role=["lower end", "current", "left face", "upper face", "upper end"]).values
    axis.plot(*line.T, color="black", linewidth=0.9)
    marks(axis, line[[0, -1]].T, "s", markersize=3.0, label="bracket ends")
    for name, marker, colour in (("current", "o", "black"), ("rejected", "X", RED), ("accepted", "D", GREEN)):
        place = places.sel(role=name).values
        marks(axis, place, marker, colour, markersize=6.0, label=name, zorder=3)
    axis.set(aspect="equal", xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="$u_1$", ylabel="$u_2$")
    axis.spines[["top", "right"]].set_visible(True)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)


@DRAW.figure("slides_slice", PAGE_WIDTH_IN, 3.5)
def update_in_frames(figure: Figure, curves: Curves) -> None:
    """Slides of an update of a slice sampler, six panels."""
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    x, y = curves.columns("x", "density")
    roles, brackets = curves("mark", "bracket")
    start, height, new, _ = roles.values
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
        axis.set(xlim=(x[0], x[-1]), ylim=(0.0, None))
    for axis in axes[1]:
        axis.set_xlabel("$x$")
    for axis in axes[:, 0]:
        axis.set_ylabel("density")


def _bracket(axis: Axes, x: ArrayLike, y: ArrayLike, *, linewidth: float, markersize: float) -> None:
    axis.plot(x, y, color="black", linewidth=linewidth)
    marks(axis, (x, y), "|", markersize=markersize)


@DRAW.figure("slides_gibbs", COLUMN_WIDTH_IN, 3.2)
def gibbs_path(figure: Figure, curves: Curves) -> None:
    """Slide of Gibbs sampling."""
    axis = figure.subplots()
    (path,) = curves("path")
    _path(axis, path.values, path.values)


@DRAW.figure("slides_metropolis", COLUMN_WIDTH_IN, 3.2)
def metropolis_path(figure: Figure, curves: Curves) -> None:
    """Slide of random-walk Metropolis."""
    axis = figure.subplots()
    states, tried, accepted = (found.values for found in curves("state", "proposal", "accepted"))
    rejected = accepted == 0.0
    for number, (start, end) in enumerate(zip(states[:-1][rejected], tried[rejected], strict=True)):
        axis.plot(*np.stack([start, end]).T, color=REFERENCE, linestyle=":", linewidth=0.8)
        marks(axis, end, "x", REFERENCE, label="rejected proposal" if number == 0 else None)
    _path(axis, states, np.concatenate([states, tried]))


@DRAW.figure("slides_hmc", COLUMN_WIDTH_IN, 3.2)
def hmc_path(figure: Figure, curves: Curves) -> None:
    """Slide of Hamiltonian Monte Carlo."""
    axis = figure.subplots()
    points, momenta = (found.values for found in curves("position", "momentum"))
    arrows: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 3.0, "width": 0.006, "zorder": 3}
    axis.quiver(*points[::2].T, *momenta[::2].T, color=GREEN, **arrows)
    _path(axis, points, np.concatenate([points, points + momenta / 3.0]))
    marks(axis, points[-1], "^", label="end")
    axis.plot([], [], color=GREEN, label="momentum / 3")
    axis.legend(loc="upper left")


def _path(axis: Axes, path: FloatArray, shown: FloatArray) -> None:
    """A path [point, 2] on contours of a Gaussian with correlation 0.8, in a panel that shows points [point, 2]."""
    root = np.linalg.cholesky(np.array([[1.0, 0.8], [0.8, 1.0]]))
    for size in (1.0, 2.0):
        axis.plot(*(size * root @ circle()), color=BLUE, linewidth=0.9, zorder=1.9)
    axis.plot(*path.T, color=RED, linewidth=0.9, marker=".", markersize=4.0)
    marks(axis, path[0], "s", markersize=4.5, label="start")
    square(axis, max(2.5, float(np.abs(shown).max()) + 0.3))
    axis.legend(loc="upper left")
