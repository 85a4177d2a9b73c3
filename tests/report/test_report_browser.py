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

PAGES = ("overview", "findings", "claims", "radon", "code", "provenance")


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
    assert view.locator("#claims-count").inner_text() == f"{failed} of {everything} claims"
    view.select_option("#filter-verdict", "")
    view.fill("#filter-text", "divergences NOTHING LIKE THIS")
    assert _shown(view) == 0
    view.click("#filter-clear")
    assert _shown(view) == everything


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


def test_code_is_found_by_words(view: Any) -> None:
    _go(view, "code")
    view.fill("#code-text", "gibbs temperature")
    rows = view.locator(".module tbody tr:visible")
    assert 0 < rows.count() < 20
    assert "tempered_hmc.py" in view.locator(".module:visible").first.inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(browser: Any, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(report.as_uri())
    for name in PAGES:
        _go(page, name)
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


def test_without_scripts_it_is_one_long_document(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    for name in PAGES:
        assert page.locator(f"#{name} h1").is_visible()
    context.close()


@pytest.mark.skipif("AUXMC_AXE" not in os.environ, reason="AUXMC_AXE does not name axe.min.js of axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Any, report: Path, scheme: str) -> None:
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(report.as_uri())
    page.add_script_tag(path=os.environ["AUXMC_AXE"])
    for name in PAGES:
        _go(page, name)
        page.evaluate("document.querySelectorAll('.page.current details').forEach(d => { d.open = true })")
        violations = page.evaluate("axe.run().then(result => result.violations.map(v => v.id))")
        assert violations == [], name
    context.close()
