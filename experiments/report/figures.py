"""Figures of a study for the page: vector graphics where they are small enough."""

import base64
import re
import struct
from pathlib import Path
from typing import NamedTuple

from experiments.catalogue import Study

__all__ = ["LARGEST_VECTOR_BYTES", "PageFigure", "figure_label", "page_figures"]

# A figure of many thousand points is slow to draw as a vector graphic, and large: the page then has its bitmap.
LARGEST_VECTOR_BYTES = 500_000


class PageFigure(NamedTuple):
    """A figure, ready to be shown.

    Attributes:
        anchor: its address in the page.
        name: name of its files.
        label: number in the document, or its name in words.
        caption: what it shows.
        alternative: first sentence of the caption, for those who do not see the figure.
        image: data URI.
        width: width in CSS pixels.
        height: height in CSS pixels.
        is_vector: whether the image is a vector graphic.
        pdf: path of the PDF relative to the root of the project.
    """

    anchor: str
    name: str
    label: str
    caption: str
    alternative: str
    image: str
    width: int
    height: int
    is_vector: bool
    pdf: str


def figure_label(name: str) -> str:
    """Number of a figure in its document, from the name of its files.

    >>> [figure_label(n) for n in ("fig_5_6", "fig_3_11b_supplement", "fig_5_2_a", "fig_c_2", "fig_step_size")]
    ['Figure 5.6', 'Figure 3.11b, supplement', 'Figure 5.2a', 'Figure C.2', 'Our figure: step size']
    """
    found = re.fullmatch(r"fig_(\d+|[a-z])_(\d+[a-z]?)(?:_(.*))?", name)
    if found is None:
        return f"Our figure: {name.removeprefix('fig_').replace('_', ' ')}"
    chapter, figure, rest = found.groups()
    panel = rest if rest and len(rest) == 1 else ""
    further = f", {rest.replace('_', ' ')}" if rest and not panel else ""
    return f"Figure {chapter.upper()}.{figure}{panel}{further}"


def page_figures(study: Study, preset: str, root: Path = Path()) -> list[PageFigure]:
    """The figures of a study in the order in which it declares them.

    Args:
        study: the study.
        preset: its preset; the figures are drawn.
        root: folder that holds `paper_figures/`.

    Raises:
        FileNotFoundError: a figure is not drawn; says which command draws it.
    """
    folder = Path("paper_figures") / preset / study.name
    return [_page_figure(study.name, name, caption, folder, root) for name, caption in study.figures.items()]


def _page_figure(study: str, name: str, caption: str, folder: Path, root: Path) -> PageFigure:
    vector, bitmap = (root / folder / f"{name}.{suffix}" for suffix in ("svg", "png"))
    is_vector = vector.is_file() and vector.stat().st_size <= LARGEST_VECTOR_BYTES
    path = vector if is_vector else bitmap
    if not path.is_file():
        raise FileNotFoundError(f"no figure {path}: draw it with `snakemake {folder / name}.png`")
    content = path.read_bytes()
    width, height = _svg_size(content.decode()) if is_vector else _png_size(content)
    kind = "svg+xml" if is_vector else "png"
    label = figure_label(name)
    return PageFigure(
        anchor=f"{study}-{name}",
        name=name,
        label=label,
        caption=caption,
        alternative=f"{label}: {_first_sentence(caption)}",
        image=f"data:image/{kind};base64,{base64.b64encode(content).decode()}",
        width=width,
        height=height,
        is_vector=is_vector,
        pdf=str(folder / f"{name}.pdf"),
    )


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0].rstrip(".:")


def _svg_size(svg: str) -> tuple[int, int]:
    """Size of an SVG from its `viewBox`, which is in points of 4/3 pixels."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if found is None:
        raise ValueError("an SVG without a viewBox")
    width, height = (round(float(x) * 4 / 3) for x in found.groups())
    return width, height


def _png_size(png: bytes) -> tuple[int, int]:
    """Size of a PNG in CSS pixels (96 an inch) at the 200 dots an inch that figures are saved with."""
    width, height = struct.unpack(">II", png[16:24])
    return round(width * 96 / 200), round(height * 96 / 200)
