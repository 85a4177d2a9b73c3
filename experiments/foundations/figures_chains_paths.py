"""Figures of the paths of single chains, after the lecture slides."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.panels import missing_figure
from auxmc.plots.style import COLUMN_WIDTH_IN, CYCLE, QUANTITY_COLOURS
from auxmc_pipeline.lookup import find

_CASE = "chains"
_NOT_RUN = "not run at this preset"
_BLUE, _RED, _GREEN = CYCLE[:3]
_REFERENCE = QUANTITY_COLOURS["reference"]


def gibbs_path(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Slide of Gibbs sampling."""
    del summary
    figure = Figure(figsize=(COLUMN_WIDTH_IN, 3.2), layout="constrained")
    axis = figure.subplots()
    path = find(curves, _CASE, "slides_gibbs_path", "slides_gibbs_update", "slides_gibbs_axis")
    if path is None:
        return missing_figure(figure, _NOT_RUN)
    _plane(axis, path.values)
    axis.plot(*path.values.T, color=_RED, linewidth=0.9, marker=".", markersize=4.0)
    _start(axis, path.values[0])
    axis.legend(loc="upper left")
    return figure


def metropolis_path(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Slide of random-walk Metropolis."""
    del summary
    figure = Figure(figsize=(COLUMN_WIDTH_IN, 3.2), layout="constrained")
    axis = figure.subplots()
    states = find(
        curves, _CASE, "slides_metropolis_state", "slides_metropolis_state_number", "slides_metropolis_axis"
    )
    tried = find(
        curves, _CASE, "slides_metropolis_proposal", "slides_metropolis_step", "slides_metropolis_axis"
    )
    accepted = find(curves, _CASE, "slides_metropolis_accepted", "slides_metropolis_step")
    if states is None or tried is None or accepted is None:
        return missing_figure(figure, _NOT_RUN)
    _plane(axis, states.values, tried.values)
    label: str | None = "rejected proposal"
    for start, end, kept in zip(states.values[:-1], tried.values, accepted.values, strict=True):
        if not kept:
            axis.plot(*np.stack([start, end]).T, color=_REFERENCE, linestyle=":", linewidth=0.8)
            axis.plot(*end, color=_REFERENCE, marker="x", linestyle="none", label=label)
            label = None
    axis.plot(*states.values.T, color=_RED, linewidth=0.9, marker=".", markersize=4.0)
    _start(axis, states.values[0])
    axis.legend(loc="upper left")
    return figure


def hmc_path(summary: pd.DataFrame, curves: pd.DataFrame) -> Figure:
    """Slide of Hamiltonian Monte Carlo."""
    del summary
    figure = Figure(figsize=(COLUMN_WIDTH_IN, 3.2), layout="constrained")
    axis = figure.subplots()
    names = ("slides_hmc_step", "slides_hmc_axis")
    position, momentum = (
        find(curves, _CASE, "slides_hmc_position", *names),
        find(curves, _CASE, "slides_hmc_momentum", *names),
    )
    if position is None or momentum is None:
        return missing_figure(figure, _NOT_RUN)
    points = position.values
    _plane(axis, points, points + momentum.values / 3.0)
    axis.plot(*points.T, color=_RED, linewidth=0.9, marker=".", markersize=4.0)
    axis.quiver(
        *points[::2].T,
        *momentum.values[::2].T,
        color=_GREEN,
        angles="xy",
        scale_units="xy",
        scale=3.0,
        width=0.006,
        zorder=3,
    )
    _start(axis, points[0])
    axis.plot(*points[-1], color="black", marker="^", linestyle="none", label="end")
    axis.plot([], [], color=_GREEN, label="momentum / 3")
    axis.legend(loc="upper left")
    return figure


def _plane(axis: Axes, *points: FloatArray) -> None:
    """Contours of a Gaussian with correlation 0.8, one and two standard deviations from its centre."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    root = np.linalg.cholesky(np.array([[1.0, 0.8], [0.8, 1.0]]))
    for size in (1.0, 2.0):
        axis.plot(*(size * root @ circle), color=_BLUE, linewidth=0.9)
    axis.set_aspect("equal")
    limit = max(2.5, *(float(np.abs(values).max()) + 0.3 for values in points))
    axis.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-limit, limit), ylim=(-limit, limit))


def _start(axis: Axes, point: FloatArray) -> None:
    axis.plot(*point, color="black", marker="s", markersize=4.5, linestyle="none", label="start")


DRAW: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Figure]] = {
    "slides_gibbs": gibbs_path,
    "slides_metropolis": metropolis_path,
    "slides_hmc": hmc_path,
}
"""For each figure, a function of the summary and the curves."""
