"""What every study promises, with published results of preset `paper` and recorded ones of preset `smoke`."""

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from auxmc.plots.style import use_style
from auxmc_pipeline.case import StudyFile
from auxmc_pipeline.cases import study_cases
from auxmc_pipeline.catalogue import ROOT, STUDIES, load_study, studies
from auxmc_pipeline.judging import study_tables
from auxmc_pipeline.judging.study_tables import claims_of, judge_study, measure_numbers
from auxmc_pipeline.judging.verdicts import DOES_NOT_APPLY
from auxmc_pipeline.needs import parse_needs
from auxmc_pipeline.plots.published import PublishedLine
from auxmc_pipeline.published_values import DISTANCE, EXTRA
from auxmc_pipeline.settings import PRESETS, SettingsError, names_of
from auxmc_pipeline.tables import MissingData, Tables, load_tables
from tests.unit.experiments.record import MEASURED, RECORDED, recorded_tables
from tests.unit.variants import set_variant

NAMED = studies()
FIGURES = [(name, figure) for name in NAMED for figure in load_study(name).figures]
KEPT = sorted(path.name for path in RECORDED.iterdir())
WRONG = yaml.safe_load(Path(__file__).with_name("wrong_settings.yaml").read_text())
PUBLISHED = ROOT / "published" / "paper"
# A new study has no published results.
WITH_RESULTS = [name for name in NAMED if (PUBLISHED / name).is_dir()]
WITH_MODELS = [name for name in WITH_RESULTS if load_study(name).about]


@functools.cache
def published_tables(study):
    return load_tables(PUBLISHED / study / "tables")


TABLES = {"published": published_tables, "recorded": recorded_tables, "empty": lambda study: Tables({})}
THERE = {"published": WITH_RESULTS, "recorded": KEPT, "empty": NAMED}
# Runs from start to end draw those of preset smoke. Where published bands take seconds, they are drawn in their place.
SLOW = {name: "published" if name == "streaming_evidence" else "recorded" for name in NAMED}
DRAWN = [
    pytest.param(*pair, source, marks=[pytest.mark.slow] * (source == SLOW[pair[0]]))
    for pair in FIGURES
    for source in TABLES
    if pair[0] in THERE[source]
]


def without_exact_answers(study):
    """Published tables as a run of another model would have made them: other settings, nothing known exactly."""
    tables = dict(published_tables(study))
    name, _, value = load_study(study).about.partition("=")
    other = -1.0 if value.replace(".", "").isdigit() else "another"
    tables["settings"] = tables["settings"].assign(**{name: other})
    quantities = {q for q in tables["quantity"]["quantity"] if not q.startswith("exact_")}
    kept = {
        name: table.drop(columns=[c for c in table if c.startswith("exact_")])
        for name, table in tables.items()
        if name in ("settings", "quantity") or quantities & set(table)
    }
    return Tables(kept)


def check_published_marks(figure, study):
    """Compares published marks and levels of a figure with the study's tables of claims and published values."""
    files = [STUDIES / study / name for name in ("claims.csv", EXTRA)]
    rows = pd.concat([pd.read_csv(file, dtype=str) for file in files if file.is_file()])
    rows = rows.set_index(["claim_id", "setting"], verify_integrity=True)
    numbers = rows.reindex(columns=["published", "value"]).bfill(axis=1)["published"]
    for line in figure.findobj(PublishedLine):
        # A level across has its unit there.
        across = line.across, line.get_xdata(orig=True), line.unit if line.up is None else 1.0
        up = line.up, line.get_ydata(orig=True), line.unit
        stated = [place for place in (across, up) if place[0] is not None]
        assert stated or line.kind == "curve", "a mark that stands for no published value"
        for value, places, unit in stated:
            assert list(places) == pytest.approx([float(numbers[value.key]) / unit] * len(places), rel=1e-12)


@pytest.mark.parametrize(("study", "name", "source"), DRAWN)
def test_a_figure_draws_or_says_what_is_missing(study, name, source):
    with use_style():
        try:
            figure = load_study(study).drawings()[name](TABLES[source](study))
        except MissingData:
            assert source != "published"
            return
        if source == "recorded":
            figure.set_layout_engine("none")
            figure.draw_without_rendering()
    check_published_marks(figure, study)
    says_so = [bool(axis.texts) and source == "recorded" for axis in figure.axes]
    assert all(a.has_data() or said for a, said in zip(figure.axes, says_so, strict=True) if a.axison)
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert source != "published" or not any("not run" in text for text in texts)


