"""Settings: composed as asked, rejected with a line that helps."""

import dataclasses
import re
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from auxmc.driver.provenance import fingerprint
from auxmc_pipeline import catalogue
from auxmc_pipeline.case import StudyFile
from auxmc_pipeline.cases import compose_settings, study_cases, sweep_cases
from auxmc_pipeline.catalogue import load_study, stale_cases
from auxmc_pipeline.overrides import split_overrides
from auxmc_pipeline.settings import PRESETS, CaseSettings, SettingsError, numbers_of, setting

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

TOY_YAML = Path(__file__).with_name("toy_study.yaml").read_text(encoding="utf-8")


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


@pytest.mark.parametrize(("override", "message"), GIVEN["wrong_settings"])
def test_a_wrong_setting_is_rejected_with_its_name_value_and_what_is_allowed(toy, override, message):
    with pytest.raises(SettingsError, match=message) as rejected:
        compose_settings(toy, [override])
    assert "\n" not in str(rejected.value)


@pytest.mark.parametrize(("old", "new", "message"), GIVEN["slips"])
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
