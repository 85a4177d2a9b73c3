"""Figures on random numbers, direct sampling, importance weights and averages."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import PAGE_WIDTH_IN
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Curves, Plots, marks

DRAW = Plots()

_TARGET, _PROPOSAL, _DERIVED = GREEN, RED, BLUE
# Zero and one of figure 2.1: apart in lightness, so that they are in grey too.
_ZERO, _ONE = "#D9D9D9", "#8B1A1A"


@DRAW.figure("fig_2_1", PAGE_WIDTH_IN, 1.5)
def bits(figure: Figure, curves: Curves) -> None:
    """Figure 2.1."""
    axis = figure.subplots()
    (found,) = curves("bits")
    n_bits, n_states = found.shape
    # Edges of cells at integers and a half; bit 0 is at the bottom.
    edges = (np.arange(n_states + 1) - 0.5, np.arange(n_bits + 1) - 0.5)
    colours: dict[str, Any] = {"cmap": ListedColormap([_ZERO, _ONE]), "vmin": 0.0, "vmax": 1.0}
    axis.pcolormesh(*edges, found.values, edgecolors="white", linewidth=0.4, **colours)
    axis.set_yticks(range(n_bits), [str(bit) for bit in range(n_bits)])
    axis.set_xticks([0, 32, 64, 96, 127])
    axis.set(xlabel="state in order of time", ylabel="bit")
    axis.tick_params(length=0.0)
    axis.spines[:].set_visible(False)
    handles = [Patch(color=_ZERO, label="0"), Patch(color=_ONE, label="1")]
    figure.legend(handles=handles, loc="outside right upper", handlelength=1.0)


@DRAW.figure("fig_2_2", 0.82 * PAGE_WIDTH_IN, 3.0)
def box_muller_grid(figure: Figure, curves: Curves) -> None:
    """Figure 2.2."""
    left, right = figure.subplots(1, 2)
    uniform, normal = curves("uniform", "normal")
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


@DRAW.figure("fig_2_3", 0.8 * PAGE_WIDTH_IN, 2.9)
def rejection(figure: Figure, curves: Curves) -> None:
    """Figure 2.3."""
    axis = figure.subplots()
    (marked,) = curves("marked")
    _envelope_panel(axis, *curves.columns("x", "target", "envelope"))
    for name, marker, colour in (("rejected", "X", _PROPOSAL), ("accepted", "D", _TARGET)):
        x, height, top = marked.sel(point=name, part=["x", "height", "envelope"]).values
        axis.plot([x, x], [0.0, top], color=REFERENCE, linewidth=0.8, marker="_", markersize=6.0)
        edge: dict[str, Any] = {"markersize": 7.0, "markeredgecolor": "black", "markeredgewidth": 0.6}
        marks(axis, (x, height), marker, colour, label=f"{name} proposal", **edge)
    axis.set_ylim(0.0, 1.4)
    figure.legend(loc="outside right center")


def _envelope_panel(axis: Axes, x: FloatArray, target: FloatArray, envelope: FloatArray) -> None:
    axis.fill_between(x, envelope, color=_PROPOSAL, alpha=0.15, linewidth=0.0)
    axis.plot(x, envelope, color=_PROPOSAL, linestyle="--", label="$M\\,q(x)$")
    axis.fill_between(x, target, color=_TARGET, alpha=0.3, linewidth=0.0)
    axis.plot(x, target, color=_TARGET, label="target $p(x)$")
    axis.set(xlim=(x[0], x[-1]), ylim=(0.0, None), xlabel="$x$", ylabel="density")


@DRAW.figure("slides_inverse_cdf", 0.8 * PAGE_WIDTH_IN, 2.9)
def inversion(figure: Figure, curves: Curves) -> None:
    """The slides' picture of inversion."""
    axis = figure.subplots()
    x, function, density = curves.columns("x", "function", "density")
    levels, quantiles = curves.columns("level", "quantile")
    twin = axis.twinx()
    twin.spines["right"].set_visible(True)
    twin.fill_between(x, density, color=_TARGET, alpha=0.3, linewidth=0.0)
    twin.set_ylim(0.0, 0.6)
    twin.set_ylabel("density", color=_TARGET)
    twin.tick_params(axis="y", colors=_TARGET)
    # The curve lies above the shading, which is on the other axis.
    axis.set_zorder(twin.get_zorder() + 1)
    axis.patch.set_visible(False)
    axis.plot(x, function, color=_DERIVED)
    for level, place in zip(levels, quantiles, strict=True):
        axis.plot([x[0], place, place], [level, level, 0.0], color=REFERENCE, linewidth=0.5)
    marks(axis, (quantiles, np.zeros(quantiles.size)), "o", markersize=3.0, clip_on=False)
    axis.set(xlim=(x[0], x[-1]), ylim=(0.0, 1.0), xlabel="$x = F^{-1}(u)$")
    axis.set_ylabel("$u = F(x)$", color=_DERIVED)
    axis.tick_params(axis="y", colors=_DERIVED)


