"""Markdown to HTML, with claims and figures turned into links inside the page."""

import re
from collections.abc import Callable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

# An exponent: in brackets, or a number, a name or a letter with its sign: 2^(j+1), 1.9^-10, A^T, p^weight_i.
_EXPONENT = re.compile(r"(?<=[\w)\]}|])\^(?:\(([^()]*)\)|(-?\d+(?:\.\d+)?(?!\w)|-?\w+))")
_PLUS_MINUS = re.compile(r"\+/?-(?=[\s\w.])")

Address = Callable[[str], str | None]


def parser() -> MarkdownIt:
    """CommonMark with tables; HTML in the text is shown, not obeyed."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def to_html(tokens: Sequence[Token]) -> str:
    """Parsed blocks as HTML for small screens and keyboards: tables and code can be scrolled by key.

    Args:
        tokens: block tokens of `parser`; heads of columns without a text become plain cells, in place.
    """
    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "th_open" and not inline.content:
            opening.tag = closing.tag = "td"
    reader = parser()
    reader.add_render_rule("text", lambda _, tokens, i, *rest: str(_signs(tokens[i].content)))
    html = str(reader.renderer.render(tokens, reader.options, {}))
    html = html.replace("<pre>", '<pre tabindex="0">')
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    return html.replace("</table>", "</table></div>")


def prose(text: str) -> Markup:
    """Plain text of captions, statements and notes as HTML: code in backticks, signs and exponents.

    >>> print(prose("bands +- 3 s, x^2 < 2^(j+1), `a^b`"))
    bands ± 3 s, x<sup>2</sup> &lt; 2<sup>j+1</sup>, <code>a^b</code>
    """
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else _signs(part) for i, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """The same text where HTML cannot stand, for example in place of an image.

    >>> plain("stream `normal`, +- 2")
    'stream normal, ± 2'
    """
    return _PLUS_MINUS.sub("±", text.replace("`", ""))


def breakable(text: str) -> Markup:
    """A name or a path that a narrow column may break after its separators, and nowhere else.

    >>> print(breakable("n_chains"))
    n_<wbr>chains
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_/=,])(?=\w)", text))


def _signs(text: str) -> Markup:
    return Markup(_EXPONENT.sub(r"<sup>\1\2</sup>", str(escape(_PLUS_MINUS.sub("±", text)))))


class ClaimNames:
    """Finds ids of claims in prose: single ones, ranges (`PM-P14 to PM-P16`) and lists (`CT-C01, C02`).

    Args:
        studies: studies that judge a claim, by its id.
    """

    def __init__(self, studies: Mapping[str, Sequence[str]]) -> None:
        self.studies = studies
        names = "|".join(sorted(map(re.escape, studies), key=len, reverse=True)) or r"(?!)"
        self.pattern = re.compile(rf"\b({names})\b")
        self._range = re.compile(rf"\b({names}) to ({names})\b")
        self._list = re.compile(rf"\b({names})((?:(?:, | and )[A-Z]+\d+\b)+)")

    def mentioned(self, text: str) -> set[str]:
        """Ids that a text speaks of."""
        found = set(self.pattern.findall(text))
        for first, last in self._range.findall(text):
            ordered = sorted(self.studies)
            if _stem(first) == _stem(last):
                between = ordered[ordered.index(first) : ordered.index(last) + 1]
                found |= {name for name in between if _stem(name) == _stem(first)}
        for first, rest in self._list.findall(text):
            stem = re.sub(r"[A-Z]+\d+$", "", first)
            found |= {stem + short for short in re.findall(r"[A-Z]+\d+", rest)} & set(self.studies)
        return found


def link_inline(tokens: Sequence[Token], names: ClaimNames, claim: Address, code: Address) -> None:
    """Puts links into parsed text, in place.

    Args:
        tokens: block tokens; the children of those of type `inline` change.
        names: finds claims.
        claim: address of a claim by its id, or None.
        code: address of a word set as code, for example a figure's name, or None.
    """
    for token in tokens:
        if token.children and not any(child.type == "link_open" for child in token.children):
            token.children = [
                linked for child in token.children for linked in _linked(child, names, claim, code)
            ]


def _linked(token: Token, names: ClaimNames, claim: Address, code: Address) -> list[Token]:
    if token.type == "code_inline" and (target := code(token.content)):
        return _link(token, target)
    if token.type != "text":
        return [token]
    out = []
    for part in names.pattern.split(token.content):
        text = Token("text", "", 0, content=part)
        target = claim(part) if part in names.studies else None
        out += _link(text, target) if target else [text]
    return out


def _link(token: Token, target: str) -> list[Token]:
    return [Token("link_open", "a", 1, attrs={"href": target}), token, Token("link_close", "a", -1)]


def _stem(claim_id: str) -> str:
    return claim_id.rstrip("0123456789")
