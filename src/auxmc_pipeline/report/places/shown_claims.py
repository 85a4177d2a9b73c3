"""Which figures show a claim: those that its place in the document names, and those that draw its published values."""

import re
from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from auxmc_pipeline.report.places.figure_names import parse_figure_name

__all__ = ["DrawnFigure", "figures_named", "figures_that_show"]

_NUMBER = r"(?:\d+|[A-Z])\.\d+[a-z]?(?!\w)"
_NAMED = re.compile(rf"\bfig(?:ure)?s?\.?\s+({_NUMBER}(?:(?:,| and| to)\s+{_NUMBER})*)", re.IGNORECASE)


class DrawnFigure(NamedTuple):
    """A figure of a study.

    Attributes:
        name: name of its files.
        anchor: its address in the page.
        called: its number in the document of its study, or what it is called.
        claims: ids of claims that the code which draws it names.
    """

    name: str
    anchor: str
    called: str
    claims: Sequence[str]


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


def figures_that_show(
    figures: Iterable[DrawnFigure], claim_id: str, places: Iterable[str]
) -> list[DrawnFigure]:
    """Figures of a study that show a claim, in their order.

    Args:
        figures: figures of the study.
        claim_id: id of the claim.
        places: where its lines stand in the document whose figures the study draws.
    """
    named = {number for place in places for number in figures_named(place)}
    return [figure for figure in figures if claim_id in figure.claims or _is_named(figure.name, named)]


def _is_named(name: str, named: set[str]) -> bool:
    """A figure is named with its panel or without; a panel of one that is drawn whole names it too."""
    figure = parse_figure_name(name)
    if not figure.panel:
        named = {number.rstrip(ascii_lowercase) for number in named}
    return bool(named & {figure.number, f"{figure.number}{figure.panel}"})


def _parts(number: str) -> tuple[str, int, str]:
    chapter, figure, panel = re.fullmatch(r"(\w+)\.(\d+)([a-z]?)", number).groups()  # type: ignore[union-attr]
    return chapter, int(figure), panel
