"""Parts of the report and tables for papers: findings, explanations of verdicts, numbers in texts, provenance."""

import math
import re
import shutil
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import yaml

from auxmc.driver.results import write_csv
from auxmc.errors import DamagedFile
from auxmc_pipeline import catalogue
from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.jobs import PUBLISHED, job_table
from auxmc_pipeline.judging.counts import verdicts_table
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.judging.verdicts import DOES_NOT_APPLY
from auxmc_pipeline.report import claim_lines
from auxmc_pipeline.report.__main__ import main as report_command
from auxmc_pipeline.report.code_places import drawn_by, measured_by
from auxmc_pipeline.report.figures import is_named, page_figures
from auxmc_pipeline.report.findings import about, main_findings, read_readme, split_readme
from auxmc_pipeline.report.findings_text import LookUp, fill
from auxmc_pipeline.report.markdown import prose, to_html
from auxmc_pipeline.report.page import failures, machines, rule_costs, settings_table
from auxmc_pipeline.steps.export_tables import claims_table, latex
from tests.unit.variants import set_variant

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

README = GIVEN["readme"]
LINKS = {"XY-01": "#alpha-XY-01", "XY-02": "#alpha-XY-02", "fig_one": "#alpha-fig_one"}
NAN = math.nan
PUBLISHED_RESULTS = cache(read_published)
LINE = {"low": NAN, "high": 1.1, "measured": 1.0, "monte_carlo_error": 0.1, "note": "", "band_from": "ours"}


def test_the_report_of_a_variant_leaves_out_what_is_about_another_model(tmp_path, monkeypatch):
    set_variant(tmp_path / "experiments", "gaussian_latent", "loud", "{sd_observation: 3.0}")
    monkeypatch.setattr(catalogue, "STUDIES", tmp_path / "experiments")
    monkeypatch.chdir(tmp_path)
    study, kept = load_study("gaussian_latent-loud"), PUBLISHED / "paper" / "gaussian_latent"
    folder, drawings = (Path(base) / "smoke" / study.name for base in ("results", "paper_figures"))
    shutil.copytree(kept / "tables", folder / "tables")
    drawings.mkdir(parents=True)
    for figure in study.figures:
        (drawings / f"{figure}.svg").write_text(f"<svg><title>drawing of {figure}</title></svg>")
    numbers = {"measured": NAN, "monte_carlo_error": NAN, "exact": False, "note": ""}
    write_csv(folder / "claims.csv", claims_of(study).assign(verdict=DOES_NOT_APPLY, **numbers))
    write_csv(folder / "numbers.csv", pd.read_csv(kept / "numbers.csv"))
    command = report_command(["smoke", "--studies", study.name, "--out", "results/smoke/report-loud.html"])
    page = (tmp_path / "results" / "smoke" / "report-loud.html").read_text()
    assert command == 0
    assert all(f"drawing of {figure}" in page for figure in study.figures)
    assert "snakemake gaussian_latent --config preset=smoke variant=loud" in page.replace("<wbr>", "")
    assert "Findings of this study (0)" in page
    assert "PM-G01" not in page


def test_a_readme_is_split_into_question_answer_findings_and_notes():
    found = split_readme(README, "alpha", LINKS)
    assert (found.question, found.source, found.answer) == ("Why?", "thesis, section 3.", "Because.")
    assert [finding.lead for finding in found.findings] == ["The lead is bold", "Second"]
    assert "Measured twice" in found.intro
    first, second = found.findings
    assert "More of the same finding" in first.html
    assert '<a href="#alpha-XY-01">XY-01</a>' in first.html
    assert '<a href="#alpha-fig_one"><code>fig_one</code></a>' in first.html
    assert first.sentences("XY-01") == "It names XY-01 and, in another sentence, nothing."
    assert about(found.findings, "alpha", "XY-02") == [second]
    assert "<script>" not in second.html
    assert "<th></th>" not in second.html
    assert "Errors ± 2 of 2<sup>30</sup>, not in <code>2^30</code>." in found.notes
    typeset = "(r<sup>K+1</sup>), A A<sup>T</sup>, ± 2, <code>x^2</code>"
    assert prose("(r^(K+1)), A A^T, +/- 2, `x^2`") == typeset
    assert to_html("`XY-010` and XY-010", LINKS) == "<p><code>XY-010</code> and XY-010</p>\n"


