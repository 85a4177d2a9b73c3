"""Figures of a study for the page: vector graphics where they are small enough."""

import base64
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from auxmc.driver.results import regenerate_command
from auxmc.errors import DamagedFile
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.report.code_places import claims_drawn, drawn_by
from auxmc_pipeline.report.figure_names import parse_figure_name
from auxmc_pipeline.report.markdown import plain

# A figure of many thousand points is slow to draw as a vector graphic, and large: the page then has its bitmap.
LARGEST_VECTOR_BYTES = 250_000

# What need not be escaped in a data URI inside of double quotes, beside letters and digits.
_PLAIN = " <>=:/'(),.;-+*!?_{}[]|^~@$`"


class PageFigure(NamedTuple):
    """A figure, ready to be shown.

    Attributes:
        anchor: its address in the page.
        name: name of its files.
        label: its document with its number there, or its name in words.
        short: the number or the name alone, where the study is known.
        caption: what it shows, without the number that the label has.
        alternative: first sentence of the caption, for those who do not see the figure.
        image: data URI, or the address of a file.
        width: width in CSS pixels.
        height: height in CSS pixels.
        is_vector: whether the image is a vector graphic.
        drawing: path of the file to keep, relative to the root of the project.
        drawn_by: the function that draws it, as `file::function`.
        claims: ids of claims that this function names.
    """

    anchor: str
    name: str
    label: str
    short: str
    caption: str
    alternative: str
    image: str
    width: int
    height: int
    is_vector: bool
    drawing: str
    drawn_by: str
    claims: set[str]


def figure_label(name: str, document: str) -> tuple[str, str]:
    """What a figure is called, with its document and without, from the name of its files.

    Args:
        name: name of its files.
        document: whose numbers the names of the study's figures carry.

    >>> figure_label("fig_5_2_a", "PhD thesis"), figure_label("fig_c_2", "PhD thesis")
    (('PhD thesis, figure 5.2a', '5.2a'), ('PhD thesis, figure C.2', 'C.2'))
    >>> figure_label("fig_3_11b_supplement", "MSc thesis")[0], figure_label("fig_step_size", "MSc thesis")[0]
    ('MSc thesis, figure 3.11b, supplement', 'Our figure: step size')
    >>> figure_label("slides_inverse_cdf", "PhD thesis")
    ('Lecture slides: inverse cdf', 'slides, inverse cdf')
    """
    found = parse_figure_name(name)
    further = found.further.replace("_", " ")
    if found.number:
        number = f"{found.number}{found.panel}{', ' * bool(further)}{further}"
        return f"{document}, figure {number}", number
    if found.is_slide:
        return f"Lecture slides: {further}", f"slides, {further}"
    return f"Our figure: {further}", further


def page_figures(
    study: Study, files: Mapping[str, Path], drawings: str, beside: str = ""
) -> list[PageFigure]:
    """The figures of a study that are there, in the order in which it declares them.

    Args:
        study: the study.
        files: the file to show for each figure (.svg or .png), by its name.
        drawings: path of the file to keep, relative to the root of the project, with `{name}` for the figure.
        beside: folder of a copy of `files` relative to the page, which then shows these; empty for images inside it.
    """
    return [
        _page_figure(study, name, caption, files[name], drawings.format(name=name), beside)
        for name, caption in study.figures.items()
        if name in files
    ]


def _page_figure(study: Study, name: str, caption: str, path: Path, drawing: str, beside: str) -> PageFigure:
    is_vector = path.suffix == ".svg"
    content = path.read_bytes()
    if not content.rstrip().endswith((b"</svg>", b"IEND\xaeB`\x82")):
        raise DamagedFile(
            f"{path} is damaged: it is cut short; make it again with {regenerate_command(path)}"
        )
    width, height = _svg_size(content.decode()) if is_vector else _png_size(content)
    label, short = figure_label(name, study.document)
    caption = _without_number(caption)
    return PageFigure(
        anchor=f"{study.name}-{name}",
        name=name,
        label=label,
        short=short,
        caption=caption,
        alternative=f"{label}: {plain(_first_sentence(caption))}",
        image=Markup("{}/{}").format(beside, path.name) if beside else _image(content, is_vector=is_vector),
        width=width,
        height=height,
        is_vector=is_vector,
        drawing=drawing,
        drawn_by=drawn_by(study, name),
        claims=claims_drawn(study, name),
    )


def _image(content: bytes, *, is_vector: bool) -> Markup:
    """Data URI for an attribute in double quotes; an SVG stays text, which is a third shorter than base64."""
    if not is_vector:
        return Markup(f"data:image/png;base64,{base64.b64encode(content).decode()}")
    svg = content.decode().replace("'", "&apos;").replace('"', "'")
    return Markup(f"data:image/svg+xml,{quote(svg, safe=_PLAIN)}")


def _without_number(caption: str) -> str:
    """A caption without the number or the source that it begins with: the label says it."""
    rest = re.sub(r"^(Figure [\dA-Z]+\.\d+[a-z]?|Lecture slides)[:.] ", "", caption)
    return rest[:1].upper() + rest[1:]


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
