"""Figures on evidence, nested sampling and particle filters, drawn from the tables."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc.plots.style import COLUMN_WIDTH_IN, PAGE_WIDTH_IN
from auxmc_pipeline.plots.panels import band_curve
from auxmc_pipeline.plots.published import entries_published_last, published_level
from auxmc_pipeline.published_values import published_value
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, Curves, Plots, marks

DRAW = Plots()

_GREY = "#BBBBBB"
_HUNDREDFOLD = 100.0


@DRAW.figure("bounds", PAGE_WIDTH_IN, 2.8)
def bounds(figure: Figure, curves: Curves) -> None:
    """Forward and reversed annealing against the number of steps, and adaptive ladders."""
    left, right = figure.subplots(1, 2)
    exact, simulated = curves("exact", "simulated")
    limit, particles = curves("ladder_limit", "ladder_particles")
    n_fine, n_steps = exact["fine_steps"].values, simulated["steps"].values
    for side, colour, label in (("upper", RED, "reversed runs"), ("lower", BLUE, "forward runs")):
        left.plot(n_fine, exact.sel(side=side).values, color=colour, label=label)
        mean, error = simulated.sel(side=side, part=["mean", "error"]).values
        left.errorbar(n_steps, mean, 2.0 * error, color=colour, marker="o", linestyle="none")
    left.axhline(0.0, color=REFERENCE, linestyle="--", linewidth=0.9)
    left.text(1.0, -0.15, "log evidence", ha="left", va="top", color=REFERENCE)
    left.set_xscale("log")
    left.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    left.set_yscale("symlog", linthresh=1.0, linscale=0.7)
    ticks = [-1000, -100, -10, -1, 0, 1, 10]
    left.set_yticks(ticks, [str(tick) for tick in ticks])
    left.yaxis.minorticks_off()
    left.set(xlabel="number of steps", ylabel="bound less log evidence (nats)")
    left.legend(loc="lower right")
    for fraction, colour in zip(limit["share"].values, (RED, GREEN, BLUE), strict=True):
        # The base, at 0, is not on a logarithmic axis.
        ideal, chosen = (found.sel(share=fraction).values[1:] for found in (limit, particles))
        right.plot(1 + np.arange(ideal.size), ideal, color=colour, label=f"{100 * fraction:g} % kept")
        marks(right, (1 + np.arange(chosen.size), chosen), "o", colour, markersize=2.5)
    marks(right, ([], []), "o", REFERENCE, markersize=2.5, label="2000 particles")
    right.set(xlabel="step of the ladder", ylabel="inverse temperature", yscale="log", xlim=(0.0, None))
    right.legend(loc="lower right")


@DRAW.figure("nested_bias", 1.3 * COLUMN_WIDTH_IN, 2.9)
def nested_bias(figure: Figure, curves: Curves) -> None:
    """Expected ratio of nested sampling's sums to the evidence."""
    axis = figure.subplots()
    exact, simulated = curves("exact", "simulated")
    n_fine, n_live = exact["fine_live"].values, simulated["live"].values
    for factor, label, colour, marker in (
        ("M/(M+1)", "$M/(M+1)$", RED, "s"),
        ("exp(-1/M)", r"$\exp(-1/M)$", GREEN, "^"),
        ("1-1/M", "$1-1/M$", BLUE, "o"),
    ):
        axis.plot(n_fine, exact.sel(factor=factor).values, color=colour)
        mean, error = simulated.sel(factor=factor, part=["mean", "error"]).values.T
        points: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "label": label}
        axis.errorbar(n_live, mean, 2.0 * error, **points)
    axis.set(xscale="log", yscale="log", xlabel="live points $M$", ylabel="mean estimate / evidence")
    axis.set_xticks([2, 5, 10, 20, 50, 100, 200], ["2", "5", "10", "20", "50", "100", "200"])
    axis.set_yticks([1.0, 1.5, 2.0, 3.0, 4.0], ["1", "1.5", "2", "3", "4"])
    axis.minorticks_off()
    level = published_value("foundations", "FN-NS-03", "as printed")
    published_level(axis, level, note="$M/(M+1)$")
    axis.legend(*entries_published_last(axis), loc="upper right", title="assumed shrinkage")