@pytest.mark.parametrize(("study", "figure"), [pair for pair in FIGURES if pair[0] in WITH_MODELS])
def test_figures_of_another_model_have_no_published_marks(study, figure):
    with use_style():
        drawn = load_study(study).drawings()[figure](without_exact_answers(study))
    labels = [line.get_label() for axis in drawn.axes for line in axis.lines]
    labels += [text.get_text() for legend in drawn.legends for text in legend.get_texts()]
    assert not any(str(label).startswith("published") for label in labels)
    assert not any("not recorded" in text.get_text() for axis in drawn.axes for text in axis.texts)


def test_figures_of_a_model_without_a_known_posterior_draw_the_rest():
    tables = without_exact_answers("gaussian_latent")
    tables = Tables(dict(tables) | {"chain": tables["chain"].drop(columns="work_normalised_error")})
    with use_style():
        drawings = load_study("gaussian_latent").drawings()
        drawn = {name: drawings[name](tables) for name in ("fig_rivals", "fig_3_6")}
    assert [axis.has_data() for axis in drawn["fig_rivals"].axes] == [True, True, False, False, True, True]
    assert "exact density" not in [text.get_text() for text in drawn["fig_3_6"].legends[0].get_texts()]


# Sizes of the thesis in preset `paper`: study, names of cases before their system, settings or grids of a batch.
SIZES = [
    ("boltzmann", "chains", {"n_chains": 100}),
    ("gaussian_latent", "pm_mh apm_mi_mh apm_ss_mh apm_slice", {"n_chains": 10}),
    ("gaussian_latent", "pm_mh", {"n_draws": 50_000, "step_size": np.arange(1, 41) * 0.025}),
    ("gaussian_latent", "apm_mi_mh apm_slice", {"n_draws": 20_000}),
    ("gaussian_latent", "apm_slice", {"bracket_width": np.arange(1, 51) * 0.2}),
    ("lotka_volterra", "constrained", {"n_chains": 10, "n_draws": 1000, "n_discard": 10}),
    ("lotka_volterra", "constrained", {"n_inner_steps": 3}),
    # Lengths as published, of more than the ten chains.
    ("lotka_volterra", "slices", {"n_chains": 100, "n_draws": 60_000, "n_discard": 30_000}),
    ("lotka_volterra", "hmc", {"n_chains": 100, "n_draws": 10_000, "n_discard": 5_000}),
    ("lotka_volterra", "summaries", {"n_chains": 10, "n_draws": 500_000, "n_discard": 250_000}),
    ("lotka_volterra", "failures", {"n_draws": 100_000}),
    ("streaming_evidence", "linear softmax mixture sensitivity", {"n_rows": 1_000_000}),
    ("streaming_evidence", "linear", {"n_particles": 10, "n_moves": 20, "target_share": 0.5}),
    ("streaming_evidence", "linear", {"batch_size": 500, "learning_rate": 0.1}),
    ("streaming_evidence", "linear_full", {"annealed_rows": 1_000_000}),
]


@pytest.mark.parametrize(("study", "names", "sizes"), SIZES)
def test_the_paper_preset_has_the_sizes_of_the_thesis(study, names, sizes):
    cases = {case.name: case.settings for case in load_study(study).cases("paper")}
    named = {name: settings for name, settings in cases.items() if name.split("__")[0] in names.split()}
    assert {name.split("__")[0] for name in named} == set(names.split())
    for settings in named.values():
        found = vars(settings) | settings.batch
        for name, value in sizes.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-12, err_msg=name)


