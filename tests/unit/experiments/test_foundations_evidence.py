"""Topics on evidence of the foundations: what is exact in full, tiny simulations, curves and figures."""

from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline.tidy import _melt
from experiments.foundations import captions_evidence
from experiments.foundations.figures_evidence import DRAW
from experiments.foundations.sample_measures import distance_from, mean_of, quantile_of, share_of
from experiments.foundations.topic import Measured, Work

TOPICS = {
    name: import_module(f"experiments.foundations.{name}").TOPIC
    for name in ("tempering", "evidence", "nested", "sequential")
}


@cache
def work() -> Work:
    return Work(3, "foundations", 1e-4)


@cache
def measured(topic: str, claim: str) -> dict[str, Measured]:
    return dict(TOPICS[topic].claims[claim](work()))


@cache
def curves() -> dict[str, xr.DataArray]:
    found: dict[str, xr.DataArray] = {}
    for topic in TOPICS.values():
        for draw in topic.curves.values():
            found |= draw(work())
    return found


def table() -> pd.DataFrame:
    return pd.concat(
        [_melt(array, name, {"case": "evidence"}) for name, array in curves().items()], ignore_index=True
    )


@pytest.mark.parametrize(
    ("topic", "claim", "setting", "value", "tolerance"),
    [
        ("tempering", "FN-TP-01", "inverse temperature 0.4", 0.610323, 1e-6),
        ("tempering", "FN-TP-02", "probability of index 4", 0.171139, 1e-6),
        # The base is a Gaussian, whose distribution function is known.
        ("tempering", "FN-TP-02", "mass of the left mode at index 0", 0.455213484871745, 1e-7),
        ("tempering", "FN-TP-04", "index 2 without the ratio", 0.16361, 1e-5),
        ("tempering", "FN-TP-05", "5 intervals", 30.0, 1e-9),
        ("tempering", "FN-TP-06", "mean", 1.0 / 3.0 - 1.0 / np.expm1(3.0), 1e-12),
        ("tempering", "FN-TP-07", "variance of the log weight, 50 steps", 0.189080, 1e-5),
        ("tempering", "FN-TP-08", "effective share of the weights of the base", 0.204116, 1e-5),
        ("evidence", "FN-EV-02", "decimal log exceeded by 2.5 %", -57.70, 0.02),
        ("evidence", "FN-EV-10", "upper bound less log evidence, 100 steps", 0.918955, 1e-5),
        ("evidence", "FN-EV-11", "number of temperatures, share 0.9", 14.0, 0.0),
        ("evidence", "FN-EV-13", "log Bayes factor", 0.33745991, 1e-8),
        ("evidence", "FN-EV-15", "sum over all paths, relative error", 0.0, 1e-12),
        ("evidence", "FN-EV-15", "sum over all reversed paths, relative error", 0.0, 1e-12),
        ("nested", "FN-NS-02", "100 live points", 4.917615e-5, 1e-11),
        ("nested", "FN-NS-03", "M/(M+1), 10 live points", 1.458963, 1e-5),
        ("nested", "FN-NS-05", "listing over sum of the text", 1.1, 1e-12),
        ("nested", "FN-NS-06", "in exact fractions, relative error", 0.0, 0.0),
    ],
)
def test_exact_values(topic: str, claim: str, setting: str, value: float, tolerance: float) -> None:
    found = measured(topic, claim)[setting]
    assert found.value == pytest.approx(value, abs=tolerance)
    assert found.error == 0.0


def test_the_kernels_index_move_keeps_its_law() -> None:
    assert measured("tempering", "FN-TP-04")["largest error with the ratio"].value < 1e-12


def test_all_settings_are_finite_and_unlike_each_other() -> None:
    for topic in ("tempering", "evidence", "nested"):
        for claim in TOPICS[topic].claims:
            found = measured(topic, claim)
            assert found
            assert all(np.isfinite(m.value) and m.error >= 0.0 for m in found.values()), claim


def test_curves_bear_the_name_of_their_figure() -> None:
    names = [name for topic in TOPICS.values() for name in topic.curves]
    assert sorted(names) == sorted(DRAW) == sorted(captions_evidence.CAPTIONS)
    for name, array in curves().items():
        owners = [figure for figure in names if name.startswith(figure)]
        assert len(owners) == 1
        assert all(str(dim).startswith(owners[0]) for dim in array.dims)


@pytest.mark.parametrize("name", sorted(DRAW))
def test_figures_draw_data_and_say_what_is_missing(name: str) -> None:
    with use_style():
        drawn = DRAW[name](pd.DataFrame(), table())
        empty = DRAW[name](pd.DataFrame(), pd.DataFrame())
    assert isinstance(drawn, Figure)
    assert all(axis.has_data() for axis in drawn.axes)
    texts = [text.get_text() for axis in empty.axes for text in axis.texts]
    assert texts
    assert all("not run" in text for text in texts)


def test_particles_of_the_figure_descend_from_their_ancestors() -> None:
    ancestors = curves()["slides_particle_filter_ancestor"]
    n = ancestors.sizes["slides_particle_filter_particle"]
    assert np.all(ancestors.sel(slides_particle_filter_tree="none") == np.arange(n))
    resampled = ancestors.sel(slides_particle_filter_tree="each step").values
    assert all(len(set(step)) < n for step in resampled)


def test_measures_of_samples() -> None:
    values = np.arange(1.0, 101.0)
    mean = mean_of(values)
    assert mean.value == 50.5
    assert mean.error == pytest.approx(np.std(values, ddof=1) / 10.0)
    assert distance_from(mean, 50.5 + 2.0 * mean.error).value == pytest.approx(2.0)
    assert share_of(values > 75.0) == Measured(0.25, pytest.approx(np.sqrt(0.25 * 0.75 / 100.0)))
    median = quantile_of(values, 50)
    assert median.value == 50.5
    # One binomial standard error is five values to either side.
    assert median.error == pytest.approx(4.95)