@pytest.mark.parametrize("study", studies())
def test_the_readme_of_each_study_has_all_parts_and_its_figures_and_claims_have_code(study):
    kept, declared = PUBLISHED_RESULTS(), load_study(study)
    look_up = LookUp(kept.judged, kept.numbers, kept.presets)
    found = read_readme(declared, look_up, kept.run_in_words, {})
    assert found.question.endswith("?")
    assert found.answer.endswith(".")
    assert found.source
    assert found.findings
    for figure in declared.figures:
        file, _, function = drawn_by(declared, figure).partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8")
    for claim in claims_of(declared)["claim_id"].unique():
        file, _, entry = measured_by(declared, claim).partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert f'"{entry}"' in text or f"def {entry}(" in text


def test_main_findings_name_studies_and_figures_that_exist():
    places = [(study, figure) for _, study, figure in main_findings()]
    assert len(places) == 10
    assert all(not figure or figure in load_study(study).figures for study, figure in places)


def test_a_wrong_list_of_documents_is_rejected_by_name(tmp_path):
    path = tmp_path / "front.toml"
    path.write_text('[[documents]]\nkey = "a"\ncolour = "red"\n')
    with pytest.raises(ValueError, match=r"front\.toml: .*colour"):
        read_documents(path)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ({"verdict": "reproduced"}, ""),
        ({}, "Measured 1.00 ± 0.10, inside the band (at most 1.1), 1.0 standard errors from its edge 1.1. A"),
        ({"monte_carlo_error": NAN}, "inside the band (at most 1.1). Its Monte Carlo error is unknown."),
        ({"verdict": "not reproduced", "high": 0.1}, "outside the band (at most 0.1), 9.0 standard errors"),
        ({"measured": NAN, "note": "needs 9 chains"}, "Not measured at preset quick: needs 9 chains."),
    ],
)
def test_a_verdict_is_explained_by_its_numbers(line, text):
    line = {**LINE, "verdict": "inconclusive", **line}
    found = claim_lines.explanation(line, "quick")
    assert text in found
    assert bool(found) == bool(text)
    assert not text or "tests the pipeline" not in found != claim_lines.explanation(line, "smoke")


def test_a_failed_claim_without_a_finding_is_reported():
    study = load_study("radon")
    lines = claims_of(study)
    numbers = {"measured": 1.0, "monte_carlo_error": 0.0, "note": "a note"}
    table = lines[lines["claim_id"] == "CT-D02"].assign(verdict="not reproduced", **numbers)
    groups = claim_lines.claim_groups(study, "quick", table, [])
    assert claim_lines.unexplained(groups, "quick") == [f"CT-D02: {setting}" for setting in table["setting"]]
    assert claim_lines.unexplained(groups, "smoke") == []


@pytest.mark.parametrize(("line", "kept", "said", "agreement"), GIVEN["comparisons"])
def test_a_line_is_compared_with_the_kept_run(line, kept, said, agreement):
    here = {"measured": 1.0, "monte_carlo_error": 0.5, "exact": False, "kind": "I", "verdict": "reproduced"}
    assert claim_lines.compared(here | line, here | kept) == {"kept": said, "agreement": agreement}
    assert claim_lines.compared(here | line, None) == {"kept": "", "agreement": ""}


