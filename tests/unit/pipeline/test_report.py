"""Parts of the report: numbers, findings, explanations, where the code of a claim stands."""

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auxmc.driver.results import write_result
from auxmc.errors import DamagedFile
from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.report.claim_lines import claim_groups, explanation, strip, unexplained
from auxmc_pipeline.report.code_places import measured_by
from auxmc_pipeline.report.figures import page_figures
from auxmc_pipeline.report.findings import Section, read_findings
from auxmc_pipeline.report.findings_text import LookUp, fill
from auxmc_pipeline.report.markdown import ClaimNames
from auxmc_pipeline.report.open_claims import open_claims, what_decides
from auxmc_pipeline.report.page import failures, main_findings, place_of, read_notes
from auxmc_pipeline.report.provenance import case_record, machines, rule_costs
from auxmc_pipeline.report.settings_table import settings_table

FINDINGS = """\
## Findings

Before the first finding.

**The lead is bold.** It names XY-01 and, in another sentence, nothing. A range XY-02 to XY-04 is named here; the figure
is `fig_one`, and `beta/fig_two` another one.

More of the same finding.

**Second.** A list XY-05, Y06 of two.

* **A point.** Speaks of ZZ-01.
* Without bold words.

| a | |
|---|---|
| 1 | <script>alert(1)</script> |
"""
JUDGES = {
    **{f"XY-0{i}": ["alpha"] for i in (1, 2, 3, 4, 5)},
    "XY-Y06": ["alpha"],
    "XY-Y05": ["alpha"],
    "ZZ-01": ["beta"],
}


@pytest.fixture
def section() -> Section:
    return read_findings(
        FINDINGS, "alpha", "First study", JUDGES, {"alpha": ["fig_one"], "beta": ["fig_two"]}
    )


def test_failures_are_summed_by_case_and_zeros_left_out() -> None:
    rows = [
        ("first", "n_failures", 2.0),
        ("first", "n_failures", 3.0),
        ("first", "n_collapsed", 0.0),
        ("second", "n_not_finite", 7.0),
        ("second", "ess", 50.0),
    ]
    found = failures(pd.DataFrame(rows, columns=["case", "quantity", "value"]))
    assert found == [
        {"case": "first", "what": "proposals with a numerical failure", "count": 5.0},
        {"case": "second", "what": "iterations without a finite estimate", "count": 7.0},
    ]
    assert failures(pd.DataFrame(rows[2:3], columns=["case", "quantity", "value"])) == []


def test_findings_begin_with_bold_words_and_continue_to_the_next(section: Section) -> None:
    assert [finding.lead for finding in section.findings] == ["The lead is bold", "Second", "A point", ""]
    assert "More of the same finding" in section.findings[0].html
    assert "Before the first finding" in section.intro
    assert "<p>" in section.findings[2].html
    assert {finding.study for finding in section.findings} == {"alpha"}


def test_findings_know_the_claims_that_they_name(section: Section) -> None:
    lead, second = section.findings[:2]
    assert set(lead.about) == {"XY-01", "XY-02", "XY-03", "XY-04"}
    assert lead.about["XY-01"].endswith("It names XY-01 and, in another sentence, nothing.")
    assert lead.about["XY-03"].startswith("A range")
    assert set(second.about) == {"XY-05"}


def test_claims_and_figures_in_findings_are_links_and_html_is_text(section: Section) -> None:
    html = section.findings[0].html
    assert '<a href="#alpha-XY-01">XY-01</a>' in html
    assert '<a href="#alpha-fig_one"><code>fig_one</code></a>' in html
    assert '<a href="#beta-fig_two"><code>beta/fig_two</code></a>' in html
    table = section.findings[-1].html
    assert "<script>" not in table
    assert "<th></th>" not in table


