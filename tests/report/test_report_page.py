"""The report as a file: complete, self-contained, every link resolves, every failure is explained."""

import html
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.judging.verdicts import VERDICTS as ALL_VERDICTS
from auxmc_pipeline.report import figures, markdown
from auxmc_pipeline.report.code_places import drawn_by
from auxmc_pipeline.report.figure_names import is_named
from auxmc_pipeline.report.notes import notes_of
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
    reader.feed(report.read_text(encoding="utf-8"))
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
    text = report.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_published_results_stand_alone_beside_their_figures(published_report: Path) -> None:
    reader = Elements()
    reader.feed(published_report.read_text(encoding="utf-8"))
    links = {found["href"] for tag, found in reader.elements if tag == "a"}
    assert all(link.startswith("#") for link in links)
    shown = [found["src"] for tag, found in reader.elements if tag == "img"]
    drawn = sorted((ROOT / "published" / "paper" / STUDY / "figures").glob("*.svg"))
    assert [Path(place).name for place in sorted(set(shown))] == [path.name for path in drawn]
    for place, path in zip(sorted(set(shown)), drawn, strict=True):
        assert (published_report.parent / place).read_bytes() == path.read_bytes()
    judged = read_published().judged[STUDY]
    assert Counter(verdict for verdict, _ in reader.claims) == Counter(
        judged["verdict"].str.replace(" ", "-")
    )
    text = published_report.read_text(encoding="utf-8")
    policy = next(found["content"] for tag, found in reader.elements if "http-equiv" in found)
    assert "img-src data: 'self';" in policy
    assert f"published/paper/{STUDY}/figures/{drawn[0].name}" in re.sub(r"<wbr>|\s", "", text)


def test_a_claim_leads_to_the_figures_that_show_it_and_its_band_is_seen(published_report: Path) -> None:
    groups = re.findall(
        r'<section class="group".*?</section>', published_report.read_text(encoding="utf-8"), re.DOTALL
    )
    shown = {
        re.findall(r"<code>(.*?)</code>", group)[0]: set(re.findall(r'<a href="#([\w-]+)">figure', group))
        for group in groups
    }
    assert shown["CT-D05"] == {f"{STUDY}-fig_5_6"}
    for group in groups:
        for line in re.findall(r"<summary>.*?</summary>", group, re.DOTALL):
            assert re.search(r"agrees: \S", line), line


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("fig. 5.2", ["fig_5_2_a", "fig_5_2_b"]),
        ("sec. 3, figs 5.2a to 5.4a", ["fig_5_2_a", "fig_5_3"]),
        ("figure 5.3b and section 5.2", ["fig_5_3"]),
        ("section 5.3", []),
        ("figure 15.3", []),
    ],
)
def test_a_place_in_a_document_names_its_figures(place: str, names: list[str]) -> None:
    drawn = ["fig_5_2_a", "fig_5_2_b", "fig_5_3", "fig_costs"]
    assert [name for name in drawn if is_named(name, [place])] == names


def test_addresses_are_unique(parsed: Elements) -> None:
    counts = Counter(found["id"] for _, found in parsed.elements if "id" in found)
    assert [name for name, count in counts.items() if count > 1] == []


def test_claims_that_failed_or_are_undecided_are_explained_where_they_stand(parsed: Elements) -> None:
    verdicts = Counter(verdict for verdict, _ in parsed.claims)
    assert verdicts["not-reproduced"] >= 1
    assert verdicts["inconclusive"] >= 1
    assert verdicts["not-measured"] >= 1
    for verdict, text in parsed.claims:
        if verdict in ("not-reproduced", "inconclusive", "not-measured"):
            explained = text.partition("Why")[2].partition("Agrees within")[0]
            assert len(explained.split()) > 8, text
        assert "Computed by" in text
        assert f"experiments/{STUDY}/claims.py, " in re.sub("\u200b", "", text)


def test_an_explanation_quotes_the_finding_that_names_the_claim(parsed: Elements) -> None:
    failed = next(text for verdict, text in parsed.claims if verdict == "not-reproduced")
    assert "ends at the exact value" in failed
    assert re.search(r"Finding: .+ \(", failed)


def test_figures_are_vector_graphics_with_text_alternatives(parsed: Elements) -> None:
    images = [found for tag, found in parsed.elements if tag == "img"]
    names = {found["alt"].partition(":")[0] for found in images}
    assert names >= {"PhD thesis, figure 5.5", "PhD thesis, figure 5.6", "Our figure"}
    kinds = Counter(re.split("[;,]", found["src"])[0] for found in images)
    assert kinds["data:image/svg+xml"] >= len(load_study(STUDY).figures) - 1
    assert kinds["data:image/png"] == 1, f"only {BITMAP} has no vector graphic"
    assert all(int(found["width"]) > 300 for found in images)


