"""The report in a browser: no errors, no requests, filters, small screens, print.

Needs Playwright for Python and Chromium; `AUXMC_AXE` may name `axe.min.js` of axe-core for the check of accessibility.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)

pytestmark = pytest.mark.skipif(
    _BROWSER is None, reason="no Chromium on this machine: apt-get install chromium"
)
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is missing: pip install playwright")

PAGES = ("overview", "findings", "claims", "open", "radon", "provenance")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=_BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def view(browser: Any, report: Path) -> Iterator[Any]:
    """The report at desktop width; fails if the console shows an error or anything is asked for outside."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else problems.append(r.url))
    page.goto(report.as_uri())
    yield page
    assert problems == []
    page.close()


def _go(page: Any, target: str) -> None:
    page.evaluate("target => { location.hash = target }", target)
    page.wait_for_function("target => location.hash === `#${target}`", arg=target)
    page.wait_for_timeout(50)


def _shown(page: Any) -> int:
    return int(page.locator(".claim:visible").count())


def _search(page: Any, field: str, words: str) -> None:
    """Searches words without waiting for the pause after which they are searched by themselves."""
    page.fill(field, words)
    page.press(field, "Enter")


def test_one_part_is_shown_at_a_time(view: Any) -> None:
    for name in PAGES:
        _go(view, name)
        assert view.locator("main > .page.current").get_attribute("id") == name
        assert view.locator(f"#{name} h1").is_visible()
        assert view.locator('[aria-current="page"]').count() == 1
    assert not view.locator("#overview").is_visible()


def test_claims_are_filtered_by_text_and_verdict(view: Any) -> None:
    _go(view, "claims")
    everything = _shown(view)
    assert everything == view.locator(".claim").count() > 15
    view.select_option("#filter-verdict", "not-reproduced")
    failed = _shown(view)
    assert 0 < failed < everything
    n_claims = len(set(view.locator(".group:visible h3 code").all_inner_texts()))
    assert view.locator("#claims-count").inner_text() == f"{n_claims} claims, {failed} of {everything} lines"
    view.select_option("#filter-verdict", "")
    view.select_option("#filter-claim", "not-reproduced")
    assert failed <= _shown(view) < everything
    view.select_option("#filter-origin", "own")
    assert _shown(view) == view.locator('.claim[data-origin="own"][data-claim="not-reproduced"]').count()
    view.select_option("#filter-origin", "")
    view.select_option("#filter-claim", "")
    _search(view, "#filter-text", "divergences NOTHING LIKE THIS")
    assert _shown(view) == 0
    assert view.locator("#claims-nothing").is_visible()
    view.click("#claims-nothing button")
    assert _shown(view) == everything
    assert not view.locator("#claims-nothing").is_visible()


def test_an_address_can_carry_a_filter_and_leaving_drops_it(view: Any) -> None:
    _go(view, "claims?verdict=timing")
    assert view.input_value("#filter-verdict") == "timing"
    timing = _shown(view)
    _go(view, "radon")
    assert _shown(view) == view.locator(".claim").count() > timing


def test_the_explanation_is_one_click_away_and_reached_by_keyboard(view: Any) -> None:
    _go(view, "claims?verdict=not-reproduced")
    claim = view.locator(".claim:visible").first
    assert not claim.locator(".about").is_visible()
    claim.locator("summary").focus()
    view.keyboard.press("Enter")
    assert "Why" in claim.locator(".about").inner_text()


def test_a_link_to_a_claim_opens_it(view: Any) -> None:
    _go(view, "radon-CT-D06")
    assert view.locator("#radon").is_visible()
    assert view.locator("#radon-CT-D06 .about").first.is_visible()


def test_enter_searches_at_once_and_stays_on_the_page(view: Any) -> None:
    _go(view, "claims")
    view.evaluate("window.isTheSame = true")
    _search(view, "#filter-text", "temperature")
    assert view.evaluate("window.isTheSame")
    assert view.evaluate("location.hash") == "#claims?q=temperature"
    assert view.url.partition("#")[0].endswith(".html")


def test_typing_is_searched_once_it_pauses(view: Any) -> None:
    _go(view, "claims")
    everything = _shown(view)
    at_once = view.evaluate(
        """() => {
            const field = document.getElementById('filter-text');
            for (const letter of 'nothing like this') {
                field.value += letter;
                field.dispatchEvent(new Event('input', { bubbles: true }));
            }
            return location.hash;
        }"""
    )
    assert at_once == "#claims"
    view.wait_for_function("() => location.hash === '#claims?q=nothing+like+this'")
    assert _shown(view) == 0 < everything


def test_words_and_numbers_are_found_as_a_reader_means_them(view: Any) -> None:
    _go(view, "claims")
    written = [
        "fig. 5.2 a",
        "figures 5.2a and 6",
        "Figure 5.2b",
        "section 15.2",
        "fig 2.13",
        "sec. 5.21",
        "eq. 5.2.1",
    ]
    view.evaluate(
        """texts => texts.forEach((text, i) => {
            const claim = document.querySelectorAll('.claim')[i];
            claim.innerHTML = `<summary>${text} ours</summary>`;
            claim.closest('.group').querySelector('h3').innerHTML = '<code></code>';
        })""",
        written,
    )
    expected = {
        "figure 5.2": written[:3],
        "FIG. 5.2": written[:3],
        "figures 5.2a ours": written[:2],
        "fig 5.2 a ours": written[:2],
        "§15.2 ours": written[3:4],
        "sections 15.2 ours": written[3:4],
        "equation 5.2.1 ours": written[6:],
    }
    for words, found in expected.items():
        _search(view, "#filter-text", words)
        texts = [text.removesuffix(" ours") for text in view.locator(".claim:visible").all_inner_texts()]
        assert [text for text in texts if text in written] == found, words


