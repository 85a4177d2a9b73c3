"""What a study's notes say, in parts: question, source, answer and the rest."""

import re
from pathlib import Path
from typing import NamedTuple

from markdown_it.tree import SyntaxTreeNode
from markupsafe import Markup

from auxmc_pipeline.report.markdown import parser, to_html


class Notes(NamedTuple):
    """What a study's notes say.

    Attributes:
        question: what it asks, plain text.
        source: which documents it comes from; empty where it is not said.
        answer: what came out: a template, whose numbers and verdicts are those of a run (`findings_text.fill`).
        rest: everything else as HTML, headings one level down.
    """

    question: str
    source: str
    answer: str
    rest: Markup


def notes_of(path: Path) -> Notes:
    """Reads a study's notes.

    Args:
        path: `notes.md`, with paragraphs that begin with `Question:`, `Source:` in it, and with `Answer:`.
    """
    tokens = parser().parse(path.read_text(encoding="utf-8"))
    root = SyntaxTreeNode(tokens)
    paragraphs = [node for node in root.children if node.type == "paragraph"]
    first = next((node for node in paragraphs if node.children[0].content.startswith("Question")), None)
    question, source = "", ""
    if first is not None:
        text = " ".join(first.children[0].content.split())
        asked, _, source = text.partition("Source: ")
        question = re.sub(r"^Questions?: ", "", asked).strip()
        question = question[:1].upper() + question[1:]
    second = next((node for node in paragraphs if node.children[0].content.startswith("Answer: ")), None)
    answer = ""
    if second is not None:
        answer = " ".join(second.children[0].content.split()).removeprefix("Answer: ")
        answer = answer[:1].upper() + answer[1:]
    kept = [
        node
        for node in root.children
        if node not in (first, second) and not (node.type == "heading" and node.tag == "h1")
    ]
    rest = [token for node in kept for token in node.to_tokens()]
    for token in rest:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return Notes(question, source, answer, Markup(to_html(rest)))