def check_measured(judged, file):
    """Compares values and errors with those of a file; long curves are published in single precision."""
    pd.testing.assert_frame_equal(judged[MEASURED], pd.read_csv(file)[MEASURED], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("study", WITH_RESULTS)
def test_every_claim_and_number_is_that_of_the_published_results(study):
    tables = published_tables(study)
    judged = judge_study(load_study(study), tables)
    check_measured(judged, PUBLISHED / study / "claims.csv")
    # Nothing is measured for which the published run was too short.
    missing = judged["measured"].isna()
    assert set(judged.loc[missing, "verdict"]) <= {"not measured"}
    assert not missing.all()
    # Of a chain that never moved nobody has seen the end of its run: it is infinite, without an error.
    unbounded = np.isinf(judged["measured"])
    has_error = judged["exact"] | (judged["monte_carlo_error"] > 0.0)
    # What only bounds a value, because a run was too short, has no error and decides nothing.
    undecided = judged["verdict"].isin(["not measured", "inconclusive"])
    assert (has_error | undecided | unbounded | (judged["kind"] == "W")).all()
    numbers = measure_numbers(load_study(study), tables).set_index("name")
    kept = pd.read_csv(PUBLISHED / study / "numbers.csv").set_index("name").loc[numbers.index]
    np.testing.assert_allclose(numbers["value"].astype(float), kept["value"].astype(float), rtol=1e-6)


def test_published_claims_are_about_the_published_data():
    """A run on data or weights of the user's own is judged by none of them."""
    for study in map(load_study, NAMED):
        own = {"data", "weights"} & study.schema.__dataclass_fields__.keys()
        assert all(f"{name}=" in study.about.split() for name in own), study.name


@pytest.mark.parametrize("study", WITH_MODELS)
def test_published_claims_and_distances_from_curves_do_not_apply_to_another_model(study):
    found, tables = load_study(study), without_exact_answers(study)
    judged = judge_study(found, tables).query("origin == 'published'")
    assert set(judged["verdict"]) == {DOES_NOT_APPLY}
    assert judged["note"].str.startswith("needs ").all()
    numbers = measure_numbers(found, tables)
    assert numbers.loc[numbers["name"].str.startswith(DISTANCE), "value"].isna().all()


@pytest.mark.parametrize("study", WITH_RESULTS)
def test_runs_that_are_too_short_judge_nothing_about_long_ones(study):
    tables = dict(published_tables(study))
    needs = " ".join(claims_of(load_study(study))["needs"])
    needed = parse_needs(needs, names_of(load_study(study).schema))
    short = {need.name: 0.5 for need in needed if need.relation not in ("", "<=")}
    tables["settings"] = tables["settings"].assign(**short)
    judged = judge_study(load_study(study), Tables(tables))
    # What names cases alone holds for runs of every length.
    is_limited = judged["needs"].str.contains("=")
    assert (judged.loc[is_limited, "verdict"] == "not measured").all()
    # Some measures look for values at the last of the rows that a setting states.
    others = judged[~is_limited & judged["measured"].notna()]
    assert (others["verdict"] != "not measured").all()


def test_a_variant_lays_its_settings_over_all_cases(tmp_path):
    study = load_study("gaussian_latent")
    set_variant(tmp_path, study.name, "loud", "{sd_observation: 3.0}")
    place = StudyFile(tmp_path, study.name, study.schema)
    cases, loud = (study_cases(place._replace(variant=name), "smoke") for name in ("", "loud"))
    assert [case.name for case in loud] == [case.name for case in cases]
    assert {case.settings.sd_observation for case in loud} == {3.0}
    assert {case.settings.sd_observation for case in cases} == {2.0}
    with pytest.raises(SettingsError, match=r"unknown variant.*'lod'.*Did you mean 'loud'"):
        study_cases(place._replace(variant="lod"), "smoke")


def test_lines_without_functions_and_functions_without_lines_are_named_for_all_studies(monkeypatch):
    radon, latent = load_study("radon"), load_study("gaussian_latent")
    lines = [f"{claim}, {setting}" for claim, setting in claims_of(radon)[["claim_id", "setting"]].to_numpy()]
    study_tables.check_lines(["radon", "gaussian_latent"])
    monkeypatch.setattr(radon.module("claims"), "MEASURE", {})
    measures = latent.measures() | {"PM-X": {"a": None}}
    monkeypatch.setattr(latent.module("claims"), "MEASURE", measures)
    with pytest.raises(SettingsError) as found:
        study_tables.check_lines(["radon", "gaussian_latent"])
    expected = [f"radon/claims.csv: {line}: no function measures this line" for line in sorted(lines)]
    expected += ["gaussian_latent/claims.csv: PM-X, a: no line for this function"]
    assert str(found.value).splitlines() == expected
    study_tables.check_lines(["boltzmann", "radon"])


@pytest.mark.parametrize("study", KEPT)
def test_every_claim_number_and_quantity_of_a_sweep_is_measured_in_what_was_recorded(study):
    found, tables = load_study(study), recorded_tables(study)
    assert set(found.sweep_quantities) <= set(tables["quantity"]["quantity"])
    check_measured(judge_study(found, tables), RECORDED / study / "claims.csv")
    numbers = measure_numbers(found, tables)
    assert set(numbers["name"]) == set(found.numbers())
    assert (numbers.loc[numbers["value"].isna(), "note"] != "").all()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("study", NAMED)
def test_every_case_of_a_preset_composes(study, preset):
    names = [case.name for case in load_study(study).cases(preset)]
    assert names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("study", "words", "message"), [(study, *row) for study, rows in WRONG.items() for row in rows]
)
def test_wrong_settings_are_rejected(study, words, message):
    with pytest.raises(SettingsError, match=message):
        load_study(study).settings(words.replace("{EXAMPLES}", str(ROOT / "docs" / "examples")).split())