@DRAW.figure("slides_rejection", PAGE_WIDTH_IN, 2.9)
def rejection_and_weights(figure: Figure, curves: Curves) -> None:
    """The slides' picture of rejection and of its relation to importance weights."""
    left, right = figure.subplots(1, 2)
    places, target, envelope, weight = curves.columns("x", "target", "envelope", "weight")
    (points,) = curves("points")
    bound = curves.value("bound")
    _envelope_panel(left, places, target, envelope)
    x, height, accepted = points.sel(part=["x", "height", "accepted"]).values.T
    taken = accepted > 0.5
    marks(left, (x[taken], height[taken]), ".", _TARGET, markersize=3.0, label="accepted")
    crosses: dict[str, Any] = {"markersize": 2.5, "markeredgewidth": 0.7}
    marks(left, (x[~taken], height[~taken]), "x", _PROPOSAL, label="rejected", **crosses)
    left.axvspan(0.3, 0.5, color=REFERENCE, alpha=0.3, linewidth=0.0)
    left.set_ylim(0.0, 1.4)
    right.plot(places, weight, color=_DERIVED, label="$p(x) / q(x)$")
    right.axhline(bound, color=REFERENCE, linestyle="--", label="bound $M$")
    right.set(xlim=(-2.0, 2.0), ylim=(0.0, 2.2), xlabel="$x$", ylabel="weight")
    # As many lines of legend on both sides, so that the panels are of one height.
    for axis, columns in ((left, 2), (right, 1)):
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)


@DRAW.figure("fig_2_5", PAGE_WIDTH_IN, 2.6)
def importance_weights(figure: Figure, curves: Curves) -> None:
    """Figure 2.5."""
    axes = figure.subplots(1, 2, sharey=True)
    x, target = curves.columns("x", "target")
    lines = zip(*(found.values for found in curves("proposal", "weight")), strict=True)
    fractions = zip(*curves.columns("sd", "effective_share"), strict=True)
    for axis, (proposal, weight), (sd, kept) in zip(axes, lines, fractions, strict=True):
        axis.fill_between(x, target, color=_TARGET, alpha=0.3, linewidth=0.0)
        axis.plot(x, target, color=_TARGET, label=r"target $\tilde p(x)$")
        axis.plot(x, proposal, color=_PROPOSAL, linestyle="--", label="proposal $q(x)$")
        axis.plot(x, weight, color=_DERIVED, linestyle=":", linewidth=1.6, label="weight $w(x)$")
        axis.set(xlim=(x[0], x[-1]), ylim=(0.0, 2.0), xlabel="$x$")
        axis.set_xticks([-2, -1, 0, 1, 2])
        axis.set_title(f"sd of $q$ {sd:g}: effective fraction {kept:.1%}")
    axes[0].set_ylabel("density, weight")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


