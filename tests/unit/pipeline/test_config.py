"""Settings: composed as asked, refused with a line that helps."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from auxmc_pipeline.cases import study_cases, sweep_cases
from auxmc_pipeline.catalogue import CODE_ROOTS, CONF, load_study, studies
from auxmc_pipeline.kept_cases import digest_of_settings, kept_cases
from auxmc_pipeline.settings import (
    PRESETS,
    CaseSettings,
    SettingsError,
    compose_settings,
    numbers_of,
    parse_overrides,
    setting,
    split_overrides,
    sweep_values,
)

TOY_YAML = """\
# @package _global_
defaults:
  - /schema/toy
  - _self_
presets:
  smoke: {n_draws: 20, sizes: "1,2"}
  quick: {n_draws: 200, sizes: "1,2,4"}
  paper: {n_draws: 2000, sizes: "1,2,4,8"}
n_draws: ${presets.${preset}.n_draws}
grids:
  main:
    fixed: [kind=plain]
    over: ["size=${presets.${preset}.sizes}"]
    batch: ["step=range(0.1,0.45,0.1)"]
"""


@dataclasses.dataclass
class Toy(CaseSettings):
    kind: str = setting("plain", "kind", ("plain", "fancy"))
    size: int = setting(1, "size", (1, 64))
    step: float = setting(0.5, "step", (0.0, None))
    label: str = setting("", "label or path")


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "conf" / "study").mkdir(parents=True)
    root = Path(__file__).parents[3] / "conf" / "config.yaml"
    (tmp_path / "conf" / "config.yaml").write_text(root.read_text())
    (tmp_path / "conf" / "study" / "toy.yaml").write_text(TOY_YAML)
    return tmp_path / "conf"


def test_presets_give_sizes_and_an_override_wins(conf: Path) -> None:
    assert compose_settings(conf, "toy", Toy, ["preset=smoke"]).n_draws == 20
    assert compose_settings(conf, "toy", Toy, ["preset=smoke", "n_draws=33"]).n_draws == 33


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
        ("size=1,2", r"setting size: one value is allowed here, got a sweep: size=1,2"),
        ("size", r"expected KEY=VALUE or KEY=VALUE,VALUE,\.\.\., got 'size'"),
        ("step=0.1;0.2", r"got 'step=0.1;0.2'; values with signs .* quotation marks"),
        (
            "++resources.rntime=3",
            r"unknown resource of study toy: 'rntime'\. Did you mean 'runtime'\?",
        ),
        ("~size", r"setting size: allowed is KEY=VALUE, got ~size"),
        ("presets.smok.n_draws=3", r"setting presets.smok of study toy: .*'smok'"),
        ("++batch.step=[]", r"batch.step must be a list of one or more values"),
        ("++batch.step=[0.1,-1]", r"step must be at least 0.0, got -1"),
        ("++batch.size=[0.5]", r"batch.size: each value must be int, got 0.5"),
        ("++batch.stp=[1.0]", r"unknown batched setting of study toy: 'stp'\. Did you mean 'step'\?"),
    ],
)
def test_a_wrong_setting_is_rejected_with_its_name_value_and_what_is_allowed(
    conf: Path, override: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as rejected:
        compose_settings(conf, "toy", Toy, [override])
    assert "\n" not in str(rejected.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n_draws: ${", "n_draws ${", "line 9: could not find expected ':'"),
        ("grids:", "seed: 1\nseed: 2\ngrids:", "line 11: found duplicate key seed"),
        ("grids:", "\tseed: 1\ngrids:", "line 10: found character '\\t' that cannot start any token"),
        ("grids:", "block_sise: 5\ngrids:", "unknown setting: 'block_sise'. Did you mean 'block_size'?"),
        ("grids:", "seed: many\ngrids:", "Value 'many' of type 'str' could not be converted to Integer"),
        (
            ".n_draws}",
            ".n_drows}",
            "'presets.smoke.n_drows' not found (given: preset=smoke) Did you mean 'n_draws'?",
        ),
        ("  smoke:", "  smok:", "unknown preset: 'smok'. Did you mean 'smoke'?"),
        (
            "    fixed:",
            "    fixd:",
            "grids.main: expected fixed, over, batch, got 'fixd'. Did you mean 'fixed'?",
        ),
        ("[kind=plain]", "kind=plain", "grids.main.fixed: expected a list of KEY=VALUE, got 'kind=plain'"),
        (
            "[kind=plain]",
            "[knd=plain]",
            "grids.main: unknown setting of study toy: 'knd'. Did you mean 'kind'?",
        ),
        ("  main:\n", "  own: 3\n  main:\n", "grids.own: expected fixed, over, batch, got '3'."),
        ("  - /schema/toy\n", "", "expected `- /schema/toy` and `- _self_` under `defaults:`"),
        ("# @package _global_\n", "", "line 1: expected '# @package _global_', got 'defaults:'"),
    ],
)
def test_a_slip_in_a_file_of_settings_is_one_line_with_file_and_place(
    conf: Path, old: str, new: str, message: str
) -> None:
    assert TOY_YAML.count(old) == 1
    (conf / "study" / "toy.yaml").write_text(TOY_YAML.replace(old, new))
    with pytest.raises(SettingsError, match=re.escape(message)) as rejected:
        study_cases(conf, "toy", Toy, "smoke")
    assert "conf/study/toy.yaml" in str(rejected.value)
    assert "\n" not in str(rejected.value)


@pytest.mark.parametrize(
    "text",
    [
        "1.10",
        "007",
        "1e3",
        "null",
        "true",
        "plain name.csv",
        "Bob's (1).csv",
        "é{a}",
        "a=b",
        "'x, y'",
        "[1",
        "a:b#&",
    ],
)
def test_a_text_is_what_was_typed(conf: Path, text: str) -> None:
    settings = compose_settings(conf, "toy", Toy, [f"label={text}"])
    assert settings == dataclasses.replace(settings, label=text.strip("'"))
    (one, two) = sweep_cases(conf, "toy", Toy, "smoke", split_overrides(f"label=x,{text} size = 2"), [])
    assert (one.settings.size, one.settings.label, two.settings.label) == (2, "x", text.strip("'"))


def test_a_path_of_the_home_folder_is_found(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/own")
    assert compose_settings(conf, "toy", Toy, ["label=~/a b.csv"]).label == "/home/own/a b.csv"


def test_overrides_are_split_where_a_key_begins() -> None:
    text = "size=1, 2 label='a b=c' step = 0.5\nkind=choice(plain, fancy) ++batch.step=[1, 2]"
    words = ["size=1, 2", "label='a b=c'", "step = 0.5", "kind=choice(plain, fancy)", "++batch.step=[1, 2]"]
    assert split_overrides(text) == split_overrides(words) == words


def test_overrides_do_what_they_do_in_hydra(conf: Path) -> None:
    overrides = [
        "preset=paper",
        "n_draws=${presets.smoke.n_draws}",
        "++batch.step=[0.1,0.2]",
        "+resources.gpu=1",
        "grids.main.fixed=['kind=fancy']",
        "kind='fancy'",
    ]
    with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
        composed = compose("config", ["study=toy", *overrides])
    assert compose_settings(conf, "toy", Toy, overrides) == OmegaConf.to_object(composed)


def test_grids_span_cases_and_batches(conf: Path) -> None:
    cases = study_cases(conf, "toy", Toy, "quick")
    assert [case.name for case in cases] == ["main__size-1", "main__size-2", "main__size-4"]
    assert cases[0].settings.batch == {"step": [0.1, 0.2, 0.3, 0.4]}
    assert cases[0].axes == ("size", "step")


def test_a_user_sweep_batches_what_can_be_batched(conf: Path) -> None:
    cases = sweep_cases(conf, "toy", Toy, "smoke", ["size=1,2", "step=0.1,0.10,2e-1", "kind=fancy"], ["step"])
    assert [case.name for case in cases] == ["sweep__size-1", "sweep__size-2"]
    assert cases[1].settings.batch == {"step": [0.1, 0.2]}
    assert {case.settings.kind for case in cases} == {"fancy"}


@pytest.mark.parametrize("over", ["size=choice(2)", "size=range(2,3)", "step=choice(0.1)", "step=0.1,0.10"])
def test_a_sweep_of_one_value_is_a_sweep(conf: Path, over: str) -> None:
    (case,) = sweep_cases(conf, "toy", Toy, "smoke", [over], ["step"])
    name = over.partition("=")[0]
    assert case.axes == (name,)
    assert getattr(case.settings, name) == {"size": 2, "step": 0.1}[name]
    assert case.settings.batch == {}


def test_a_range_without_values_is_rejected(conf: Path) -> None:
    with pytest.raises(SettingsError, match=r"the sweep 'size=range\(2,2\)' has no values"):
        sweep_cases(conf, "toy", Toy, "smoke", ["size=range(2,2)"], ["step"])


def test_an_empty_sweep_is_rejected(conf: Path) -> None:
    with pytest.raises(SettingsError, match=r'a sweep needs over="KEY=VALUE,VALUE \.\.\."'):
        sweep_cases(conf, "toy", Toy, "smoke", [], ["step"])


def test_a_sweep_over_files_is_rejected() -> None:
    (override,) = parse_overrides(["size=glob(*)"])
    with pytest.raises(SettingsError, match="cannot expand the sweep"):
        sweep_values(override)


def test_only_what_changes_results_counts_as_a_number(conf: Path) -> None:
    quick = compose_settings(conf, "toy", Toy, ["preset=quick", "n_draws=20"])
    smoke = compose_settings(conf, "toy", Toy, ["preset=smoke", "++resources.mem_mb=1"])
    assert numbers_of(quick) == numbers_of(smoke)
    assert numbers_of(quick) != numbers_of(compose_settings(conf, "toy", Toy, ["step=0.25"]))


@pytest.mark.parametrize("study", studies())
@pytest.mark.parametrize("preset", PRESETS)
def test_every_case_of_every_study_composes(study: str, preset: str) -> None:
    cases = load_study(study).cases(preset)
    assert cases
    assert all(case.settings.preset == preset for case in cases)


def test_an_unknown_study_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"unknown study: 'gp_probi'\. Did you mean 'gp_probit'\?"):
        load_study("gp_probi")


def test_cases_that_are_kept_are_those_that_are_composed(tmp_path: Path) -> None:
    study = load_study("image_models")
    composed = study_cases(CONF, study.name, study.schema, "paper")
    place = tmp_path / "cases" / "x.json"
    assert kept_cases(place, study.schema, lambda: composed) == composed
    kept = kept_cases(place, study.schema, lambda: pytest.fail("composed again"))
    assert kept == composed
    assert [type(value) for case in kept for value in vars(case.settings).values()] == [
        type(value) for case in composed for value in vars(case.settings).values()
    ]


@pytest.mark.parametrize("content", ["", "[{", '[{"name": "a"}]', "\0\0\0", "3"])
def test_damaged_kept_cases_are_composed_again(tmp_path: Path, content: str) -> None:
    study = load_study("radon")
    composed = study_cases(CONF, study.name, study.schema, "smoke")
    place = tmp_path / "x.json"
    place.write_text(content)
    assert kept_cases(place, study.schema, lambda: composed) == composed
    assert kept_cases(place, study.schema, lambda: pytest.fail("not mended")) == composed


def test_where_nothing_can_be_written_cases_are_composed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    study = load_study("radon")
    composed = study_cases(CONF, study.name, study.schema, "smoke")
    assert kept_cases(tmp_path / "file" / "x.json", study.schema, lambda: composed) == composed


def test_kept_cases_depend_on_settings_code_and_the_files_of_hydra(tmp_path: Path) -> None:
    schema = load_study("radon").schema
    shutil.copytree(CONF, tmp_path / "conf")
    conf = tmp_path / "conf"
    first = digest_of_settings(conf, "radon", schema, CODE_ROOTS)
    (conf / "study" / "boltzmann.yaml").write_text("other: 1\n")
    assert digest_of_settings(conf, "radon", schema, CODE_ROOTS) == first
    assert digest_of_settings(conf, "radon", load_study("boltzmann").schema, CODE_ROOTS) != first
    for name in ("config.yaml", "study/radon.yaml"):
        (conf / name).write_text((conf / name).read_text() + "\n# other\n")
        changed = digest_of_settings(conf, "radon", schema, CODE_ROOTS)
        assert changed != first
        first = changed
