"""Figures on chains: Metropolis, shells of mass, Gibbs, Hamiltonian dynamics, and those of the modules beside it."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from auxmc.plots.panels import missing_figure
from auxmc.plots.style import COLUMN_WIDTH_IN, CYCLE, PAGE_WIDTH_IN, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find
from experiments.foundations import figures_chains_paths, figures_chains_slices

_CASE = "chains"
_NOT_RUN = "not run at this preset"
_BLUE, _RED, _GREEN = CYCLE[:3]
_REFERENCE = QUANTITY_COLOURS["reference"]
_LINES = ("-", "--", ":", "-.")


def proposals(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.7."""
    del summary
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    target = find(curves, _CASE, "fig_2_7_target", "fig_2_7_x")
    proposal = find(curves, _CASE, "fig_2_7_proposal", "fig_2_7_sd", "fig_2_7_x")
    accepted = find(curves, _CASE, "fig_2_7_accepted", "fig_2_7_sd", "fig_2_7_x")
    if target is None or proposal is None or accepted is None:
        return missing_figure(figure, _NOT_RUN)
    x, start, scale = target["fig_2_7_x"].values, -0.75, 0.75
    for axis, sd in zip(axes, proposal["fig_2_7_sd"].values, strict=True):
        axis.plot(x, target.values, color=_BLUE, label="target")
        axis.plot(x, scale * proposal.sel(fig_2_7_sd=sd).values, color=_RED, linestyle="--", label="proposal")
        taken = scale * accepted.sel(fig_2_7_sd=sd).values
        axis.fill_between(x, taken, color=_GREEN, alpha=0.4, linewidth=0.0)
        axis.plot(x, taken, color=_GREEN, label="accepted")
        axis.annotate(
            "",
            (start, 0.0),
            (start, -0.14),
            arrowprops={"arrowstyle": "-|>", "color": "black"},
            annotation_clip=False,
        )
        axis.set(xlim=(x[0], x[-1]), xlabel="$x$", title=f"proposal of standard deviation {sd:g}")
        axis.set_ylim(bottom=0.0)
        axis.set_xticks(np.arange(-2.0, 3.0))
    axes[0].set_ylabel("density")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def shells(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.8."""
    del summary
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.4), layout="constrained")
    axis = figure.subplots()
    names = ("fig_2_8_dimension", "fig_2_8_point")
    radius, density = (
        find(curves, _CASE, "fig_2_8_radius", *names),
        find(curves, _CASE, "fig_2_8_density", *names),
    )
    if radius is None or density is None:
        return missing_figure(figure, _NOT_RUN)
    for row, dim in enumerate(radius["fig_2_8_dimension"].values):
        r, height = radius.values[row], density.values[row]
        axis.plot(r, height, color=CYCLE[row], linestyle=_LINES[row])
        top = int(np.argmax(height))
        axis.annotate(
            f"$D = {int(dim)}$",
            (max(r[top], 0.45), height[top]),
            (0.0, 4.0),
            textcoords="offset points",
            ha="center",
            color=CYCLE[row],
        )
    axis.set(
        xlim=(0.0, 13.0), ylim=(0.0, 1.0), xlabel="distance $r$ from the origin", ylabel="density of $r$"
    )
    return figure


def conditionals(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.9."""
    del summary
    figure = Figure(figsize=(COLUMN_WIDTH_IN, 3.3), layout="constrained")
    axis = figure.subplots()
    path = find(curves, _CASE, "fig_2_9_path", "fig_2_9_corner", "fig_2_9_axis")
    ellipses = find(curves, _CASE, "fig_2_9_ellipse", "fig_2_9_level", "fig_2_9_axis", "fig_2_9_angle")
    along = find(curves, _CASE, "fig_2_9_along", "fig_2_9_update", "fig_2_9_place")
    density = find(curves, _CASE, "fig_2_9_density", "fig_2_9_update", "fig_2_9_place")
    if path is None or ellipses is None or along is None or density is None:
        return missing_figure(figure, _NOT_RUN)
    for ellipse in ellipses.values:
        axis.plot(*ellipse, color=_BLUE)
    corners = path.values
    bells = (
        (along.values[0], corners[0, 1] + density.values[0]),
        (corners[1, 0] + density.values[1], along.values[1]),
    )
    bases = (
        (along.values[0][[0, -1]], np.full(2, corners[0, 1])),
        (np.full(2, corners[1, 0]), along.values[1][[0, -1]]),
    )
    for (x, y), base, colour, name in zip(
        bells, bases, (_RED, _GREEN), ("$p(x_1 | x_2)$", "$p(x_2 | x_1)$"), strict=True
    ):
        axis.plot(*base, color=colour, linewidth=0.7, linestyle=":")
        axis.plot(x, y, color=colour, linestyle="--", label=name)
    for start, end in pairwise(corners):
        axis.annotate(
            "", end, start, arrowprops={"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
        )
    axis.plot(*corners.T, color="black", linestyle="none", marker="o")
    axis.set_aspect("equal")
    axis.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-3.0, 3.0), ylim=(-3.0, 3.0))
    axis.legend(loc="upper left")
    return figure