@DRAW.figure("slides_integration", PAGE_WIDTH_IN, 3.6)
def integration(figure: Figure, curves: Curves) -> None:
    """The slides' two integrands."""
    axes = figure.subplots(2, 2, sharex="col")
    functions, densities, means = curves("function", "density", "mean")
    x = functions["x"].values
    names = ("$f(x) = \\sin(8x)\\,e^{-x^2/8}$, $p$ normal", "$f(x) = x^2$, $p$ a mixture")
    for column, name in enumerate(names):
        top, bottom = axes[:, column]
        f, p = functions.values[column], densities.values[column]
        top.plot(x, f, color=_PROPOSAL)
        top.axhline(0.0, color=REFERENCE, linewidth=0.5)
        top.set_title(name)
        bottom.plot(x, p, color=_TARGET, label="$p(x)$")
        bottom.fill_between(x, f * p, color=_DERIVED, alpha=0.35, linewidth=0.0)
        bottom.plot(x, f * p, color=_DERIVED, linewidth=0.8, label="$f(x)\\,p(x)$")
        bottom.axhline(0.0, color=REFERENCE, linewidth=0.5)
        mean = round(float(means.values[column]), 3) + 0.0  # Rounding leaves a zero with a sign.
        bottom.set(xlim=(x[0], x[-1]), xlabel=f"$x$\narea $\\int f p\\,dx = {mean:g}$")
    axes[1, 1].set_ylim(0.0, 0.8)
    axes[0, 0].set_ylabel("function $f$")
    axes[1, 0].set_ylabel("density")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)


@DRAW.figure("slides_importance", PAGE_WIDTH_IN, 2.9)
def diverging_weights(figure: Figure, curves: Curves) -> None:
    """The slides' example of importance weights without a variance."""
    left, right = figure.subplots(1, 2)
    (running,) = curves("running_mean")
    for name, colour, style, width, label in (
        ("log_target", _TARGET, "-", 1.2, "target $p$"),
        ("log_proposal", _PROPOSAL, "--", 1.2, "proposal $q$"),
        ("log_integrand", _DERIVED, ":", 1.6, "$p^2 / q$"),
    ):
        x, found = curves.columns("x", name)
        left.plot(x, found / np.log(10.0), color=colour, linestyle=style, linewidth=width, label=label)
    left.set(xlim=(-2.0, 2.0), ylim=(-25.0, 50.0), xlabel="$x$", ylabel="density")
    left.set_yticks([-20, 0, 20, 40], [f"$10^{{{power}}}$" for power in (-20, 0, 20, 40)])
    left.legend(loc="upper right")
    n_draws = running["n_draws"].values
    for path in running.values:
        right.plot(n_draws, path, color=_DERIVED, linewidth=0.7, alpha=0.7)
    right.axhline(1.0, color=REFERENCE, linestyle="--", linewidth=1.0)
    right.set(xscale="log", yscale="log", xlim=(1, n_draws[-1]), xlabel="draws", ylabel="mean weight")


@DRAW.figure("quadrature", PAGE_WIDTH_IN, 2.5)
def grid_against_draws(figure: Figure, curves: Curves) -> None:
    """Simpson's rule and Monte Carlo averages in several dimensions."""
    n_points, errors, sampled, sds = curves("n_points", "error", "sampled_error", "sd")
    dims, n_draws = errors["dim"].values, sampled["n_draws"].values
    axes = figure.subplots(1, len(dims), sharey=True)
    line = np.geomspace(3.0, 1e6, 2)
    for i, (axis, dim) in enumerate(zip(axes, dims, strict=True)):
        axis.plot(line, sds.values[i] / np.sqrt(line), color=_DERIVED, linewidth=0.9)
        marks(axis, (n_draws, sampled.values[i]), "x", _DERIVED, label="independent draws")
        dots: dict[str, Any] = {"color": _PROPOSAL, "marker": "o", "markersize": 3.5, "linewidth": 0.7}
        axis.plot(n_points.values[i], errors.values[i], label="Simpson's rule", **dots)
        axis.set(xscale="log", yscale="log", xlim=(2.0, 2e6), ylim=(1e-15, 3.0), title=f"$D = {dim:g}$")
        axis.set_xticks([1e1, 1e3, 1e5])
        axis.minorticks_off()
    axes[0].set_ylabel("relative error")
    figure.supxlabel("evaluations of the integrand", fontsize=8.5)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