def test_shortened_lists_of_claims_are_understood() -> None:
    names = ClaimNames({"CT-C01": ["s"], "CT-C02": ["s"], "CT-C13": ["s"], "CT-C14": ["s"]})
    assert names.mentioned("pixel by pixel (CT-C01, C02)") == {"CT-C01", "CT-C02"}
    assert names.mentioned("as (CT-C13 and C14; one run)") == {"CT-C13", "CT-C14"}
    assert names.mentioned("XCT-C013") == set()


def _row(**values: Any) -> dict[str, Any]:
    row = {
        "verdict": "inconclusive",
        "measured": 2.0,
        "monte_carlo_error": 0.5,
        "low": 1.5,
        "high": math.nan,
        "note": "",
    }
    return row | values


def test_an_undecided_claim_is_explained_by_its_distance_from_the_edge() -> None:
    assert "1.0 standard errors inside the edge 1.5" in explanation(_row(), "quick")[0]
    assert "outside" in explanation(_row(low=math.nan, high=1.8), "quick")[0]


def test_a_missing_value_is_explained_by_its_note() -> None:
    row = _row(measured=math.nan, monte_carlo_error=math.nan, note="needs longer chains")
    assert explanation(row, "quick") == ("Not measured at preset quick: needs longer chains.",)
    assert explanation(row | {"note": ""}, "quick") == ()


def test_claims_that_agree_need_no_explanation_and_smoke_says_what_it_is() -> None:
    assert explanation(_row(verdict="reproduced"), "quick") == ()
    failed = explanation(
        _row(verdict="not reproduced", monte_carlo_error=0.0, high=1.0, low=math.nan), "smoke"
    )
    assert "outside the band (at most 1)" in failed[0]
    assert "tries every step" in failed[1]


def test_a_failed_claim_without_a_finding_is_reported() -> None:
    study = load_study("radon")
    lines = claims_of(study)
    table = lines[lines["claim_id"] == "CT-D02"].assign(
        verdict="not reproduced", measured=1.0, monte_carlo_error=0.0, note="a note is no explanation"
    )
    groups = claim_groups(study, "quick", table, read_documents(), [])
    assert unexplained(groups, "quick") == ["CT-D02: parameters", "CT-D02: counties", "CT-D02: rows"]
    assert unexplained(groups, "smoke") == []


def test_a_diverged_value_has_a_place_on_its_strip() -> None:
    found = strip("above 1e6", 1e6, math.nan, 1.5e308, 0.0)
    assert found is not None
    assert all(0.0 <= place <= 100.0 for place in found if place is not None)


def test_numbers_of_a_claim_lie_in_order_on_its_strip() -> None:
    found = strip("2.5", 1.0, 3.0, 2.0, 0.25)
    assert found is not None
    assert found.published is not None
    assert (
        0.0
        < found.low
        < found.error_low
        < found.value
        < found.error_high
        == found.published
        < found.high
        < 100.0
    )
    open_ended = strip("above 1", 1.0, math.nan, 5.0, math.nan)
    assert open_ended is not None
    assert (open_ended.high, open_ended.published) == (100.0, None)
    assert strip("2", math.nan, math.nan, 2.0, 0.1) is None
    assert strip("2", 1.0, 3.0, math.nan, 0.1) is None


def _with_claims() -> list[str]:
    return [name for name in studies() if (ROOT / "experiments" / name / "claims.csv").is_file()]


@pytest.mark.parametrize("name", _with_claims())
def test_every_claim_can_be_read_and_has_a_function(name: str) -> None:
    study = load_study(name)
    for row in claims_of(study).to_dict("records"):
        file, _, function = measured_by(study, row["claim_id"], row["setting"]).partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f"def {function}(" in text or function == f'MEASURE["{row["claim_id"]}"]', function


def test_main_findings_name_studies_and_figures_that_exist() -> None:
    places = [place_of(text) for text in main_findings()]
    assert len(places) == 10
    for study, figure in places:
        assert figure in ("", *load_study(study).figures)
    with pytest.raises(ValueError, match=r"findings\.md: expected 'Study: `name`' at the end of: \*\*A lead"):
        place_of("**A lead.** Text.")