def test_on_one_page_the_menu_scrolls_to_each_part(view: Any) -> None:
    view.click("#one-page")
    assert view.locator("#one-page").inner_text() == "One section at a time"
    for name in PAGES[::-1]:
        view.click(f'#menu-links li a[href="#{name}"]')
        view.wait_for_function(
            """name => Math.abs(document.getElementById(name).getBoundingClientRect().top) < 40
            || innerHeight + scrollY >= document.documentElement.scrollHeight - 2""",
            arg=name,
        )
    view.click("#one-page")
    assert view.locator("#one-page").inner_text() == "All on one page"
    assert view.locator("main > .page:visible").count() == 1


def test_back_leads_to_the_place_that_one_left(view: Any) -> None:
    _go(view, "radon")
    view.evaluate("scrollTo({ top: 700, behavior: 'instant' })")
    view.evaluate("document.querySelector('#menu-links a[href=\"#provenance\"]').click()")
    view.wait_for_function("() => document.querySelector('#provenance.current') && scrollY === 0")
    view.go_back()
    view.wait_for_function("() => document.querySelector('#radon.current') && scrollY === 700")


def test_an_unknown_address_is_named(view: Any) -> None:
    _go(view, "no-such-claim")
    assert "#no-such-claim" in view.locator("#not-found").inner_text()
    assert view.locator("main > .page:visible").count() == 0
    _go(view, "overview")
    assert not view.locator("#not-found").is_visible()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
def test_a_figure_is_enlarged_by_keyboard(browser: Any, report: Path, width: int, height: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(report.as_uri())
    _go(page, "radon")
    image, button = page.locator("#radon .sheet img").first, page.locator("#radon .enlarge").first
    fitted = image.bounding_box()["width"]
    assert fitted < width
    button.focus()
    page.keyboard.press("Enter")
    large = page.locator("#enlarged img")
    assert large.get_attribute("alt") == image.get_attribute("alt")
    box = large.bounding_box()
    if width < 960:
        assert box["width"] > 2 * fitted, "it can be read, and moved about"
    else:
        assert box["width"] > fitted
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Escape")
    assert not large.is_visible()
    assert button.evaluate("b => b === document.activeElement")
    image.click()
    assert large.is_visible()
    large.click()
    assert not large.is_visible()
    page.close()


def test_links_are_large_enough_for_a_finger(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(report.as_uri())
    for name in PAGES:
        _go(page, name)
        page.evaluate("document.querySelectorAll('.page.current details').forEach(d => { d.open = true })")
        small = page.evaluate(
            """[...document.querySelectorAll('.current :is(td a, th a, .contents a, .short a, .path)')]
            .filter(a => a.offsetParent && a.getBoundingClientRect().height < 24).map(a => a.textContent)"""
        )
        assert small == [], name
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(browser: Any, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(report.as_uri())
    for name in PAGES:
        _go(page, name)
        page.evaluate("document.querySelectorAll('.page.current details').forEach(d => { d.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    page.close()


def test_light_and_dark_can_be_chosen(view: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    before = view.evaluate(ground)
    view.click("#theme")
    view.click("#theme")
    assert view.locator("#theme").inner_text() == "Colours: dark"
    assert view.evaluate(ground) != before


def test_it_prints_without_menus(view: Any) -> None:
    view.emulate_media(media="print")
    assert not view.locator(".side").is_visible()
    assert view.locator("#overview h1").is_visible()


def test_on_paper_everything_is_open_and_the_filter_is_named(view: Any) -> None:
    _go(view, "claims?verdict=timing")
    view.emulate_media(media="print")
    view.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert view.locator("#claims-filter").inner_text() == "Line's verdict: timing"
    assert view.locator(".claim:visible .about").first.is_visible()
    view.evaluate("dispatchEvent(new Event('afterprint'))")
    assert view.locator(".claim[open]").count() == 0


def test_without_scripts_it_is_one_long_document(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    for name in PAGES:
        assert page.locator(f"#{name} h1").is_visible()
    context.close()


@pytest.mark.skipif("AUXMC_AXE" not in os.environ, reason="AUXMC_AXE does not name axe.min.js of axe-core")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_axe_finds_no_violation(browser: Any, report: Path, scheme: str, width: int) -> None:
    size = {"width": width, "height": 844}
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport=size)
    page = context.new_page()
    page.goto(report.as_uri())
    page.add_script_tag(path=os.environ["AUXMC_AXE"])
    for name in PAGES:
        _go(page, name)
        page.evaluate("document.querySelectorAll('.page.current details').forEach(d => { d.open = true })")
        violations = page.evaluate("axe.run().then(result => result.violations.map(v => v.id))")
        assert violations == [], name
    context.close()
