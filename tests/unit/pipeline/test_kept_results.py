"""Results that are kept: judged by the present claims, in the README, explained by findings, made of known files."""

import ast
import hashlib
import re

import pandas as pd
import pytest

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.jobs import COLUMNS, PUBLISHED
from auxmc_pipeline.judging.band_history import read_band_history, unexplained_bands
from auxmc_pipeline.judging.published import MEASURED, published_presets, read_published
from auxmc_pipeline.judging.study_tables import cases_of_claims, claims_of, judge_study
from auxmc_pipeline.readme_tables import between_marks, with_results
from auxmc_pipeline.report.claim_lines import claim_groups, unexplained
from auxmc_pipeline.report.code_places import drawn_by
from auxmc_pipeline.report.figures import parse_figure_name
from auxmc_pipeline.report.findings_text import LookUp
from auxmc_pipeline.report.page import read_readmes
from auxmc_pipeline.tables import Tables, load_tables

# A new study has none.
WITH_RESULTS = sorted(path.parent.name for path in PUBLISHED.glob("paper/*/claims.csv"))


def keep(folder, preset, name, days=(), **columns):
    """Publishes lines of a study's claims and records of jobs, and returns their folder."""
    place = folder / preset / name
    place.mkdir(parents=True)
    if columns:
        claims_of(load_study(name)).assign(**columns)[MEASURED].to_csv(place / "claims.csv", index=False)
    jobs = "".join(f"radon,ais,,d,2026-11-{day}T01:02:03,n,c,d,1.0,2.0,A processor,k,2,v,s\n" for day in days)
    (place / "pieces.csv").write_text(",".join(COLUMNS) + "\n" + jobs)
    return place


def test_what_is_kept_is_judged_by_the_present_bands(tmp_path):
    found = {"measured": 1.0 / 3.0, "monte_carlo_error": 1e-9, "exact": False, "note": "a, note"}
    for name in studies():
        place = keep(tmp_path, "smoke", name, (21, 22), **found)
        (place / "numbers.csv").write_text("name,value,error,note,exact\nn,0.5,0.1,,False\n")
    (tmp_path / "smoke" / "gp_probit" / "claims.csv").unlink()
    # The first line is newer than the results.
    kept = tmp_path / "smoke" / "radon" / "claims.csv"
    header, _, *lines = kept.read_text().splitlines(keepends=True)
    kept.write_text(header + "".join(lines))
    assert published_presets(tmp_path) == ["smoke"]
    found = read_published("smoke", tmp_path)
    assert found.run_in_words == "preset smoke, jobs from 2026-11-21 to 2026-11-22 on A processor"
    assert set(found.judged["gp_probit"]["verdict"]) <= {"not measured", "timing"}
    radon = found.judged["radon"]
    assert radon["verdict"].iloc[0] == "not measured"
    for row in radon.iloc[1:].to_dict("records"):
        inside = not (row["low"] > 1.0 / 3.0 or row["high"] < 1.0 / 3.0)
        expected = "timing" if row["kind"] == "W" else "reproduced" if inside else "not reproduced"
        assert row["verdict"] == expected, row["setting"]
        assert row["measured"] == pytest.approx(1.0 / 3.0, rel=1e-11)
    assert found.numbers["radon"]["value"].tolist() == [0.5]


def test_each_study_is_taken_at_the_largest_preset_at_which_it_is_finished(tmp_path):
    wanted = r"no study is kept: run `python -m auxmc_pipeline.steps.publish quick`"
    with pytest.raises(FileNotFoundError, match=wanted):
        read_published(folder=tmp_path)
    found = {"monte_carlo_error": 0.1, "exact": False, "note": ""}
    keep(tmp_path, "quick", "radon", [21], measured=1.0, **found)
    keep(tmp_path, "quick", "gp_probit", [22], measured=2.0, **found)
    keep(tmp_path, "paper", "radon", [23], measured=3.0, **found)
    keep(tmp_path, "paper", "gp_probit")  # cases of a study that is not finished
    found = read_published(folder=tmp_path)
    measured = [float(found.judged[name]["measured"].iloc[0]) for name in ("radon", "gp_probit")]
    assert measured == [3.0, 2.0]
    assert found.run_in_words == (
        "preset paper for radon; quick for the others; jobs from 2026-11-22 to 2026-11-23 on A processor"
    )


def test_the_tables_of_the_readme_are_those_of_the_published_results():
    text, published = (ROOT / "README.md").read_text(encoding="utf-8"), read_published()
    made = with_results(text.replace("| `paper` |", "| `other` |"), published)
    assert made == text, "run `python -m auxmc_pipeline.steps.publish`"
    with pytest.raises(ValueError, match="lacks the marks"):
        between_marks("nothing", "counts", "")


