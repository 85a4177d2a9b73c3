"""Figures on random numbers and direct sampling."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from auxmc.plots.style import PAGE_WIDTH_IN
from auxmc_pipeline.tables import Table
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Drawings, drawing, marks

DRAW: Drawings = {}

_TARGET, _PROPOSAL, _DERIVED = GREEN, RED, BLUE
# Zero and one of figure 2.1: apart in lightness, so that they are in grey too.
_ZERO, _ONE = "#D9D9D9", "#8B1A1A"


@drawing(DRAW, "fig_2_1", PAGE_WIDTH_IN, 1.5)
def bits(figure: Figure, curves: Table) -> None:
    """Figure 2.1."""
    axis = figure.subplots()
    found = curves.array("fig_2_1_bits", "fig_2_1_bit", "fig_2_1_state")
    n_bits, n_states = found.shape
    # Edges of cells at integers and a half; bit 0 is at the bottom.
    edges = (np.arange(n_states + 1) - 0.5, np.arange(n_bits + 1) - 0.5)
    colours: dict[str, Any] = {"cmap": ListedColormap([_ZERO, _ONE]), "vmin": 0.0, "vmax": 1.0}
    axis.pcolormesh(*edges, found.values, edgecolors="white", linewidth=0.4, **colours)
    axis.set_yticks(range(n_bits), [str(bit) for bit in range(n_bits)])
    axis.set_xticks([0, 32, 64, 96, 127])
    axis.set(xlabel="state in order of time", ylabel="bit")
    axis.tick_params(length=0.0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    handles = [Patch(color=_ZERO, label="0"), Patch(color=_ONE, label="1")]
    figure.legend(handles=handles, loc="outside right upper", handlelength=1.0)


@drawing(DRAW, "fig_2_2", 0.82 * PAGE_WIDTH_IN, 3.0)
def box_muller_grid(figure: Figure, curves: Table) -> None:
    """Figure 2.2."""
    left, right = figure.subplots(1, 2)
    uniform = curves.array("fig_2_2_uniform", "fig_2_2_first", "fig_2_2_second", "fig_2_2_axis")
    normal = curves.array("fig_2_2_normal", "fig_2_2_first", "fig_2_2_second", "fig_2_2_axis")
    for axis, found, ends, symbol in ((left, uniform, (0, 1), "u"), (right, normal, (-3, 3), "x")):
        points = found.values
        for row in points:
            axis.plot(*row.T, color=REFERENCE, linestyle="--", linewidth=0.4)
        for j, column in enumerate(points.swapaxes(0, 1)):
            axis.plot(*column.T, color=REFERENCE, linestyle="--", linewidth=0.4)
            face = _DERIVED if j % 2 == 0 else "white"
            marks(axis, column.T, "o", _DERIVED, markersize=3.0, markerfacecolor=face, markeredgewidth=0.7)
        axis.set(xlim=ends, ylim=ends, aspect="equal", xlabel=f"${symbol}_1$", ylabel=f"${symbol}_2$")
    left.set(title="uniform", xticks=[0.0, 0.5, 1.0], yticks=[0.0, 0.5, 1.0])
    right.set(title="normal", xticks=[-3, 0, 3], yticks=[-3, 0, 3])


@drawing(DRAW, "fig_2_3", 0.8 * PAGE_WIDTH_IN, 2.9)
def rejection(figure: Figure, curves: Table) -> None:
    """Figure 2.3."""
    axis = figure.subplots()
    target = curves.array("fig_2_3_target", "fig_2_3_x")
    envelope = curves.array("fig_2_3_envelope", "fig_2_3_x")
    marked = curves.array("fig_2_3_marked", "fig_2_3_point", "fig_2_3_part")
    _envelope_panel(axis, target, envelope, "fig_2_3_x")
    for name, marker, colour in (("rejected", "X", _PROPOSAL), ("accepted", "D", _TARGET)):
        x, height, top = marked.sel(fig_2_3_point=name, fig_2_3_part=["x", "height", "envelope"]).values
        axis.plot([x, x], [0.0, top], color=REFERENCE, linewidth=0.8, marker="_", markersize=6.0)
        edge: dict[str, Any] = {"markersize": 7.0, "markeredgecolor": "black", "markeredgewidth": 0.6}
        marks(axis, (x, height), marker, colour, label=f"{name} proposal", **edge)
    axis.set_ylim(0.0, 1.4)
    figure.legend(loc="outside right center")


def _envelope_panel(axis: Axes, target: xr.DataArray, envelope: xr.DataArray, dim: str) -> None:
    x = target[dim].values
    axis.fill_between(x, envelope.values, color=_PROPOSAL, alpha=0.15, linewidth=0.0)
    axis.plot(x, envelope.values, color=_PROPOSAL, linestyle="--", label="$M\\,q(x)$")
    axis.fill_between(x, target.values, color=_TARGET, alpha=0.3, linewidth=0.0)
    axis.plot(x, target.values, color=_TARGET, label="target $p(x)$")
    axis.set(xlim=(x[0], x[-1]), xlabel="$x$", ylabel="density")
    axis.set_ylim(bottom=0.0)


@drawing(DRAW, "slides_inverse_cdf", 0.8 * PAGE_WIDTH_IN, 2.9)
def inversion(figure: Figure, curves: Table) -> None:
    """The slides' picture of inversion."""
    axis = figure.subplots()
    function = curves.array("slides_inverse_cdf_function", "slides_inverse_cdf_x")
    density = curves.array("slides_inverse_cdf_density", "slides_inverse_cdf_x")
    quantiles = curves.array("slides_inverse_cdf_quantile", "slides_inverse_cdf_level")
    x = function["slides_inverse_cdf_x"].values
    twin = axis.twinx()
    twin.spines["right"].set_visible(True)
    twin.fill_between(x, density.values, color=_TARGET, alpha=0.3, linewidth=0.0)
    twin.set_ylim(0.0, 0.6)
    twin.set_ylabel("density", color=_TARGET)
    twin.tick_params(axis="y", colors=_TARGET)
    # The curve lies above the shading, which is on the other axis.
    axis.set_zorder(twin.get_zorder() + 1)
    axis.patch.set_visible(False)
    axis.plot(x, function.values, color=_DERIVED)
    for level, place in zip(quantiles["slides_inverse_cdf_level"].values, quantiles.values, strict=True):
        axis.plot([x[0], place, place], [level, level, 0.0], color=REFERENCE, linewidth=0.5)
    marks(axis, (quantiles.values, np.zeros(quantiles.size)), "o", markersize=3.0, clip_on=False)
    axis.set(xlim=(x[0], x[-1]), ylim=(0.0, 1.0), xlabel="$x = F^{-1}(u)$")
    axis.set_ylabel("$u = F(x)$", color=_DERIVED)
    axis.tick_params(axis="y", colors=_DERIVED)


