"""Figures as compact SVG for web pages."""

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from auxmc.plots.files import write_whole
from auxmc.plots.style import use_style

__all__ = ["compact", "save_svg"]

_WORDS = re.compile(r"[A-Za-z]|-?\d*\.?\d+")
_MOVED = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")
# Ends of the pieces of each command, as matplotlib writes it: points of two numbers.
_POINTS = {"M": 1, "L": 1, "Q": 2, "C": 3}


def save_svg(figure: Figure, path: Path) -> None:
    """Writes a figure as one compact SVG file, complete or not at all; the same figure gives the same bytes.

    Letters are outlines, so that the figure looks the same where its font is missing.

    Args:
        figure: what to write; its size in inches is that of the figure.
        path: file to write, suffix `.svg`; missing folders are created.

    Raises:
        OSError: the file cannot be written; no temporary file is left.
    """
    buffer = io.StringIO()
    with use_style(), matplotlib.rc_context({"svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = compact(buffer.getvalue())
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def compact(svg: str) -> str:
    """The same drawing in fewer bytes: steps in place of coordinates, short names, no groups that say nothing.

    Coordinates are rounded to a hundredth of a point, far below what any screen or printer shows, and steps are those
    between rounded points, so that no error adds up.

    Args:
        svg: what matplotlib wrote, or what this made of it before, which then stays as it is.
    """
    for prefix, space in re.findall(r'xmlns:?(\w*)="([^"]+)"', svg):
        ElementTree.register_namespace(prefix, space)
    root = ElementTree.fromstring(svg)
    space = root.tag.removesuffix("svg")
    names: dict[str, str] = {}
    for element in root.iter():
        found = element.attrib
        element.text = (element.text or "").strip()
        element.tail = ""
        if element.tag == f"{space}g":
            found.pop("id", None)
        elif "id" in found:
            found["id"] = names.setdefault(found["id"], f"i{len(names)}")
        if "d" in found:
            found["d"] = _steps(found["d"])
        if "style" in found:
            found["style"] = re.sub(r"\s*([:;])\s*", r"\1", found["style"])
        if element.tag == f"{space}use":
            moved = _MOVED.fullmatch(found.get("transform", ""))
            found |= dict(zip("xy", moved.groups(), strict=True)) if moved else {}
            found.pop("transform" if moved else "", None)
            for name in "xy":
                found[name] = _short(_hundredths(found.get(name, "0")))
    _unwrap(root, space)
    text = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return re.sub(r"#([\w-]+)(?=[\")])", lambda name: f"#{names.get(name[1], name[1])}", text)


def _unwrap(element: ElementTree.Element, space: str) -> None:
    """Takes away groups without attributes, and what is not drawn."""
    for child in element:
        _unwrap(child, space)
    element[:] = [
        inner
        for child in element
        if child.tag != f"{space}metadata"
        for inner in (child if child.tag == f"{space}g" and not child.attrib else [child])
    ]


def _steps(path: str) -> str:
    """Path data as steps from point to point, a command only where it changes.

    >>> _steps("M 10 1 L 12 3.5 L 14 3 z M 2 2 Q 3 3 4 2.004")
    'M10 1l2 2.5 2-.5zM2 2q1 1 2 0'
    """
    written, last = "", ""
    for command, points, here in _pieces(path):
        # A path begins at a place; all else is told from there.
        start = (0, 0) if command == "M" else here
        numbers = [v - w for point in points for v, w in zip(point, start, strict=True)]
        name = command if command in "Mz" else command.lower()
        text = "" if name == last and name not in "Mz" else name
        for number in map(_short, numbers):
            text += number if text[-1:].isalpha() or number[0] == "-" else f" {number}"
        written, last = written + text, name
    return written


def _pieces(path: str) -> Iterator[tuple[str, list[tuple[int, int]], tuple[int, int]]]:
    """Commands with their points and where each begins, in hundredths."""
    words, command, here, begun = _WORDS.findall(path)[::-1], "", (0, 0), (0, 0)
    while words:
        command = words.pop() if words[-1].isalpha() else command
        if command in "zZ":
            yield "z", [], here
            here = begun
            continue
        x, y = here if command.islower() else (0, 0)
        numbers = [_hundredths(words.pop()) for _ in range(2 * _POINTS[command.upper()])]
        points = [(x + a, y + b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
        yield command.upper(), points, here
        here = points[-1]
        if command == "M":
            begun, command = here, "L"


def _hundredths(number: str) -> int:
    return round(100.0 * float(number))


def _short(hundredths: int) -> str:
    text = f"{abs(hundredths) / 100:.2f}".rstrip("0").rstrip(".").lstrip("0") or "0"
    return f"-{text}" if hundredths < 0 else text
