"""The report as a file: complete, self-contained, every link resolves, every failure is explained."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from experiments.catalogue import load_study
from tests.report.conftest import BITMAP, STUDY, VERDICTS


class Elements(HTMLParser):
    """All elements as (tag, attributes), and the text inside each claim."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.claims: list[tuple[str, str]] = []
        self.inside = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.elements.append((tag, found))
        if tag == "details" and "data-verdict" in found:
            self.claims.append((found["data-verdict"], ""))
            self.inside = 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self.inside = 0

    def handle_data(self, data: str) -> None:
        if self.inside:
            verdict, text = self.claims[-1]
            self.claims[-1] = (verdict, text + data)


@pytest.fixture(scope="module")
def parsed(report: Path) -> Elements:
    reader = Elements()
    reader.feed(report.read_text())
    return reader


def test_every_link_resolves(report: Path, parsed: Elements) -> None:
    anchors = {found["id"] for _, found in parsed.elements if "id" in found}
    links = [found["href"] for tag, found in parsed.elements if tag == "a"]
    assert len(links) > 100
    for link in set(links):
        path, _, anchor = link.partition("#")
        if path:
            assert (report.parent / unquote(path)).exists(), link
        else:
            assert anchor.partition("?")[0] in anchors, link


def test_filters_in_links_name_what_the_filter_offers(parsed: Elements) -> None:
    offered = {found.get("value") for tag, found in parsed.elements if tag == "option"}
    queries = [
        found["href"].partition("?")[2]
        for tag, found in parsed.elements
        if tag == "a" and "?" in found["href"]
    ]
    assert queries
    for query in queries:
        assert {pair.partition("=")[2] for pair in query.split("&")} <= offered, query


def test_nothing_comes_from_outside(report: Path, parsed: Elements) -> None:
    for tag, found in parsed.elements:
        assert tag not in ("link", "iframe", "object", "embed"), tag
        assert not found.get("src", "data:").startswith(("http", "//", "file")), found
        assert not found.get("href", "").startswith(("http", "//")), found
        assert not any(name.startswith("on") for name in found), "a script in an attribute"
    text = report.read_text()
    assert "default-src 'none'" in text
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_addresses_are_unique(parsed: Elements) -> None:
    counts = Counter(found["id"] for _, found in parsed.elements if "id" in found)
    assert [name for name, count in counts.items() if count > 1] == []


def test_claims_that_failed_or_are_undecided_are_explained_where_they_stand(parsed: Elements) -> None:
    verdicts = Counter(verdict for verdict, _ in parsed.claims)
    assert verdicts["not-reproduced"] >= 1
    assert verdicts["inconclusive"] >= 2
    for verdict, text in parsed.claims:
        if verdict in ("not-reproduced", "inconclusive"):
            explained = text.partition("Why")[2].partition("Agrees within")[0]
            assert len(explained.split()) > 8, text
        assert "Computed by" in text
        assert f"experiments/{STUDY}/claims.py:" in text


def test_an_explanation_quotes_the_finding_that_names_the_claim(parsed: Elements) -> None:
    failed = next(text for verdict, text in parsed.claims if verdict == "not-reproduced")
    assert "mean of their estimates" in failed
    assert "Finding: What survives (Hierarchical radon regression)" in failed


def test_figures_are_vector_graphics_with_text_alternatives(parsed: Elements) -> None:
    images = [found for tag, found in parsed.elements if tag == "img"]
    assert {found["alt"].partition(":")[0] for found in images} >= {"Figure 5.5", "Figure 5.6", "Our figure"}
    kinds = Counter(found["src"].partition(";")[0] for found in images)
    assert kinds["data:image/svg+xml"] >= len(load_study(STUDY).figures) - 1
    assert kinds["data:image/png"] == 1, f"only {BITMAP} has no vector graphic"
    assert all(int(found["width"]) > 300 for found in images)


def test_provenance_names_machine_versions_seed_commit_and_cost(report: Path) -> None:
    text = report.read_text()
    provenance = text[text.index('id="provenance"') :]
    for word in (
        "A processor",
        "jax 0.10.2",
        "20170717",
        "dddddddddd</code> with changes",
        "12.8 s",
        "672 MiB",
    ):
        assert word in provenance, word
    assert "check_claims" in provenance
    assert "proposals with a numerical failure" in text


def test_tables_for_papers_stand_beside_it(report: Path) -> None:
    for name in (STUDY, "verdicts"):
        assert (report.parent / "tables" / f"{name}.csv").stat().st_size > 50
        assert "\\end{longtable}" in (report.parent / "tables" / f"{name}.tex").read_text()


def test_verdicts_on_the_front_page_are_those_of_the_claims(parsed: Elements, report: Path) -> None:
    text = report.read_text()
    tiles = text[text.index('class="tiles"') : text.index("What the verdicts mean")]
    shown = {name: int(count) for count, name in re.findall(r"<b>(\d+)</b> ([a-z ]+)<", tiles)}
    counted = Counter(verdict.replace("-", " ") for verdict, _ in parsed.claims)
    assert shown == {name: counted[name] for name in shown}
    assert set(VERDICTS.values()) <= set(shown)
