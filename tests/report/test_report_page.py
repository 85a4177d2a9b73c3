"""The report as a file: valid HTML, complete, self-contained, and every failure explained."""

import re
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.judging.verdicts import VERDICTS as ALL_VERDICTS
from auxmc_pipeline.report.numbers import with_error

STUDY = "radon"
VOID = {"meta", "br", "img", "input", "wbr", "rect", "line", "circle"}


class Elements(HTMLParser):
    """All elements as (tag, attributes), tags that are not closed in order, and verdict and text of each claim."""

    def __init__(self):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.claims: list[tuple[str, str]] = []

    def handle_starttag(self, tag, attributes):
        found = {name: value or "" for name, value in attributes}
        self.elements.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if "data-verdict" in found:
            self.claims.append((found["data-verdict"], ""))

    def handle_endtag(self, tag):
        if tag not in VOID and self.open.pop() != tag:
            self.wrong.append(f"{self.getpos()}: </{tag}>")

    def handle_data(self, data):
        if self.claims and "details" in self.open:
            verdict, text = self.claims[-1]
            self.claims[-1] = (verdict, text + data)


def read(path):
    reader = Elements()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="module")
def parsed(report):
    return read(report)


def test_the_page_is_valid_and_self_contained(report, parsed):
    assert parsed.wrong == parsed.open == []
    ids = Counter(found["id"] for _, found in parsed.elements if "id" in found)
    assert [name for name, count in ids.items() if count > 1] == []
    for tag, found in parsed.elements:
        assert tag not in ("link", "iframe", "object", "embed"), tag
        assert not any(name.startswith("on") for name in found), "a script in an attribute"
        assert tag != "img" or (found["alt"] and found["src"].startswith("data:image/"))
    assert "default-src 'none'" in report.read_text(encoding="utf-8")
    options = {found.get("value") for tag, found in parsed.elements if tag == "option"}
    for link in {found["href"] for tag, found in parsed.elements if tag == "a"}:
        path, _, address = link.partition("#")
        anchor, _, query = address.partition("?")
        assert (report.parent / unquote(path)).exists() if path else anchor in ids, link
        assert {pair.partition("=")[2] for pair in query.split("&") if pair} <= options, link


def test_open_and_failed_claims_are_explained_where_they_stand(parsed):
    counts = Counter(verdict for verdict, _ in parsed.claims)
    assert min(counts[name] for name in ("not-reproduced", "inconclusive", "not-measured", "reproduced")) > 0
    for verdict, text in parsed.claims:
        if verdict in ("not-reproduced", "inconclusive", "not-measured"):
            assert len(text.partition("Why")[2].partition("Agrees within")[0].split()) > 6, text
        assert "Computed by" in text
        assert f"experiments/{STUDY}/claims.py" in text
        assert re.search(r"agrees: \S", text)
    failed = next(text for verdict, text in parsed.claims if verdict == "not-reproduced")
    assert "Continuous tempering with an off-the-shelf sampler works" in failed.partition("Finding")[2]


def test_verdicts_on_the_front_page_are_those_of_the_claims(report):
    text = report.read_text(encoding="utf-8")
    tiles = text[text.index('class="tiles"') : text.index("What the verdicts mean")]
    shown = {name: int(count) for count, name in re.findall(r"<b>(\d+)</b> ([a-z ]+)<", tiles)}
    verdicts = {
        group.partition("<code>")[2].partition("</code>")[0]: re.findall(r'data-claim="([^"]+)"', group)[0]
        for group in re.findall(r'<section class="group".*?</section>', text, re.DOTALL)
        if 'data-origin="published"' in group
    }
    counted = Counter(verdict.replace("-", " ") for verdict in verdicts.values())
    assert sum(counted.values()) >= 5
    assert shown == {name: counted[name] for name in ALL_VERDICTS}


def test_figures_and_provenance_name_code_commands_machine_and_cost(report):
    text = re.sub(r"<[^>]+>", "", report.read_text(encoding="utf-8").partition("</style>")[2])
    for name in load_study(STUDY).figures:
        assert f"snakemake paper_figures/quick/{STUDY}/{name}.svg --config preset=quick" in text
    assert f"drawn by experiments/{STUDY}/figures.py, evidence_over_time" in text
    machines = text.partition("Machines and versions")[2]
    words = "A processor|jax 0.10.2|dddddddd, modified|01234567|12.8|809|judge_claims"
    for word in words.split("|"):
        assert word in machines, word
    assert "proposals with a numerical failure" in text


def test_claims_are_shown_next_to_the_kept_run(report, published_report):
    text = re.sub(r"<[^>]+>", " ", report.read_text(encoding="utf-8").partition("</style>")[2])
    assert "Compared with the kept run" in text
    judged = read_published("paper").judged[STUDY]
    (kept,) = judged.query("setting == 'last estimate minus mean end of the fits'").to_dict("records")
    value = with_error(kept["measured"], kept["monte_carlo_error"])
    assert re.search(rf"ours \(kept run\)\s+{value}, {kept['verdict']}", text), "a line measured there alone"
    assert f"{value}, {kept['verdict']}: kept only" in text
    assert "Compared with the kept run" not in published_report.read_text(encoding="utf-8")


def test_published_results_are_shown_with_their_figures_next_to_the_page(published_report):
    parsed = read(published_report)
    assert parsed.wrong == []
    shown = sorted({found["src"] for tag, found in parsed.elements if tag == "img"})
    drawn = sorted((ROOT / "published" / "paper" / STUDY / "figures").glob("*.svg"))
    assert [(published_report.parent / p).read_text() for p in shown] == [path.read_text() for path in drawn]
    judged = read_published().judged[STUDY]["verdict"].str.replace(" ", "-")
    assert Counter(verdict for verdict, _ in parsed.claims) == Counter(judged)
    text = published_report.read_text(encoding="utf-8")
    group = text.partition(f'id="{STUDY}-CT-D05"')[2].partition("</section>")[0]
    assert f'<a href="#{STUDY}-fig_5_6">figure 5.6</a>' in group
