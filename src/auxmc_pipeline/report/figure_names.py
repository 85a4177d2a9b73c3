"""Which figure of its document a figure is, by the name of its files, and which figures a claim's place names."""

import re
from collections.abc import Iterable
from string import ascii_lowercase
from typing import NamedTuple

__all__ = ["FigureName", "figures_named", "is_named", "parse_figure_name"]

_NAME = re.compile(r"fig_(\d+|[a-z])_(\d+)_?([a-z]?)(?:_(.+))?")
_NUMBER = r"(?:\d+|[A-Z])\.\d+[a-z]?(?!\w)"
_NAMED = re.compile(rf"\bfig(?:ure)?s?\.?\s+({_NUMBER}(?:(?:,| and| to)\s+{_NUMBER})*)", re.IGNORECASE)


class FigureName(NamedTuple):
    """The parts of a name.

    Attributes:
        number: chapter and figure in the document, as `3.11` or `C.2`; empty where the name has none.
        panel: letter of a part of it; empty for all of it.
        further: the rest of the name; without a number, the name itself.
        is_slide: whether it is a figure of the lecture slides, which have names in place of numbers.
    """

    number: str
    panel: str
    further: str
    is_slide: bool = False


def parse_figure_name(name: str) -> FigureName:
    """Reads the name of a figure's files.

    >>> parse_figure_name("fig_3_11b_supplement")
    FigureName(number='3.11', panel='b', further='supplement', is_slide=False)
    >>> parse_figure_name("fig_c_2_a")[:3], parse_figure_name("fig_step_size")[:3]
    (('C.2', 'a', ''), ('', '', 'step_size'))
    """
    found = _NAME.fullmatch(name)
    if found is not None:
        chapter, figure, panel, rest = found.groups()
        return FigureName(f"{chapter.upper()}.{figure}", panel, rest or "")
    is_slide = name.startswith("slides_")
    return FigureName("", "", name.removeprefix("slides_" if is_slide else "fig_"), is_slide)


def figures_named(place: str) -> list[str]:
    """Numbers of the figures that a place in a document names, ranges written out.

    >>> figures_named("sec 5.4.1, figs 5.5b to 5.7b"), figures_named("figure 2.11 and section 2.3.1")
    (['5.5b', '5.6b', '5.7b'], ['2.11'])
    >>> figures_named("figures 2.12 and C.1"), figures_named("fig. 3.3a (read off)"), figures_named("sec. 3.1")
    (['2.12', 'C.1'], ['3.3a'], [])
    """
    found: list[str] = []
    for numbers in _NAMED.findall(place):
        for joint, number in re.findall(rf"(,|and|to)?\s*({_NUMBER})", numbers):
            if joint == "to":
                chapter, first, panel = _parts(found[-1])
                found += [f"{chapter}.{n}{panel}" for n in range(first + 1, _parts(number)[1])]
            found.append(number)
    return found


def is_named(name: str, places: Iterable[str]) -> bool:
    """Whether places in the document name a figure, with its panel or without, or a panel of one drawn whole."""
    figure = parse_figure_name(name)
    named = {number for place in places for number in figures_named(place)}
    if not figure.panel:
        named = {number.rstrip(ascii_lowercase) for number in named}
    return bool(named & {figure.number, f"{figure.number}{figure.panel}"})


def _parts(number: str) -> tuple[str, int, str]:
    chapter, figure, panel = re.fullmatch(r"(\w+)\.(\d+)([a-z]?)", number).groups()  # type: ignore[union-attr]
    return chapter, int(figure), panel
