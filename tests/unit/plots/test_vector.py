"""Figures as SVG: small, self-contained, the same bytes each time."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from auxmc.plots.vector import _without_repeats, save_svg


def _figure() -> Figure:
    figure = Figure(figsize=(3.0, 2.0), layout="constrained")
    axis = figure.subplots()
    axis.plot([i / 97 for i in range(200)], [(i * 37 % 101) / 13 for i in range(200)])
    axis.set_xlabel(r"rate $\alpha^2$")
    return figure


def test_the_file_is_one_drawing_without_fonts_dates_or_addresses(tmp_path: Path) -> None:
    save_svg(_figure(), tmp_path / "new" / "fig.svg")
    text = (tmp_path / "new" / "fig.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.attrib["viewBox"] == "0 0 216 144"
    assert not list(root.iter("{http://www.w3.org/2000/svg}text")), "letters must be outlines"
    assert "<!--" not in text
    assert "metadata" not in text
    assert not re.search(r'href="(?!#|data:)', text)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["fig.svg"]


def test_coordinates_are_rounded_and_bytes_repeat(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_svg(_figure(), tmp_path / f"{name}.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert not re.search(r' d="[^"]*\d\.\d{3}', text)
    # Scales of letters keep their digits.
    assert "scale(0.08 -0.08)" in text or re.search(r"scale\(0\.\d{3}", text)


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(OSError):  # noqa: PT011  (which one depends on the system)
        save_svg(_figure(), tmp_path / "taken.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.svg"]


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("M 0 1 L 2 3 L 4 5 z", "M 0 1 2 3 4 5 z"),
        ("M 0 1 M 2 3 L 4 5", "M 0 1 M 2 3 4 5"),
        ("M 1 1 Q 1 2 3 4 Q 5 6 7 8 L 1 1 L -2 2", "M 1 1 Q 1 2 3 4 5 6 7 8 L 1 1 -2 2"),
        ("M 0 0 L 1 1 z M 2 2 L 3 3 z", "M 0 0 1 1 z M 2 2 3 3 z"),
    ],
)
def test_commands_of_paths_that_go_on_are_not_repeated(path: str, short: str) -> None:
    assert _without_repeats(path) == short