def test_provenance_names_machine_versions_seed_commit_and_cost(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    provenance = text[text.index('id="provenance"') :]
    for word in (
        "A processor, 2 cores, 23.4 GiB",
        "jax 0.10.2",
        "20170717",
        ">dddddddd</code> with changes",
        "CPU time (s)",
        ">12.8<",
        ">809<",
    ):
        assert word in provenance, word
    assert "judge_<wbr>claims" in provenance
    assert "proposals with a numerical failure" in text


def test_tables_for_papers_stand_beside_it(report: Path) -> None:
    for name in (STUDY, "verdicts"):
        assert (report.parent / "tables" / f"{name}.csv").stat().st_size > 50
        assert "\\end{longtable}" in (report.parent / "tables" / f"{name}.tex").read_text()


def test_verdicts_on_the_front_page_are_those_of_the_claims(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    tiles = text[text.index('class="tiles"') : text.index("What the verdicts mean")]
    shown = {name: int(count) for count, name in re.findall(r"<b>(\d+)</b> ([a-z ]+)<", tiles)}
    # One claim is one id: the lines of a group say what the verdict of their claim is.
    verdicts = {
        group.partition("<code>")[2].partition("</code>")[0]: re.findall(r'data-claim="([^"]+)"', group)[0]
        for group in re.findall(r'<section class="group".*?</section>', text, re.DOTALL)
        if 'data-origin="published"' in group
    }
    counted = Counter(verdict.replace("-", " ") for verdict in verdicts.values())
    assert sum(counted.values()) > 10
    assert shown == {name: counted[name] for name in shown}
    assert set(VERDICTS.values()) <= set(shown)


def test_every_verdict_is_explained_coloured_and_offered(report: Path, parsed: Elements) -> None:
    text = report.read_text(encoding="utf-8")
    style = text[text.index("<style>") : text.index("</style>")]
    meanings = text[text.index("What the verdicts mean") : text.index("By document")]
    for name in ALL_VERDICTS:
        dashed = name.replace(" ", "-")
        assert f".{dashed} {{ --here:" in style
        assert f">{name}</span></dt><dd>" in meanings
        assert ("option", {"value": dashed}) in parsed.elements


def test_what_makes_a_figure_stands_beside_it(report: Path) -> None:
    text = re.sub(r"<[^>]+>", "", report.read_text(encoding="utf-8"))
    command = f"snakemake paper_figures/quick/{STUDY}/fig_5_6.pdf --config preset=quick"
    assert text.count(command) == 1
    file, _, function = drawn_by(load_study(STUDY), "fig_5_6").partition("::")
    assert f"{file}, {function}." in text
    assert "source .venv/bin/activate" in text


def test_no_caption_repeats_what_its_label_says() -> None:
    caption = "Figure 2.10: an update of a slice sampler. As figure 2.9."
    assert figures._without_number(caption) == "An update of a slice sampler. As figure 2.9."
    assert figures._without_number("Lecture slides: one update.") == "One update."
    assert figures._without_number("Figures are ours.") == "Figures are ours."


def test_signs_and_exponents_are_set_but_not_in_code() -> None:
    shown = {
        "1.9^-10": "1.9<sup>-10</sup>",
        "(r^(K+1))/(1 - r)": "(r<sup>K+1</sup>)/(1 - r)",
        "exp(-|x|^2 / 2), A A^T": "exp(-|x|<sup>2</sup> / 2), A A<sup>T</sup>",
        "near +-6 or +/- 2": "near ±6 or ± 2",
        "^ and + - stay, `x^2 +- 1` too": "^ and + - stay, <code>x^2 +- 1</code> too",
        "<b>": "&lt;b&gt;",
    }
    for text, expected in shown.items():
        assert markdown.prose(text) == expected
    notes = notes_of("# Study\n\nQuestion: why? Source: here.\n\nErrors +- 2 of 2^30, not in `2^30`.\n")
    assert "Errors ± 2 of 2<sup>30</sup>, not in <code>2^30</code>." in notes.rest


def test_no_raw_markup_is_left_in_captions_and_statements(report: Path) -> None:
    bare = re.sub(
        r"<(code|script|style|pre)\b.*?</\1>|<[^>]+>",
        " ",
        report.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert not re.findall(r".{20}(?:\+-\s*\d|\w\^\w|`).{20}", html.unescape(bare))


def test_studies_are_called_by_their_titles_in_the_menu(report: Path) -> None:
    title = load_study(STUDY).title
    menu = report.read_text(encoding="utf-8").partition('id="menu-links"')[2].partition("</nav>")[0]
    short = re.findall(rf'href="#{STUDY}">([^<]+) <span class="quiet">{STUDY}<', menu)
    assert len(short) == 1
    assert title.startswith(short[0])


def test_figures_survive_their_way_into_the_page(report: Path, parsed: Elements) -> None:
    folder = report.parents[2] / "paper_figures" / "quick" / STUDY
    for name in load_study(STUDY).figures:
        if name != BITMAP:
            svg = (folder / f"{name}.svg").read_text()
            shown = [unquote(f["src"].partition(",")[2]) for t, f in parsed.elements if t == "img"]
            assert any(
                ElementTree.canonicalize(svg) == ElementTree.canonicalize(text)
                for text in shown
                if "<svg" in text
            )
