"""The figure style and the files it writes."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from auxmc.plots.style import save_figure, use_style

FORMATS = ("pdf", "png", "svg")


def small_figure():
    figure = Figure(figsize=(2.0, 1.5), layout="constrained")
    figure.subplots().plot([0.0, 1.0], [1.0, 0.0], label="line")
    return figure


def test_style_holds_inside_the_block_only():
    with matplotlib.rc_context({"font.size": 31.0, "axes.grid": True}):
        with use_style():
            assert 8.0 <= matplotlib.rcParams["font.size"] <= 9.0
            assert not matplotlib.rcParams["axes.grid"]
            assert matplotlib.rcParams["pdf.fonttype"] == 42
            assert matplotlib.get_backend().lower() == "agg"
        assert matplotlib.rcParams["font.size"] == 31.0


def test_both_files_are_written_and_nothing_else(tmp_path):
    paths = save_figure(small_figure(), tmp_path / "new" / "fig_0.5_a", FORMATS)
    pdf, png, svg = paths
    assert (pdf.name, png.name, svg.name) == ("fig_0.5_a.pdf", "fig_0.5_a.png", "fig_0.5_a.svg")
    assert sorted(pdf.parent.iterdir()) == sorted(paths)
    drawing = ElementTree.fromstring(svg.read_text())
    assert drawing.attrib["viewBox"] == "0 0 144 108"
    assert not list(drawing.iter("{http://www.w3.org/2000/svg}text")), "letters must be outlines"
    assert pdf.read_bytes().startswith(b"%PDF")
    assert png.read_bytes().startswith(b"\x89PNG")
    # 2.0 x 1.5 inches at 200 dots per inch: width and height stand at bytes 16 to 24.
    assert png.read_bytes()[16:24] == (400).to_bytes(4, "big") + (300).to_bytes(4, "big")


def test_files_hold_no_date_and_repeat_to_the_byte(tmp_path):
    first = [path.read_bytes() for path in save_figure(small_figure(), tmp_path / "first", FORMATS)]
    second = [path.read_bytes() for path in save_figure(small_figure(), tmp_path / "second", FORMATS)]
    assert first == second
    assert b"CreationDate" not in first[0]
    assert b"Type3" not in first[0]
    assert b"metadata" not in first[2]


def test_data_of_a_large_drawing_are_a_bitmap_in_svg_alone(tmp_path):
    figure = small_figure()
    figure.axes[0].scatter(*np.random.default_rng(1).normal(size=(2, 8000)))
    svg, pdf = save_figure(figure, tmp_path / "figure", ("svg", "pdf"))
    assert svg.stat().st_size < 100_000
    assert b"data:image/png" in svg.read_bytes()
    assert b"/Subtype /Image" not in pdf.read_bytes()
    assert b"data:image" not in save_figure(small_figure(), tmp_path / "small", ("svg",))[0].read_bytes()


def test_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path, monkeypatch):
    pdf, png = save_figure(small_figure(), tmp_path / "figure")
    before = pdf.read_bytes()

    def broken(self, path, **settings):
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", broken)
    with pytest.raises(OSError, match="disk full"):
        save_figure(small_figure(), tmp_path / "figure")
    assert pdf.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [pdf, png]


def test_titles_of_panels_of_a_fixed_shape_stay_inside_the_figure(tmp_path):
    with use_style():
        figure = Figure(figsize=(7.0, 4.3), layout="constrained")
        for axis in figure.subplots(1, 2, sharey=True):
            axis.set_aspect("equal")
            axis.set_title("a title")
            axis.set_xlabel("$x_1$\nfirst line\nsecond line\nthird line")
        save_figure(figure, tmp_path / "figure")
        figure.draw_without_rendering()
        for axis in figure.axes:
            assert axis.title.get_window_extent().y1 <= figure.bbox.y1
            assert axis.xaxis.label.get_window_extent().y0 >= figure.bbox.y0
