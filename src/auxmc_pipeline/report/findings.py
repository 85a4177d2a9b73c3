"""The findings of a study, one by one: each begins with a bold lead."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from auxmc_pipeline.report.markdown import ClaimNames, link_inline, parser, to_html


class Finding(NamedTuple):
    """One finding.

    Attributes:
        anchor: its address in the page.
        section: title of its study.
        lead: its bold beginning without the full stop; empty where it has none.
        html: the whole text.
        study: name of its study.
        about: what it says about each claim that it names, by id: the sentences that name it.
        named: claims that it names one by one, not by a range: what it says is about them.
    """

    anchor: str
    section: str
    lead: str
    html: str
    study: str
    about: dict[str, str]
    named: frozenset[str]


class Section(NamedTuple):
    """The findings of a study: its title, text before the first finding, the findings."""

    title: str
    anchor: str
    intro: str
    findings: tuple[Finding, ...]


def read_findings(
    text: str,
    study: str,
    title: str,
    claims: Mapping[str, Sequence[str]],
    figures: Mapping[str, Sequence[str]],
) -> Section:
    """Reads the findings of a study and links the claims and figures that they name.

    A paragraph or a list item that begins with bold words starts a finding, which continues to the next one.

    Args:
        text: findings in Markdown with their numbers filled in; headings are skipped.
        study: name of the study.
        title: title of the study.
        claims: studies that judge a claim, by its id.
        figures: names of the figures of each study.
    """
    names = ClaimNames(claims)
    links = _Links(study, names, figures)
    nodes = [node for node in SyntaxTreeNode(parser().parse(text)).children if node.type != "heading"]
    taken: Counter[str] = Counter()
    intro, findings = [], []
    for lead, part in _parts(nodes):
        about = _sentences(part, names)
        html = links.render(part)
        if lead is None:
            intro.append(html)
        else:
            named = frozenset(names.pattern.findall(" ".join(about.values())))
            anchor = _slug(f"finding-{study}-{lead or part[1].content}", taken)
            findings.append(Finding(anchor, title, lead, html, study, about, named))
    return Section(title, f"findings-{study}", "".join(intro), tuple(findings))


class _Links:
    """Renders blocks of a section; claims and figures link to those of the section's study first."""

    def __init__(self, study: str, names: ClaimNames, figures: Mapping[str, Sequence[str]]) -> None:
        self.study, self.names, self.figures = study, names, figures

    def render(self, tokens: list[Token]) -> str:
        link_inline(tokens, self.names, self._claim, self._figure)
        return to_html(tokens)

    def _claim(self, claim_id: str) -> str:
        studies = self.names.studies[claim_id]
        study = self.study if self.study in studies else studies[0]
        return f"#{study}-{claim_id}"

    def _figure(self, word: str) -> str | None:
        study, _, figure = word.partition("/")
        if study in self.figures and figure in ("", *self.figures[study]):
            return f"#{study}-{figure}" if figure else f"#{study}"
        if word in self.figures.get(self.study, ()):
            return f"#{self.study}-{word}"
        return None


def _parts(nodes: Sequence[SyntaxTreeNode]) -> list[tuple[str | None, list[Token]]]:
    """Findings of a section as (lead, tokens); what stands before the first one has no lead."""
    parts: list[tuple[str | None, list[Token]]] = []
    for node in nodes:
        items = node.children if node.type == "bullet_list" else []
        if items and _lead(items[0].children[0]) is not None:
            # A list of findings; an item without bold words is one without a lead.
            for item in items:
                parts.append((_lead(item.children[0]) or "", _tokens(item.children)))
        elif (lead := _lead(node)) is not None or not parts:
            parts.append((lead, _tokens([node])))
        else:
            parts[-1][1].extend(_tokens([node]))
    return parts


def _tokens(nodes: Sequence[SyntaxTreeNode]) -> list[Token]:
    tokens = [token for node in nodes for token in node.to_tokens()]
    for token in tokens:
        # Paragraphs of a list without empty lines are marked as hidden; outside the list they are paragraphs again.
        token.hidden = False
    return tokens


def _lead(node: SyntaxTreeNode) -> str | None:
    """Bold words that a paragraph begins with; None if it does not."""
    if node.type != "paragraph":
        return None
    words = [child for child in node.children[0].children if child.type != "text" or child.content]
    if not words or words[0].type != "strong":
        return None
    return "".join(t.content for child in words[0].children for t in child.to_tokens()).rstrip(".")


def _sentences(tokens: Sequence[Token], names: ClaimNames) -> dict[str, str]:
    """Sentences of a text that name a claim, by its id, as plain text."""
    found: dict[str, list[str]] = {}
    for token in tokens:
        plain = "".join(" " if t.type == "softbreak" else t.content for t in token.children or [])
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"(])", plain):
            for claim in names.mentioned(sentence):
                found.setdefault(claim, []).append(sentence.strip())
    return {claim: " ".join(sentences) for claim, sentences in found.items()}


def _slug(text: str, taken: Counter[str]) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower())[:70].strip("-")
    taken[slug] += 1
    return slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
