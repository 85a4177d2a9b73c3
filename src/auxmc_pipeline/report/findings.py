"""The README of a study in parts: question, answer, findings, notes."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from auxmc_pipeline.catalogue import ROOT, Study
from auxmc_pipeline.report.findings_text import LookUp, fill
from auxmc_pipeline.report.markdown import to_html

MAIN_FINDINGS = ROOT / "docs" / "findings.md"


class Finding(NamedTuple):
    """One finding, a paragraph that begins with bold words and what follows it."""

    anchor: str  # its address in the page
    study: str  # name of its study
    lead: str  # its bold beginning without the full stop
    text: str  # the finding as Markdown
    html: Markup  # the finding as HTML, with links to claims and figures

    def sentences(self, claim_id: str) -> str:
        """Sentences of the finding that name a claim, as plain text; empty if none does."""
        plain = " ".join(re.sub(r"\*\*|`", "", self.text).split())
        found = [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z\"(])", plain) if _names(s, claim_id)]
        return " ".join(found)


class Readme(NamedTuple):
    """Parts of the README of a study, with its numbers filled in."""

    question: str  # question of the study, plain text
    source: str  # documents that it comes from; empty if they are not named
    answer: str  # answer to the question, plain text
    intro: Markup  # what stands before the first finding, HTML
    findings: Sequence[Finding]  # its findings
    notes: Markup  # all sections without a part of their own, HTML with headings one level down


def read_readme(study: Study, look_up: LookUp, run: str, links: Mapping[str, str]) -> Readme:
    """The README of a study with its numbers; raises ValueError if it names one that does not exist."""
    path = ROOT / "experiments" / study.folder / "README.md"
    text = path.read_text(encoding="utf-8")
    if study.name != study.folder:
        # Answer, notes and findings are about the study as it was published.
        answer = "Answer: this is a variant; published claims and findings about another model are left out."
        questions = [block for block in text.split("\n\n") if block.startswith("Question: ")]
        text = "\n\n".join([*questions, answer])
    return split_readme(fill(text, look_up, path, run), study.name, links)


def split_readme(text: str, study: str, links: Mapping[str, str]) -> Readme:
    """Splits the text of a README, and links the claim ids and figures in it to their addresses in the page.

    One paragraph begins with `Question:` and contains `Source:`, one begins with `Answer:`; the section "Findings" has
    the findings.
    """
    head, *sections = re.split(r"(?m)^(?=## )", text)
    paragraphs = {block.partition(":")[0]: block for block in re.split(r"\n{2,}", head)}
    question, _, source = _after_colon(paragraphs.pop("Question", "")).partition("Source: ")
    answer = _after_colon(paragraphs.pop("Answer", ""))
    own = "".join(part.partition("\n")[2] for part in sections if part.startswith("## Findings\n"))
    intro, *found = re.split(r"(?m)(?:^|(?<=\n\n))(?=\*\*)", own)
    rest = [block for block in paragraphs.values() if not block.startswith("# ")]
    rest += [part for part in sections if not part.startswith("## Findings\n")]
    notes = re.sub(r"(?m)^(##+ )", r"#\1", "\n\n".join(rest))
    findings = read_findings(found, study, links)
    return Readme(question.strip(), source, answer, to_html(intro, links), findings, to_html(notes))


def read_findings(
    texts: Sequence[str], study: str, links: Mapping[str, str], prefix: str = "finding"
) -> list[Finding]:
    """Findings from their Markdown, each with an anchor of its own."""
    taken: Counter[str] = Counter()
    found = []
    for text in texts:
        lead = " ".join(re.match(r"\*\*(.+?)\*\*", text, re.DOTALL)[1].split()).rstrip(".")  # type: ignore[index]
        slug = f"{prefix}-{study}-" + re.sub(r"[^a-z0-9]+", "-", lead.lower())[:50].strip("-")
        taken[slug] += 1
        anchor = slug if taken[slug] == 1 else f"{slug}-{taken[slug]}"
        found.append(Finding(anchor, study, lead, text, to_html(text, links)))
    return found


def main_findings() -> list[tuple[str, str, str]]:
    """The findings that matter most: Markdown with its numbers not filled in, study, and figure or an empty string.

    They are the paragraphs of `docs/findings.md` that begin with bold words; each must name its study.
    """
    out = []
    for text in re.split(r"(?m)^(?=\*\*)", MAIN_FINDINGS.read_text(encoding="utf-8"))[1:]:
        found = re.search(r"Study:\s+`(\w+)`(?:,\s+figure\s+`(\w+)`)?", text)
        if found is None:
            raise ValueError(f"{MAIN_FINDINGS}: expected 'Study: `name`' at the end of: {text[:40]}")
        out.append((text, found[1], found[2] or ""))
    return out


def about(findings: Sequence[Finding], study: str, claim_id: str) -> list[Finding]:
    """Findings that name a claim: those of its study if there are any."""
    naming = [finding for finding in findings if _names(finding.text, claim_id)]
    return [finding for finding in naming if finding.study == study] or naming


def _names(text: str, claim_id: str) -> bool:
    return claim_id in text and re.search(rf"\b{re.escape(claim_id)}\b", text) is not None


def _after_colon(paragraph: str) -> str:
    """The text after the first colon on one line, with a capital first letter."""
    text = " ".join(paragraph.split()).partition(": ")[2]
    return text[:1].upper() + text[1:]
