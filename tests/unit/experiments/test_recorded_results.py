"""Every figure of a study draws and every claim measures what was recorded, from results of preset `smoke`."""

import functools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.judging.study_tables import measure_numbers
from auxmc_pipeline.settings import PRESETS
from auxmc_pipeline.tables import MissingData, Tables
from tests.unit.experiments.published_marks import check_published_marks
from tests.unit.experiments.record import RECORDED, measured, recorded_tables

STUDIES = sorted(path.name for path in RECORDED.iterdir())
FIGURES = [(study, figure) for study in STUDIES for figure in load_study(study).figures]

tables = functools.cache(recorded_tables)


@pytest.mark.parametrize("is_recorded", [True, False], ids=["recorded", "empty"])
@pytest.mark.parametrize(("study", "name"), FIGURES)
def test_a_figure_draws_or_says_what_is_missing(study, name, is_recorded):
    draw = load_study(study).drawings()[name]
    with use_style():
        try:
            figure = draw(tables(study) if is_recorded else Tables({}))
        except MissingData:
            return
        figure.draw_without_rendering()
    assert isinstance(figure, Figure)
    check_published_marks(figure, study)
    assert all(axis.has_data() for axis in figure.axes if axis.axison)


@pytest.mark.parametrize("study", STUDIES)
def test_every_claim_measures_what_was_recorded(study):
    recorded = pd.read_csv(RECORDED / study / "claims.csv")
    found = measured(study)
    assert (
        found[["claim_id", "setting"]].to_numpy().tolist()
        == recorded[["claim_id", "setting"]].to_numpy().tolist()
    )
    for name in ("measured", "monte_carlo_error"):
        np.testing.assert_allclose(found[name], recorded[name], rtol=1e-6, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("study", STUDIES)
def test_every_number_of_a_finding_measures(study):
    numbers = measure_numbers(load_study(study), tables(study))
    assert set(numbers["name"]) == set(load_study(study).numbers())
    without = numbers[numbers["value"].isna()]
    assert (without["note"] != "").all()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("study", STUDIES)
def test_every_case_of_a_preset_composes(study, preset):
    names = [case.name for case in load_study(study).cases(preset)]
    assert names
    assert len(set(names)) == len(names)
