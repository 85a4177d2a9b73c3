"""Shared panels draw what they are given, and reject what does not fit."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from auxmc.plots.panels import (
    band_curve,
    bar_place,
    histogram_panel,
    mean_bars,
    missing_panel,
    preset_note,
    trace_panel,
)
from auxmc.plots.style import METHOD_COLOURS, use_style
from auxmc.plots.sweeps import sweep_figure


@pytest.fixture(autouse=True)
def style():
    with use_style():
        yield


@pytest.fixture
def axis():
    return Figure(figsize=(3.0, 2.0), layout="constrained").subplots()


def sweep_table(quantities=("ess",), coordinates=("",), **axes):
    rows = []
    for index, values in enumerate(itertools.product(*axes.values())):
        for quantity, coordinate in itertools.product(quantities, coordinates):
            point = dict(zip(axes, values, strict=True))
            numbers = {"value": 1.0 + index, "standard_error": 0.1}
            rows.append({**point, "quantity": quantity, "coordinate": coordinate, **numbers})
    return pd.DataFrame(rows)


def curves(panel):
    return list(panel.lines)


def legend_labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_band_is_half_a_width_each_side(axis):
    band_curve(axis, [0.0, 1.0], [1.0, 2.0], [0.5, 0.25], colour="#000000")
    extent = axis.collections[0].get_paths()[0].get_extents()
    assert (extent.y0, extent.y1) == (0.5, 2.25)


def test_lone_point_of_a_curve_is_visible(axis):
    assert band_curve(axis, [1.0], [2.0], [0.1], colour="#000000").get_marker() == "o"


def test_curve_of_another_length_is_rejected(axis):
    with pytest.raises(ValueError, match=r"equal length, got shapes \(2,\), \(3,\)"):
        band_curve(axis, [0.0, 1.0], [1.0, 2.0, 3.0], colour="#000000")


def test_trace_counts_iterations(axis):
    trace_panel(axis, np.zeros(11), first_iteration=9000, thin=10)
    assert axis.get_xlim() == (9000, 9100)


def test_long_trace_is_an_image_in_the_pdf(axis):
    trace_panel(axis, np.zeros(30000))
    assert axis.lines[0].get_rasterized()


def test_histogram_is_a_density(axis):
    edges = np.array([0.0, 1.0, 3.0])
    histogram_panel(axis, edges, [2, 2], element="bars")
    assert [(bar.get_x(), bar.get_width()) for bar in axis.patches] == [(0.0, 1.0), (1.0, 2.0)]
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], [0.5, 0.25])
    histogram_panel(axis, edges, [2, 2], n_total=8, element="bars")
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches[2:]], [0.25, 0.125])
    histogram_panel(axis, edges, [2, 2], n_total=8)
    assert axis.collections[0].get_paths()[0].get_extents().y1 == 0.25


def test_unusable_histogram_is_rejected(axis):
    with pytest.raises(ValueError, match=r"edges must be \[4\]"):
        histogram_panel(axis, [0.0, 1.0, 2.0], [1, 2, 3])
    with pytest.raises(ValueError, match="positive sum"):
        histogram_panel(axis, [0.0, 1.0], [0])


def replicates(**values):
    """Two groups a, b of each series, with two replicates 0.1 to both sides of their mean."""
    return pd.DataFrame(
        [
            {"group": group, "series": name, "value": mean + apart}
            for name, means in values.items()
            for group, mean in zip("ab", means, strict=True)
            for apart in (-0.1, 0.1)
        ]
    )


def test_bars_of_a_group_stand_side_by_side_in_method_colours_with_one_standard_error(axis):
    rows = replicates(pm_mh=[1.0, 2.0], apm_ss_ss=[3.0, 4.0])
    assert mean_bars(axis, rows, "group", "series", METHOD_COLOURS) == ["pm_mh", "apm_ss_ss"]
    assert axis.get_legend_handles_labels()[1] == ["pm_mh", "apm_ss_ss"]
    bars = sorted(axis.containers[0].patches + axis.containers[1].patches, key=lambda bar: bar.get_x())
    np.testing.assert_allclose([bar.get_height() for bar in bars], [1.0, 3.0, 2.0, 4.0])
    assert all(left.get_x() + left.get_width() <= right.get_x() for left, right in itertools.pairwise(bars))
    assert to_hex(bars[1].get_facecolor()) == METHOD_COLOURS["apm_ss_ss"].lower()
    middles = [bar.get_x() + 0.5 * bar.get_width() for bar in bars]
    np.testing.assert_allclose(middles, [bar_place(g, s, 2) for g in range(2) for s in range(2)])
    error = next(line for line in axis.lines if np.allclose(line.get_xdata(), middles[0]))
    np.testing.assert_allclose(error.get_ydata(), [0.9, 1.1])


def test_a_bar_of_which_a_replicate_is_unknown_is_not_drawn_from_the_others(axis):
    rows = replicates(pm_mh=[1.0, 2.0])
    rows.loc[0, "value"] = np.nan
    mean_bars(axis, rows, "group", "series", METHOD_COLOURS)
    assert [bar.get_height() for bar in axis.containers[0] if np.isfinite(bar.get_height())] == [2.0]


def test_bars_on_a_logarithmic_axis_are_means_of_values_and_not_of_logarithms(axis):
    rows = pd.DataFrame({"group": ["a", "a"], "series": ["pm_mh", "pm_mh"], "value": [1.0, 100.0]})
    mean_bars(axis, rows, "group", "series", METHOD_COLOURS)
    axis.set_yscale("log")
    assert axis.containers[0][0].get_height() == 50.5
    with pytest.raises(ValueError, match="set the scale log after they are drawn"):
        mean_bars(axis, rows, "group", "series", METHOD_COLOURS)


def test_missing_panel_says_why(axis):
    missing_panel(axis, "not run at this preset")
    assert axis.texts[0].get_text() == "not run at this preset"
    assert len(axis.get_xticks()) == len(axis.get_yticks()) == 0


def test_note_stands_below_the_panels(axis):
    axis.set_xlabel("step size")
    preset_note(axis.figure, "preset smoke, data set calibrated")
    axis.figure.draw_without_rendering()
    note = axis.figure.texts[0].get_window_extent()
    assert note.y0 >= 0.0
    assert note.y1 <= axis.get_tightbbox().y0


def test_sweep_draws_a_panel_per_quantity_and_a_line_per_combination():
    table = sweep_table(("ess", "acceptance_rate"), step_size=[0.4, 0.1], method=["apm_mi_mh", "pm_mh"])
    figure = sweep_figure(table, ["step_size", "method"], ["acceptance_rate", "ess"])
    assert [panel.get_ylabel() for panel in figure.axes] == ["acceptance rate", "ESS"]
    assert [panel.get_xlabel() for panel in figure.axes] == ["step size"] * 2
    assert legend_labels(figure) == ["PM MH", "APM MI+MH"]
    first = curves(figure.axes[0])[0]
    np.testing.assert_array_equal(first.get_xdata(), [0.1, 0.4])
    np.testing.assert_array_equal(first.get_ydata(), [4.0, 2.0])
    assert to_hex(first.get_color()) == METHOD_COLOURS["pm_mh"].lower()


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 8, 64], "log"), ([1, 8, 30], "linear"), ([0, 64], "linear"), ([-1, 64], "linear")],
)
def test_sweep_over_a_wide_positive_range_is_logarithmic(values, scale):
    figure = sweep_figure(sweep_table(n_importance=values), ["n_importance"], ["ess"])
    assert figure.axes[0].get_xscale() == scale


def test_sweep_over_text_has_a_place_per_value():
    table = sweep_table(dataset=["as_stated", "calibrated"], method=["pm_mh", "apm_mi_mh"])
    figure = sweep_figure(table, ["dataset", "method"], ["ess"])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["as stated", "calibrated"]
    assert legend_labels(figure) == ["PM MH", "APM MI+MH"]


def test_sweep_is_drawn_against_the_numbers_with_most_values():
    table = sweep_table(method=["pm_mh", "apm_mi_mh"], n_importance=[1, 8], step_size=[0.1, 0.2, 0.4])
    figure = sweep_figure(table, ["method", "n_importance", "step_size"], ["ess"])
    assert figure.axes[0].get_xlabel() == "step size"
    assert len(curves(figure.axes[0])) == 4


def test_sweep_of_one_point_draws_it():
    for axes in ({}, {"step_size": [0.4]}, {"method": ["pm_mh"]}):
        figure = sweep_figure(sweep_table(**axes), list(axes), ["ess"])
        (line,) = curves(figure.axes[0])
        assert line.get_marker() != "None"
        np.testing.assert_array_equal(line.get_ydata(), [1.0])
        assert not figure.legends


def test_sweep_with_few_coordinates_has_a_panel_each_and_with_many_their_mean():
    few = sweep_figure(sweep_table(coordinates=(0, 1), step_size=[1, 2]), ["step_size"], ["ess"])
    assert [panel.get_title() for panel in few.axes] == ["coordinate 0", "coordinate 1"]
    named = sweep_figure(sweep_table(coordinates=("z1", "noise = 0.5")), [], ["ess"])
    assert [panel.get_title() for panel in named.axes] == ["z1", "noise = 0.5"]
    many = sweep_figure(sweep_table(coordinates=tuple(range(9)), step_size=[1, 2]), ["step_size"], ["ess"])
    assert [panel.get_title() for panel in many.axes] == ["mean over 9 coordinates"]
    np.testing.assert_allclose(curves(many.axes[0])[0].get_ydata(), [1.0, 2.0])
    some = sweep_table(coordinates=tuple(range(9)), step_size=[1, 2]).iloc[:-1]
    (panel,) = sweep_figure(some, ["step_size"], ["ess"]).axes
    assert (
        panel.texts[0].get_text().replace("\n", " ").startswith("ESS: coordinates that are not at all points")
    )
    alone = sweep_figure(sweep_table(coordinates=tuple(range(9))), [], ["ess"])
    np.testing.assert_allclose(curves(alone.axes[0])[0].get_ydata(), [1.0])


def test_sweep_colours_say_the_method_and_markers_the_rest():
    table = sweep_table(step_size=[1, 2], method=["pm_mh", "apm_mi_mh"], n_importance=[1, 8])
    lines = curves(sweep_figure(table, ["step_size", "method", "n_importance"], ["ess"]).axes[0])
    assert [to_hex(line.get_color()) for line in lines] == [
        METHOD_COLOURS[m].lower() for m in ("pm_mh",) * 2 + ("apm_mi_mh",) * 2
    ]
    assert lines[0].get_marker() == lines[2].get_marker() != lines[1].get_marker()


def test_sweep_without_finite_values_says_so():
    table = sweep_table(step_size=[1, 2]).assign(value=np.nan)
    figure = sweep_figure(table, ["step_size"], ["ess", "unknown"])
    messages = [panel.texts[0].get_text() for panel in figure.axes]
    assert messages == ["ESS: no finite values", "unknown: no finite values"]
    figure.draw_without_rendering()


def test_sweep_without_errors_is_drawn():
    table = sweep_table(step_size=[1, 2]).assign(standard_error=np.nan)
    figure = sweep_figure(table, ["step_size"], ["ess"])
    figure.draw_without_rendering()
    np.testing.assert_array_equal(curves(figure.axes[0])[0].get_ydata(), [1.0, 2.0])


def test_sweep_tables_that_do_not_fit_are_rejected():
    table = sweep_table(step_size=[1, 2], seed=[0, 1])
    with pytest.raises(ValueError, match="two rows for quantity ess at step_size = 1"):
        sweep_figure(table, ["step_size"], ["ess"])
    with pytest.raises(ValueError, match="must have the columns width; it has step_size"):
        sweep_figure(table, ["width"], ["ess"])
    with pytest.raises(ValueError, match="at least one quantity"):
        sweep_figure(table, ["step_size"], [])
