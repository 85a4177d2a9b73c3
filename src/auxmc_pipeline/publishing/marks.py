"""Texts of pages that programs write, each between two marks of its name."""

__all__ = ["between_marks"]


def between_marks(text: str, name: str, content: str, page: str = "the page") -> str:
    """A text with other content between the two marks of a name, each a line of its own.

    Args:
        text: of the page.
        name: of the marks.
        content: what goes between them, whole lines.
        page: what the page is called in an error.

    Raises:
        ValueError: the page lacks the marks.

    >>> print(between_marks("before\\n<!-- costs: begin -->\\nold\\n<!-- costs: end -->\\n", "costs", "new\\n"), end="")
    before
    <!-- costs: begin -->
    new
    <!-- costs: end -->
    """
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    _, also_found, after = rest.partition(end)
    if not (found and also_found):
        raise ValueError(f"{page} lacks the marks {begin.strip()} and {end}: where should the text go?")
    return f"{before}{begin}{content}{end}{after}"
