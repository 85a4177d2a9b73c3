"""The report in Chromium: one part at a time, a filter in the address, a claim that opens, no errors."""

import re
import shutil
import subprocess

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: apt-get install chromium")
@pytest.mark.parametrize(
    ("address", "part", "n_shown"),
    [
        ("", "overview", None),
        ("claims?verdict=not-reproduced", "claims", lambda verdicts: verdicts.count("not-reproduced")),
        ("claims?q=nothing+like+this", "claims", lambda verdicts: 0),
        ("claims?verdict=splendid", "claims", len),
        ("radon-CT-D06", "radon", None),
    ],
)
def test_the_page_shows_what_its_address_names(report, address, part, n_shown):
    options = "--headless --no-sandbox --disable-gpu --enable-logging=stderr --dump-dom"
    words = [BROWSER, *options.split(), f"{report.as_uri()}#{address}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert re.findall(r".*CONSOLE.*", done.stderr) == []
    assert re.findall(r'class="page[^"]* current" id="([\w-]+)"', done.stdout) == [part]
    assert re.findall(r'href="#([\w-]+)" aria-current="page"', done.stdout) == [part]
    claims = re.findall(r'<details class="claim [^>]*>', done.stdout)
    shown = [claim for claim in claims if " hidden" not in claim]
    verdicts = [re.findall(r'data-verdict="([\w-]+)"', claim)[0] for claim in claims]
    assert len(shown) == (n_shown(verdicts) if callable(n_shown) else len(claims))
    assert f"{len(shown)} of {len(claims)} lines" in done.stdout
    assert ("unknown in the address: verdict splendid" in done.stdout) == ("splendid" in address)
    assert sum(" open" in claim for claim in claims) == (part == "radon")
