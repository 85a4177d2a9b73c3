"""What the name of a figure's files says: which figure of its document it is."""

import re
from typing import NamedTuple

__all__ = ["FigureName", "parse_figure_name"]

_NUMBERED = re.compile(r"fig_(\d+|[a-z])_(\d+)_?([a-z]?)(?:_(.+))?")


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
    found = _NUMBERED.fullmatch(name)
    if found is not None:
        chapter, figure, panel, rest = found.groups()
        return FigureName(f"{chapter.upper()}.{figure}", panel, rest or "")
    is_slide = name.startswith("slides_")
    return FigureName("", "", name.removeprefix("slides_" if is_slide else "fig_"), is_slide)
