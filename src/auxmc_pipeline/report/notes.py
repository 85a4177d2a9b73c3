"""The parts of a study's README: question, source, answer, findings and the rest."""

import re
from typing import NamedTuple

from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup

from auxmc_pipeline.report.markdown import parser, to_html


class Notes(NamedTuple):
    """The parts of a study's README.

    Attributes:
        question: question of the study, plain text.
        source: documents that the study comes from; empty if they are not named.
        answer: answer to the question, plain text.
        findings: the section "Findings", Markdown.
        rest: all other sections as HTML, headings one level down.
    """

    question: str
    source: str
    answer: str
    findings: str
    rest: Markup


def notes_of(text: str) -> Notes:
    """Splits a study's README into its parts.

    Args:
        text: `README.md` with its numbers filled in. One paragraph begins with `Question:` and contains `Source:`,
            one begins with `Answer:`.
    """
    sections = re.split(r"(?m)^(?=## )", text)
    findings = [part for part in sections if part.startswith("## Findings\n")]
    root = SyntaxTreeNode(parser().parse("".join(part for part in sections if part not in findings)))
    begins = {node: node.children[0].content for node in root.children if node.type == "paragraph"}
    asked = next((node for node, text in begins.items() if text.startswith("Question")), None)
    answered = next((node for node, text in begins.items() if text.startswith("Answer: ")), None)
    question, _, source = _after_colon(begins.get(asked, "")).partition("Source: ")
    rest = [
        token
        for node in root.children
        if node not in (asked, answered) and not (node.type == "heading" and node.tag == "h1")
        for token in node.to_tokens()
    ]
    for token in rest:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    answer = _after_colon(begins.get(answered, ""))
    return Notes(question.strip(), source, answer, "".join(findings), Markup(to_html(rest)))


def _after_colon(paragraph: str) -> str:
    """The text after the first colon on one line, with a capital first letter."""
    text = " ".join(paragraph.split()).partition(": ")[2]
    return text[:1].upper() + text[1:]
