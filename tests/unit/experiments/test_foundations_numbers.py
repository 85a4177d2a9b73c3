"""Topics of random numbers, direct sampling, importance weights and averages: tables, claims, figures."""

import math

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from experiments.foundations.run import TOPICS, curves_of
from tests.unit.experiments.foundations_topics import EMPTY, Computed, listed, says_not_run

NUMBERS = Computed("numbers", 7, 1e-3, without="slides_importance")
DRAW = load_study("foundations").drawings()
# All but those that are large by their nature: 20 runs of 1e5 weights, and of chains of 1e5 draws.
CHEAP = sorted(set(NUMBERS.claims) - {"FN-IS-03", "FN-MC-04"})
measured = NUMBERS.measured


def test_every_claim_of_the_four_topics_has_a_function() -> None:
    expected = [f"FN-RNG-0{i}" for i in range(1, 5)] + [f"FN-DS-0{i}" for i in range(1, 10)]
    expected += [f"FN-IS-{i:02d}" for i in range(1, 12)] + [f"FN-MC-0{i}" for i in range(1, 6)]
    assert list(NUMBERS.claims) == expected


def test_every_line_of_the_claims_is_measured_and_no_other() -> None:
    for claim in CHEAP:
        assert listed()[claim] == list(measured(claim)), claim


@pytest.mark.parametrize("claim", CHEAP)
def test_every_value_is_a_number_with_an_error(claim: str) -> None:
    for setting, found in measured(claim).items():
        assert math.isfinite(found.value), setting
        assert found.error >= 0.0, setting
        if setting.endswith("distance in standard errors"):
            assert found.value < 5.2, setting
            assert found.error == 1.0, setting


@pytest.mark.parametrize(
    ("claim", "setting", "value"),
    [
        ("FN-RNG-03", "full period pairs", 2048.0),
        ("FN-DS-08", "conditional second moment", 17.90242858),
        ("FN-IS-01", "variance 1", math.e),
        ("FN-IS-10", "variance of direct draws", 2.0),
        ("FN-MC-03", "mean of the covariances", 11.0 / 18.0),
    ],
)
def test_closed_forms(claim: str, setting: str, value: float) -> None:
    assert measured(claim)[setting].value == pytest.approx(value, rel=1e-9)


def test_what_the_sources_print_wrongly_shows() -> None:
    assert measured("FN-DS-02")["as printed"].value > 0.1
    assert measured("FN-IS-02")["linear coefficient as printed"].value == pytest.approx(-100.0)
    assert measured("FN-IS-08")["1 / (1 + Var(w / mean w)) as printed"].value > 0.9
    assert measured("FN-MC-03")["error of the formula as printed"].value == pytest.approx(-1.0 / 6.0)


def test_the_extreme_bit_patterns_hold_the_one_that_needs_the_guard() -> None:
    found = measured("FN-RNG-04")
    for bits in (32, 64):
        assert found[f"{bits} bits: normal numbers that are not finite"].value == 0.0
        assert found[f"{bits} bits: the same with log u in place of log(1 - u)"].value >= 1.0


def test_names_of_arrays_and_axes_begin_with_the_figure() -> None:
    for name, arrays in NUMBERS.curves.items():
        for variable, array in arrays.items():
            assert isinstance(array, xr.DataArray)
            assert all(str(word).startswith(name) for word in (variable, *array.dims))
            assert all(dim in array.coords for dim in array.dims)


def test_every_figure_has_a_caption_and_arrays() -> None:
    captions = load_study("foundations").figures
    assert set(DRAW) == set(captions) == {name for design in TOPICS for name in curves_of(design)}


@pytest.mark.parametrize("name", list(NUMBERS.figures))
def test_figures_are_drawn_from_the_table_and_say_so_where_it_is_empty(name: str) -> None:
    with use_style():
        for tables in (NUMBERS.tables, EMPTY):
            figure = DRAW[name](tables)
            assert isinstance(figure, Figure)
            figure.canvas.draw()
    assert any(says_not_run(figure))


def test_the_first_bit_of_the_raster_alternates() -> None:
    rows = NUMBERS.tables.curves.rows("fig_2_1_bits")
    lowest = rows[rows["fig_2_1_bit"] == 0].sort_values("fig_2_1_state")["value"].to_numpy()
    np.testing.assert_array_equal(lowest, np.arange(128) % 2 == 0)