def test_results_that_are_kept_have_every_line_that_is_judged():
    for preset in published_presets():
        for path in sorted((ROOT / "published" / preset).glob("*/claims.csv")):
            study = path.parent.name
            kept = pd.read_csv(path, dtype=str)
            wanted = claims_of(load_study(study))
            lines = [set(zip(t["claim_id"], t["setting"], strict=True)) for t in (kept, wanted)]
            assert lines[0] == lines[1], f"{study}: run `python -m auxmc_pipeline.steps.publish {preset}`"


@pytest.mark.parametrize("preset", published_presets())
def test_every_claim_that_failed_is_named_by_a_finding_of_its_own(preset):
    kept = read_published(preset)
    declared = [load_study(name) for name in studies()]
    readmes = read_readmes(declared, LookUp(kept.judged, kept.numbers, kept.presets), kept.run_in_words)
    findings = [finding for readme in readmes.values() for finding in readme.findings]
    groups = []
    for study in declared:
        if (PUBLISHED / preset / study.name / "claims.csv").is_file():
            groups += claim_groups(study, preset, kept.judged[study.name], findings)
    assert sum(line["verdict"] == "not reproduced" for group in groups for line in group["lines"]) > 10
    assert unexplained(groups, preset) == []


@pytest.mark.parametrize("preset", published_presets())
@pytest.mark.parametrize("name", WITH_RESULTS)
def test_bands_of_kept_results_have_changed_with_a_reason_alone(name, preset):
    study = load_study(name)
    kept = pd.read_csv(PUBLISHED / preset / name / "claims.csv")
    assert unexplained_bands(kept, claims_of(study), read_band_history(study)) == []


def test_a_band_that_moved_without_an_entry_is_named():
    lines = {"claim_id": ["A", "B"], "setting": ["x", "y"], "low": [1.0, None], "high": [None, 2.0]}
    kept = pd.DataFrame(lines)
    moved = kept.assign(high=[3.0, 2.0])
    entry = {"claim_id": "A", "setting": "x", "new_low": 1.0, "new_high": 3.0}
    other = entry | {"new_high": 4.0}
    assert unexplained_bands(kept, kept, pd.DataFrame([other])) == []
    assert unexplained_bands(kept, moved, pd.DataFrame([other])) == ["A, x"]
    assert unexplained_bands(kept, moved, pd.DataFrame([entry])) == []


ROWS = [line for line in (ROOT / "docs" / "coverage.md").read_text().splitlines() if line.startswith("| ")]


def test_functions_in_the_table_exist():
    places = set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", "\n".join(ROWS)))
    assert len(places) > 80
    for file, name in places:
        defined = {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text()))}
        assert not name or name in defined, f"{file}::{name}"


def test_every_numbered_figure_of_a_study_is_in_the_table_with_its_function():
    for study in map(load_study, studies()):
        for figure in study.figures:
            if parse_figure_name(figure)[0] or figure.startswith("slides_"):
                (row,) = (row for row in ROWS if f"`{study.name}/{figure}`" in row)
                assert f"`{drawn_by(study, figure)}`" in row, row


# Files that runs read and no digest covers, as `sha256sum` prints them.
SUMS = """\
7cc968991a28b3806f6a26927e343d1a7a2e3d109b9c95c85f0673e088b8a158  experiments/generalised_lambda/published_values.csv
4586bd72aa24f847d4f6fba2d13d00b86308b7c777a9e321d3cd132eeb0e6b5e  experiments/lotka_volterra/published_data.csv
df28caf94f4b76d455ada9ada2d084003d9b16f131deb8918f36a8dd4fa0f449  experiments/gp_probit/biopsy.csv
0493e11ce13f3a3510307cba4b200e9e39b6f4c258adf32c60ecd261536fed1c  experiments/image_models/model/digits.npy.xz
dc27a04139923ed425e6246f48ecb4d26b761e350e54c6b2fbf7a85bf8ffa3ef  experiments/radon/radon.csv
"""


@pytest.mark.parametrize("line", SUMS.splitlines())
def test_a_file_that_runs_read_is_that_of_kept_results(line):
    wanted, name = line.split("  ")
    assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == wanted


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n != "radon")) for n in WITH_RESULTS]
)
def test_a_claim_is_the_same_where_the_cases_that_it_needs_have_run_alone(name):
    study = load_study(name)
    tables = load_tables(PUBLISHED / "paper" / name / "tables")
    judged = judge_study(study, tables)
    for claim_id, cases in cases_of_claims(study, "paper").items():
        of_cases = lambda rows: rows[rows["case"].isin(cases)] if "case" in rows else rows  # noqa: B023
        alone = Tables({key: of_cases(rows) for key, rows in tables.items()})
        found = judge_study(study, alone, claim_id)
        expected = judged[judged["claim_id"] == claim_id].reset_index(drop=True)
        columns = ["setting", "measured", "monte_carlo_error", "verdict"]
        pd.testing.assert_frame_equal(found[columns], expected[columns], check_exact=True)
