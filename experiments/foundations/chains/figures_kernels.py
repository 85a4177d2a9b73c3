"""Figures on Metropolis, shells of mass, Gibbs and Hamiltonian dynamics."""

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from auxmc.plots.style import COLUMN_WIDTH_IN, CYCLE, PAGE_WIDTH_IN
from auxmc_pipeline.tables import Table
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Drawings, drawing, marks, square

DRAW: Drawings = {}

_LINES = ("-", "--", ":", "-.")


@drawing(DRAW, "fig_2_7", PAGE_WIDTH_IN, 2.6)
def proposals(figure: Figure, curves: Table) -> None:
    """Figure 2.7."""
    axes = figure.subplots(1, 2, sharey=True)
    target = curves.array("fig_2_7_target", "fig_2_7_x")
    proposal = curves.array("fig_2_7_proposal", "fig_2_7_sd", "fig_2_7_x")
    accepted = curves.array("fig_2_7_accepted", "fig_2_7_sd", "fig_2_7_x")
    x, start, scale = target["fig_2_7_x"].values, -0.75, 0.75
    for axis, sd in zip(axes, proposal["fig_2_7_sd"].values, strict=True):
        axis.plot(x, target.values, color=BLUE, label="target")
        axis.plot(x, scale * proposal.sel(fig_2_7_sd=sd).values, color=RED, linestyle="--", label="proposal")
        taken = scale * accepted.sel(fig_2_7_sd=sd).values
        axis.fill_between(x, taken, color=GREEN, alpha=0.4, linewidth=0.0)
        axis.plot(x, taken, color=GREEN, label="accepted")
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": "black"}
        axis.annotate("", (start, 0.0), (start, -0.14), arrowprops=arrow, annotation_clip=False)
        axis.set(xlim=(x[0], x[-1]), xlabel="$x$", title=f"proposal of standard deviation {sd:g}")
        axis.set_ylim(bottom=0.0)
        axis.set_xticks(np.arange(-2.0, 3.0))
    axes[0].set_ylabel("density")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


@drawing(DRAW, "fig_2_8", PAGE_WIDTH_IN, 2.4)
def shells(figure: Figure, curves: Table) -> None:
    """Figure 2.8."""
    axis = figure.subplots()
    radius = curves.array("fig_2_8_radius", "fig_2_8_dimension", "fig_2_8_point")
    density = curves.array("fig_2_8_density", "fig_2_8_dimension", "fig_2_8_point")
    for row, dim in enumerate(radius["fig_2_8_dimension"].values):
        r, height = radius.values[row], density.values[row]
        axis.plot(r, height, color=CYCLE[row], linestyle=_LINES[row])
        top = (max(r[np.argmax(height)], 0.45), height.max())
        offset: dict[str, Any] = {"xytext": (0.0, 4.0), "textcoords": "offset points", "ha": "center"}
        axis.annotate(f"$D = {int(dim)}$", top, color=CYCLE[row], **offset)
    axis.set(xlim=(0.0, 13.0), ylim=(0.0, 1.0))
    axis.set(xlabel="distance $r$ from the origin", ylabel="density of $r$")


@drawing(DRAW, "fig_2_9", COLUMN_WIDTH_IN, 3.3)
def conditionals(figure: Figure, curves: Table) -> None:
    """Figure 2.9."""
    axis = figure.subplots()
    path = curves.array("fig_2_9_path", "fig_2_9_corner", "fig_2_9_axis")
    ellipses = curves.array("fig_2_9_ellipse", "fig_2_9_level", "fig_2_9_axis", "fig_2_9_angle")
    along = curves.array("fig_2_9_along", "fig_2_9_update", "fig_2_9_place")
    density = curves.array("fig_2_9_density", "fig_2_9_update", "fig_2_9_place")
    for ellipse in ellipses.values:
        axis.plot(*ellipse, color=BLUE)
    corners = path.values
    # The first update is along a horizontal line, the second along a vertical one.
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


@drawing(DRAW, "fig_2_12", PAGE_WIDTH_IN, 2.9)
def energy_plane(figure: Figure, curves: Table) -> None:
    """Figure 2.12."""
    left, right = figure.subplots(1, 2)
    energy = curves.array("fig_2_12_energy", "fig_2_12_momentum", "fig_2_12_position")
    x, p, potential = (
        curves.array(name, "fig_2_12_trajectory", "fig_2_12_step").values
        for name in ("fig_2_12_x", "fig_2_12_p", "fig_2_12_potential")
    )
    kinetic = 0.5 * np.square(p)
    total = potential + kinetic
    axes = (energy["fig_2_12_position"].values, energy["fig_2_12_momentum"].values)
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


@drawing(DRAW, "fig_hmc_cost", PAGE_WIDTH_IN, 2.7)
def cost_against_dimension(figure: Figure, curves: Table) -> None:
    """Cost of a nearly independent draw against the dimension."""
    left, right = figure.subplots(1, 2)
    cost = curves.array("fig_hmc_cost_operations", "fig_hmc_cost_method", "fig_hmc_cost_dimension")
    accepted = curves.array("fig_hmc_cost_acceptance", "fig_hmc_cost_method", "fig_hmc_cost_dimension")
    dims = cost["fig_hmc_cost_dimension"].values.astype(float)
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
