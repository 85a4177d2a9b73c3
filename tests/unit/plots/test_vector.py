"""Figures as SVG: small, self-contained, the same bytes each time."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from auxmc.plots.vector import _pieces, _steps, compact, save_svg


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
        ("M 0 1 L 2 3 L 4 5 z", "M0 1l2 2 2 2z"),
        ("M 0 1 M 2 3 L 4 5", "M0 1M2 3l2 2"),
        ("M 1 1 Q 1 2 3 4 Q 5 6 7 8 L 1 1 L -2 2", "M1 1q0 1 2 3 2 2 4 4l-6-7-3 1"),
        ("M 0 0 L 1 1 z M 2 2 C 3 3 4 4 .5 -.25", "M0 0l1 1zM2 2c1 1 2 2-1.5-2.25"),
        ("M 5 5 L 6 6 z L 6 5", "M5 5l1 1zl1 0"),
    ],
)
def test_paths_are_steps_from_point_to_point(path: str, short: str) -> None:
    assert _steps(path) == short
    assert _steps(short) == short
    assert list(_pieces(path)) == list(_pieces(short))


def test_rounding_does_not_add_up() -> None:
    points = [(0.0033 * i, -0.0066 * i) for i in range(1000)]
    path = "M " + " L ".join(f"{x} {y}" for x, y in points)
    ends = [found[1][-1] for found in _pieces(_steps(path))]
    assert ends == [(round(100.0 * x), round(100.0 * y)) for x, y in points]


def test_what_is_compact_stays_and_names_lead_where_they_led(tmp_path: Path) -> None:
    save_svg(_figure(), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert compact(text) == text
    named = set(re.findall(r'id="([^"]+)"', text))
    asked = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert asked
    assert asked <= named
