"""Figures on evidence, nested sampling and particle filters, drawn from the tables."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import band_curve
from auxmc.plots.style import COLUMN_WIDTH_IN, PAGE_WIDTH_IN
from auxmc_pipeline.tables import Table
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, drawing

_GREY = "#BBBBBB"
_HUNDREDFOLD = 100.0


@drawing(PAGE_WIDTH_IN, 2.8)
def bounds(figure: Figure, curves: Table) -> None:
    """Forward and reversed annealing against the number of steps, and adaptive ladders."""
    left, right = figure.subplots(1, 2)
    exact = curves.array("bounds_exact", "bounds_side", "bounds_fine_steps")
    simulated = curves.array("bounds_simulated", "bounds_side", "bounds_part", "bounds_steps")
    dims = ("bounds_share", "bounds_temperature")
    limit = curves.array("bounds_ladder_limit", *dims)
    particles = curves.array("bounds_ladder_particles", *dims)
    labels = {"upper": "reversed runs", "lower": "forward runs"}
    for side, colour in (("upper", RED), ("lower", BLUE)):
        line, points = exact.sel(bounds_side=side), simulated.sel(bounds_side=side)
        left.plot(line["bounds_fine_steps"].values, line.values, color=colour, label=labels[side])
        mean, error = (points.sel(bounds_part=part).values for part in ("mean", "error"))
        left.errorbar(
            points["bounds_steps"].values, mean, 2.0 * error, color=colour, marker="o", linestyle="none"
        )
    left.axhline(0.0, color=REFERENCE, linestyle="--", linewidth=0.9)
    left.text(1.0, -0.15, "log evidence", ha="left", va="top", color=REFERENCE)
    left.set_xscale("log")
    left.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    left.set_yscale("symlog", linthresh=1.0, linscale=0.7)
    left.set_yticks(
        [-1000.0, -100.0, -10.0, -1.0, 0.0, 1.0, 10.0], ["-1000", "-100", "-10", "-1", "0", "1", "10"]
    )
    left.yaxis.set_minor_locator(NullLocator())
    left.set(xlabel="number of steps", ylabel="bound less log evidence (nats)")
    left.legend(loc="lower right")
    for share, colour in zip(limit["bounds_share"].values, (RED, GREEN, BLUE), strict=True):
        ideal, chosen = (found.sel(bounds_share=share).values for found in (limit, particles))
        # The base, at 0, is not on a logarithmic axis.
        numbers = np.arange(1, ideal.size)
        right.plot(numbers, ideal[1:], color=colour, label=f"{100 * share:g} % kept")
        right.plot(numbers, chosen[1:], color=colour, linestyle="none", marker="o", markersize=2.5)
    right.plot([], [], color=REFERENCE, linestyle="none", marker="o", markersize=2.5, label="2000 particles")
    right.set(xlabel="step of the ladder", ylabel="inverse temperature", yscale="log")
    right.set_xlim(left=0.0)
    right.legend(loc="lower right")


@drawing(1.3 * COLUMN_WIDTH_IN, 2.9)
def nested_bias(figure: Figure, curves: Table) -> None:
    """Expected ratio of nested sampling's sums to the evidence."""
    axis = figure.subplots()
    exact = curves.array("nested_bias_exact", "nested_bias_factor", "nested_bias_fine_live")
    dims = ("nested_bias_factor", "nested_bias_live", "nested_bias_part")
    simulated = curves.array("nested_bias_simulated", *dims)
    labels = {"M/(M+1)": "$M/(M+1)$", "exp(-1/M)": r"$\exp(-1/M)$", "1-1/M": "$1-1/M$"}
    for factor, colour, marker in zip(labels, (RED, GREEN, BLUE), ("s", "^", "o"), strict=True):
        line, points = exact.sel(nested_bias_factor=factor), simulated.sel(nested_bias_factor=factor)
        axis.plot(line["nested_bias_fine_live"].values, line.values, color=colour)
        mean, error = (points.sel(nested_bias_part=part).values for part in ("mean", "error"))
        axis.errorbar(
            points["nested_bias_live"].values,
            mean,
            2.0 * error,
            color=colour,
            marker=marker,
            linestyle="none",
            label=labels[factor],
        )
    axis.set(xscale="log", yscale="log", xlabel="live points $M$", ylabel="mean estimate / evidence")
    axis.set_xticks([2, 5, 10, 20, 50, 100, 200], ["2", "5", "10", "20", "50", "100", "200"])
    axis.set_yticks([1.0, 1.5, 2.0, 3.0, 4.0], ["1", "1.5", "2", "3", "4"])
    for one in (axis.xaxis, axis.yaxis):
        one.set_minor_locator(NullLocator())
    axis.legend(loc="upper right", title="assumed shrinkage")


