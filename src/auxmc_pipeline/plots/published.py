"""Values that a document prints or draws, next to ours: hollow crosses, dashed levels, and thin curves.

One look for all figures: what is hollow or thinly dashed and called "published" is the document's, all else is ours.
Colours are those of the series that a value belongs to, units those of the axis, by which a published value is divided,
notes what a reader must know to compare, such as "its machine". What is drawn is called published in legends made from
the panel.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

PUBLISHED_COLOUR = "#222222"
# Above all that is ours, so that bars and bands do not hide it.
_ABOVE = 6.0
_EDGE_WIDTH, _SMALL_MARK, _BAND_ALPHA = 1.1, 4.5, 0.15


class PublishedValue(NamedTuple):
    """A number, in its unit, at a place in a document, and its key in our tables: claim and setting.

    It has the ends of the band or bar that the document draws around it; NaN where it draws none.
    """

    value: float
    low: float
    high: float
    document: str
    place: str
    key: tuple[str, str]


class PublishedLine(Line2D):
    """A "mark", "level" or "curve" of a document, with the published values that it stands for."""

    across: PublishedValue | None = None
    """What its horizontal place is; None where that is no published value."""
    up: PublishedValue | None = None
    """What its height is, times the unit."""
    unit: float = 1.0
    """Unit of the axis."""

    def __init__(self, x: ArrayLike, y: ArrayLike, kind: str, colour: str, **look: Any) -> None:
        cross = {"marker": "X", "markersize": 6.5, "markerfacecolor": "white", "markeredgecolor": colour}
        looks: dict[str, dict[str, Any]] = {
            "mark": {**cross, "markeredgewidth": _EDGE_WIDTH, "linestyle": "none", "zorder": _ABOVE + 0.5},
            "level": {"color": colour, "linewidth": 0.9, "linestyle": (0, (4.0, 2.5)), "zorder": _ABOVE},
            "curve": {"color": colour, "linewidth": 0.7, "linestyle": "-", "zorder": _ABOVE - 0.5},
        }
        super().__init__(x, y, **looks[kind], **look)
        self.kind = kind


def published_label(document: str, note: str = "") -> str:
    """What the legend calls it.

    >>> published_label("PhD thesis"), published_label("PhD thesis", "its machine")
    ('published (PhD thesis)', 'published (PhD thesis, its machine)')
    """
    return f"published ({document}{', ' * bool(note)}{note})"


def published_entry(
    document: str, note: str = "", *, level: bool = False, curve: bool = False, colour: str = PUBLISHED_COLOUR
) -> Line2D:
    """An entry, of marks unless it is of levels or curves, for a legend that is not made from the panels."""
    kind = "level" if level else "curve" if curve else "mark"
    return PublishedLine([], [], kind, colour, label=published_label(document, note))


def published_mark(
    axis: Axes,
    across: PublishedValue | float | None,
    up: PublishedValue | float | None,
    *,
    colour: str = PUBLISHED_COLOUR,
    unit: float = 1.0,
    note: str = "",
) -> PublishedLine | None:
    """Draws a hollow cross, with the bar that the document draws; nothing where a place is None.

    The height, if published, is in its own unit; `unit` is that of the vertical axis.
    """
    if across is None or up is None:
        return None
    x = across.value if isinstance(across, PublishedValue) else across
    y = up.value / unit if isinstance(up, PublishedValue) else up
    if isinstance(up, PublishedValue) and math.isfinite(up.low):
        _bar(axis, (x, x), (up.low / unit, up.high / unit), colour)
    if isinstance(across, PublishedValue) and math.isfinite(across.low):
        _bar(axis, (across.low, across.high), (y, y), colour)
    document = next((v.document for v in (up, across) if isinstance(v, PublishedValue)), "")
    line = PublishedLine([x], [y], "mark", colour, label=_named_once(axis, document, note))
    line.across = across if isinstance(across, PublishedValue) else None
    line.up, line.unit = up if isinstance(up, PublishedValue) else None, unit
    axis.add_line(line)
    axis.autoscale_view()
    return line


def published_moments(
    axis: Axes, mean: PublishedValue, sd: PublishedValue, *, note: str = ""
) -> PublishedLine:
    """Draws a published mean on a panel of densities, with a bar of one published standard deviation to both sides.

    The ends of the bar lie on the normal density of that mean and standard deviation.
    """
    height = math.exp(-0.5) / (math.sqrt(2.0 * math.pi) * sd.value)
    _bar(axis, (mean.value - sd.value, mean.value + sd.value), (height, height), PUBLISHED_COLOUR)
    line = published_mark(axis, mean, height, note=note)
    # Bars of narrow densities are not much longer than a cross.
    assert line is not None
    line.set_markersize(_SMALL_MARK)
    return line


def published_level(
    axis: Axes,
    level: PublishedValue | None,
    *,
    colour: str = PUBLISHED_COLOUR,
    unit: float = 1.0,
    vertical: bool = False,
    note: str = "",
) -> PublishedLine | None:
    """Draws a thin dashed line at a published height, or at a published place across; nothing where it is None.

    The limits of the axis stay, unless they are automatic and the level lies outside.
    """
    if level is None:
        return None
    at, whole = [level.value / unit] * 2, [0.0, 1.0]
    transform = axis.get_xaxis_transform() if vertical else axis.get_yaxis_transform()
    x, y = (at, whole) if vertical else (whole, at)
    label = _named_once(axis, level.document, note)
    line = PublishedLine(x, y, "level", colour, label=label, transform=transform)
    line.across, line.up = (level, None) if vertical else (None, level)
    line.unit = unit
    axis.add_line(line)
    axis.autoscale_view()
    return line


def published_curve(
    axis: Axes,
    across: ArrayLike,
    up: ArrayLike,
    ends: Sequence[ArrayLike] | None = None,
    *,
    document: str,
    colour: str = PUBLISHED_COLOUR,
    steps: bool = False,
    note: str = "",
) -> PublishedLine:
    """Draws a curve of the document as a thin line, with its band; the limits of the axis stay as they are.

    Heights `up` at horizontal places `across` [point] are in units of the axis; `ends` are the lower and upper ends of
    the band [point], NaN where the document draws none. `steps` is for the bars of a histogram of equal widths, whose
    centres are `across`; `note` is for the legend.
    """
    limits = axis.get_xlim(), axis.get_ylim()
    x, y = np.asarray(across, np.float64), np.asarray(up, np.float64)
    if steps:
        half = 0.5 * (x[1] - x[0])
        x, y = np.append(x - half, x[-1] + half), np.append(y, y[-1])
    look = {"label": _named_once(axis, document, note), "drawstyle": "steps-post" if steps else "default"}
    line = PublishedLine(x, y, "curve", colour, **look)
    axis.add_line(line)
    if ends is not None:
        band: dict[str, Any] = {"color": colour, "alpha": _BAND_ALPHA, "linewidth": 0.0, "zorder": 1.0}
        axis.fill_between(np.asarray(across), ends[0], ends[1], **band)
    axis.set(xlim=limits[0], ylim=limits[1])
    return line


def entries_published_last(axis: Axes) -> tuple[list[Artist], list[str]]:
    """Handles and labels for the legend of a panel, those of published values after ours and without their colours."""
    entries = dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    ours = {label: entry for label, entry in entries.items() if not isinstance(entry, PublishedLine)}
    published = {
        label: PublishedLine([], [], entry.kind, PUBLISHED_COLOUR, label=label)
        for label, entry in entries.items()
        if isinstance(entry, PublishedLine)
    }
    return [*ours.values(), *published.values()], [*ours, *published]


def _named_once(axis: Axes, document: str, note: str) -> str:
    """Label for legends; those of one panel name it once."""
    label = published_label(document, note)
    return "_" if label in {line.get_label() for line in axis.lines} else label


def _bar(axis: Axes, across: tuple[float, float], up: tuple[float, float], colour: str) -> None:
    axis.plot(across, up, color=colour, linewidth=_EDGE_WIDTH, zorder=_ABOVE, solid_capstyle="butt")