@drawing(DRAW, "slides_rejection", PAGE_WIDTH_IN, 2.9)
def rejection_and_weights(figure: Figure, curves: Table) -> None:
    """The slides' picture of rejection and of its relation to importance weights."""
    left, right = figure.subplots(1, 2)
    dim = "slides_rejection_x"
    target, envelope = (
        curves.array("slides_rejection_target", dim),
        curves.array("slides_rejection_envelope", dim),
    )
    weight = curves.array("slides_rejection_weight", dim)
    points = curves.array("slides_rejection_points", "slides_rejection_draw", "slides_rejection_part")
    bound = curves.value("slides_rejection_bound")
    _envelope_panel(left, target, envelope, dim)
    x, height, accepted = points.sel(slides_rejection_part=["x", "height", "accepted"]).values.T
    taken = accepted > 0.5
    marks(left, (x[taken], height[taken]), ".", _TARGET, markersize=3.0, label="accepted")
    crosses: dict[str, Any] = {"markersize": 2.5, "markeredgewidth": 0.7}
    marks(left, (x[~taken], height[~taken]), "x", _PROPOSAL, label="rejected", **crosses)
    left.axvspan(0.3, 0.5, color=REFERENCE, alpha=0.3, linewidth=0.0)
    left.set_ylim(0.0, 1.4)
    right.plot(weight[dim].values, weight.values, color=_DERIVED, label="$p(x) / q(x)$")
    right.axhline(bound, color=REFERENCE, linestyle="--", label="bound $M$")
    right.set(xlim=(-2.0, 2.0), xlabel="$x$", ylabel="weight")
    right.set_ylim(0.0, 2.2)
    # As many lines of legend on both sides, so that the panels are of one height.
    for axis, columns in ((left, 2), (right, 1)):
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)
