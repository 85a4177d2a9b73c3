"""The study of docs/examples/study, as a reader would copy it, runs, draws and judges."""

import dataclasses
import importlib
import shutil

import pytest

import experiments
from auxmc.driver.results import write_result
from auxmc.plots.style import use_style
from auxmc_pipeline import catalogue
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.judging import study_tables
from auxmc_pipeline.tables import load_tables, tabulate, write_tables

TEMPLATE = catalogue.ROOT / "docs" / "examples" / "study"


@pytest.fixture
def study(tmp_path, monkeypatch):
    studies = tmp_path / "experiments"
    shutil.copytree(TEMPLATE, studies / "two_modes")
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(studies)])
    monkeypatch.setattr(catalogue, "CODE_ROOTS", (*catalogue.CODE_ROOTS, tmp_path))
    for module in (catalogue, study_tables):
        monkeypatch.setattr(module, "STUDIES", studies)
    return importlib.import_module("experiments.two_modes.study").STUDY


def test_the_template_runs_draws_and_judges(study, tmp_path):
    paths = []
    for case in study.cases("smoke"):
        context = RunContext("two_modes", 3, tmp_path / "checkpoints" / case.name, "identity", "test")
        groups = study.module("run").run(case.settings, context)
        paths.append(tmp_path / f"{case.name}.nc")
        write_result(paths[-1], groups, {"settings": dataclasses.asdict(case.settings), "numbers": "n"})
    write_tables(tmp_path / "tables", tabulate(paths))
    tables = load_tables(tmp_path / "tables")
    assert set(tables) == {"settings", "quantity", "chain", "chain_bin", "bin"}
    with use_style():
        for draw in study.drawings().values():
            assert draw(tables).axes[0].lines
    judged = study_tables.judge_study(study, tables)
    assert judged["verdict"].isin(["reproduced", "inconclusive"]).all()
    assert abs(judged["measured"].iloc[0] - 0.3267) < 5.0 * judged["monte_carlo_error"].iloc[0]
    assert study_tables.measure_numbers(study, tables)["value"].notna().all()
