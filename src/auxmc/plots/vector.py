"""Figures as compact SVG for web pages."""

import io
import re
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from auxmc.plots.files import write_whole
from auxmc.plots.style import use_style

__all__ = ["save_svg"]

# A hundredth of a point is far below what any screen or printer shows.
_LONG_NUMBER = re.compile(r"(-?\d+\.\d\d)\d+")
_PATH_DATA = re.compile(r' (?:d|x|y|points)="[^"]*"')
_PATH = re.compile(r' d="([^"]*)"')
_HEAD = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_BETWEEN = re.compile(r">\s+<")


def save_svg(figure: Figure, path: Path) -> None:
    """Writes a figure as one SVG file, complete or not at all.

    Letters are outlines, so that the figure looks the same where its font is missing. Coordinates are rounded to a
    hundredth of a point, and there are no dates: the same figure gives the same bytes.

    Args:
        figure: what to write; its size in inches is that of the figure.
        path: file to write, suffix `.svg`; missing folders are created.

    Raises:
        OSError: the file cannot be written; no temporary file is left.
    """
    buffer = io.StringIO()
    with use_style(), matplotlib.rc_context({"svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = _compact(buffer.getvalue())
    write_whole(path, lambda temporary: temporary.write_text(text))


def _compact(svg: str) -> str:
    short = _BETWEEN.sub("><", _HEAD.sub("", svg))
    rounded = _PATH_DATA.sub(lambda found: _LONG_NUMBER.sub(r"\1", found.group()).replace("\n", " "), short)
    return _PATH.sub(lambda found: f' d="{_without_repeats(found[1])}"', rounded)


def _without_repeats(path: str) -> str:
    """Path data in which a command is not said again that goes on: points after a move or a line are lines."""
    kept, last = [], ""
    for word in path.split():
        if not word.isalpha():
            kept.append(word)
        elif word != "M" and (word == last or (word == "L" and last == "M")):
            continue
        else:
            kept.append(word)
            last = word
    return " ".join(kept)
