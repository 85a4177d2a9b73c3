"""Figures of the paths of single chains, after the lecture slides."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import COLUMN_WIDTH_IN
from auxmc_pipeline.tables import Table
from experiments.foundations.drawing import BLUE, GREEN, RED, REFERENCE, drawing


@drawing(COLUMN_WIDTH_IN, 3.2)
def gibbs_path(figure: Figure, curves: Table) -> None:
    """Slide of Gibbs sampling."""
    axis = figure.subplots()
    path = curves.array("slides_gibbs_path", "slides_gibbs_update", "slides_gibbs_axis")
    _plane(axis, path.values)
    axis.plot(*path.values.T, color=RED, linewidth=0.9, marker=".", markersize=4.0)
    _start(axis, path.values[0])
    axis.legend(loc="upper left")


@drawing(COLUMN_WIDTH_IN, 3.2)
def metropolis_path(figure: Figure, curves: Table) -> None:
    """Slide of random-walk Metropolis."""
    axis = figure.subplots()
    states = curves.array(
        "slides_metropolis_state", "slides_metropolis_state_number", "slides_metropolis_axis"
    )
    tried = curves.array("slides_metropolis_proposal", "slides_metropolis_step", "slides_metropolis_axis")
    accepted = curves.array("slides_metropolis_accepted", "slides_metropolis_step")
    _plane(axis, states.values, tried.values)
    label: str | None = "rejected proposal"
    for start, end, kept in zip(states.values[:-1], tried.values, accepted.values, strict=True):
        if not kept:
            axis.plot(*np.stack([start, end]).T, color=REFERENCE, linestyle=":", linewidth=0.8)
            axis.plot(*end, color=REFERENCE, marker="x", linestyle="none", label=label)
            label = None
    axis.plot(*states.values.T, color=RED, linewidth=0.9, marker=".", markersize=4.0)
    _start(axis, states.values[0])
    axis.legend(loc="upper left")


@drawing(COLUMN_WIDTH_IN, 3.2)
def hmc_path(figure: Figure, curves: Table) -> None:
    """Slide of Hamiltonian Monte Carlo."""
    axis = figure.subplots()
    names = ("slides_hmc_step", "slides_hmc_axis")
    position, momentum = (
        curves.array("slides_hmc_position", *names),
        curves.array("slides_hmc_momentum", *names),
    )
    points = position.values
    _plane(axis, points, points + momentum.values / 3.0)
    axis.plot(*points.T, color=RED, linewidth=0.9, marker=".", markersize=4.0)
    axis.quiver(
        *points[::2].T,
        *momentum.values[::2].T,
        color=GREEN,
        angles="xy",
        scale_units="xy",
        scale=3.0,
        width=0.006,
        zorder=3,
    )
    _start(axis, points[0])
    axis.plot(*points[-1], color="black", marker="^", linestyle="none", label="end")
    axis.plot([], [], color=GREEN, label="momentum / 3")
    axis.legend(loc="upper left")


def _plane(axis: Axes, *points: FloatArray) -> None:
    """Contours of a Gaussian with correlation 0.8, one and two standard deviations from its centre."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    root = np.linalg.cholesky(np.array([[1.0, 0.8], [0.8, 1.0]]))
    for size in (1.0, 2.0):
        axis.plot(*(size * root @ circle), color=BLUE, linewidth=0.9)
    axis.set_aspect("equal")
    limit = max(2.5, *(float(np.abs(values).max()) + 0.3 for values in points))
    axis.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-limit, limit), ylim=(-limit, limit))


def _start(axis: Axes, point: FloatArray) -> None:
    axis.plot(*point, color="black", marker="s", markersize=4.5, linestyle="none", label="start")


DRAW = {"slides_gibbs": gibbs_path, "slides_metropolis": metropolis_path, "slides_hmc": hmc_path}
"""For each figure, a function of the tables."""