@DRAW.figure("harmonic", 1.3 * COLUMN_WIDTH_IN, 2.8)
def harmonic(figure: Figure, curves: Curves) -> None:
    """Overestimate of the harmonic mean, and its bound."""
    axis = figure.subplots()
    (found,), cap = curves("quantile"), curves.value("cap")
    sizes = found["size"].values
    low, middle, high = found.values
    label = "5 % to 95 % of estimates"
    axis.fill_between(sizes, low, high, color=BLUE, alpha=0.25, linewidth=0.0, label=label)
    axis.plot(sizes, middle, color=BLUE, marker="o", label="median")
    axis.axhline(cap, color=RED, linestyle="--")
    axis.text(sizes[-1], 0.95 * cap, "largest likelihood", ha="right", va="top", color=RED)
    axis.axhspan(_HUNDREDFOLD, 250.0, color=_GREY, alpha=0.35, linewidth=0.0)
    axis.text(sizes[-1], 155.0, "two orders of magnitude or more", ha="right", va="center", color=REFERENCE)
    axis.axhline(1.0, color=REFERENCE, linewidth=0.7, linestyle=":")
    axis.text(sizes[-1], 1.08, "evidence", ha="right", va="bottom", color=REFERENCE)
    axis.set(xscale="log", yscale="log", xlabel="posterior draws", ylabel="harmonic mean / evidence")
    axis.set_ylim(0.85, 250.0)
    axis.set_yticks([1.0, 10.0, 100.0], ["1", "10", "100"])
    axis.yaxis.minorticks_off()
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.1))


@DRAW.figure("slides_particle_filter", PAGE_WIDTH_IN, 5.0)
def particle_filter(figure: Figure, curves: Curves) -> None:
    """Filtered moments next to Kalman's, and genealogies with and without resampling."""
    grid = figure.add_gridspec(2, 2)
    top = figure.add_subplot(grid[0, :])
    first = figure.add_subplot(grid[1, 0])
    second = figure.add_subplot(grid[1, 1], sharex=first, sharey=first)
    names = ("moments", "state", "ancestor", "last_weight")
    moments, states, ancestors, weights = (found.values for found in curves(*names))
    (mean, sd), (filtered, spread) = moments
    steps, observed = curves.columns("step", "observation")
    exact: dict[str, Any] = {"color": REFERENCE, "linestyle": "--", "zorder": 3}
    top.plot(steps, mean, label="Kalman filter (± 2 sd)", **exact)
    for sign in (-2.0, 2.0):
        top.plot(steps, mean + sign * sd, linewidth=0.7, **exact)
    band_curve(top, steps, filtered, 2.0 * spread, colour=BLUE, label="particle filter (± 2 sd)")
    marks(top, (steps, observed), "x", RED, label="observations")
    top.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    _paths(first, steps, states[0], ancestors[0].astype(int), weights[0] / weights[0].max())
    _paths(second, steps, states[1], ancestors[1].astype(int), 1.0)
    limits, ticks = (steps[0] - 0.3, steps[-1] + 0.3), [1, 5, 10, 15, 20]
    for axis in (top, first, second):
        axis.set(xlabel="step $t$", xlim=limits, xticks=ticks)
    top.set_ylabel("state $x_t$")
    first.set(title="paths without resampling", ylabel="state $x_t$ of each particle")
    second.set_title("paths with resampling")
    second.tick_params(labelleft=False)


def _paths(
    axis: Axes, steps: FloatArray, states: FloatArray, ancestors: IntegerArray, fractions: FloatArray | float
) -> None:
    """Lines from each particle to its ancestor; those of particles without descendants at the end are grey."""
    n_steps, n_particles = states.shape
    # Which particles of a step have a descendant at the last one, and with what fraction of the largest final weight.
    strength = np.zeros((n_steps, n_particles))
    strength[-1] = fractions
    for t in range(n_steps - 2, -1, -1):
        np.maximum.at(strength[t], ancestors[t], strength[t + 1])
    # One line with gaps for all segments of an opacity: thousands of lines make a large file.
    for alive in (False, True):
        at, particle = np.nonzero((strength[1:] > 0.0) == alive)
        begin = np.stack([steps[at], states[at, ancestors[at, particle]]])
        end = np.stack([steps[at + 1], states[at + 1, particle]])
        opacities = np.round(0.12 + 0.88 * strength[at + 1, particle], 2) if alive else np.full(at.size, 0.6)
        colour, width = (BLUE, 0.9) if alive else (_GREY, 0.5)
        for opacity in np.unique(opacities):
            own = opacities == opacity
            gaps = np.full_like(begin[:, own], np.nan)
            line = np.stack([begin[:, own], end[:, own], gaps], axis=2).reshape(2, -1)
            axis.plot(*line, color=colour, linewidth=width, alpha=opacity)
    axis.autoscale_view()
