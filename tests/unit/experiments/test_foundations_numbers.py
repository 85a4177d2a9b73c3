"""Topics of random numbers, direct sampling, importance weights and averages: tables, claims, figures."""

import csv
import math
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.tidy import _melt
from experiments.foundations import topic
from experiments.foundations.captions_numbers import CAPTIONS
from experiments.foundations.figures_numbers import DRAW
from experiments.foundations.topic import Measured, Work

TOPICS = {
    name: import_module(f"experiments.foundations.{name}").TOPIC
    for name in ("random_numbers", "direct_sampling", "importance", "averages")
}
WORK = Work(7, "foundations", 1e-3)
# All but those that are large by their nature: 20 runs of 1e5 weights, and of chains of 1e5 draws.
CHEAP = sorted({claim for part in TOPICS.values() for claim in part.claims} - {"FN-IS-03", "FN-MC-04"})


@cache
def measured(claim: str) -> dict[str, Measured]:
    (part,) = (part for part in TOPICS.values() if claim in part.claims)
    return dict(part.claims[claim](WORK))


@cache
def table() -> pd.DataFrame:
    curves = {}
    for part in TOPICS.values():
        for name, draw in part.curves.items():
            if name != "slides_importance":
                curves |= draw(WORK)
    return pd.concat([_melt(array, name, {"case": "numbers"}) for name, array in curves.items()])


def test_every_claim_of_the_four_topics_has_a_function() -> None:
    expected = [f"FN-RNG-0{i}" for i in range(1, 5)] + [f"FN-DS-0{i}" for i in range(1, 10)]
    expected += [f"FN-IS-{i:02d}" for i in range(1, 12)] + [f"FN-MC-0{i}" for i in range(1, 6)]
    assert [claim for part in TOPICS.values() for claim in part.claims] == expected


def test_every_line_of_the_claims_is_measured_and_no_other() -> None:
    with Path(topic.__file__).with_name("claims.csv").open(newline="") as file:
        lines = [(row["claim_id"], row["setting"]) for row in csv.DictReader(file)]
    for claim in CHEAP:
        assert [setting for listed, setting in lines if listed == claim] == list(measured(claim)), claim


@pytest.mark.parametrize("claim", CHEAP)
def test_every_value_is_a_number_with_an_error(claim: str) -> None:
    for setting, found in measured(claim).items():
        assert math.isfinite(found.value), setting
        assert found.error >= 0.0, setting
        if setting.endswith("distance in standard errors"):
            assert found.value < 5.2, setting


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
    for part in TOPICS.values():
        for name, draw in part.curves.items():
            if name == "slides_importance":
                continue
            for variable, array in draw(WORK).items():
                assert isinstance(array, xr.DataArray)
                assert all(str(word).startswith(name) for word in (variable, *array.dims))
                assert all(dim in array.coords for dim in array.dims)


def test_every_figure_has_a_caption_and_arrays() -> None:
    assert set(DRAW) == set(CAPTIONS) == {name for part in TOPICS.values() for name in part.curves}


@pytest.mark.parametrize("name", DRAW)
def test_figures_are_drawn_from_the_table_and_say_so_where_it_is_empty(name: str) -> None:
    with use_style():
        for curves in (table(), pd.DataFrame()):
            figure = DRAW[name](pd.DataFrame(), curves)
            assert isinstance(figure, Figure)
            figure.canvas.draw()
        texts = [text.get_text().replace("\n", " ") for axis in figure.axes for text in axis.texts]
    assert "not run at this preset" in texts


def test_the_first_bit_of_the_raster_alternates() -> None:
    rows = table()[table()["quantity"] == "fig_2_1_bits"]
    lowest = rows[rows["fig_2_1_bit"] == 0].sort_values("fig_2_1_state")["value"].to_numpy()
    np.testing.assert_array_equal(lowest, np.arange(128) % 2 == 0)
