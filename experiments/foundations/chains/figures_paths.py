"""Figures of the paths of single chains, after the lecture slides."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import COLUMN_WIDTH_IN
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


@drawing(DRAW, "slides_gibbs", COLUMN_WIDTH_IN, 3.2)
def gibbs_path(figure: Figure, curves: Table) -> None:
    """Slide of Gibbs sampling."""
    axis = figure.subplots()
    path = curves.array("slides_gibbs_path", "slides_gibbs_update", "slides_gibbs_axis").values
    _path(axis, path, path)


@drawing(DRAW, "slides_metropolis", COLUMN_WIDTH_IN, 3.2)
def metropolis_path(figure: Figure, curves: Table) -> None:
    """Slide of random-walk Metropolis."""
    axis = figure.subplots()
    states = curves.array(
        "slides_metropolis_state", "slides_metropolis_state_number", "slides_metropolis_axis"
    ).values
    tried = curves.array(
        "slides_metropolis_proposal", "slides_metropolis_step", "slides_metropolis_axis"
    ).values
    rejected = curves.array("slides_metropolis_accepted", "slides_metropolis_step").values == 0.0
    for number, (start, end) in enumerate(zip(states[:-1][rejected], tried[rejected], strict=True)):
        axis.plot(*np.stack([start, end]).T, color=REFERENCE, linestyle=":", linewidth=0.8)
        marks(axis, end, "x", REFERENCE, label="rejected proposal" if number == 0 else None)
    _path(axis, states, np.concatenate([states, tried]))


@drawing(DRAW, "slides_hmc", COLUMN_WIDTH_IN, 3.2)
def hmc_path(figure: Figure, curves: Table) -> None:
    """Slide of Hamiltonian Monte Carlo."""
    axis = figure.subplots()
    points = curves.array("slides_hmc_position", "slides_hmc_step", "slides_hmc_axis").values
    momenta = curves.array("slides_hmc_momentum", "slides_hmc_step", "slides_hmc_axis").values
    arrows: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 3.0, "width": 0.006, "zorder": 3}
    axis.quiver(*points[::2].T, *momenta[::2].T, color=GREEN, **arrows)
    _path(axis, points, np.concatenate([points, points + momenta / 3.0]))
    marks(axis, points[-1], "^", label="end")
    axis.plot([], [], color=GREEN, label="momentum / 3")
    axis.legend(loc="upper left")


def _path(axis: Axes, path: FloatArray, shown: FloatArray) -> None:
    """A path on contours of a Gaussian with correlation 0.8, one and two standard deviations from its centre.

    Args:
        axis: where to draw.
        path: points [point, 2].
        shown: points that the panel must hold [point, 2].
    """
    root = np.linalg.cholesky(np.array([[1.0, 0.8], [0.8, 1.0]]))
    for size in (1.0, 2.0):
        axis.plot(*(size * root @ circle()), color=BLUE, linewidth=0.9, zorder=1.9)
    axis.plot(*path.T, color=RED, linewidth=0.9, marker=".", markersize=4.0)
    marks(axis, path[0], "s", markersize=4.5, label="start")
    square(axis, max(2.5, float(np.abs(shown).max()) + 0.3))
    axis.legend(loc="upper left")