@pytest.mark.parametrize(
    ("line", "decides", "at", "times"),
    [
        ({}, "4.0 times as many draws or repeats, if the value stays", "quick", 4.0),
        ({"high": 1.0}, "none: the value lies on the edge of the band", "", NAN),
        ({"monte_carlo_error": NAN}, "independent repeats, which give it an error", "", NAN),
        ({"monte_carlo_error": 1.0, "band_from": "theory"}, "another seed: .*", "quick", 1.0),
        ({"measured": NAN, "note": "needs 9 chains"}, "preset paper: needs 9 chains", "paper", 1.0),
        ({"measured": NAN, "note": "needs data of x"}, "needs data of x", "", NAN),
    ],
)
def test_open_claims_say_what_decides_them(line, decides, at, times):
    found = claim_lines.what_decides({**LINE, **line}, "quick")
    assert re.fullmatch(decides, found[0])
    assert found[1:] == (at, pytest.approx(times, nan_ok=True))


def test_numbers_of_a_claim_lie_in_order_on_its_strip():
    found = claim_lines.strip("2.5", 1.0, 3.0, 2.0, 0.25)
    order = [found[name] for name in ("low", "error_low", "value", "error_high", "high")]
    assert order == sorted(order)
    assert found["published"] == found["error_high"]
    huge = claim_lines.strip("above 1e6", 1e6, NAN, 1.5e308, 0.0)
    assert (huge["high"], "published" in huge) == (100.0, False)
    assert all(0.0 <= place <= 100.0 for place in huge.values())
    assert claim_lines.strip("2", NAN, NAN, 2.0, 0.1) is None
    assert claim_lines.strip("2", 1.0, 3.0, NAN, 0.1) is None


@pytest.mark.parametrize("preset", ["quick", "paper"])
@pytest.mark.parametrize("name", studies())
def test_every_setting_of_every_case_is_shown(name, preset):
    table = settings_table(load_study(name), preset)
    assert len(table["cases"]) == len(load_study(name).cases(preset))
    assert all(len(row) == len(table["varied"]) for _, row in table["cases"])


def test_settings_failures_and_costs_are_collected(tmp_path):
    table = settings_table(load_study("radon"), "quick")
    assert "method" in table["varied"]
    assert "seed" in [name for name, *_ in table["shared"]]
    assert [case for case, _ in table["cases"]][:2] == ["nuts", "ais"]
    rows = [("a", "n_failures", 2.0), ("a", "n_failures", 3.0), ("a", "n_collapsed", 0.0), ("b", "ess", 7.0)]
    found = failures(pd.DataFrame(rows, columns=["case", "quantity", "value"]))
    assert found == [{"case": "a", "what": "proposals with a numerical failure", "count": 5.0}]
    folder = tmp_path / "logs" / "quick" / "alpha"
    folder.mkdir(parents=True)
    logs = {"a": "2.0\t100.0\t2.0\n", "b": "3.0\t50.0\t3.0\n", "claims": "0.5\t-\t0.5\n"}
    for name, line in (logs | {"d": "1.0\tnan"}).items():  # the last one is cut short
        (folder / f"{name}.benchmark.tsv").write_text(f"s\tmax_rss\tcpu_time\n{line}")
    about = {"study": "alpha", "case": "b", "processor": "p", "n_cores": 2, "versions": "v"}
    jobs = job_table([about | {"cpu_s": 7.0, "peak_memory_mib": 60.0}])
    judged, run = rule_costs("alpha", "quick", jobs, tmp_path)
    assert list(run.values()) == ["alpha", "run_case", 3, 6.0, 7.0, 60.0]
    assert (judged["rule"], judged["peak_mib"]) == ("judge_claims", 0.0)
    assert [(machine["versions"], machine["n_cases"]) for machine in machines(jobs)] == [("v", 1)]


