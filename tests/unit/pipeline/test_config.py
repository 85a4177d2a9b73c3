"""Settings: composed as asked, rejected with a line that helps."""

import dataclasses
import re

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from auxmc.driver.provenance import fingerprint
from auxmc_pipeline import catalogue
from auxmc_pipeline.cases import StudyFile, compose_settings, study_cases, sweep_cases
from auxmc_pipeline.catalogue import load_study, stale_cases
from auxmc_pipeline.overrides import split_overrides
from auxmc_pipeline.settings import PRESETS, CaseSettings, SettingsError, numbers_of, setting

TOY_YAML = """\
defaults:
  - /schema/toy
  - _self_
cases:
  main: {kind: plain, over: {size: [1, 2]}, batch: {step: "range(0.1,0.45,0.1)"}}
  own: {kind: fancy, n_draws: 30, resources: {pieces: 2}}
presets:
  smoke: {n_draws: 20, cases: {own: null}}
  quick: {n_draws: 200, cases: {main: {over: {size: [1, 2, 4]}}}}
  paper: {n_draws: 2000, cases: {main: {size: 8, over: null}}}
"""


@dataclasses.dataclass
class Toy(CaseSettings):
    kind: str = setting("plain", "kind", ("plain", "fancy"))
    size: int = setting(1, "size", (1, 64))
    step: float = setting(0.5, "step", (0.0, None))
    label: str = setting("", "label or path")


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "config.yaml").write_text(TOY_YAML)
    return StudyFile(tmp_path, "toy", Toy)


def test_presets_give_sizes_and_an_override_wins(toy):
    assert compose_settings(toy, ["preset=smoke"]).n_draws == 20
    assert compose_settings(toy, ["preset=smoke", "n_draws=33"]).n_draws == 33


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("siz=3", r"unknown setting of study toy: 'siz'\. Did you mean 'size'\?$"),
        ("size=0", r"size must be between 1 and 64, got 0"),
        ("size=65", r"size must be between 1 and 64, got 65"),
        (
            "size=many",
            r"setting size of study toy: Value 'many' of type 'str' could not be converted to Integer",
        ),
        (
            "size=2.5",
            r"setting size of study toy: Value '2.5' of type 'float' could not be converted to Integer",
        ),
        ("step=-1", r"step must be at least 0.0, got -1"),
        ("step=nan", r"step must be at least 0.0, got nan"),
        ("kind=fncy", r"kind must be one of plain, fancy, got 'fncy'\. Did you mean 'fancy'\?"),
        ("preset=smok", r"unknown preset: 'smok'\. Did you mean 'smoke'\? Allowed: smoke, quick, paper"),
        ("size=1,2", r"setting size: expected KEY=VALUE with one value, got size=1,2"),
        ("size", r"expected KEY=VALUE or KEY=VALUE,VALUE,\.\.\., got 'size'"),
        ("step=0.1;0.2", r"got 'step=0.1;0.2'; values with signs .* quotation marks"),
        ("++resources.rntime=3", r"unknown resource of study toy: 'rntime'\. Did you mean 'runtime'\?"),
        ("~size", r"setting size: expected KEY=VALUE with one value, got ~size"),
        ("presets.smoke.n_draws=3", r"unknown setting of study toy: 'presets.smoke.n_draws'"),
        ("++batch.step=[]", r"batch.step: expected a list of float values, got \[\]"),
        ("++batch.step=[0.1,-1]", r"step must be at least 0.0, got -1"),
        ("++batch.size=[0.5]", r"batch.size: expected a list of int values, got \[0.5\]"),
        ("++batch.stp=[1.0]", r"unknown batched setting of study toy: 'stp'\. Did you mean 'step'\?"),
    ],
)
def test_a_wrong_setting_is_rejected_with_its_name_value_and_what_is_allowed(toy, override, message):
    with pytest.raises(SettingsError, match=message) as rejected:
        compose_settings(toy, [override])
    assert "\n" not in str(rejected.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cases:\n", "cases\n", "line 4: could not find expected ':'"),
        ("presets:", "seed: 1\nseed: 2\npresets:", "line 8: found duplicate key seed"),
        ("presets:", "\tseed: 1\npresets:", "line 7: found character '\\t' that cannot start any token"),
        ("presets:", "block_sise: 5\npresets:", "unknown setting: 'block_sise'. Did you mean 'block_size'?"),
        ("presets:", "seed: many\npresets:", "Value 'many' of type 'str' could not be converted to Integer"),
        ("{n_draws: 20,", "{n_drows: 20,", "unknown setting: 'n_drows'. Did you mean 'n_draws'?"),
        ("  smoke:", "  smok:", "unknown preset: 'smok'. Did you mean 'smoke'?"),
        (
            "kind: plain",
            "knd: plain",
            "cases.main: unknown setting of study toy: 'knd'. Did you mean 'kind'?",
        ),
        ("size: [1, 2]", "size: 2", "cases.main: size: expected a list of values, got 2"),
        ("  own:", "  more: 3\n  own:", "cases.more: expected a mapping of settings, got 3"),
        ("  - /schema/toy\n", "", "expected `- /schema/toy` and `- _self_` under `defaults:`"),
    ],
)
def test_a_slip_in_a_file_of_settings_is_one_line_with_file_and_place(toy, old, new, message):
    (toy.studies / "toy" / "config.yaml").write_text(TOY_YAML.replace(old, new, 1))
    with pytest.raises(SettingsError, match=re.escape(message)) as rejected:
        study_cases(toy, "smoke")
    assert f"{toy.studies.name}/toy/config.yaml" in str(rejected.value)
    assert "\n" not in str(rejected.value)


WORDS = "1.10 007 1e3 null true é{a} a=b [1 a:b#&"