def test_a_wrong_list_of_documents_is_rejected_by_name(tmp_path: Path) -> None:
    path = tmp_path / "front.toml"
    path.write_text('[[documents]]\nkey = "a"\ncolour = "red"\n')
    with pytest.raises(ValueError, match=r"front\.toml: .*colour"):
        read_documents(path)


@pytest.mark.parametrize("study", studies())
def test_the_readme_of_a_study_has_a_question_an_answer_and_findings(study: str) -> None:
    kept = read_published()
    notes = read_notes(load_study(study), LookUp(kept.judged, kept.numbers, kept.presets), kept.run_in_words)
    assert notes.question.endswith("?")
    assert notes.source
    assert notes.answer.endswith(".")
    assert notes.findings
    assert "<h1>" not in notes.rest
    assert "Answer" not in notes.rest


def test_settings_are_split_into_shared_and_varied() -> None:
    table = settings_table(load_study("radon"), "quick")
    assert "method" in table.varied
    assert "seed" in [name for name, *_ in table.shared]
    assert [case for case, *_ in table.cases][:2] == ["nuts", "ais"]
    assert all(len(values) == len(table.varied) for *_, values in table.cases)


def test_costs_are_summed_by_rule_and_missing_records_are_gaps(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "quick" / "alpha"
    folder.mkdir(parents=True)
    for name, seconds, memory in (("a", "2.0", "100.0"), ("b", "3.0", "50.0"), ("claims", "0.5", "-")):
        (folder / f"{name}.benchmark.tsv").write_text(
            f"s\tmax_rss\tcpu_time\n{seconds}\t{memory}\t{seconds}\n"
        )
    (folder / "d.benchmark.tsv").write_text("s\tmax_rss\tcpu_time\n1.0\tnan")  # cut short
    write_result(tmp_path / "results/quick/alpha/b.nc", {}, {"cpu_s": 7.0, "peak_memory_mib": 60.0})
    record, stated = (case_record("alpha", case, "quick", tmp_path) for case in "cb")
    run, check = rule_costs("quick", {"alpha": [record, stated], "beta": []}, tmp_path)
    assert (run.rule, run.n_jobs, run.wall_s, run.peak_mib) == ("run_case", 3, 6.0, 100.0)
    assert run.cpu_s == 9.0, "case b says itself what it took"
    assert (check.rule, check.peak_mib) == ("judge_claims", 0.0)
    assert math.isnan(record.seconds("cpu_s"))
    assert math.isnan(record.seconds("wall_s"))
    assert machines([record]) == []


def _look_up() -> LookUp:
    lines = [
        ("A-1", "N = 1", "3.6", 3.61, 0.02, False, "reproduced", "published"),
        ("A-1", "N = 8", "1.8", math.nan, math.nan, False, "not measured", "published"),
        ("A-1", "exact", "", 7.0, math.nan, False, "inconclusive", "own"),
    ]
    columns = [
        "claim_id",
        "setting",
        "published",
        "measured",
        "monte_carlo_error",
        "exact",
        "verdict",
        "origin",
    ]
    numbers = pd.DataFrame([("steps", 12.0, 0.5, False)], columns=["name", "value", "error", "exact"])
    judged = {"alpha": pd.DataFrame(lines, columns=columns)}
    return LookUp(judged, {"alpha": numbers, "beta": numbers.iloc[:0]}, {"alpha": "quick", "beta": "paper"})


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ('{{ measured("A-1", "N = 1") }}', "3.610 ± 0.020"),
        ('{{ measured("A-1", "N = 8") }}', "(not measured at preset quick)"),
        ('{{ measured("A-1", "exact") }}', "7 (error unknown)"),
        ('{{ published("A-1", "N = 8") }}', "1.8"),
        ('{{ verdict("A-1") }}, {{ verdict("A-1", "N = 1") }}', "not measured, reproduced"),
        ('{{ number("alpha", "steps") }}', "12.00 ± 0.50"),
        ('{{ count("alpha", "not measured") }} and {{ count("alpha", "reproduced") }}', "1 and 0"),
        ('{{ number("beta", "steps") }}', "(not measured at preset paper)"),
        ('{% if value("A-1", "N = 1") > 3 %}more{% else %}less{% endif %}', "more"),
        ("published\n{{ '>10' }}", "published\n\\>10"),
    ],
)
def test_findings_look_their_numbers_up(template: str, text: str) -> None:
    assert fill(template, _look_up(), "findings.md") == text


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ('{{ measured("A-2") }}', r"findings\.md: there is no claim A-2"),
        ('{{ measured("A-1") }}', r"A-1 has 3 lines ''\. Settings: N = 1, N = 8, exact"),
        ('{{ number("alpha", "stops") }}', r"alpha measures no number 'stops'\. There are: steps"),
        ('{{ count("alpha", "good") }}', r"no claims of 'alpha' can be counted as 'good': reproduced"),
        ('{{ number("gamma", "steps") }}', r"there is no study gamma\. There are: alpha, beta"),
        ("{{ mesured(1) }}", r"'mesured' is undefined"),
        ("a\n{% if %}", r"findings\.md, line 2: "),
    ],
)
def test_findings_that_ask_for_what_is_not_there_are_refused(template: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fill(template, _look_up(), "findings.md")


@pytest.mark.parametrize(
    ("line", "decides", "at", "times"),
    [
        ({}, "4.0 times as many draws or repeats, if the value stays", "quick", 4.0),
        ({"measured": 1.0, "high": 1.0}, "none: the value lies on the edge of the band", "", math.nan),
        ({"monte_carlo_error": math.nan}, "independent repeats, which give it an error", "", math.nan),
        ({"monte_carlo_error": 1.0, "band_from": "theory"}, "another seed: .*", "quick", 1.0),
        ({"measured": math.nan, "note": "needs 9 chains"}, "preset paper: needs 9 chains", "paper", 1.0),
    ],
)
def test_open_claims_say_what_decides_them(line: dict[str, Any], decides: str, at: str, times: float) -> None:
    whole = {
        "measured": 1.0,
        "monte_carlo_error": 0.1,
        "low": math.nan,
        "high": 1.1,
        "band_from": "ours",
        "note": "",
    }
    found = what_decides(whole | line, "quick")
    assert re.fullmatch(decides, found[0])
    assert found[1] == at
    assert found[2] == pytest.approx(times, nan_ok=True)


def test_at_the_largest_preset_a_claim_that_is_not_measured_gives_its_reason() -> None:
    row = {"measured": math.nan, "monte_carlo_error": math.nan, "note": "needs a GPU", "band_from": ""}
    assert what_decides(row, "paper")[:2] == ("needs a GPU", "")


def test_open_claims_of_a_study_are_those_of_its_document() -> None:
    study = load_study("radon")
    judged = read_published("quick").judged["radon"]
    found = open_claims(study, "quick", judged)
    lines = judged[judged["origin"] == "published"].set_index(["claim_id", "setting"])["verdict"]
    assert found
    assert {(line.claim_id, line.setting) for line in found} == set(
        lines[lines.isin(["inconclusive", "not measured"])].index
    )


def test_a_figure_that_is_cut_short_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "paper_figures" / "smoke" / "radon" / "fig_5_6.svg"
    path.parent.mkdir(parents=True)
    path.write_text('<svg viewBox="0 0 1 1">')
    with pytest.raises(
        DamagedFile, match=r"fig_5_6\.svg is damaged: .*`snakemake --force .* --config preset=smoke`"
    ):
        page_figures(load_study("radon"), {"fig_5_6": path}, "{name}")
