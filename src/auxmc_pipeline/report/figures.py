"""Figures of a study for the page, and what their names say."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from auxmc.driver.results import regenerate_command
from auxmc.errors import DamagedFile
from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.report.code_places import drawn_by, in_project
from auxmc_pipeline.report.markdown import plain

# Characters that need no escape in a data URI, next to letters and digits.
_PLAIN = " <>=:/'(),.;-+*!?_{}[]|^~@$`"

_NAME = re.compile(r"fig_(\d+|[a-z])_(\d+)_?([a-z]?)(?:_(.+))?")
_NUMBER = r"(?:\d+|[A-Z])\.\d+[a-z]?(?!\w)"
_NAMED = re.compile(rf"\bfig(?:ure)?s?\.?\s+({_NUMBER}(?:(?:,| and| to)\s+{_NUMBER})*)", re.IGNORECASE)


class PageFigure(NamedTuple):
    """A figure, ready to be shown."""

    anchor: str  # its address in the page
    name: str  # name of its files
    label: str  # its document with its number there, or its name in words
    short: str  # the number or the name alone
    caption: str  # what it shows, without the number
    alternative: str  # first sentence of the caption, for those who do not see the figure
    image: str  # data URI, or the address of a file
    drawing: str  # path of the file to keep, relative to the root of the project
    drawn_by: str  # the function that draws it, as `file::function`


def parse_figure_name(name: str) -> tuple[str, str, str]:
    """Number in the document (`3.11` or `C.2`; empty for none), letter of the panel, and the rest of a figure's name.

    >>> parse_figure_name("fig_3_11b_supplement"), parse_figure_name("fig_c_2_a")
    (('3.11', 'b', 'supplement'), ('C.2', 'a', ''))
    >>> parse_figure_name("fig_step_size"), parse_figure_name("slides_inverse_cdf")
    (('', '', 'step_size'), ('', '', 'slides_inverse_cdf'))
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return "", "", name.removeprefix("fig_")
    chapter, figure, panel, rest = found.groups()
    return f"{chapter.upper()}.{figure}", panel, rest or ""


def figure_label(name: str, document: str) -> tuple[str, str]:
    """What a figure is called, with its document and without.

    >>> figure_label("fig_5_2_a", "PhD thesis"), figure_label("fig_3_11b_supplement", "MSc thesis")
    (('PhD thesis, figure 5.2a', '5.2a'), ('MSc thesis, figure 3.11b, supplement', '3.11b, supplement'))
    >>> figure_label("slides_inverse_cdf", "PhD thesis"), figure_label("fig_step_size", "PhD thesis")
    (('Lecture slides: inverse cdf', 'slides, inverse cdf'), ('Our figure: step size', 'step size'))
    """
    number, panel, rest = parse_figure_name(name)
    words = rest.replace("_", " ")
    if number:
        short = f"{number}{panel}{', ' * bool(words)}{words}"
        return f"{document}, figure {short}", short
    if rest.startswith("slides_"):
        words = words.removeprefix("slides ")
        return f"Lecture slides: {words}", f"slides, {words}"
    return f"Our figure: {words}", words


def figures_named(place: str) -> list[str]:
    """Numbers of the figures that a place in a document names, ranges written out.

    >>> figures_named("sec 5.4.1, figs 5.5b to 5.7b"), figures_named("figures 2.12 and C.1"), figures_named("sec. 3.1")
    (['5.5b', '5.6b', '5.7b'], ['2.12', 'C.1'], [])
    """
    found: list[str] = []
    for numbers in _NAMED.findall(place):
        for joint, number in re.findall(rf"(,|and|to)?\s*({_NUMBER})", numbers):
            if joint == "to":
                chapter, first, panel = re.findall(r"(\w+)\.(\d+)([a-z]?)", found[-1])[0]
                last = int(re.findall(r"\.(\d+)", number)[0])
                found += [f"{chapter}.{n}{panel}" for n in range(int(first) + 1, last)]
            found.append(number)
    return found


def is_named(name: str, places: Iterable[str]) -> bool:
    """Whether places in the document name a figure, with its panel or without, or a panel of one drawn whole."""
    number, panel, _ = parse_figure_name(name)
    named = {found for place in places for found in figures_named(place)}
    if not panel:
        named = {found.rstrip("abcdefghijklmnopqrstuvwxyz") for found in named}
    return bool(named & {number, f"{number}{panel}"})


def page_figures(study: Study, files: Mapping[str, Path], folder: str = "") -> list[PageFigure]:
    """The figures of a study that exist, in the order in which it declares them; DamagedFile if one is cut short.

    Args:
        study: the study.
        files: the file to show for each figure (.svg), by its name.
        folder: of a copy of `files`, relative to the page; empty for images inside the page.
    """
    out = []
    for name, caption in study.figures.items():
        if name not in files:
            continue
        label, short = figure_label(name, study.document)
        # The label has the number or the source that a caption begins with.
        rest = re.sub(r"^(Figure [\dA-Z]+\.\d+[a-z]?|Lecture slides)[:.] ", "", caption)
        rest = rest[:1].upper() + rest[1:]
        out.append(
            PageFigure(
                anchor=f"{study.name}-{name}",
                name=name,
                label=label,
                short=short,
                caption=rest,
                alternative=f"{label}: {plain(re.split(r'(?<=[.:]) ', rest, maxsplit=1)[0]).rstrip('.:')}",
                image=f"{folder}/{files[name].name}" if folder else _data_uri(files[name]),
                drawing=in_project(files[name]).as_posix(),
                drawn_by=drawn_by(study, name),
            )
        )
    return out


def _data_uri(path: Path) -> Markup:
    content = path.read_bytes()
    if not content.rstrip().endswith(b"</svg>"):
        again = regenerate_command(path)
        raise DamagedFile(f"{path} is damaged: it is cut short; make it again with {again}")
    # As text in an attribute in double quotes, which is a third shorter than base64.
    svg = content.decode().replace("'", "&apos;").replace('"', "'")
    return Markup(f"data:image/svg+xml,{quote(svg, safe=_PLAIN)}")
