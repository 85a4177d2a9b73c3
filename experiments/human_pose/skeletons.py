"""Skeletons as figures: limbs coloured by side of the body, near ones over far ones, a ground to stand on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, Ellipse
from numpy.typing import ArrayLike

# Okabe and Ito's blue and vermilion, and a dark grey for the trunk.
SIDE_COLOURS = {"left": "#0072B2", "right": "#D55E00", "trunk": "#404040"}
_MOST_FADED = 0.55
_RIM = 0.2
_WIDTH = 2.6  # Of the lines, in points
_GROUND_COLOUR = "#E4E2DC"


class Drawing(NamedTuple):
    """What the lines of a skeleton are."""

    bones: Sequence[tuple[int, int]]  # pairs of joints
    sides: Sequence[str]  # `left`, `right` or `trunk` for each bone, see SIDE_COLOURS
    head: tuple[int, int]  # the pair of joints between which the head is


def draw_skeleton(
    axis: Axes,
    across: ArrayLike,
    up: ArrayLike,
    near: ArrayLike,
    drawing: Drawing,
    *,
    ground: float | None = None,
    colour: str | None = None,
) -> None:
    """Draws one skeleton from coordinates across, up and towards the viewer [joint].

    Far bones are paler and behind. `ground` is the height of a disc below the feet, `colour` one for all
    bones in place of that of their side.
    """
    x, y, z = (np.asarray(values, dtype=np.float64) for values in (across, up, near))
    if not x.shape == y.shape == z.shape or x.ndim != 1:
        raise ValueError(f"coordinates must be [joint], got shapes {x.shape}, {y.shape} and {z.shape}")
    axis.set_aspect("equal")
    if ground is not None:
        centre, spread = 0.5 * (x.min() + x.max()), max(x.max() - x.min(), 0.5)
        axis.add_patch(
            Ellipse((centre, ground), 1.25 * spread, 0.12, color=_GROUND_COLOUR, lw=0.0, zorder=0.5)
        )
    depth_range = max(float(z.max() - z.min()), 1e-9)
    depths = np.array([0.5 * (z[a] + z[b]) for a, b in drawing.bones])
    neck, top = drawing.head
    for rank, index in enumerate(np.argsort(depths)):
        a, b = drawing.bones[index]
        behind = float((z.max() - depths[index]) / depth_range)
        full = to_rgb(colour or SIDE_COLOURS[drawing.sides[index]])
        shade = tuple(channel + _MOST_FADED * behind * (1.0 - channel) for channel in full)
        order = 2.0 + 0.01 * rank
        if (a, b) == (neck, top):
            # Seen from above a head is not a point.
            radius = max(0.55 * float(np.hypot(x[b] - x[a], y[b] - y[a])), 0.08)
            centre_of_head = (0.45 * x[a] + 0.55 * x[b], 0.45 * y[a] + 0.55 * y[b])
            axis.add_patch(Circle(centre_of_head, radius, facecolor=shade, edgecolor="white", zorder=order))
            continue
        # The white rim shows which of two crossing limbs is in front; it leaves the joints out, which hold together.
        begin, end = np.array([x[a], y[a]]), np.array([x[b], y[b]])
        rim = np.stack([begin + _RIM * (end - begin), end - _RIM * (end - begin)])
        axis.plot(*rim.T, color="white", linewidth=_WIDTH + 1.6, solid_capstyle="butt", zorder=order)
        axis.plot([x[a], x[b]], [y[a], y[b]], color=shade, lw=_WIDTH, solid_capstyle="round", zorder=order)


def draw_points(axis: Axes, across: ArrayLike, up: ArrayLike) -> None:
    """Observed joints as small open circles over what is drawn."""
    ring: dict[str, Any] = {"markersize": 3.2, "markerfacecolor": "none", "markeredgecolor": "black"}
    axis.plot(np.asarray(across, float), np.asarray(up, float), "o", markeredgewidth=0.7, zorder=4.0, **ring)


def common_box(
    across: ArrayLike, up: ArrayLike, margin: float = 0.15
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits that hold all points of any shape with a margin, in data units."""
    x, y = np.asarray(across, dtype=np.float64), np.asarray(up, dtype=np.float64)
    return (
        (float(x.min()) - margin, float(x.max()) + margin),
        (float(y.min()) - margin, float(y.max()) + margin),
    )


def clean_axis(axis: Axes) -> None:
    """Takes ticks and spines away: a skeleton needs no scale."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
