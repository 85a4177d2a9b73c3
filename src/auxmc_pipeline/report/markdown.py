"""Markdown and plain text to HTML, with links to claims and figures of the page."""

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

# An exponent: in brackets, or a number, a name or a letter with its sign: 2^(j+1), 1.9^-10, A^T, p^weight_i.
_EXPONENT = re.compile(r"(?<=[\w)\]}|])\^(?:\(([^()]*)\)|(-?\d+(?:\.\d+)?(?!\w)|-?\w+))")
_PLUS_MINUS = re.compile(r"\+/?-(?=[\s\w.])")
# Tags, and code with its content.
_MARKUP = re.compile(r"(<(code|pre)\b.*?</\2>|<[^>]*>)", re.DOTALL)


def to_html(text: str, links: Mapping[str, str] | None = None) -> Markup:
    """Markdown with tables as HTML; HTML is shown, claim ids and names of figures, set as code, are linked."""
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    names = "|".join(sorted(map(re.escape, links or {}), key=len, reverse=True)) or r"(?!)"
    claims, figures = re.compile(rf"\b({names})\b"), re.compile(rf"<code>({names})</code>")

    def linked(found: re.Match[str]) -> str:
        return f'<a href="{(links or {})[found[1]]}">{found[0]}</a>'

    pieces = _MARKUP.split(html)
    for i in range(0, len(pieces), 3):
        pieces[i] = claims.sub(linked, _signs(pieces[i]))
        if i + 1 < len(pieces):
            pieces[i + 1] = figures.sub(linked, pieces[i + 1])
            pieces[i + 2] = ""
    html = re.sub(r"<th></th>", "<td></td>", "".join(pieces)).replace("<pre>", '<pre tabindex="0">')
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    return Markup(html.replace("</table>", "</table></div>"))


def prose(text: str) -> Markup:
    """Plain text as HTML, with code in backticks, signs and exponents.

    >>> print(prose("bands +- 3 s, x^2 < 2^(j+1), `a^b`"))
    bands ± 3 s, x<sup>2</sup> &lt; 2<sup>j+1</sup>, <code>a^b</code>
    """
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else Markup(_signs(str(escape(part))))
        for i, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """Text where HTML is not allowed, for example instead of an image.

    >>> plain("stream `normal`, +- 2")
    'stream normal, ± 2'
    """
    return _PLUS_MINUS.sub("±", text.replace("`", ""))


def breakable(text: str) -> Markup:
    """A name or a path that may break after its separators.

    >>> print(breakable("n_chains"))
    n_<wbr>chains
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_/=,])(?=\w)", text))


def _signs(html: str) -> str:
    return _EXPONENT.sub(r"<sup>\1\2</sup>", _PLUS_MINUS.sub("±", html))