def energy_plane(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Figure 2.12."""
    del summary
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    energy = find(curves, _CASE, "fig_2_12_energy", "fig_2_12_momentum", "fig_2_12_position")
    names = ("fig_2_12_trajectory", "fig_2_12_step")
    x, p, potential = (find(curves, _CASE, f"fig_2_12_{name}", *names) for name in ("x", "p", "potential"))
    if energy is None or x is None or p is None or potential is None:
        return missing_figure(figure, _NOT_RUN)
    kinetic = 0.5 * np.square(p.values)
    total = potential.values + kinetic
    left.contour(
        energy["fig_2_12_position"].values,
        energy["fig_2_12_momentum"].values,
        energy.values,
        levels=total[0, 0] + np.array([-1.0, 0.0, 1.0]),
        colors=_REFERENCE,
        linewidths=0.8,
    )
    left.plot(
        [x.values[0, -1], x.values[1, 0]], [p.values[0, -1], p.values[1, 0]], color=_REFERENCE, linestyle=":"
    )
    for row, colour in enumerate((_RED, _BLUE)):
        left.plot(x.values[row], p.values[row], color=colour, marker=".", linewidth=0.9)
        left.plot(x.values[row, 0], p.values[row, 0], color=colour, marker="s", markersize=5.5)
        left.plot(x.values[row, -1], p.values[row, -1], color=colour, marker="^", markersize=6.5)
        steps = 10 * row + np.arange(10)
        for values, style, name in (
            (potential.values[row], "-", "potential"),
            (kinetic[row], "--", "kinetic"),
            (total[row], ":", "total"),
        ):
            right.plot(
                steps, values, color=colour, linestyle=style, marker=".", label=name if row == 0 else None
            )
    left.set(xlim=(-5.0, 10.0), ylim=(-3.0, 3.0), xlabel="position $x$", ylabel="momentum $p$")
    right.set(xlim=(-0.5, 19.5), ylim=(0.0, 4.0), xlabel="leapfrog step", ylabel="energy (nats)")
    right.set_xticks([0, 3, 6, 9, 10, 13, 16, 19], ["0", "3", "6", "9", "", "13", "16", "19"])
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


def cost_against_dimension(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Cost of a nearly independent draw against the dimension."""
    del summary
    figure = Figure(figsize=(PAGE_WIDTH_IN, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = ("fig_hmc_cost_method", "fig_hmc_cost_dimension")
    cost, accepted = (
        find(curves, _CASE, f"fig_hmc_cost_{name}", *names) for name in ("operations", "acceptance")
    )
    if cost is None or accepted is None:
        return missing_figure(figure, _NOT_RUN)
    dims = cost["fig_hmc_cost_dimension"].values.astype(float)
    for row, (name, power, words, colour, marker) in enumerate(
        (("random walk", 2.0, "$D^2$", _RED, "s"), ("HMC", 1.25, "$D^{5/4}$", _BLUE, "o"))
    ):
        values = cost.values[row]
        left.plot(dims, values, color=colour, marker=marker, linestyle="none", label=name)
        # Lines end at the last point.
        left.plot(dims, values[-1] * (dims / dims[-1]) ** power, color=colour, linestyle="--", label=words)
        right.plot(dims, accepted.values[row], color=colour, marker=marker)
    left.set(xscale="log", yscale="log", xlabel="dimension $D$", ylabel="operations")
    left.legend(loc="upper left")
    right.set(xscale="log", ylim=(0.0, 1.0), xlabel="dimension $D$", ylabel="mean acceptance probability")
    return figure


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "fig_2_7": proposals,
    "fig_2_8": shells,
    "fig_2_9": conditionals,
    "fig_2_12": energy_plane,
    "fig_hmc_cost": cost_against_dimension,
    **figures_chains_paths.DRAW,
    **figures_chains_slices.DRAW,
}
"""For each figure, a function of the summary and the curves."""