def _look_up():
    lines = [
        ("A-1", "N = 1", "3.6", 3.61, 0.02, False, "reproduced", "published"),
        ("A-1", "N = 8", "1.8", NAN, NAN, False, "not measured", "published"),
        ("A-1", "exact", "", 7.0, NAN, False, "inconclusive", "own"),
    ]
    names = "claim_id setting published measured monte_carlo_error exact verdict origin"
    numbers = pd.DataFrame([("steps", 12.0, 0.5, False)], columns=["name", "value", "error", "exact"])
    judged = {"alpha": pd.DataFrame(lines, columns=names.split()).assign(nature="conclusion")}
    return LookUp(judged, {"alpha": numbers, "beta": numbers.iloc[:0]}, {"alpha": "quick", "beta": "paper"})


@pytest.mark.parametrize(("template", "text"), GIVEN["look_ups"])
def test_findings_look_their_numbers_up(template, text):
    assert fill(template, _look_up(), "findings.md") == text


@pytest.mark.parametrize(("template", "message"), GIVEN["wrong_look_ups"])
def test_findings_that_name_what_does_not_exist_are_rejected(template, message):
    with pytest.raises(ValueError, match=message):
        fill(template, _look_up(), "findings.md")


@pytest.mark.parametrize(("place", "names"), GIVEN["places"])
def test_a_place_in_a_document_names_its_figures(place, names):
    drawn = ["fig_5_2_a", "fig_5_2_b", "fig_5_3", "fig_costs"]
    assert [name for name in drawn if is_named(name, [place])] == names


def test_a_figure_that_is_cut_short_is_named_with_the_command_that_makes_it(tmp_path):
    path = tmp_path / "paper_figures" / "smoke" / "radon" / "fig_5_6.svg"
    path.parent.mkdir(parents=True)
    path.write_text('<svg viewBox="0 0 1 1">')
    with pytest.raises(DamagedFile, match=r"fig_5_6\.svg is damaged: .*`snakemake --force .* preset=smoke`"):
        page_figures(load_study("radon"), {"fig_5_6": path})


# --- tables for papers --------------------------------------------------------------------------------

JUDGED = pd.DataFrame(
    {
        "claim_id": ["A-1", "A-2"],
        "setting": ["N = 1", "ε > 2"],
        "statement": ["A & B at 5 % of x_1", "Nothing # measured"],
        "document": ["phd-thesis", ""],
        "place": ["sec 1", ""],
        "published": ["3.6", ""],
        "low": [3.4, NAN],
        "high": [3.8, 1.0],
        "band_from": "theory",
        "nature": "conclusion",
        "origin": ["published", "own"],
        "measured": [3.61, NAN],
        "monte_carlo_error": [0.02, NAN],
        "exact": False,
        "verdict": ["reproduced", "inconclusive"],
        "also": "",
    }
)


def test_claims_stand_side_by_side():
    first, second = claims_table(JUDGED).to_dict("records")
    columns = ("published", "measured", "agrees within")
    assert [first[name] for name in columns] == ["3.6", "3.610 ± 0.020", "3.4 to 3.8"]
    assert [second[name] for name in columns] == ["–", "–", "at most 1"]
    assert first["statement"] == "A & B at 5 % of x_1 (N = 1)"


def test_latex_escapes_what_it_would_obey():
    table = claims_table(JUDGED).drop(columns=["document", "agrees within", "band from"])
    text = latex(table, "A caption.", "tab:a", "llllll")
    assert r"A \& B at 5 \% of x\_1 (N = 1)" in text
    assert r"Nothing \# measured ($\epsilon$ $>$ 2)" in text
    assert r"3.610 $\pm$ 0.020" in text
    body = text[text.index(r"\endfoot") :]
    assert [line.count(" & ") for line in body.splitlines() if line.endswith(r"\\")] == [5, 5]
    assert text.isascii()


def test_verdicts_are_counted_by_document():
    table = verdicts_table({"radon": JUDGED}, "{:.2f}")
    rows = table.set_index("document")[["reproduced", "inconclusive", "all"]]
    assert list(rows.loc["PhD thesis"]) == [1, 0, 1]
