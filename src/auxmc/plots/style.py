"""The one figure style: sizes, colours that are safe for colour-blind readers, files."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure

COLUMN_WIDTH_IN = 3.4
PAGE_WIDTH_IN = 7.0
_FONT_SIZE, _SMALL_FONT_SIZE = 8.5, 8.8 * 8.5 / 9.6

# Okabe and Ito's palette without its yellow, which is too light for lines on white.
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")

# Below axes and letters, above all data.
_DATA = 2.4

_WITHOUT_DATES: Any = {
    "pdf": {"CreationDate": None, "ModDate": None},
    "png": {"Software": None},
    "svg": dict.fromkeys(("Date", "Creator", "Format", "Type")),
}

# What seaborn's style `ticks` and its context `paper` change, with ours on top: importing seaborn takes a second.
_PARAMETERS: Any = {
    **dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize", "legend.title_fontsize"), _FONT_SIZE),
    **dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), _SMALL_FONT_SIZE),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), ".15"),
    **dict.fromkeys(("xtick.minor.width", "ytick.minor.width"), 0.8),
    "font.sans-serif": ["DejaVu Sans"],
    "legend.frameon": False,
    "axes.prop_cycle": cycler(color=CYCLE),
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.formatter.limits": (-3, 5),
    "axes.formatter.use_mathtext": True,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "grid.color": ".8",
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "round",
    "lines.markersize": 3.5,
    "patch.edgecolor": "w",
    "patch.linewidth": 0.6,
    "savefig.dpi": 200.0,
    # Fonts as outlines that text tools can read and edit, not as bitmaps.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "auxmc",
}


@contextlib.contextmanager
def use_style() -> Iterator[None]:
    """Draws everything inside the `with` block in the style of this package, on the Agg backend.

    A user's own matplotlibrc changes nothing. Settings are put back at the end; the backend stays, since figures
    cannot change theirs.
    """
    matplotlib.use("agg")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_PARAMETERS)
        yield


def save_figure(
    figure: Figure,
    path_without_suffix: str | os.PathLike[str],
    formats: Sequence[str] = ("pdf", "png"),
    passes: int = 4,
) -> list[Path]:
    """Writes a figure as `pdf`, `png` (200 dots per inch) or `svg`, each complete or not at all; returns the paths.

    Files hold no dates, so that the same figure gives the same bytes. Panels are laid out once, so that all formats
    agree; those of a fixed shape need two or three `passes` until titles and labels have their room. Letters of SVG
    files are outlines: they look the same where the font is missing. An SVG file that would be larger than 500 kB holds
    data as bitmaps. Missing folders are created.
    """
    base = Path(path_without_suffix)
    paths = [base.with_name(f"{base.name}.{suffix}") for suffix in formats]
    with use_style(), matplotlib.rc_context({"svg.fonttype": "path"}):
        _lay_out(figure, passes)
        base.parent.mkdir(parents=True, exist_ok=True)
        for path, suffix in zip(paths, formats, strict=True):
            temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            try:
                figure.savefig(temporary, format=suffix, metadata=_WITHOUT_DATES[suffix])
                if suffix == "svg" and temporary.stat().st_size > 500_000:  # which opens slowly
                    _save_with_bitmaps(figure, temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
    return paths


def _save_with_bitmaps(figure: Figure, path: Path) -> None:
    """Writes an SVG file in which all data of a panel are one bitmap."""
    for axis in figure.axes:
        axis.set_rasterization_zorder(_DATA)
    figure.savefig(path, format="svg", metadata=_WITHOUT_DATES["svg"])
    for axis in figure.axes:
        axis.set_rasterization_zorder(None)


def _lay_out(figure: Figure, passes: int) -> None:
    # Laying out costs as much as drawing, and matplotlib would do it again for every format.
    engine = figure.get_layout_engine()
    if engine is None:
        return
    before: list[Any] = []
    for _ in range(passes):
        engine.execute(figure)  # without drawing
        places = [axis.get_position().bounds for axis in figure.axes]
        if before and np.allclose(before, places, rtol=0.0, atol=1e-3):
            break
        before = places
    # "none" in place of None would leave an engine in place that makes matplotlib draw twice.
    figure.set_layout_engine(None)