@drawing(1.3 * COLUMN_WIDTH_IN, 2.8)
def harmonic(figure: Figure, curves: Table) -> None:
    """Overestimate of the harmonic mean, and its bound."""
    axis = figure.subplots()
    found = curves.array("harmonic_quantile", "harmonic_level", "harmonic_size")
    cap = curves.array("harmonic_cap")
    sizes = found["harmonic_size"].values
    low, middle, high = found.values
    axis.fill_between(
        sizes, low, high, color=BLUE, alpha=0.25, linewidth=0.0, label="5 % to 95 % of estimates"
    )
    axis.plot(sizes, middle, color=BLUE, marker="o", label="median")
    axis.axhline(float(cap), color=RED, linestyle="--")
    axis.text(sizes[-1], 0.95 * float(cap), "largest likelihood", ha="right", va="top", color=RED)
    axis.axhspan(_HUNDREDFOLD, 250.0, color=_GREY, alpha=0.35, linewidth=0.0)
    axis.text(sizes[-1], 155.0, "two orders of magnitude or more", ha="right", va="center", color=REFERENCE)
    axis.axhline(1.0, color=REFERENCE, linewidth=0.7, linestyle=":")
    axis.text(sizes[-1], 1.08, "evidence", ha="right", va="bottom", color=REFERENCE)
    axis.set(xscale="log", yscale="log", xlabel="posterior draws", ylabel="harmonic mean / evidence")
    axis.set_ylim(0.85, 250.0)
    axis.set_yticks([1.0, 10.0, 100.0], ["1", "10", "100"])
    axis.yaxis.set_minor_locator(NullLocator())
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.1))


@drawing(PAGE_WIDTH_IN, 5.0)
def particle_filter(figure: Figure, curves: Table) -> None:
    """Filtered moments beside Kalman's, and genealogies with and without resampling."""
    name = "slides_particle_filter"
    grid = figure.add_gridspec(2, 2)
    top = figure.add_subplot(grid[0, :])
    first = figure.add_subplot(grid[1, 0])
    second = figure.add_subplot(grid[1, 1], sharex=first, sharey=first)
    moments = curves.array(f"{name}_moments", f"{name}_filter", f"{name}_moment", f"{name}_step")
    observed = curves.array(f"{name}_observation", f"{name}_step")
    dims = (f"{name}_tree", f"{name}_step", f"{name}_particle")
    states, ancestors = (curves.array(f"{name}_{what}", *dims) for what in ("state", "ancestor"))
    weights = curves.array(f"{name}_last_weight", f"{name}_tree", f"{name}_particle")
    steps = observed[f"{name}_step"].values.astype(float)
    for which, colour, style, label in (
        ("exact", REFERENCE, "--", "Kalman filter (± 2 sd)"),
        ("particles", BLUE, "-", "particle filter (± 2 sd)"),
    ):
        mean, sd = (
            moments.sel({f"{name}_filter": which, f"{name}_moment": m}).values for m in ("mean", "sd")
        )
        if which == "particles":
            band_curve(top, steps, mean, 2.0 * sd, colour=colour, label=label)
            continue
        top.plot(steps, mean, color=colour, linestyle=style, label=label, zorder=3)
        for sign in (-2.0, 2.0):
            top.plot(steps, mean + sign * sd, color=colour, linestyle=style, linewidth=0.7, zorder=3)
    top.plot(steps, observed.values, color=RED, marker="x", linestyle="none", label="observations")
    top.set(xlabel="step $t$", ylabel="state $x_t$", xlim=(steps[0] - 0.3, steps[-1] + 0.3))
    top.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    final = weights.values
    _paths(first, steps, states.values[0], ancestors.values[0].astype(int), final[0] / final[0].max())
    _paths(second, steps, states.values[1], ancestors.values[1].astype(int), None)
    first.set_title("paths without resampling")
    second.set_title("paths with resampling")
    for axis in (first, second):
        axis.set(xlabel="step $t$", xlim=(steps[0] - 0.3, steps[-1] + 0.3))
        axis.set_xticks([1, 5, 10, 15, 20])
    top.set_xticks([1, 5, 10, 15, 20])
    first.set_ylabel("state $x_t$ of each particle")
    second.tick_params(labelleft=False)


def _paths(
    axis: Axes, steps: FloatArray, states: FloatArray, ancestors: NDArray[np.int_], shares: FloatArray | None
) -> None:
    """Lines from each particle to its ancestor; those of particles without descendants at the end are grey."""
    n_steps, n_particles = states.shape
    # Which particles of a step have a descendant at the last one, and with what share of the largest final weight.
    strength = np.zeros((n_steps, n_particles))
    strength[-1] = 1.0 if shares is None else shares
    for t in range(n_steps - 2, -1, -1):
        np.maximum.at(strength[t], ancestors[t], strength[t + 1])
    for alive in (False, True):
        segments, opacities = [], []
        for t in range(n_steps - 1):
            for i in range(n_particles):
                if (strength[t + 1, i] > 0.0) == alive:
                    j = ancestors[t, i]
                    segments.append([(steps[t], states[t, j]), (steps[t + 1], states[t + 1, i])])
                    opacities.append(0.12 + 0.88 * strength[t + 1, i] if alive else 0.6)
        colour = BLUE if alive else _GREY
        axis.add_collection(
            LineCollection(segments, colors=colour, alpha=opacities or None, linewidths=0.9 if alive else 0.5)
        )
    axis.autoscale_view()


DRAW = {
    "bounds": bounds,
    "nested_bias": nested_bias,
    "harmonic": harmonic,
    "slides_particle_filter": particle_filter,
}
"""For each figure, a function of the tables."""