@pytest.mark.parametrize("text", [*WORDS.split(), "plain name.csv", "Bob's (1).csv", "'x, y'"])
def test_a_text_is_what_was_typed(toy, text):
    settings = compose_settings(toy, [f"label={text}"])
    assert settings == dataclasses.replace(settings, label=text.strip("'"))
    (one, two) = sweep_cases(toy, "smoke", split_overrides(f"label=x,{text} size = 2"), [])
    assert (one.settings.size, one.settings.label, two.settings.label) == (2, "x", text.strip("'"))


def test_a_path_of_the_home_folder_is_found(toy, monkeypatch):
    monkeypatch.setenv("HOME", "/home/own")
    assert compose_settings(toy, ["label=~/a b.csv"]).label == "/home/own/a b.csv"


def test_overrides_are_split_where_a_key_begins():
    text = "size=1, 2 label='a b=c' step = 0.5\nkind=choice(plain, fancy) ++batch.step=[1, 2]"
    words = ["size=1, 2", "label='a b=c'", "step = 0.5", "kind=choice(plain, fancy)", "++batch.step=[1, 2]"]
    assert split_overrides(text) == split_overrides(words) == words


def test_overrides_do_what_they_do_in_hydra(toy):
    overrides = ["n_draws=${n_chains}0", "++batch.step=[0.1,0.2]", "+resources.gpu=1", "kind='fancy'"]
    with initialize_config_dir(str(toy.studies / "toy"), version_base="1.3"):
        composed = compose("config", overrides)
    expected = dataclasses.replace(OmegaConf.to_object(composed), n_draws=40, presets={}, cases={})
    assert compose_settings(toy, overrides) == expected


def test_cases_are_merged_over_the_preset_and_span_values(toy):
    cases = study_cases(toy, "quick")
    assert [case.name for case in cases] == ["main__size-1", "main__size-2", "main__size-4", "own"]
    assert cases[0].settings.batch == {"step": [0.1, 0.2, 0.3, 0.4]}
    assert cases[0].axes == ("size", "step")
    assert cases[3].settings == Toy(preset="quick", kind="fancy", n_draws=30, resources={"pieces": 2})
    assert [case.name for case in study_cases(toy, "smoke")] == ["main__size-1", "main__size-2"]
    (alone, _) = study_cases(toy, "paper")
    assert (alone.name, alone.settings.size, alone.settings.n_draws) == ("main", 8, 2000)


@pytest.mark.parametrize("preset", PRESETS)
def test_overrides_of_a_case_make_its_settings(preset):
    for study in map(load_study, ("gp_probit", "streaming_evidence", "human_pose")):
        for case in study.cases(preset):
            assert compose_settings(study.file, case.overrides) == case.settings


def test_a_user_sweep_batches_what_can_be_batched(toy):
    cases = sweep_cases(toy, "smoke", ["size=1,2", "step=0.1,0.10,2e-1", "kind=fancy"], ["step"])
    assert [case.name for case in cases] == ["sweep__size-1", "sweep__size-2"]
    assert cases[1].settings.batch == {"step": [0.1, 0.2]}
    assert {case.settings.kind for case in cases} == {"fancy"}


@pytest.mark.parametrize("over", ["size=choice(2)", "size=range(2,3)", "step=choice(0.1)", "step=0.1,0.10"])
def test_a_sweep_of_one_value_is_a_sweep(toy, over):
    (case,) = sweep_cases(toy, "smoke", [over], ["step"])
    name = over.partition("=")[0]
    assert case.axes == (name,)
    assert getattr(case.settings, name) == {"size": 2, "step": 0.1}[name]
    assert case.settings.batch == {}


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (["size=range(2,2)"], r"the sweep 'size=range\(2,2\)' has no values"),
        (["size=glob(*)"], "cannot expand the sweep"),
        ([], r'a sweep needs over="KEY=VALUE,VALUE \.\.\."'),
    ],
)
def test_sweeps_without_values_and_over_files_are_rejected(toy, over, message):
    with pytest.raises(SettingsError, match=message):
        sweep_cases(toy, "smoke", over, ["step"])


def test_only_what_changes_results_counts_as_a_number(toy):
    quick = compose_settings(toy, ["preset=quick", "n_draws=20"])
    smoke = compose_settings(toy, ["preset=smoke", "++resources.mem_mb=1"])
    assert numbers_of(quick) == numbers_of(smoke)
    assert numbers_of(quick) != numbers_of(compose_settings(toy, ["step=0.25"]))


def test_cases_that_are_kept_are_those_that_hydra_composes(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    composed = load_study("radon").cases("quick")
    (kept,) = tmp_path.glob(".cache/cases/*.json")
    assert repr(load_study("radon").cases("quick")) == repr(composed)
    kept.write_text(kept.read_text().replace("2500", "2600"))
    assert load_study("radon").cases("quick")[0].settings.n_draws == 2600
    kept.write_text("[[")
    assert repr(load_study("radon").cases("quick")) == repr(composed)
    assert repr(load_study("radon").cases("smoke")) != repr(composed)


def test_tables_of_another_device_are_read_and_those_of_another_seed_are_not():
    study = load_study("radon")
    on_gpu = [case.on("gpu") for case in study.cases("smoke")]
    assert all("hardware=gpu" in case.overrides for case in on_gpu)
    numbers = {case.name: fingerprint(numbers_of(case.settings)) for case in on_gpu}
    assert stale_cases(study, "smoke", numbers) == []
    seeded = dataclasses.replace(on_gpu[0].settings, seed=5)
    numbers[on_gpu[0].name] = fingerprint(numbers_of(seeded))
    assert stale_cases(study, "smoke", numbers) == [on_gpu[0].name]
