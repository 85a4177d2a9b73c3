"""The figure of a sweep: a panel for each quantity, a line for each combination of settings."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from auxmc.plots.style import METHOD_COLOURS, use_style
from auxmc_pipeline.sweep_figure import sweep_figure


@pytest.fixture(autouse=True)
def style():
    with use_style():
        yield


def table_of(quantities=("ess",), coordinates=("",), **axes):
    rows = [
        {
            **dict(zip(axes, values, strict=True)),
            "quantity": quantity,
            "coordinate": coordinate,
            "value": 1.0 + i,
        }
        for i, values in enumerate(itertools.product(*axes.values()))
        for quantity, coordinate in itertools.product(quantities, coordinates)
    ]
    return pd.DataFrame(rows).assign(standard_error=0.1)


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_a_panel_per_quantity_and_a_line_per_combination():
    table = table_of(("ess", "acceptance_rate"), step_size=[0.4, 0.1], method=["apm_mi_mh", "pm_mh"])
    figure = sweep_figure(table, ["step_size", "method"], ["acceptance_rate", "ess"])
    assert [panel.get_ylabel() for panel in figure.axes] == ["acceptance rate", "ESS"]
    assert [panel.get_xlabel() for panel in figure.axes] == ["step size"] * 2
    assert labels(figure) == ["PM MH", "APM MI+MH"]
    first = figure.axes[0].lines[0]
    np.testing.assert_array_equal([first.get_xdata(), first.get_ydata()], [[0.1, 0.4], [4.0, 2.0]])
    assert to_hex(first.get_color()) == METHOD_COLOURS["pm_mh"].lower()
    (bar, _) = figure.axes[0].collections[0].get_segments()
    np.testing.assert_allclose(bar, [[0.1, 3.9], [0.1, 4.1]])


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 8, 64], "log"), ([1, 8, 30], "linear"), ([0, 64], "linear"), ([-1, 64], "linear")],
)
def test_a_wide_positive_range_is_logarithmic(values, scale):
    figure = sweep_figure(table_of(n_importance=values), ["n_importance"], ["ess"])
    assert figure.axes[0].get_xscale() == scale


def test_the_horizontal_axis_is_that_of_the_numbers_with_most_values():
    table = table_of(method=["pm_mh", "apm_mi_mh"], n_importance=[1, 8], step_size=[0.1, 0.2, 0.4])
    figure = sweep_figure(table, ["method", "n_importance", "step_size"], ["ess"])
    assert figure.axes[0].get_xlabel() == "step size"
    assert len(figure.axes[0].lines) == 4


@pytest.mark.parametrize("axes", [{}, {"step_size": [0.4]}, {"method": ["pm_mh"]}])
@pytest.mark.parametrize("error", [0.1, np.nan])
def test_one_point_is_drawn_without_a_legend(axes, error):
    figure = sweep_figure(table_of(**axes).assign(standard_error=error), list(axes), ["ess"])
    (line,) = figure.axes[0].lines
    assert line.get_marker() != "None"
    assert line.get_ydata() == [1.0]
    assert not figure.legends
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("coordinates", "titles"),
    [
        ((0, 1), ["coordinate 0", "coordinate 1"]),
        (("z1", "noise = 0.5"), ["z1", "noise = 0.5"]),
        (range(9), ["mean over 9 coordinates"]),
    ],
)
@pytest.mark.parametrize("axes", [{}, {"step_size": [1, 2]}])
def test_few_coordinates_have_a_panel_each_and_many_their_mean(coordinates, titles, axes):
    figure = sweep_figure(table_of(coordinates=tuple(coordinates), **axes), list(axes), ["ess"])
    assert [panel.get_title() for panel in figure.axes] == titles
    for panel in figure.axes:
        np.testing.assert_allclose(panel.lines[0].get_ydata(), [1.0, 2.0] if axes else [1.0])


def test_panels_that_cannot_be_drawn_say_why():
    table = table_of(step_size=[1, 2]).assign(value=np.nan)
    some = table_of(coordinates=tuple(range(9)), step_size=[1, 2]).iloc[:-1]
    figures = [
        sweep_figure(table, ["step_size"], ["ess", "unknown"]),
        sweep_figure(some, ["step_size"], ["ess"]),
    ]
    words = [panel.texts[0].get_text().replace("\n", " ") for figure in figures for panel in figure.axes]
    assert words[:2] == ["ESS: no finite values", "unknown: no finite values"]
    assert words[2].startswith("ESS: coordinates that are not at all points")
    figures[0].draw_without_rendering()


@pytest.mark.parametrize(
    ("axes", "quantities", "words"),
    [
        (["step_size"], ["ess"], "two rows for quantity ess at step_size = 1"),
        (["width"], ["ess"], "must have the columns width; it has step_size"),
        (["step_size"], [], "at least one quantity"),
    ],
)
def test_tables_that_do_not_fit_are_rejected(axes, quantities, words):
    with pytest.raises(ValueError, match=words):
        sweep_figure(table_of(step_size=[1, 2], seed=[0, 1]), axes, quantities)
